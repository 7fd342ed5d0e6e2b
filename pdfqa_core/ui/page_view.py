"""The image of a page with boxes drawn on it: its blocks, a passage's lines, a quote's words."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple

from pdfqa_core.extraction.raw_page import HIDDEN, IS_EMPTY, IS_PICTURE, OCR_FOUND_NOTHING
from pdfqa_core.languages import ENGLISH, snowball_stem
from pdfqa_core.services import Claim, PageView, Services
from pdfqa_core.services.finding import phrases_of, places
from pdfqa_core.services.pages import ocr_extractor
from pdfqa_core.settings import Settings
from pdfqa_core.text import compared_terms, sentences, terms, words
from pdfqa_core.types import Block, BlockKind, Box, Citation, Page, Passage, Span
from pdfqa_core.ui.components import Click, render

# ----------------------------------------------------------------------------------------------------
# The text of passages as the page shows it: words of the question marked, Markdown tables as tables.
#
# Nothing else of Markdown is read: links, images and HTML in a document stay the characters that they are. A card
# that is folded begins with the place that matters: the quoted sentence or row, else the one that holds most words
# of the question; what stands before it is its `lead`, shown when the card is opened. Of a table it shows the header
# with the quoted row, else with all rows that hold most words of the question.

Marked = tuple[tuple[str, bool], ...]  # a text in runs, each with whether it is marked

_ROW = re.compile(r"\s*\|.*\|\s*")
_RULE = re.compile(r"\s*\|(?:\s*:?-{3,}:?\s*\|)+\s*")
_BAR = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table; `best`: one that a folded card shows; `quoted`: an answer cites it."""

    cells: tuple[Marked, ...]
    best: bool = False
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class PassagePart:
    """A stretch of a passage: `text`, or a table with its `header` (empty: none) and `rows`.

    `lead`: it stands before the place that matters; `quoted`: an answer cites it.
    """

    text: Marked = ()
    header: tuple[Marked, ...] = ()
    rows: tuple[TableRow, ...] = ()
    lead: bool = False
    quoted: bool = False

    @property
    def is_table(self) -> bool:
        """Whether it is a table."""
        return bool(self.header or self.rows)


def marked_words(text: str, question: str, language: str = ENGLISH) -> Marked:
    """Return the text in runs, each with whether it is a content word of the question."""
    wanted = set(compared_terms(question, language))
    parts: list[tuple[str, bool]] = []
    last = 0
    for start, end in words(text):
        if wanted.intersection(_compared(text[start:end], language)):
            if start > last:
                parts.append((text[last:start], False))
            parts.append((text[start:end], True))
            last = end
    if last < len(text):
        parts.append((text[last:], False))
    return tuple(parts)


def passage_parts(
    text: str, question: str, quote: str = "", language: str = ENGLISH, *, marked: bool = True
) -> tuple[PassagePart, ...]:
    """Return a passage's text with the question's words and the quote marked and its Markdown tables taken apart.

    `marked` False: the quote says which row or sentence matters, and is not marked itself.
    """
    blocks = list(_blocks(text))
    chosen, start, end = _place_in_text(blocks, question, quote, language)
    found: list[PassagePart] = []
    quoted = bool(quote) and marked
    for number, (is_table, block) in enumerate(blocks):
        if is_table:
            here = (start, end) if number == chosen and quote else (0, 0)
            found.append(_table(block, question, here, language, quoted=quoted))
        elif number == chosen:
            found += _words_around(block, start, end, question, language, quoted=quoted)
        else:
            found.append(PassagePart(marked_words(block, question, language)))
        if number < chosen:
            found[-1] = replace(found[-1], lead=True)
    return tuple(found)


def _blocks(text: str) -> Iterator[tuple[bool, str]]:
    """Yield the tables and what stands between them, without blank lines around it."""
    for in_table, group in groupby(text.splitlines(), key=lambda line: _ROW.fullmatch(line) is not None):
        if block := "\n".join(group).strip("\n"):
            yield in_table, block


