"""Tables as passages: the lines that name it, its header, its rows. Where it is too long it is split between rows.

A table stands in a page's text as Markdown (a row of names, a row of dashes, the rows). Every part of a split table
begins with the names of the columns, and with the rows that label the part's first row ("Net sales:").
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pdfqa_core.languages import ENGLISH
from pdfqa_core.text import JOINER, ROW_JOINER, sentences, words
from pdfqa_core.types import READABLE, Block, BlockKind, Page, Passage, Span, passage_id

_LINE = re.compile(r"[^\n]+")
_DASHES = re.compile(r"\|(?: --- \|)+")
_CELL_BORDER = re.compile(r"(?<!\\)\|")
_SIGNS = frozenset({"|", "---"})
_FIGURE = re.compile(r"(?:figure|fig\.|abbildung|abb\.|chart|listing)\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?;][\"'”’»)\]]*$")
_TITLES = 3  # blocks above a table that may name it
_TITLE_WORDS = 45  # of all of them
_INDENT = 1.0  # points: a row that begins farther right belongs to the label above it

Measure = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class TableUnit:
    """A table of a page: characters of the page's text (start, end) of its titles, header and rows.

    `labels` holds for each row the numbers of the rows without values that it stands under.
    """

    page: Page
    start: int
    end: int
    titles: tuple[tuple[int, int], ...]
    header: tuple[int, int]
    rows: tuple[tuple[int, int], ...]
    labels: tuple[tuple[int, ...], ...]
    bare: tuple[bool, ...]  # rows without values


def is_table(page: Page, block: Block) -> bool:
    """Return whether a block holds a table in Markdown (others of its kind are lines of text)."""
    if block.kind is not BlockKind.TABLE or not page.text.startswith("|", block.start):
        return False
    end = page.text.find("\n", block.start, block.end)
    return end >= 0 and _DASHES.match(page.text, end + 1, block.end) is not None


def captions_of(page: Page) -> dict[int, Block]:
    """Return the caption of each table of a page by the table's start: right above it, else right below."""
    blocks = sorted((b for b in page.blocks if b.kind in READABLE), key=lambda b: b.start)
    found: dict[int, Block] = {}
    taken: set[int] = set()
    for number, block in enumerate(blocks):
        if not is_table(page, block):
            continue
        for near in (number - 1, number + 1):
            if not 0 <= near < len(blocks) or near in taken or blocks[near].kind is not BlockKind.CAPTION:
                continue
            if not _FIGURE.match(page.text, blocks[near].start):
                found[block.start] = blocks[near]
                taken.add(near)
                break
    return found


def find_tables(pages: Sequence[Page], language: str = ENGLISH) -> list[TableUnit]:
    """Return the tables of all pages in order."""
    found = []
    for page in pages:
        if not any(is_table(page, block) for block in page.blocks):
            continue
        captions = captions_of(page)
        blocks = sorted((b for b in page.blocks if b.kind in READABLE), key=lambda b: b.start)
        for number, block in enumerate(blocks):
            if is_table(page, block):
                caption = captions.get(block.start)
                titles = [(caption.start, caption.end)] if caption else _titles(page, blocks[:number], language)
                found.append(_unit(page, block, tuple(titles)))
    return found


def _titles(page: Page, above: Sequence[Block], language: str) -> list[tuple[int, int]]:
    """Return the headings and short lines right above a table, and the sentence that announces it."""
    found: list[tuple[int, int]] = []
    left = _TITLE_WORDS
    for block in reversed(above[-_TITLES:]):
        start, end = block.start, block.end
        text = page.text[start:end]
        if block.kind not in (BlockKind.HEADING, BlockKind.TEXT, BlockKind.LIST):
            break
        announces = text.endswith(":") and not found
        if announces:
            start += sentences(text, language)[-1][0]
        length = len(words(page.text[start:end]))
        if length > left or (not announces and block.kind is not BlockKind.HEADING and _SENTENCE_END.search(text)):
            break
        found.insert(0, (start, end))
        left -= length
        if start > block.start or block.kind is BlockKind.LIST:
            break
    return found


def _unit(page: Page, block: Block, titles: tuple[tuple[int, int], ...]) -> TableUnit:
    lines = [match.span() for match in _LINE.finditer(page.text, block.start, block.end)]
    rows = tuple(lines[2:])
    cells = [_CELL_BORDER.split(page.text[start:end])[1:-1] for start, end in rows]
    bare = tuple(bool(row and row[0].strip()) and not any(cell.strip() for cell in row[1:]) for row in cells)
    return TableUnit(
        page, block.start, block.end, titles, (lines[0][0], lines[1][1]), rows, _labels(page, rows, bare), bare
    )


