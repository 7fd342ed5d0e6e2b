"""The table that compares systems: as rows for a spreadsheet, as lines for a terminal, as LaTeX for a paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pdfqa_core.csv_format import write_csv
from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.base import Description
from pdfqa_core.metrics.catalogue import measure_named
from pdfqa_core.metrics.scored import Cell, Evaluation, Table
from pdfqa_core.metrics.statistics import Summary

ITEM_COLUMNS = ("system", "item", "measure", "value")
TABLE_COLUMNS = (
    "system", "measure", "mean", "low", "high", "n", "unscored", "baseline", "difference", "difference_low",
    "difference_high", "p",
)  # fmt: skip
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "−": "-", "\n": " ", "\r": " ",
}  # fmt: skip


def measure_of(name: str) -> Description:
    """Return what is known of a measure; of one that is not declared, its name."""
    try:
        found = measure_named(name)
    except UsageError:
        return Description(name, name)
    return found if found.name == name else replace(found, name=name, pretty_name=name)  # HR@5 is HR@k


def is_share(name: str) -> bool:
    """Return whether a measure's values lie in 0..1."""
    return (measure_of(name).low, measure_of(name).high) == (0.0, 1.0)


def items_csv(evaluation: Evaluation) -> bytes:
    """Return one row per system, item and measure; an unscored value is an empty cell."""
    rows = (
        (system.name, item.id, measure, _number(item.metrics[measure]))
        for system in evaluation.systems
        for item in system.items
        for measure in evaluation.measures
        if measure in item.metrics  # a measure of the whole set has no value per item
    )
    return write_csv(ITEM_COLUMNS, rows)


def table_csv(table: Table) -> bytes:
    """Return one row per system and measure: mean, interval, n, unscored, difference to the baseline and p."""
    rows = []
    for system, cells in table.cells.items():
        for measure in table.measures:
            cell = cells[measure]
            own, other = cell.summary, cell.difference
            compared: list[str] = [""] * 5
            if other is not None:
                compared = [table.baseline, *map(_number, (other.mean, other.low, other.high, cell.p))]
            means = map(_number, (own.mean, own.low, own.high))
            rows.append((system, measure, *means, str(own.n), str(own.unscored), *compared))
    return write_csv(TABLE_COLUMNS, rows)


def _number(value: float | None) -> str:
    return "" if value is None else repr(float(value))


def interval(summary: Summary) -> str:
    """Return a mean with its interval, n and what is unscored: "0.8120  [0.469, 1.000]  n = 10, 5 unscored"."""
    if summary.mean is None:
        return f"undefined  (n = 0, {summary.unscored} unscored)"
    bounds = "" if summary.low is None else f"  [{summary.low:.3f}, {summary.high:.3f}]"
    return f"{summary.mean:.4f}{bounds}  n = {summary.n}, {summary.unscored} unscored"


def difference(cell: Cell) -> str:
    """Return a difference with its interval and p: "+0.120  [+0.010, +0.230]  p = 0.031 *"; empty without one."""
    other = cell.difference
    if other is None or other.mean is None:
        return ""
    bounds = "" if other.low is None else f"  [{other.low:+.3f}, {other.high:+.3f}]"
    return f"{other.mean:+.3f}{bounds}{p_words(cell.p)}{' *' if cell.significant else ''}"


def p_words(p: float | None) -> str:
    """Return "  p = 0.031", "  p < 0.001", or nothing."""
    if p is None:
        return ""
    return f"  p = {p:.3f}" if p >= 0.001 else "  p < 0.001"


def table_text(evaluation: Evaluation, table: Table) -> str:
    """Return the table as lines for a terminal, the systems of one measure below each other."""
    titles = {name: measure_of(name).pretty_name for name in table.measures}
    if not table.baseline:
        (cells,) = table.cells.values()
        width = max(map(len, titles.values()))
        lines = [next(iter(table.cells))]
        lines += [f"  {titles[name]:<{width}}  {interval(cells[name].summary)}" for name in table.measures]
    else:
        width = max(map(len, table.cells))
        means = {(s, m): interval(c[m].summary) for s, c in table.cells.items() for m in table.measures}
        room = max(map(len, means.values()))
        lines = []
        for name in table.measures:
            lines.append(titles[name])
            for system, cells in table.cells.items():
                compared = "baseline" if system == table.baseline else difference(cells[name])
                lines.append(f"  {system:<{width}}  {means[system, name]:<{room}}  {compared}".rstrip())
        lines.append(explanation(table))
    if evaluation.published:
        lines += ["", *_published(evaluation)]
    return "\n".join([*lines, *(f"Note: {note}" for note in evaluation.notes)])


