"""Extractor `pdfplumber`: the text layer as the library pdfplumber reads it, to compare with `direct`.

The lines, their order (top to bottom over the whole width of the page: columns side by side are read across) and the
tables (those with ruled lines) are pdfplumber's own; running headers, paragraphs, headings and hyphens are found as for
the other extractors. What a person cannot see is found through PDFium as for `direct`, since pdfplumber knows no text
render modes; hidden text that the two libraries place more than half a point apart stays undetected. PDFium also says
which part of a page is shown. Opens PDFs: call this in a child process (`extraction.process.worker`).
"""

from __future__ import annotations

import itertools
import re
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any, ClassVar

from pdfqa_core.errors import DocumentError
from pdfqa_core.extraction.base import ExtractionOptions, extractors
from pdfqa_core.extraction.raw_page import ASCENT, DESCENT, PageFacts, PageTable, RawPage, TableCell, TextLine
from pdfqa_core.extraction.text.normalise import character, compose, right_to_left
from pdfqa_core.extraction.whole import read_whole
from pdfqa_core.types import Box, DocumentState, Page

_WORD_GAP = 0.2  # of the font size; the fixed 3 points of pdfplumber run the words of small print together
_CELL_GAP = 1.6  # of the font size
_SAME_PLACE = 0.5  # points, for baselines
_TINY = 1.0  # points
_MAX_EDGES = 20_000  # of a drawing; the tables among more are not looked for, it would take minutes
_UNKNOWN = re.compile(r"\(cid:\d+\)")  # pdfminer's text of a glyph that stands for no known character
_MANY_UNKNOWN = 0.1  # of the characters of a page
_FALLBACK_SIZE = (612.0, 792.0)
# Along and across the lines of text that is turned by 0 to 3 quarters, in pdfplumber's names.
_DIRECTIONS = (("ltr", "ttb"), ("ttb", "rtl"), ("rtl", "btt"), ("btt", "ltr"))

_ODD_FAULTS = (  # what pdfminer is known to raise on damaged files besides its own errors
    ArithmeticError,
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
)


@extractors.register("pdfplumber")
class PdfplumberExtractor:
    """Reads born-digital PDFs through pdfplumber, in its own reading order and with its own tables."""

    def __init__(self, options: ExtractionOptions | None = None) -> None:
        self.options = options or ExtractionOptions()

    def extract(self, path: Path, document_id: str, *, password: str | None = None) -> Iterator[Page]:
        """Yield the pages of the PDF in order. Raises a `DocumentError` with the state it ends in."""
        return read_whole(PdfplumberReader(tables=self.options.tables), path, document_id, password, self.options)


@dataclass(frozen=True, slots=True)
class PdfplumberReader:
    """The lines of single pages as pdfplumber finds them (a `PageReader`)."""

    heavy: ClassVar[bool] = True
    tables: bool = True

    def read(
        self, path: Path, document_id: str, numbers: Sequence[int], password: str | None, name: str
    ) -> Iterator[RawPage]:
        """Yield the pages with these 1-based numbers, in their order."""
        from pdfqa_core.extraction.open import open_document

        wanted = set(numbers)
        last = max(wanted, default=0)
        found: dict[int, RawPage] = {}
        order = iter(numbers)
        following = next(order, None)
        with open_document(path, password, name) as shown, path.open("rb") as file:
            for number, source in enumerate(_sources(file, password, name), 1):
                if number in wanted:
                    found[number] = _read_page(source, shown.raw, document_id, number, self.tables)
                while following is not None and following in found:
                    yield found.pop(following)
                    following = next(order, None)
                if number >= last:
                    break
        while following is not None:
            page = found.pop(following, None)
            yield _damaged(document_id, following) if page is None else page
            following = next(order, None)


def _faults() -> tuple[type[Exception], ...]:
    from pdfminer.psexceptions import PSException
    from pdfplumber.utils.exceptions import MalformedPDFException, PdfminerException

    return (PSException, PdfminerException, MalformedPDFException, *_ODD_FAULTS)


def _cause(error: Exception) -> object:
    """Return the error that pdfplumber wrapped, or the error itself. Raises MemoryError where it is one."""
    cause = error.args[0] if error.args and isinstance(error.args[0], Exception) else error
    if isinstance(cause, MemoryError):
        raise cause
    return cause


