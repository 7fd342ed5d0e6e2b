"""Where pdfplumber's characters stand on the page as it is shown, and which of them nobody sees."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from pdfqa_core.extraction.raw_page import ASCENT, DESCENT, PageTable, TableCell, TextLine, enclosing, to_text_frame
from pdfqa_core.extraction.tables.found import trimmed
from pdfqa_core.extraction.text.normalise import character, compose, right_to_left
from pdfqa_core.types import Box

# ----------------------------------------------------------------------------------------------------
# The numbers of the extractor `pdfplumber`, all in one value, so that an experiment can pass another.


@dataclass(frozen=True, slots=True)
class PdfplumberThresholds:
    """Lengths in `em` are shares of the font size; the values are chosen, where no source is named, not measured."""

    word_gap: float = 0.2  # em; pdfplumber's own fixed 3 points run the words of small print together
    cell_gap: float = 1.6  # em: wider gaps count as those between cells, as in `layout.lines`
    same_place: float = 0.5  # points between the baselines of one glyph in PDFium and in pdfplumber
    tiny: float = 3.0  # points: smaller text is hidden, as in `hidden.find_hidden`
    most_edges: int = 20_000  # of a drawing: tables among more are not looked for, it would take minutes
    unknown: float = 0.1  # of the characters of a page: from this share on a warning tells of unknown letters


DEFAULT = PdfplumberThresholds()


# ----------------------------------------------------------------------------------------------------
# Where pdfplumber's characters stand on the page as it is shown, and which of them nobody sees.


@dataclass(slots=True)
class Sheet:
    """The shown part of a page: size in points, where pdfplumber's origin lies on it, and what is hidden there.

    `hidden` holds where glyphs are that nobody sees, by turn (even or odd) and baseline in whole points: the baseline
    and the middle of the glyph along it. `reasons` says in words why they are hidden.
    """

    width: float
    height: float
    left: float
    top: float
    hidden: dict[tuple[int, int], list[tuple[float, float]]] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()

    @classmethod
    def of(cls, page: Any, shown: Any, number: int) -> Sheet:
        """Return the sheet of pdfplumber's `page`, as PDFium shows it; the whole page where PDFium cannot."""
        import numpy as np
        import pypdfium2.raw as pdfium

        from pdfqa_core.extraction.text.glyphs import page_frame

        left, top = -float(page.bbox[0]), -float(page.bbox[1])
        handle = pdfium.FPDF_LoadPage(shown, number - 1)
        if not handle:
            return cls(float(page.width), float(page.height), left, top)
        try:
            frame = page_frame(handle)
            x0, y0, x1, y1 = map(float, page.page_obj.mediabox)
            x, y = frame.map(np.array([x0, x1]), np.array([y0, y1]))
            sheet = cls(frame.width, frame.height, left + float(x.min()), top + float(y.min()))
            sheet._find_hidden(handle)
        finally:
            pdfium.FPDF_ClosePage(handle)
        return sheet

    def _find_hidden(self, handle: Any) -> None:
        import numpy as np

        from pdfqa_core.extraction.hidden.find_hidden import read_characters

        found = read_characters(handle, replaced=False)
        if found is None:
            return
        glyphs, _, flags, self.reasons = found
        for i in np.flatnonzero(flags):
            x0, top, x1, bottom = glyphs.boxes[i].tolist()
            odd = int(glyphs.turn[i]) % 2
            baseline = float(glyphs.x[i] if odd else glyphs.y[i])
            middle = (top + bottom) / 2 if odd else (x0 + x1) / 2
            self.hidden.setdefault((odd, round(baseline)), []).append((baseline, middle))

    def hides(self, box: Box, turn: int, baseline: float, same_place: float) -> bool:
        """Return whether a character (its box, turn in quarters, baseline) is one of the hidden glyphs."""
        if not self.hidden:
            return False
        begin, end = (box.top, box.bottom) if turn % 2 else (box.x0, box.x1)
        return any(
            abs(place - baseline) < same_place and begin <= middle <= end
            for step in (-1, 0, 1)
            for place, middle in self.hidden.get((turn % 2, round(baseline) + step), ())
        )


