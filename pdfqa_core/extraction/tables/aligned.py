"""Tables without a grid: rows whose cells stand below each other. Geometry and marks only, one region of a page a time.

Rows with values are gathered into runs; strips that stay free in all of them part the columns; the lines above that
name columns become header rows, each cell repeated in every column that it spans.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

import numpy as np

from pdfqa_core.extraction.raw_page import PageTable, TableCell, TextLine
from pdfqa_core.extraction.tables.rulings import Rulings, Stroke
from pdfqa_core.extraction.text.glyphs import Floats
from pdfqa_core.extraction.text.words import Word, around, text_of

_CHUNK_GAP = 0.9  # of the font size: wider gaps part cells
_HEADER_GAP = 0.6  # the same in header rows, which are set closer
_NEAR = 3.4  # of the font size: the next row of a table is no farther (it may leave a row blank)
_HEADER_NEAR = 2.4
_ALIGNED = 0.8  # of the font size: edges that differ less stand below each other
_STRIP = 1.5  # points: narrower strips part no columns
_TIGHT = 0.82  # of the usual distance of rows: closer lines are one row
_LABELS = 5  # lines without values that may stand between two rows
_HEADER_LINES = 9
_LONGEST_CELL = 60  # characters of a cell in a table without numbers

_CURRENCY = re.compile(r"^(?:[$€£¥₹]|US\$|[A-Z]{2}\$)$")
_VALUE = re.compile(
    r"^[(+\-–—−~<>≤≥±]*\s*(?:[$€£¥₹]|US\$|USD|EUR)?\s*[(+\-–−]?\d[\d.,'’\s]*\)?\s*"
    r"(?:%|‰|pts?|bps|x|[$€£])?\)?\s*%?\s*(?:\(\w\)|\*+|[†‡])?$"
)
_EMPTY = re.compile(r"^(?:[$€£¥]\s*)?(?:[—–−-]+|N/?A|n/?a|NM|nm)\s*%?$")
_YEAR = re.compile(r"^(?:FY\s?)?(?:19|20)\d\d[AEF]?$")
_LEADER = re.compile(r"(?:\.\s?){4,}|…")
_MARKER = re.compile(r"^(?:[•◦▪▫‣●○■□▸►➢✓✔∙·*–—-]|\(?(?:\d{1,2}|[a-zA-Z]|[ivx]{1,5})[.)])$")
_EQUATION = re.compile(r"^\(\d{1,3}(?:\.\d{1,3}){0,2}[a-z]?\)$")


class Chunk:
    """Words of one line without a wide gap between them.

    `edge` is where its digits end: signs behind them hang over the edge that numbers share. `value`: it is a number,
    an amount, or a sign for none. `year`: it is a year.
    """

    __slots__ = ("edge", "middle", "text", "value", "words", "x0", "x1", "year")

    def __init__(self, words: list[Word]) -> None:
        self.words = words
        self.text = text_of(words)
        self.x0 = words[0].x0
        self.x1 = max([w.x1 for w in words])
        self.middle = (self.x0 + self.x1) / 2
        self.edge = self.x1
        self.value = len(self.text) < 40 and bool(_VALUE.match(self.text) or _EMPTY.match(self.text))
        self.year = self.value and bool(_YEAR.match(self.text))
        if self.value:
            for sign in reversed(self.text.replace(" ", "")):
                if sign not in "%)":
                    break
                self.edge -= (0.89 if sign == "%" else 0.33) * words[-1].size


class Row:
    """A printed line, parted into chunks; `numbers` are those of its lines.

    `years`: its values are years, as in the names of columns. `valued`: it has a value beside its first cell.
    `wide`: it has three or more short cells of words.
    """

    __slots__ = ("chunks", "line", "numbers", "valued", "wide", "words", "years")

    def __init__(self, numbers: tuple[int, ...], line: TextLine, words: list[Word]) -> None:
        self.numbers = numbers
        self.line = line
        self.words = words
        self.chunks = chunks_of(words, _CHUNK_GAP)
        first, rest = self.chunks[0], self.chunks[1:]
        values = [c for c in (self.chunks if first.value else rest) if c.value]
        self.years = bool(values) and all(c.year for c in values)
        celled = bool(rest) and not _LEADER.search(line.text)
        self.valued = celled and any(c.value for c in rest)
        self.wide = (
            celled
            and len(rest) >= 2
            and all(len(c.text) <= _LONGEST_CELL for c in self.chunks)
            and not _MARKER.match(first.text)
            and sum(map(str.isalpha, line.text)) > 0.6 * len(line.text.replace(" ", ""))
        )


@dataclass(frozen=True, slots=True)
class Aligned:
    """A table and the numbers of the lines that it is made of."""

    table: PageTable
    lines: tuple[int, ...]


def chunks_of(words: Sequence[Word], gap: float) -> list[Chunk]:
    """Return the words of a line parted at gaps wider than `gap` × font size; a currency sign goes to its number."""
    groups: list[list[Word]] = []
    end = float("-inf")
    for word in words:
        last = groups[-1] if groups else None
        if last is not None and (word.x0 - end <= gap * max(last[-1].size, word.size) or _belongs(last, word)):
            last.append(word)
            end = max(end, word.x1)
        else:
            groups.append([word])
            end = word.x1
    return [Chunk(group) for group in groups]


def _belongs(before: Sequence[Word], word: Word) -> bool:
    """Return whether a word far from the one before goes with it: a number after its sign, a sign after its number."""
    if len(before) == 1 and _CURRENCY.match(before[0].text):
        return word.text[0].isdigit() or word.text[0] in "(—–-−."
    return word.text in (")", "%", ")%") and before[-1].text[-1:].isdigit()


def suggested(lines: Sequence[TextLine]) -> tuple[float, float] | None:
    """Return the heights between which cells stand below each other, with room for what names them; None: nowhere.

    They do where two or more lines of a region, a few lines apart, have cells.
    """
    last: TextLine | None = None
    tops, bottoms = [], []
    for line in lines:
        if line.cells < 2 or line.turn or line.hidden:
            continue
        if last is not None and last.region == line.region and abs(line.baseline - last.baseline) < 8 * line.size:
            tops.append(min(last.top, line.top) - 16 * line.size)
            bottoms.append(max(last.bottom, line.bottom) + 8 * line.size)
        last = line
    return (min(tops), max(bottoms)) if tops else None


def find_aligned(lines: Sequence[TextLine], words: Sequence[list[Word]], rulings: Rulings) -> list[Aligned]:
    """Return the tables among `lines`; `words` are those of each line (none: the line is no part of any table)."""
    strokes, fills = rulings.horizontal, np.array(rulings.fills).reshape(-1, 4)
    regions: dict[int, list[Row]] = {}
    for number, (line, entries) in enumerate(zip(lines, words, strict=True)):
        if entries:
            regions.setdefault(line.region, []).append(Row((number,), line, entries))
    found: list[Aligned] = []
    taken: set[int] = set()
    for rows in regions.values():
        for only_words in (False, True):  # tables of words are looked for in what tables of numbers leave
            left = [row for row in rows if taken.isdisjoint(row.numbers)]
            for first, last in _runs(left, only_words=only_words):
                above = [row for row in left[:first] if taken.isdisjoint(row.numbers)]
                if len(above) < _HEADER_LINES:
                    others = [r for entries in regions.values() if entries is not rows for r in entries]
                    above = _with_parted(
                        above, [r for r in others if taken.isdisjoint(r.numbers)], left[first : last + 1]
                    )
                rest = [*above, *left[first:]]
                built = _build(rest, len(above), len(above) + last - first, strokes, fills)
                if built is not None:
                    taken.update(built.lines)
                    found.append(built)
    return found


def _with_parted(above: list[Row], others: Sequence[Row], body: Sequence[Row]) -> list[Row]:
    """Return the rows above a table with those that the reading order took for columns of their own, put together."""
    left, right = min(r.line.u0 for r in body), max(r.line.u1 for r in body)
    em, top = body[0].line.size, body[0].line.baseline
    near = [
        r
        for r in (*above, *others)
        if top - 14 * em < r.line.baseline < top - 0.5 * em and r.line.u0 > left - em and r.line.u1 < right + em
    ]
    if all(any(r is a for a in above) for r in near):
        return above
    groups: list[list[Row]] = []
    for row in sorted(near, key=lambda r: r.line.baseline):
        if groups and row.line.baseline - groups[-1][0].line.baseline < 0.3 * em:
            groups[-1].append(row)
        else:
            groups.append([row])
    found = []
    for group in groups:
        words = sorted((w for r in group for w in r.words), key=lambda w: w.x0)
        found.append(Row(tuple(n for r in group for n in r.numbers), group[0].line, words))
    return found


# ------------------------------------------------------------------ which lines


def _runs(rows: Sequence[Row], *, only_words: bool) -> list[tuple[int, int]]:
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
        if run and not 0 < row.line.baseline - rows[i - 1].line.baseline < _NEAR * row.line.size:
            close()
        opens = row.wide and not row.valued if only_words else row.valued
        if (opens or (run and row.wide)) and (not row.years or (run and not row.line.bold)):
            if run and not _fits([rows[j] for j in run[-4:]], row):
                close()
            run.append(i)
            pending = 0
        elif run:
            total = bool(row.chunks) and all(c.value for c in row.chunks) and not row.years
            if total and _fits([rows[j] for j in run[-4:]], row):
                run.append(i)
                pending = 0
                continue
            goes_on = row.line.baseline - rows[i - 1].line.baseline < 1.3 * row.line.size and not row.line.bold
            pending += 1
            if (len(row.chunks) > 1 and not goes_on) or pending > _LABELS or row.years:
                close()
    close()
    return found


def _fits(run: Sequence[Row], row: Row) -> bool:
    """Return whether the cells of `row` stand below those of the rows before it."""
    near = _ALIGNED * row.line.size
    wanted = 1 if row.valued or len(row.chunks) == 1 else 2
    for before in reversed(run):
        shared = 0
        for a in before.chunks[1:] or before.chunks:
            for b in row.chunks[1:] or row.chunks:
                if a.value == b.value and (
                    abs(a.edge - b.edge) < near or abs(a.x0 - b.x0) < near or abs(a.middle - b.middle) < near
                ):
                    shared += 1
                    if shared >= wanted:
                        return True
    return False


# ------------------------------------------------------------------ columns


def _separators(rows: Sequence[Row]) -> list[float]:
    """Return the middles of the strips that are free in the rows, ascending (a few rows may cross them)."""
    left = min(c.x0 for row in rows for c in row.chunks)
    right = max(c.x1 for row in rows for c in row.chunks)
    scale = 4  # bins per point
    cover = np.zeros(max(1, int((right - left) * scale) + 2), dtype=np.int64)
    for row in rows:
        for chunk in row.chunks:
            cover[int((chunk.x0 - left) * scale) : int((chunk.x1 - left) * scale) + 1] += 1
    free = cover <= int(0.06 * len(rows))
    edges = np.flatnonzero(np.diff(np.concatenate([[False], free, [False]]).astype(np.int8)))
    strips = [(a, b) for a, b in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True) if b - a >= _STRIP * scale]
    return [left + (a + b) / 2 / scale for a, b in strips if a > 0 and b < len(cover)]


@dataclass(slots=True)
class _Columns:
    separators: list[float]
    extents: list[tuple[float, float]]  # of the cells of the body

    @property
    def count(self) -> int:
        return len(self.separators) + 1

    def of(self, chunk: Chunk) -> int:
        """Return the column that holds most of a chunk."""
        first, last = bisect(self.separators, chunk.x0), bisect(self.separators, chunk.x1)
        if first == last:
            return first
        edges = [float("-inf"), *self.separators, float("inf")]
        shared = [min(chunk.x1, b) - max(chunk.x0, a) for a, b in pairwise(edges)]
        return shared.index(max(shared))

    def mid(self, first: int, last: int) -> float:
        """Return the centre of the columns `first` to `last`."""
        return (self.extents[first][0] + self.extents[last][1]) / 2


def _columns(rows: Sequence[Row]) -> _Columns:
    columns = _Columns(_separators(rows), [])
    cells: list[list[Chunk]] = [[] for _ in range(columns.count)]
    for row in rows:
        for chunk in row.chunks:
            cells[columns.of(chunk)].append(chunk)
    columns.extents = [
        (min((c.x0 for c in entries), default=0.0), max((c.x1 for c in entries), default=0.0)) for entries in cells
    ]
    return columns


# ------------------------------------------------------------------ whether it is one


def _plausible(rows: Sequence[Row], columns: _Columns, headers: int, strokes: Sequence[Stroke]) -> bool:
    """Return whether the rows with cells are a table, and not formulas, an axis or a table of contents."""
    if columns.count < 2 or len(rows) < (2 if headers else 3):
        return False
    em = median(row.line.size for row in rows)
    cells: list[list[Chunk]] = [[] for _ in range(columns.count)]
    for row in rows:
        for chunk in row.chunks:
            cells[columns.of(chunk)].append(chunk)
    valued = [
        entries
        for entries in cells[1:]
        if sum(c.value for c in entries) > 0.6 * len(entries) and len(entries) >= 2 and _below(entries, em)
    ]
    if not valued:
        return _words_below(rows, cells, em)
    if len(valued) == 1 and not _one_column_of_values(valued[0], cells):
        return False
    labels = [row.chunks[0] for row in rows]
    if _running_text(labels, em):
        return False
    named = sum(any(map(str.isalpha, c.text)) or c.year for c in labels)
    if named >= 0.5 * len(labels):
        return sum(map(str.isalpha, "".join(c.text for c in labels))) >= 2 * named or any(c.year for c in labels)
    return headers > 0 and _ruled(rows, columns, strokes)


def _running_text(labels: Sequence[Chunk], em: float) -> bool:
    """Return whether labels fill their column line by line: a column of text that stands beside a table."""
    left, right = min(c.x0 for c in labels), max(c.x1 for c in labels)
    full = sum(c.x1 - c.x0 > 0.85 * (right - left) for c in labels)
    return len(labels) >= 4 and right - left > 14 * em and full >= 0.8 * len(labels)


def _words_below(rows: Sequence[Row], cells: Sequence[Sequence[Chunk]], em: float) -> bool:
    """Return whether rows without values are a table: three or more columns, most rows full, all columns aligned."""
    full = sum(len(row.chunks) == len(cells) for row in rows)
    aligned = sum(_below(entries, em) for entries in cells)
    return len(cells) >= 3 and full >= 3 and full > 0.7 * len(rows) and aligned >= len(cells) - 1


def _one_column_of_values(values: Sequence[Chunk], cells: Sequence[Sequence[Chunk]]) -> bool:
    """Return whether the only column of values is one of a table: no page numbers, no numbers of formulas."""
    if _is_contents(values) or all(_EQUATION.match(c.text) for c in values):
        return False
    return len(cells) > 2 or (len(values) >= 3 and sum(c.value for c in cells[1]) >= 0.5 * len(cells[1]))


def _below(entries: Sequence[Chunk], em: float) -> bool:
    """Return whether most chunks share an edge or their middle."""
    edges = ([c.x1 for c in entries], [c.edge for c in entries], [c.x0 for c in entries], [c.middle for c in entries])
    for places in edges:
        usual = median(places)
        if sum(abs(place - usual) < _ALIGNED * em for place in places) >= 0.7 * len(places):
            return True
    return False


def _is_contents(entries: Sequence[Chunk]) -> bool:
    """Return whether the values are page numbers: plain, small, never falling."""
    if len(entries) < 3 or not all(c.text.isdigit() and len(c.text) <= 3 for c in entries):
        return False
    return all(int(a.text) <= int(b.text) for a, b in pairwise(entries))


def _ruled(rows: Sequence[Row], columns: _Columns, strokes: Sequence[Stroke]) -> bool:
    """Return whether rules as wide as the table part its rows, and none runs through one (as on a chart)."""
    left, right = columns.extents[0][0], columns.extents[-1][1]
    top, bottom = rows[0].line.top, rows[-1].line.bottom
    wide = [s.place for s in strokes if s.start < left + 4 and s.end > right - 4 and top - 40 < s.place < bottom + 12]
    through = [y for y in wide if any(r.line.top + 0.2 * r.line.size < y < r.line.baseline - 1 for r in rows)]
    return len(wide) >= 2 and not through


# ------------------------------------------------------------------ the table


def _build(rows: Sequence[Row], first: int, last: int, strokes: Sequence[Stroke], fills: Floats) -> Aligned | None:
    """Return the table whose rows with values are among `first` to `last`; those before may name its columns."""
    body = rows[first : last + 1]
    celled = [row for row in body if len(row.chunks) > 1 or all(c.value for c in row.chunks)]
    columns = _columns(celled)
    if columns.count < 2:
        return None
    header, begin = _header(rows, first, columns)
    if not _plausible(celled, columns, len(header), strokes):
        return None
    last = _tail(rows, last, columns, fills)
    groups = _rows(rows[begin : last + 1], fills)
    grid = [_header_row(rows, i, header, columns, strokes) for i in header]
    grid += [_body_row(group, columns) for group in groups]
    taken = [n for i in header for n in rows[i].numbers] + [n for group in groups for row in group for n in row.numbers]
    return Aligned(trimmed(PageTable(tuple(tuple(row) for row in grid), len(header))), tuple(sorted(taken)))


def trimmed(table: PageTable) -> PageTable:
    """Return the table without empty rows and columns."""
    width = len(table.rows[0]) if table.rows else 0
    kept = [c for c in range(width) if any(row[c] is not None for row in table.rows)]
    rows, headers = [], 0
    for number, row in enumerate(table.rows):
        if any(cell is not None for cell in row):
            rows.append(tuple(row[c] for c in kept))
            headers += number < table.header_rows
    return PageTable(tuple(rows), headers)


def _header(rows: Sequence[Row], first: int, columns: _Columns) -> tuple[list[int], int]:
    """Return the rows that name the columns above row `first`, and the first row of the body (a label may precede)."""
    left, border = columns.extents[0][0], columns.separators[0]
    header: list[int] = []
    labels: list[int] = []  # since the last name of a column: they count if another name stands above them
    for i in range(first - 1, max(-1, first - _HEADER_LINES - 4), -1):
        row = rows[i]
        distance = rows[i + 1].line.baseline - row.line.baseline
        near = (_HEADER_NEAR if header else _NEAR) * max(row.line.size, rows[i + 1].line.size)
        if not 0 < distance < near or _LEADER.search(row.line.text):
            break
        if any(c.value and not c.year for c in row.chunks) and not row.line.bold:
            break
        if _names_columns(row, border):
            header = [i, *(labels if header else []), *header]
            labels = []
        elif len(labels) < 4 and _labels_rows(row, distance, left, border, below_names=bool(header)):
            labels = [i, *labels]
        else:
            break
    if not header:
        begin = first
        while begin > 0 and _opens(rows[:begin], rows[begin], left, border):
            begin -= 1
        return [], begin
    header = header[-_HEADER_LINES:]
    bold = rows[first].line.bold
    while len(header) > 1 and rows[header[0]].line.bold != bold == rows[header[-1]].line.bold:
        if len(rows[header[-1]].chunks) < columns.count or rows[header[-1]].years:
            break
        header.pop()  # set as the body is, and another row names the columns
    return header, max(header) + 1


def _names_columns(row: Row, border: float) -> bool:
    """Return whether a line holds names of columns: beside the column of labels, or with a cell in it and others."""
    first = row.chunks[0]
    if first.x0 > border - 0.5 * row.line.size:
        return True
    return len(row.chunks) > 1 and first.x1 < border + row.line.size


def _labels_rows(row: Row, distance: float, left: float, border: float, *, below_names: bool) -> bool:
    """Return whether a line between the names of columns and the first value, or beside such names, is a label."""
    chunk, em = row.chunks[0], row.line.size
    if len(row.chunks) > 1:
        return False
    if below_names:
        return distance <= 1.3 * em and chunk.x1 <= border + em
    if abs(chunk.x0 - left) <= 3 * em or chunk.x1 <= border + em:
        return True
    return row.line.bold and len(chunk.text) < _LONGEST_CELL  # centred above the rows


def _opens(above: Sequence[Row], below: Row, left: float, border: float) -> bool:
    """Return whether the last line above a table without header is the label of its first rows."""
    row = above[-1]
    chunk = row.chunks[0]
    if len(above) > 1 and 0 < row.line.baseline - above[-2].line.baseline < 1.4 * row.line.size:
        return False  # the end of a paragraph
    return (
        len(row.chunks) == 1
        and chunk.text.endswith(":")
        and abs(chunk.x0 - left) < 1.5 * row.line.size
        and chunk.x1 < border
        and 0 < below.line.baseline - row.line.baseline < 1.8 * row.line.size
    )


def _tail(rows: Sequence[Row], last: int, columns: _Columns, fills: Floats) -> int:
    """Return the last row, with the rest of its label where that is wrapped."""
    if last + 1 >= len(rows):
        return last
    row, after = rows[last], rows[last + 1]
    if len(after.chunks) != 1 or after.chunks[0].x1 > columns.separators[0]:
        return last
    distance = after.line.baseline - row.line.baseline
    same = _same_fill(row, after, fills)
    lower = after.chunks[0].text[:1].islower() and row.chunks[0].x0 <= after.chunks[0].x0 + 1
    return last + 1 if same or (same is None and lower and 0 < distance < 1.3 * row.line.size) else last


def _rows(rows: Sequence[Row], fills: Floats) -> list[list[Row]]:
    """Return the lines of the body grouped into rows: wrapped labels and cells go to the line with the values."""
    celled = [len(row.chunks) > 1 or all(c.value for c in row.chunks) for row in rows]
    distances = [b.line.baseline - a.line.baseline for a, b in pairwise(rows)]
    usual = [d for d, a, b in zip(distances, celled, celled[1:], strict=False) if a and b] or distances or [12.0]
    pitch = median(usual)
    groups: list[list[Row]] = []
    for i, row in enumerate(rows):
        if i and _one_row(rows[i - 1], row, celled[i - 1], celled[i], distances[i - 1], pitch, fills):
            groups[-1].append(row)
        else:
            groups.append([row])
    return groups


def _one_row(
    above: Row, below: Row, above_celled: bool, below_celled: bool, distance: float, pitch: float, fills: Floats
) -> bool:
    """Return whether two lines that follow each other belong to one row of the table."""
    if above_celled and below_celled and (above.valued or above.years) and (below.valued or below.years):
        return False
    same = _same_fill(above, below, fills)
    if same is not None:
        return same
    if distance > 1.05 * pitch or above.line.text.endswith(":"):
        return False
    if distance < _TIGHT * pitch:
        return True
    first = below.chunks[0].text
    return (not above_celled or not below_celled) and first[:1].islower() and above.line.bold == below.line.bold


def _same_fill(above: Row, below: Row, fills: Floats) -> bool | None:
    """Return whether two lines stand on one filled box of a few lines' height; None where there are no such boxes."""
    if not len(fills):
        return None
    x = max(above.chunks[0].x0, below.chunks[0].x0) + 1
    across = (fills[:, 0] <= x) & (fills[:, 2] >= x) & (fills[:, 3] - fills[:, 1] < 6 * above.line.size)
    high, low = (row.line.baseline - 0.3 * row.line.size for row in (above, below))
    first = across & (fills[:, 1] <= high) & (fills[:, 3] >= high)
    second = across & (fills[:, 1] <= low) & (fills[:, 3] >= low)
    if not first.any() or not second.any():
        return None
    return bool((first & second).any())