def explanation(table: Table) -> str:
    """Return the sentence that says what intervals, differences and stars are."""
    others = len(table.cells) - 1
    times = f"{others} comparison" if others == 1 else f"{others} comparisons"
    return (
        f"[ ]: 95 % bootstrap interval. Differences are to {table.baseline} on the same items; p: paired permutation "
        f"test, adjusted by Holm's method for {times}; *: p < 0.05."
    )


def _published(evaluation: Evaluation) -> list[str]:
    names = list(dict.fromkeys(name for row in evaluation.published.values() for name in row))
    width = max(map(len, evaluation.published))
    lines = ["Published, in percent"]
    for system, row in evaluation.published.items():
        cells = "  ".join(f"{measure_of(n).pretty_name} {100 * row[n]:.1f}" for n in names if n in row)
        lines.append(f"  {system:<{width}}  {cells}")
    return lines


# ------------------------------------------------------------------ LaTeX


def table_latex(evaluation: Evaluation, table: Table) -> bytes:
    """Return a booktabs table with intervals, the best value of each measure bold; what is fewer makes the columns."""
    names = list(table.cells)
    if len(names) == 1:
        head = ["Measure", "Mean", r"95\,\% interval", "$n$", "unscored"]
        body = [_latex_single(name, table.cells[names[0]][name].summary) for name in table.measures]
        columns = "lrcrr"
    elif len(names) <= len(table.measures):
        head = ["Measure", *map(latex_escape, names)]
        body = [
            [latex_escape(measure_of(m).pretty_name), *(_latex_cell(table, s, m) for s in names)]
            for m in table.measures
        ]
        columns = "l" + "c" * len(names)
    else:
        head = ["System", *(latex_escape(measure_of(m).pretty_name) for m in table.measures)]
        body = [[latex_escape(s), *(_latex_cell(table, s, m) for m in table.measures)] for s in names]
        columns = "l" + "c" * len(table.measures)
    lines = [
        "% needs \\usepackage{booktabs}",
        r"\begin{table}[t]",
        r"\centering",
        rf"\caption{{{_caption(evaluation, table)}}}",
        rf"\label{{tab:{_label(evaluation.protocol)}}}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        " & ".join(head) + r" \\",
        r"\midrule",
        *(" & ".join(row) + r" \\" for row in body),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return ("\n".join(lines) + "\n").encode("utf-8", errors="replace")


def latex_escape(text: str) -> str:
    """Return text that LaTeX prints as it is."""
    return "".join(_LATEX.get(character, character) for character in text)


def _label(protocol: str) -> str:
    return "".join(character if character.isalnum() else "-" for character in protocol) or "results"


def _latex_single(name: str, summary: Summary) -> list[str]:
    mean = "--" if summary.mean is None else f"{summary.mean:.3f}"
    bounds = "--" if summary.low is None else f"[{summary.low:.3f}, {summary.high:.3f}]"
    return [latex_escape(measure_of(name).pretty_name), mean, bounds, str(summary.n), str(summary.unscored)]


def best(table: Table, measure: str) -> float | None:
    """Return the best mean of a measure among the systems, rounded to three digits; None where none is better."""
    means = [cells[measure].summary.mean for cells in table.cells.values()]
    scored = [round(mean, 3) for mean in means if mean is not None]
    judged = measure_of(measure).higher_is_better
    if not scored or judged is None:
        return None
    return max(scored) if judged else min(scored)


def _latex_cell(table: Table, system: str, measure: str) -> str:
    cell = table.cells[system][measure]
    if cell.summary.mean is None:
        return "--"
    text = f"{cell.summary.mean:.3f}"
    if round(cell.summary.mean, 3) == best(table, measure):
        text = rf"\textbf{{{text}}}"
    if cell.significant:
        text += "$^{*}$"
    if cell.summary.low is not None:
        text += rf" {{\scriptsize [{cell.summary.low:.3f}, {cell.summary.high:.3f}]}}"
    return text


def _caption(evaluation: Evaluation, table: Table) -> str:
    counts = {(c.summary.n, c.summary.unscored) for cells in table.cells.values() for c in cells.values()}
    items = len(evaluation.systems[0].items)
    text = f"{evaluation.protocol} on {evaluation.dataset}: means with 95 % bootstrap intervals, {items} items"
    if any(unscored for _, unscored in counts):
        text += f" ({_unscored(table)})"
    if table.baseline:
        text += f"; best in bold; *: differs from {table.baseline} (paired permutation test, Holm, p < 0.05)"
    return latex_escape(text + ".")


def _unscored(table: Table) -> str:
    parts = []
    for measure in table.measures:
        counts: Sequence[int] = [cells[measure].summary.unscored for cells in table.cells.values()]
        if any(counts):
            shown = str(counts[0]) if len(set(counts)) == 1 else "/".join(map(str, counts))
            parts.append(f"{measure_of(measure).pretty_name} unscored {shown}")
    return ", ".join(parts)