def _compared(word: str, language: str) -> list[str]:
    found = terms(word)
    return found if language == ENGLISH else [snowball_stem(language, term) for term in found]


def _place_in_text(
    blocks: Sequence[tuple[bool, str]], question: str, quote: str, language: str
) -> tuple[int, int, int]:
    """Return the block that matters and its part (start, end) that does: the quote, else what answers best."""
    first = next((line for line in quote.splitlines() if line.strip()), "") if quote else ""
    if first:
        for number, (_, block) in enumerate(blocks):
            at = block.find(first)
            if at >= 0:
                end = at + len(quote)
                return number, at, end if block[at:end] == quote else at + len(first)
    wanted = set(compared_terms(question, language))
    best, found = 0, (0, 0, 0)
    for number, (is_table, block) in enumerate(blocks):
        parts = _rows(block) if is_table else sentences(block, language)
        for start, end in parts:
            shared = len(wanted.intersection(_compared(block[start:end], language)))
            if shared > best:
                best, found = shared, (number, start, end)
    return found


def _rows(table: str) -> list[tuple[int, int]]:
    """Return (start, end) of each row below the header."""
    lines = list(re.finditer(r".+", table))
    has_header = len(lines) > 1 and _RULE.fullmatch(lines[1][0]) is not None
    return [line.span() for line in lines[2 if has_header else 0 :]]


def _words_around(
    block: str, start: int, end: int, question: str, language: str, quoted: bool
) -> Iterator[PassagePart]:
    if before := block[:start]:
        yield PassagePart(marked_words(before, question, language), lead=True)
    if part := block[start:end]:
        yield PassagePart(marked_words(part, question, language), quoted=quoted)
    if after := block[end:]:
        yield PassagePart(marked_words(after, question, language))


def _table(block: str, question: str, part: tuple[int, int], language: str, quoted: bool) -> PassagePart:
    lines = [(m[0], m.start()) for m in re.finditer(r".+", block)]
    has_header = len(lines) > 1 and _RULE.fullmatch(lines[1][0]) is not None
    rows = [
        TableRow(_cells(line, question, language), part[0] <= at < part[1], quoted and part[0] <= at < part[1])
        for line, at in lines
        if not _RULE.fullmatch(line)
    ]
    header = rows[0].cells if has_header and rows else ()
    body = rows[1:] if header else rows
    if body and not any(row.best for row in body):
        wanted = set(compared_terms(question, language))
        shared = [len(wanted.intersection(_compared(_plain(row), language))) for row in body]
        best = [place for place, count in enumerate(shared) if count == max(shared)] if any(shared) else [0]
        body = [replace(row, best=place in best) for place, row in enumerate(body)]
    return PassagePart(header=header, rows=tuple(body))


def _plain(row: TableRow) -> str:
    return " ".join(text for cell in row.cells for text, _ in cell)


def _cells(line: str, question: str, language: str) -> tuple[Marked, ...]:
    cells = _BAR.split(line.strip())[1:-1]
    return tuple(marked_words(cell.strip().replace("\\|", "|"), question, language) for cell in cells)


# ----------------------------------------------------------------------------------------------------
# The image of a page with boxes drawn on it: its blocks, a passage's lines, a quote's words.

NOT_FOUND = "The passage could not be found on this page, so nothing is marked."
QUOTE_NOT_FOUND = "The quoted words could not be found in the passage, so the whole passage is marked."
GONE = "This page cannot be shown: {} was removed. Add the file again to see it."
WIDTH = 1400  # pixels of an image that fits the width of a column
WIDEST = 4000