def _labels(page: Page, rows: Sequence[tuple[int, int]], bare: Sequence[bool]) -> tuple[tuple[int, ...], ...]:
    """Return for each row the rows without values that it stands under, by their indentation on the page."""
    starts = [line.start for line in page.lines]
    places: list[float] = []
    for start, end in rows:
        index = bisect_left(starts, start)
        places.append(page.lines[index].box.x0 if index < len(starts) and starts[index] < end else 0.0)
    found: list[tuple[int, ...]] = []
    stack: list[int] = []
    for row, place in enumerate(places):
        while stack:
            label = stack[-1]
            indented = places[label + 1] > places[label] + _INDENT
            if place > places[label] + _INDENT or (not bare[row] and not indented):
                break
            stack.pop()
        found.append(tuple(stack))
        if bare[row] and row + 1 < len(rows):
            stack.append(row)
    return tuple(found)


# ------------------------------------------------------------------ passages


def word_count(text: str) -> int:
    """Return how many words a text has; the signs of Markdown are none."""
    return sum(text[start:end] not in _SIGNS for start, end in words(text))


def table_passages(unit: TableUnit, recipe: str, longest: int, measure: Measure) -> list[Passage]:
    """Return the passages of a table, of at most `longest` each where its header leaves half of that for rows."""
    text = unit.page.text
    titles = list(unit.titles)
    names = measure(text[slice(*unit.header)])
    lengths = [measure(text[start:end]) for start, end in unit.rows]
    heads = [measure(text[start:end]) for start, end in titles]
    if sum(heads) + names + sum(lengths) <= longest:
        return [_passage(unit, recipe, titles, [(unit.start, unit.end)])]
    while titles and sum(heads) + names > longest // 2:
        titles, heads = titles[1:], heads[1:]  # the nearest says most
    room = max(longest - sum(heads) - names, longest // 2, 1)
    found = []
    for first, last in _parts(unit, lengths, room):
        labels = [unit.rows[label] for label in unit.labels[first]]
        if last - first == 1 and lengths[first] > longest:
            pieces = _cut(text, unit.rows[first], room, measure)
        else:
            pieces = [(unit.rows[first][0], unit.rows[last - 1][1])]
        found += [_passage(unit, recipe, titles, [unit.header, *labels, piece]) for piece in pieces]
    return found


def _parts(unit: TableUnit, lengths: Sequence[int], room: int) -> list[tuple[int, int]]:
    """Return (first, last) row of each part: about equally long, none ends with a label of what follows."""
    aim = sum(lengths) / max(1, -(-sum(lengths) // room))
    found: list[tuple[int, int]] = []
    first = 0
    while first < len(lengths):
        length = sum(lengths[label] for label in unit.labels[first])
        last = first
        while last < len(lengths) and (last == first or (length + lengths[last] <= room and length < aim)):
            length += lengths[last]
            last += 1
        end = last
        while end - 1 > first and last < len(lengths) and unit.bare[end - 1]:
            end -= 1
        if all(unit.bare[first:end]) and last < len(lengths):  # labels alone: with the row below, however long
            end = last
            while end < len(lengths) and all(unit.bare[first:end]):
                end += 1
        found.append((first, end))
        first = end
    return found


def _cut(text: str, row: tuple[int, int], room: int, measure: Measure) -> list[tuple[int, int]]:
    """Return a row that is longer than a passage in pieces, cut between words."""
    start, end = row
    places = [(start + a, start + b) for a, b in words(text[start:end])]
    found: list[tuple[int, int]] = []
    length = 0
    for a, b in places:
        size = measure(text[a:b])
        if found and length + size <= room:
            found[-1] = (found[-1][0], b)
            length += size
        else:
            found.append((a, b))
            length = size
    return found


def _passage(
    unit: TableUnit, recipe: str, titles: Sequence[tuple[int, int]], rows: Sequence[tuple[int, int]]
) -> Passage:
    """Return the passage of titles and pieces of the table; pieces that stand together are one span."""
    text = unit.page.text
    pieces: list[tuple[int, int]] = []
    joiners: list[str] = []
    for number, (start, end) in enumerate([*titles, *rows]):
        if pieces and pieces[-1][1] <= start and not text[pieces[-1][1] : start].strip():
            pieces[-1] = (pieces[-1][0], end)
            continue
        if pieces:
            joiners.append(ROW_JOINER if number > len(titles) else JOINER)
        pieces.append((start, end))
    spans = tuple(Span(unit.page.document_id, unit.page.number, start, end) for start, end in pieces)
    parts = [text[pieces[0][0] : pieces[0][1]]]
    for joiner, (start, end) in zip(joiners, pieces[1:], strict=True):
        parts += [joiner, text[start:end]]
    return Passage(passage_id(recipe, spans), spans, "".join(parts))