def cell_of(words: Sequence[Word]) -> TableCell:
    """Return the cell that words make, its lines parted by line breaks."""
    lines: list[list[Word]] = []
    for word in sorted(words, key=lambda w: w.baseline):
        if lines and word.baseline - lines[-1][0].baseline < 0.6 * max(word.size, lines[-1][0].size):
            lines[-1].append(word)
        else:
            lines.append([word])
    text = "\n".join(text_of(sorted(line, key=lambda w: w.x0)) for line in lines)
    return TableCell(text, around(words))


def _body_row(group: Sequence[Row], columns: _Columns) -> list[TableCell | None]:
    words: list[list[Word]] = [[] for _ in range(columns.count)]
    for row in group:
        alone = len(row.chunks) == 1 and not row.chunks[0].value
        for chunk in row.chunks:
            beside = alone and chunk.x0 > columns.separators[0] and len(group) > 1
            words[columns.of(chunk) if not alone or beside else 0] += chunk.words
    return [cell_of(entries) if entries else None for entries in words]


def _header_row(
    rows: Sequence[Row], number: int, header: Sequence[int], columns: _Columns, strokes: Sequence[Stroke]
) -> list[TableCell | None]:
    """Return a header row with each cell repeated in the columns that it spans."""
    row = rows[number]
    chunks = chunks_of(row.words, _HEADER_GAP)
    spans = [_span(chunk, row, chunks, columns, strokes) for chunk in chunks]
    if number != max(header):
        below = [c for i in header if i > number for c in chunks_of(rows[i].words, _HEADER_GAP)]
        named = {columns.of(chunk) for chunk in below}
        spans = [
            _widened(chunk, span, spans, columns, named, row.line.size)
            for chunk, span in zip(chunks, spans, strict=True)
        ]
    words: list[list[Word]] = [[] for _ in range(columns.count)]
    for chunk, (first, last) in zip(chunks, spans, strict=True):
        for column in range(first, last + 1):
            words[column] += chunk.words
    return [cell_of(entries) if entries else None for entries in words]