@dataclass(slots=True)
class MeasuredChar:
    """One of pdfplumber's characters (`raw`), and what that does not say.

    `box` is its rectangle on the shown page; `u0`, `u1` and `v` are its ends and its baseline in the frame of its text,
    which is turned by `turn` quarters; `size` is its font size.
    """

    raw: dict[str, Any]
    turn: int
    size: float
    box: Box
    u0: float
    u1: float
    v: float
    hidden: bool

    @property
    def blank(self) -> bool:
        """Whether it is white space."""
        return not self.raw["text"].strip()


def measure(raw: dict[str, Any], page: Any, sheet: Sheet, thresholds: PdfplumberThresholds) -> MeasuredChar:
    """Return where a character of pdfplumber's `page` stands."""
    a, b, c, d, e, f = raw["matrix"]
    level = abs(a) >= abs(b)
    turn = (0 if a >= 0 else 2) if level else (1 if b < 0 else 3)
    # The box of a character is as high as its font and as wide as its advance, turned by the matrix.
    reach, share = (raw["height"], abs(b)) if level else (raw["width"], abs(a))
    unit = abs(d) if level else abs(c)
    size = (reach - abs(raw["adv"]) * share) / unit * abs(a * d - b * c) ** 0.5 if unit else reach
    box = Box(raw["x0"] + sheet.left, raw["top"] + sheet.top, raw["x1"] + sheet.left, raw["bottom"] + sheet.top)
    x = e + float(page.bbox[0]) + sheet.left
    y = float(page.bbox[3]) - f + sheet.top
    middle_x, middle_y = (box.x0 + box.x1) / 2, (box.top + box.bottom) / 2
    hidden = not (0 <= middle_x <= sheet.width and 0 <= middle_y <= sheet.height)
    hidden = hidden or size < thresholds.tiny or sheet.hides(box, turn, y if level else x, thresholds.same_place)
    u0, u1, v = to_text_frame(box, x, y, turn, sheet.width, sheet.height)
    return MeasuredChar(raw, turn, max(size, 0.0), box, u0, u1, v, hidden)


# ----------------------------------------------------------------------------------------------------
# The lines of a page as pdfplumber finds them, from top to bottom over its whole width.

# Along and across the lines of text that is turned by 0 to 3 quarters, in pdfplumber's names.
_DIRECTIONS = (("ltr", "ttb"), ("ttb", "rtl"), ("rtl", "btt"), ("btt", "ltr"))


def find_lines(chars: Sequence[MeasuredChar], turn: int, thresholds: PdfplumberThresholds) -> list[TextLine]:
    """Return pdfplumber's lines of characters that are all turned by `turn` quarters."""
    if not chars:
        return []
    measured = {id(c.raw): c for c in chars}
    found = []
    for line in _text_map(chars, _DIRECTIONS[turn], thresholds.word_gap).extract_text_lines(return_chars=True):
        members = [measured[key] for key in dict.fromkeys(map(id, line["chars"]))]
        first = {id(raw) for raw in line["chars"][: len(line["text"].split()[0])]}
        text = plain(
            _leftward_text(members, turn, thresholds.word_gap) if right_to_left(line["text"]) else line["text"]
        )
        if text:
            found.append(_text_line(text, members, len(first), turn, thresholds.cell_gap))
    return found


def _text_map(chars: Iterable[MeasuredChar], directions: tuple[str, str], word_gap: float) -> Any:
    """Return pdfplumber's map of characters to text; the directions are along and across the lines."""
    from pdfplumber.utils.text import chars_to_textmap

    along, across = directions
    return chars_to_textmap(
        [c.raw for c in chars],
        x_tolerance_ratio=word_gap,
        char_dir=along,
        line_dir=across,
        char_dir_rotated=along,
        line_dir_rotated=across,
        char_dir_render="ltr",
        line_dir_render="ttb",
    )


def _leftward_text(members: Sequence[MeasuredChar], turn: int, word_gap: float) -> str:
    """Return the text of a line that is read from right to left, but for its numbers and Latin words."""
    along, across = _DIRECTIONS[turn]
    rightward = _text_map(members, (along, across), word_gap).as_string.split()[::-1]
    leftward = _text_map(members, (_DIRECTIONS[(turn + 2) % 4][0], across), word_gap).as_string.split()
    if len(leftward) != len(rightward):
        return " ".join(leftward)
    found: list[str] = []
    run = 0  # words in a row that are read rightward
    for word, mirrored in zip(leftward, rightward, strict=True):
        run = run + 1 if any(map(str.isalnum, word)) and not right_to_left(word) else 0
        if run:
            found.insert(len(found) - run + 1, mirrored)
        else:
            found.append(word)
    return " ".join(found)


