"""Which printed lines are the rows of one table: runs of rows whose cells stand below each other."""

from __future__ import annotations

from collections.abc import Sequence

from pdfqa_core.extraction.grouping import grouped
from pdfqa_core.extraction.tables.cell_texts import PrintedRow
from pdfqa_core.extraction.tables.thresholds import TableThresholds


def find_runs(rows: Sequence[PrintedRow], thresholds: TableThresholds, *, only_words: bool) -> list[tuple[int, int]]:
    """Return (first, last) row with cells of each run of rows that stand below each other.

    A run begins with a row of values, or where `only_words` is set with a row of three cells or more.
    """
    found: list[tuple[int, int]] = []
    run: list[int] = []  # rows with values
    pending = 0

    def close() -> None:
        nonlocal pending
        if len(run) >= 2:
            found.append((run[0], run[-1]))
        run.clear()
        pending = 0

    for i, row in enumerate(rows):
        if run and not 0 < row.line.baseline - rows[i - 1].line.baseline < thresholds.near * row.line.size:
            close()
        opens = row.wide and not row.valued if only_words else row.valued
        if (opens or (run and row.wide)) and (not row.years or (run and not row.line.bold)):
            if run and not _fits([rows[j] for j in run[-4:]], row, thresholds):
                close()
            run.append(i)
            pending = 0
        elif run:
            total = all(c.value for c in row.cells) and not row.years
            if total and _fits([rows[j] for j in run[-4:]], row, thresholds):
                run.append(i)
                pending = 0
                continue
            goes_on = (
                row.line.baseline - rows[i - 1].line.baseline < thresholds.wrapped * row.line.size and not row.line.bold
            )
            pending += 1
            if (len(row.cells) > 1 and not goes_on) or pending > thresholds.labels or row.years:
                close()
    close()
    return found


def _fits(run: Sequence[PrintedRow], row: PrintedRow, thresholds: TableThresholds) -> bool:
    """Return whether the cells of `row` stand below those of the rows before it."""
    near = thresholds.aligned * row.line.size
    wanted = 1 if row.valued or len(row.cells) == 1 else 2
    for before in reversed(run):
        shared = 0
        for a in before.cells[1:] or before.cells:
            for b in row.cells[1:] or row.cells:
                if a.value == b.value and (
                    abs(a.edge - b.edge) < near or abs(a.x0 - b.x0) < near or abs(a.middle - b.middle) < near
                ):
                    shared += 1
                    if shared >= wanted:
                        return True
    return False


def with_parted(
    above: list[PrintedRow], others: Sequence[PrintedRow], body: Sequence[PrintedRow], thresholds: TableThresholds
) -> list[PrintedRow]:
    """Return the rows above a table with those that the reading order took for columns of their own, put together."""
    left, right = min(r.line.u0 for r in body), max(r.line.u1 for r in body)
    em, top = body[0].line.size, body[0].line.baseline
    near = [
        r
        for r in (*above, *others)
        if top - thresholds.above * em < r.line.baseline < top - 0.5 * em
        and r.line.u0 > left - em
        and r.line.u1 < right + em
    ]
    if all(any(r is a for a in above) for r in near):
        return above
    ordered = sorted(near, key=lambda r: r.line.baseline)
    found = []
    for group in grouped(ordered, lambda group, r: r.line.baseline - group[0].line.baseline < 0.3 * em):
        words = sorted((w for r in group for w in r.words), key=lambda w: w.x0)
        found.append(PrintedRow(tuple(n for r in group for n in r.numbers), group[0].line, words, thresholds))
    return found