# What the legend says of each kind of block, in its order.
KINDS: Mapping[BlockKind, str] = {
    BlockKind.HEADING: "names the passages below it",
    BlockKind.TEXT: "a paragraph",
    BlockKind.LIST: "an item of a list",
    BlockKind.TABLE: "its cells keep their rows and columns",
    BlockKind.CAPTION: "of a figure or table",
    BlockKind.FOOTNOTE: "kept apart from the text above it",
    BlockKind.HEADER: "repeated at the top of pages, left out of passages",
    BlockKind.FOOTER: "repeated at the foot of pages, left out of passages",
    BlockKind.HIDDEN: "not visible on the page, left out of passages and prompts",
}


@dataclass(frozen=True, slots=True)
class PageBox:
    """A rectangle in percent of the page with the CSS class it is drawn with and what it says under the pointer."""

    kind: str
    left: float
    top: float
    width: float
    height: float
    title: str = ""


def _percent(box: Box, page: Page, kind: str, title: str = "") -> PageBox:
    return PageBox(
        kind,
        round(100 * box.x0 / page.width, 3),
        round(100 * box.top / page.height, 3),
        round(100 * (box.x1 - box.x0) / page.width, 3),
        round(100 * (box.bottom - box.top) / page.height, 3),
        title,
    )


def _boxes(page: Page, spans: Sequence[Span], kind: str) -> list[PageBox]:
    here = [span for span in spans if span.document_id == page.document_id and span.page == page.number]
    return [_percent(box, page, kind) for span in here for box in page.boxes(span.start, span.end)]


def _around(boxes: Sequence[Box]) -> Box:
    return Box(
        min(b.x0 for b in boxes), min(b.top for b in boxes), max(b.x1 for b in boxes), max(b.bottom for b in boxes)
    )


def _parts(page: Page, block: Block) -> Iterator[Box]:
    """Yield the rectangles of a block: one, or one for each column that its lines run through."""
    run: list[Box] = []
    for box in page.boxes(block.start, block.end):
        if run and block.kind is not BlockKind.TABLE and box.bottom <= run[-1].top:
            yield _around(run)
            run = []
        run.append(box)
    if run:
        yield _around(run)


def block_boxes(page: Page) -> list[PageBox]:
    """Return the rectangles of a page's blocks, and within tables those of their cells."""
    found = []
    for block in page.blocks:
        title = f"{block.kind}: {KINDS[block.kind]}"
        found += [_percent(box, page, f"region {block.kind}", title) for box in _parts(page, block)]
        if block.kind is BlockKind.TABLE:
            found += [_percent(box, page, "cell") for box in page.boxes(block.start, block.end)]
    return found


def hidden_texts(page: Page) -> list[tuple[str, str]]:
    """Return the words of a page that its reader does not see, each with where they are."""
    found = []
    for block in page.blocks:
        if block.kind is BlockKind.HIDDEN:
            boxes = page.boxes(block.start, block.end)
            place = _place(_around(boxes), page) if boxes else "without a place"
            found.append((page.text[block.start : block.end], place))
    return found


def _place(box: Box, page: Page) -> str:
    if box.x1 <= box.x0 or box.bottom <= box.top:
        return "beyond the edge of the page"
    down, across = (box.top + box.bottom) / 2 / page.height, (box.x0 + box.x1) / 2 / page.width
    row = "at the top" if down < 1 / 3 else "in the middle" if down < 2 / 3 else "at the bottom"
    column = "left" if across < 1 / 3 else "" if across < 2 / 3 else "right"
    return f"{row}, {column}" if column else row


def told(page: Page) -> tuple[list[str], list[str]]:
    """Return the warnings of a page that somebody can do something about, and those that only explain its text.

    Not those of hidden text: they stand where that is shown.
    """
    aside = [one for one in page.warnings if one.endswith((IS_EMPTY, OCR_FOUND_NOTHING))]
    return [one for one in page.warnings if one not in aside and HIDDEN not in one], aside


def main_page(passage: Passage) -> int:
    """Return the 1-based number of the page that holds most of the passage."""
    lengths: dict[int, int] = {}
    for span in passage.spans:
        lengths[span.page] = lengths.get(span.page, 0) + span.end - span.start
    return max(lengths, key=lambda number: lengths[number])