def plain(text: str) -> str:
    """Return text as people search for it, on one line."""
    return compose(" ".join("".join(character(ord(c)) for c in text).split()))


def _text_line(text: str, members: Sequence[MeasuredChar], first_word: int, turn: int, cell_gap: float) -> TextLine:
    """Return the line that characters in reading order make; the first word is made of the first `first_word`."""
    from pdfqa_core.extraction.text.glyphs import BOLD_NAME

    size = sorted(c.size for c in members)[len(members) // 2]
    baseline = median(c.v for c in members if c.size >= 0.8 * size)
    placed = sorted(members, key=lambda c: c.u0)
    gaps = (after.u0 - before.u1 for before, after in itertools.pairwise(placed))
    start = members[:first_word]
    return TextLine(
        text=text,
        u0=placed[0].u0,
        u1=max(c.u1 for c in members),
        top=min(c.v - ASCENT * c.size for c in members),
        bottom=max(c.v + DESCENT * c.size for c in members),
        baseline=baseline,
        size=size,
        bold=sum(BOLD_NAME.search(str(c.raw["fontname"])) is not None for c in members) > 0.8 * len(members),
        cells=1 + sum(gap > cell_gap * size for gap in gaps),
        first_word=max(c.u1 for c in start) - min(c.u0 for c in start),
        turn=turn,
    )


# ----------------------------------------------------------------------------------------------------
# The tables with ruled lines that pdfplumber finds on a page.


@dataclass(slots=True)
class RuledTable:
    """A table as a line that stands for it, and the characters in its cells."""

    line: TextLine
    chars: list[MeasuredChar]


def find_tables(page: Any, chars: Sequence[MeasuredChar], thresholds: PdfplumberThresholds) -> list[RuledTable]:
    """Return pdfplumber's tables with the visible, level text in their cells; a box around text is no table."""
    if not 8 <= len(page.edges) <= thresholds.most_edges:
        return []
    free = [c for c in chars if not c.hidden and c.turn == 0]
    found = []
    for table in page.find_tables():
        entry = _ruled_table([row.cells for row in table.rows], _within(free, table.bbox), thresholds.word_gap)
        if entry is not None:
            taken = {id(c) for c in entry.chars}
            free = [c for c in free if id(c) not in taken]
            found.append(entry)
    return found


def _within(chars: Iterable[MeasuredChar], box: Sequence[float]) -> list[MeasuredChar]:
    """Return the characters with their middle in `box` (in pdfplumber's coordinates)."""
    x0, top, x1, bottom = box
    return [
        c
        for c in chars
        if x0 <= (c.raw["x0"] + c.raw["x1"]) / 2 < x1 and top <= (c.raw["top"] + c.raw["bottom"]) / 2 < bottom
    ]


def _ruled_table(
    rows: Sequence[Sequence[Sequence[float] | None]], chars: list[MeasuredChar], word_gap: float
) -> RuledTable | None:
    from pdfplumber.utils.text import extract_text

    taken: list[MeasuredChar] = []
    cells: list[tuple[TableCell | None, ...]] = []
    for row in rows:
        boxes = [box for box in row if box is not None]
        reach = (min(b[0] for b in boxes), min(b[1] for b in boxes), max(b[2] for b in boxes), max(b[3] for b in boxes))
        near = _within(chars, reach)
        found: list[TableCell | None] = []
        for box in row:
            members = _within(near, box) if box is not None else []
            text = plain(extract_text([c.raw for c in members], x_tolerance_ratio=word_gap)) if members else ""
            inked = [c.box for c in members if not c.blank]
            found.append(TableCell(text, enclosing(inked)) if text and inked else None)
            taken += members
        cells.append(tuple(found))
    table = PageTable(trimmed(PageTable(tuple(cells))).rows)
    if len(table.rows) < 2 or len(table.rows[0]) < 2:
        return None
    box = enclosing(cell.box for row in table.rows for cell in row if cell is not None)
    size = sorted(c.size for c in taken)[len(taken) // 2]
    return RuledTable(TextLine.of_table(table, box, min(c.v for c in taken), size), taken)