@dataclass(slots=True)
class _Source:
    """A page that was not looked at yet: pdfplumber's document and pdfminer's page."""

    document: Any
    page: Any


def _sources(file: Any, password: str | None, name: str) -> Iterator[_Source]:
    """Yield the pages of an open file; ends where the page tree breaks off. Raises a DocumentError if none opens.

    pdfplumber's own list of pages is all or nothing: one page without a size would hide the others.
    """
    import pdfplumber
    from pdfminer.pdfdocument import PDFEncryptionError
    from pdfminer.pdfpage import PDFPage

    try:
        document = pdfplumber.open(file, password=password or None)
    except _faults() as error:
        if isinstance(_cause(error), PDFEncryptionError):
            raise DocumentError(
                DocumentState.ENCRYPTED,
                f"{name} is protected in a way that pdfplumber cannot open.",
                "Read it with the extractor direct.",
            ) from error
        raise DocumentError(
            DocumentState.BROKEN,
            f"{name} is damaged: pdfplumber cannot find its pages.",
            "Read it with the extractor direct, or print it to a new PDF in a PDF viewer.",
        ) from error
    pages = PDFPage.create_pages(document.doc)
    while True:
        try:
            page = next(pages, None)
        except _faults() as error:
            _cause(error)
            return
        if page is None:
            return
        yield _Source(document, page)


def _upright(box: Sequence[float]) -> tuple[float, float, float, float]:
    """Return a box of PDF user space with its lower left corner first, which pdfminer does not see to."""
    x0, y0, x1, y1 = map(float, box)
    return (min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1))


def _damaged(document_id: str, number: int, label: str = "") -> RawPage:
    warning = f"Page {number} is damaged and could not be read."
    return RawPage(PageFacts(document_id, number, label or str(number), *_FALLBACK_SIZE, (warning,)), [])


def _read_page(source: _Source, shown: Any, document_id: str, number: int, tables: bool) -> RawPage:
    """Return the lines of a page; `shown` is the same document as PDFium has it (a raw FPDF_DOCUMENT)."""
    from pdfplumber.page import Page as LibraryPage

    label = source.page.label
    label = label.strip() if isinstance(label, str) and label.strip() and label.isprintable() else str(number)
    try:
        source.page.mediabox = _upright(source.page.mediabox)
        source.page.attrs["MediaBox"] = source.page.mediabox  # pdfminer's has a default, pdfplumber's has not
        page = LibraryPage(source.document, source.page, number)
    except _faults() as error:
        _cause(error)
        return _damaged(document_id, number, label)
    try:
        sheet = _Sheet.of(page, shown, number)
        return _page_lines(page, sheet, PageFacts(document_id, number, label, sheet.width, sheet.height), tables)
    except _faults() as error:
        _cause(error)
        return _damaged(document_id, number, label)
    finally:
        page.close()  # what was read of it stays in memory otherwise


@dataclass(slots=True)
class _Sheet:
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
    def of(cls, page: Any, shown: Any, number: int) -> _Sheet:
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
        import pypdfium2.raw as pdfium

        from pdfqa_core.extraction.hidden.find_hidden import find_hidden
        from pdfqa_core.extraction.text.glyphs import read_glyphs

        text_page = pdfium.FPDFText_LoadPage(handle)
        if not text_page:
            return
        try:
            glyphs = read_glyphs(handle, text_page)
            flags, self.reasons = find_hidden(handle, glyphs)
        finally:
            pdfium.FPDFText_ClosePage(text_page)
        for i in np.flatnonzero(flags):
            x0, top, x1, bottom = glyphs.boxes[i].tolist()
            odd = int(glyphs.turn[i]) % 2
            baseline = float(glyphs.x[i] if odd else glyphs.y[i])
            middle = (top + bottom) / 2 if odd else (x0 + x1) / 2
            self.hidden.setdefault((odd, round(baseline)), []).append((baseline, middle))

    def hides(self, box: Box, turn: int, baseline: float) -> bool:
        """Return whether a character (its box, its turn in quarters, its baseline's place) is a hidden glyph."""
        if not self.hidden:
            return False
        begin, end = (box.top, box.bottom) if turn % 2 else (box.x0, box.x1)
        return any(
            abs(place - baseline) < _SAME_PLACE and begin <= middle <= end
            for step in (-1, 0, 1)
            for place, middle in self.hidden.get((turn % 2, round(baseline) + step), ())
        )