def _span(
    chunk: Chunk, row: Row, chunks: Sequence[Chunk], columns: _Columns, strokes: Sequence[Stroke]
) -> tuple[int, int]:
    """Return the first and last column that a name stands above, by the rule below it or by its own width."""
    em = row.line.size
    x0, x1 = chunk.x0, chunk.x1
    for stroke in strokes:
        if not row.line.baseline < stroke.place < row.line.baseline + em:
            continue
        alone = not any(c is not chunk and c.x1 > stroke.start and c.x0 < stroke.end for c in chunks)
        if alone and stroke.start < x0 + 2 and stroke.end > x1 - 2:
            x0, x1 = min(x0, stroke.start), max(x1, stroke.end)
            break
    own = columns.of(chunk)
    held = [i for i, (a, b) in enumerate(columns.extents) if i and x0 - 1 <= (a + b) / 2 <= x1 + 1]
    return (min([own, *held]), max([own, *held])) if own else (0, 0)


def _widened(
    chunk: Chunk,
    span: tuple[int, int],
    spans: Sequence[tuple[int, int]],
    columns: _Columns,
    named: set[int],
    em: float,
) -> tuple[int, int]:
    """Return the span, wider where the name is centred above more columns, each of which has a name of its own."""
    if span[0] == 0:
        return span
    low = max((b + 1 for a, b in spans if b < span[0]), default=1)
    high = min((a - 1 for a, b in spans if a > span[1]), default=columns.count - 1)
    best, error = span, abs(columns.mid(*span) - chunk.middle)
    if error < em:
        return span
    for first in range(max(1, low), span[0] + 1):
        for last in range(span[1], high + 1):
            off = abs(columns.mid(first, last) - chunk.middle)
            if off < error - 0.75 * em and named.issuperset(range(first, last + 1)):
                best, error = (first, last), off
    return best