class ShownPage(NamedTuple):
    """The page view, and whether its image needs the document's password."""

    html: str
    locked: bool = False


def show_page(
    services: Services,
    owner: str,
    document_id: str,
    number: int,
    *,
    settings: Settings | None = None,
    passage: Passage | None = None,
    quote: Citation | None = None,
    marks: Sequence[Span] = (),
    request: Click | None = None,
    compare: bool = False,
    filename: str = "",
    find: str = "",
) -> ShownPage:
    """Return the page view of page `number` with a passage's lines and, stronger, a quote's words drawn on it.

    They are drawn only where their text stands on the page; `marks` are drawn as they are, and the words to `find`
    wherever they stand on it. `request` is what the view
    itself asked for, by its buttons: a page, a reading, the width of the image. With `compare` the view offers the
    other readings of the document. `filename` is what a document was called that may have been removed since: the view
    then says so. Without it, raises PdfQAError if the document is not the owner's.
    """
    if filename and not services.documents.still_there(owner, (document_id,)):
        return ShownPage(empty_page(GONE.format(filename.removesuffix(" (removed)"))))
    request = request or Click()
    passage_claims = [Claim(span, passage.text) for span in passage.spans] if passage else []
    quote_claims = [Claim(quote.span, quote.quote)] if quote else []
    view = services.documents.pages.view(
        owner,
        document_id,
        request.number("number", number),
        width=min(WIDEST, max(WIDTH, request.number("width"))),
        reading=request.get("reading", ""),
        settings=settings,
        claims=(*passage_claims, *quote_claims),
    )
    page, other_reading = view.page, view.reading.extractor != view.document.extractor
    notes, aside = told(page)
    mend = compare and not other_reading and page.source == "text" and bool(ocr_extractor())
    quoted = [claim.span for claim in quote_claims if claim in view.found]
    drawn = _boxes(page, [*marks, *(c.span for c in passage_claims if c in view.found)], "mark")
    drawn += _boxes(page, quoted, "quote")
    found = [Span(document_id, page.number, *place) for place in places(page.text, phrases_of(find))]
    drawn += _boxes(page, found, "mark")
    kinds = {block.kind for block in page.blocks}
    html = render(
        "page_view",
        view=view,
        page=page,
        image=base64.b64encode(view.image).decode(),
        document_id=document_id,
        message=view.message or _not_found(view, passage_claims, quote_claims, bool(drawn), bool(quoted)),
        asked=request.get("reading", ""),
        passage_id=passage.id if passage else "",
        pages=passage.pages if passage and len(passage.pages) > 1 else (),
        readings=[reading.extractor for reading in view.readings] if compare and len(view.readings) > 1 else [],
        elsewhere=other_reading and not compare and passage is not None,
        hidden=hidden_texts(page),
        marks=drawn,
        notes=notes,
        aside=aside,
        why_hidden=" ".join(one for one in page.warnings if HIDDEN in one),
        mend=mend,
        is_picture=any(one.endswith(IS_PICTURE) for one in notes),
        regions=block_boxes(page),
        legend=[(f"{kind}", words) for kind, words in KINDS.items() if kind in kinds],
    )
    return ShownPage(html, view.locked)


def _not_found(
    view: PageView, passage_claims: Sequence[Claim], quote_claims: Sequence[Claim], drawn: bool, quoted: bool
) -> str:
    """Return what to say where something that is said to stand on this page could not be drawn."""

    def here(claims: Sequence[Claim]) -> bool:
        return any(claim.span.page == view.page.number for claim in claims)

    if (here(passage_claims) or here(quote_claims)) and not drawn:
        return NOT_FOUND
    return QUOTE_NOT_FOUND if here(quote_claims) and not quoted else ""


def empty_page(message: str) -> str:
    """Return the page view's place with a sentence that says what to do."""
    return render("page_view", image="", message=message)