@dataclass(slots=True)
class _Char:
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


def _measure(raw: dict[str, Any], page: Any, sheet: _Sheet) -> _Char:
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
    hidden = hidden or size < _TINY or sheet.hides(box, turn, y if level else x)
    u0, u1, v = (
        (box.x0, box.x1, y),
        (box.top, box.bottom, sheet.width - x),
        (sheet.width - box.x1, sheet.width - box.x0, sheet.height - y),
        (sheet.height - box.bottom, sheet.height - box.top, x),
    )[turn]
    return _Char(raw, turn, max(size, 0.0), box, u0, u1, v, hidden)


def _page_lines(page: Any, sheet: _Sheet, facts: PageFacts, tables: bool) -> RawPage:
    """Return the lines of a page: level ones and tables from top to bottom, then turned text, then hidden text."""
    known = [raw for raw in page.chars if not _UNKNOWN.fullmatch(raw["text"])]
    chars = [_measure(raw, page, sheet) for raw in known]
    ruled = _find_tables(page, chars, sheet) if tables else []
    inside = {id(char) for table in ruled for char in table.chars}
    lines: list[TextLine] = []
    region = 0
    for hidden in (False, True):
        for turn in range(4):
            chosen = [c for c in chars if c.hidden == hidden and c.turn == turn and id(c) not in inside]
            found = _find_lines(chosen, turn)
            for line in found:
                line.hidden, line.region = hidden, region
            lines += _with_tables(found, ruled) if region == 0 else found
            region += 1
    warnings = _warnings(facts.number, page, sheet, chars, lines, len(page.chars) - len(known))
    return RawPage(replace(facts, warnings=warnings), lines)


def _with_tables(lines: Sequence[TextLine], ruled: Sequence[_RuledTable]) -> list[TextLine]:
    """Return lines with each table put before the first line that begins below its first row."""
    found = list(lines)
    for table in ruled:
        below = (i for i, line in enumerate(found) if line.baseline > table.line.baseline)
        found.insert(next(below, len(found)), table.line)
    return found


def _warnings(
    number: int, page: Any, sheet: _Sheet, chars: Sequence[_Char], lines: Iterable[TextLine], unknown: int
) -> tuple[str, ...]:
    from pdfqa_core.extraction.hidden.find_hidden import REASONS

    reasons = sheet.reasons
    hidden = [c for c in chars if c.hidden and not c.blank]
    if hidden and not reasons:  # PDFium leaves out some of what is off the page
        reasons = (REASONS["tiny" if any(c.size < _TINY for c in hidden) else "outside"],)
    found = []
    if reasons:
        found.append(f"Page {number} has hidden text, which is left out of answers: {', '.join(reasons)}.")
    if unknown > _MANY_UNKNOWN * (unknown + sum(not c.blank for c in chars)):
        found.append(f"Page {number} has {unknown:,} characters whose font does not say which letters they are.")
    if all(line.hidden for line in lines):
        found.append(f"Page {number} has no text" + (": it is a picture." if page.objects else ": it is empty."))
    return tuple(found)


# ------------------------------------------------------------------ lines


def _find_lines(chars: Sequence[_Char], turn: int) -> list[TextLine]:
    """Return pdfplumber's lines of characters that are all turned by `turn` quarters."""
    if not chars:
        return []
    measured = {id(c.raw): c for c in chars}
    found = []
    for line in _text_map(chars, _DIRECTIONS[turn]).extract_text_lines(return_chars=True):
        members = [measured[key] for key in dict.fromkeys(map(id, line["chars"]))]
        first = {id(raw) for raw in line["chars"][: len(line["text"].split()[0])]}
        text = line["text"]
        if right_to_left(text):
            text = _leftward_text(members, turn)
        text = _plain(text)
        if text:
            found.append(_text_line(text, members, len(first), turn))
    return found


def _text_map(chars: Iterable[_Char], directions: tuple[str, str]) -> Any:
    """Return pdfplumber's map of characters to text; the directions are along and across the lines."""
    from pdfplumber.utils.text import chars_to_textmap

    along, across = directions
    return chars_to_textmap(
        [c.raw for c in chars],
        x_tolerance_ratio=_WORD_GAP,
        char_dir=along,
        line_dir=across,
        char_dir_rotated=along,
        line_dir_rotated=across,
        char_dir_render="ltr",
        line_dir_render="ttb",
    )


def _leftward_text(members: Sequence[_Char], turn: int) -> str:
    """Return the text of a line that is read from right to left, but for its numbers and Latin words."""
    along, across = _DIRECTIONS[turn]
    rightward = _text_map(members, (along, across)).as_string.split()[::-1]
    leftward = _text_map(members, (_DIRECTIONS[(turn + 2) % 4][0], across)).as_string.split()
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


def _plain(text: str) -> str:
    """Return text as people search for it, on one line."""
    return compose(" ".join("".join(character(ord(c)) for c in text).split()))


def _text_line(text: str, members: Sequence[_Char], first_word: int, turn: int) -> TextLine:
    """Return the line that characters in reading order make; the first word is made of the first `first_word`."""
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
        bold=sum(_bold(c.raw) for c in members) > 0.8 * len(members),
        cells=1 + sum(gap > _CELL_GAP * size for gap in gaps),
        first_word=max(c.u1 for c in start) - min(c.u0 for c in start),
        turn=turn,
    )


def _bold(raw: dict[str, Any]) -> bool:
    from pdfqa_core.extraction.text.glyphs import BOLD_NAME

    return BOLD_NAME.search(str(raw["fontname"])) is not None


# ------------------------------------------------------------------ tables


@dataclass(slots=True)
class _RuledTable:
    """A table as a line that stands for it, and the characters in its cells."""

    line: TextLine
    chars: list[_Char]


def _find_tables(page: Any, chars: Sequence[_Char], sheet: _Sheet) -> list[_RuledTable]:
    """Return pdfplumber's tables with the visible, level text in their cells; a box around text is no table."""
    if not 8 <= len(page.edges) <= _MAX_EDGES:
        return []
    free = [c for c in chars if not c.hidden and c.turn == 0]
    found = []
    for table in page.find_tables():
        entry = _ruled_table([row.cells for row in table.rows], _within(free, table.bbox), sheet)
        if entry is not None:
            taken = {id(c) for c in entry.chars}
            free = [c for c in free if id(c) not in taken]
            found.append(entry)
    return found


def _within(chars: Iterable[_Char], box: Sequence[float]) -> list[_Char]:
    """Return the characters with their middle in `box` (in pdfplumber's coordinates)."""
    x0, top, x1, bottom = box
    return [
        c
        for c in chars
        if x0 <= (c.raw["x0"] + c.raw["x1"]) / 2 < x1 and top <= (c.raw["top"] + c.raw["bottom"]) / 2 < bottom
    ]


def _ruled_table(
    rows: Sequence[Sequence[Sequence[float] | None]], chars: list[_Char], sheet: _Sheet
) -> _RuledTable | None:
    from pdfplumber.utils.text import extract_text

    taken: list[_Char] = []
    cells: list[tuple[TableCell | None, ...]] = []
    for row in rows:
        boxes = [box for box in row if box is not None]
        reach = (min(b[0] for b in boxes), min(b[1] for b in boxes), max(b[2] for b in boxes), max(b[3] for b in boxes))
        near = _within(chars, reach)
        found: list[TableCell | None] = []
        for box in row:
            members = _within(near, box) if box is not None else []
            text = _plain(extract_text([c.raw for c in members], x_tolerance_ratio=_WORD_GAP)) if members else ""
            inked = [c.box for c in members if not c.blank]
            found.append(TableCell(text, _around(inked)) if text and inked else None)
            taken += members
        cells.append(tuple(found))
    cells = [row for row in cells if any(row)]
    filled = [column for column in zip(*cells, strict=True) if any(column)]
    if len(cells) < 2 or len(filled) < 2:
        return None
    cells = list(zip(*filled, strict=True))
    around = _around([cell.box for row in cells for cell in row if cell is not None])
    sizes = sorted(c.size for c in taken)
    first = min(c.v for c in taken)
    line = TextLine(
        "", around.x0, around.x1, around.top, around.bottom, first, sizes[len(sizes) // 2], False, 1, 0.0,
        table=PageTable(tuple(cells)),
    )  # fmt: skip
    return _RuledTable(line, taken)


def _around(boxes: Sequence[Box]) -> Box:
    return Box(
        min(b.x0 for b in boxes), min(b.top for b in boxes), max(b.x1 for b in boxes), max(b.bottom for b in boxes)
    )
