"""Lines to blocks: paragraphs, headings, list items, captions, footnotes, tables. Geometry and marks only."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pdfqa_core.extraction.layout.kinds import (
    BULLET,
    NUMBERED,
    SENTENCE_END,
    BlockDraft,
    contents_entries,
    footnotes,
    gather_figures,
    is_formula,
)
from pdfqa_core.extraction.raw_page import TextLine
from pdfqa_core.types import BlockKind

_CAPTION = re.compile(
    r"^(?:figure|fig\.|table|abbildung|abb\.|tabelle|tab\.|listing|chart|diagram|exhibit|box|algorithm|figura|tabla|"
    r"tableau|schaubild)\s*[A-Z]?\d++(?:[.-]\d++)*+(?P<mark>\s*[.:–—|-]|\s+(?=\S))",
    re.IGNORECASE,
)
# A line that ends so goes on in the next one, whatever that begins with.
_HANGS = re.compile(
    r"(?:,|\b(?:a|an|the|of|in|on|at|to|for|from|by|with|and|or|as|than|that|which|der|die|das|dem|den|des|und|oder|von|"
    r"zu|mit|für|im|am|le|la|les|du|et|ou|el|los|las|il))$"
)
_OPENING = "\"'“‘([¿¡„«"

_HEADING_SIZE = 1.12  # of the body's font size
_HEADING_CHARACTERS, _HEADING_LINES = 200, 4
_ROW_LABELS = 2  # lines without cells that may stand between two rows of a table
_DENSITY = 1.7  # characters to a stretch as wide as the font size; running text has more than 2
_LABEL_WIDTH = 0.7  # of the region's width: how wide those are at most


@dataclass(frozen=True, slots=True)
class BodyStyle:
    """What most of a document's text looks like: font size in points, bold or not, distance of lines over size."""

    size: float
    bold: bool
    leading: float


def body_style(pages: Iterable[Sequence[TextLine]]) -> BodyStyle:
    """Return the style that most characters of a document have."""
    sizes: Counter[tuple[float, bool]] = Counter()
    leadings: Counter[float] = Counter()
    for lines in pages:
        for line in lines:
            sizes[round(line.size * 2) / 2, line.bold] += len(line.text)
        for before, after in itertools.pairwise(lines):
            if leading := _leading(before, after):
                leadings[round(leading, 1)] += len(before.text)
    if not sizes:
        return BodyStyle(10.0, False, 1.2)
    (size, bold), _ = sizes.most_common(1)[0]
    return BodyStyle(size, bold, leadings.most_common(1)[0][0] if leadings else 1.2)


def _usual_size(lines: Sequence[TextLine]) -> float:
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[line.size] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


def _distance(before: TextLine, after: TextLine) -> float:
    return after.baseline - before.baseline


def _leading(before: TextLine, after: TextLine) -> float:
    """Return the distance of two lines that may belong to one paragraph over their font size, 0 if they may not."""
    if before.region != after.region:
        return 0.0
    ratio = _distance(before, after) / max(before.size, 0.1)
    return ratio if 0.8 < ratio < 2.2 and _alike(before, after) else 0.0


def _alike(before: TextLine, after: TextLine) -> bool:
    return abs(before.size - after.size) <= 0.08 * max(before.size, after.size) and before.turn == after.turn


def find_blocks(
    lines: Sequence[TextLine], style: BodyStyle, height: float, named: Mapping[int, tuple[int, int]] | None = None
) -> list[BlockDraft]:
    """Return the blocks that lines in reading order make; `height` is the page's, in points.

    `named` are the headings known from the document's outline: index of the first line -> (number of lines, level).
    """
    named = named or {}
    title_ends = 0
    contents = contents_entries(lines)
    tabular = _table_rows(lines)
    drafts: list[BlockDraft] = []
    regions = _by_region(lines)
    edges = {region: sorted(x.u1 for x in own)[int(0.95 * (len(own) - 1))] for region, own in regions.items()}
    leadings = {region: _usual_leading(own, style) for region, own in regions.items()}
    for index, (line, in_table) in enumerate(zip(lines, tabular, strict=True)):
        if index in named:
            title_ends, level = index + named[index][0], named[index][1]
            drafts.append(BlockDraft([line], BlockKind.HEADING, level, fixed=True))
        elif contents.get(index):
            drafts.append(BlockDraft([line], BlockKind.LIST, fixed=True))
        elif (
            index < title_ends
            or index in contents
            or (line.stack and drafts and _same_stack(drafts[-1], line))
            or (drafts and _continues(drafts[-1], line, in_table, edges[line.region], leadings[line.region]))
        ):
            drafts[-1].lines.append(line)
        else:
            drafts.append(BlockDraft([line], tabular=in_table))
            if BULLET.match(line.text) or NUMBERED.match(line.text):
                drafts[-1].kind = BlockKind.LIST
    smaller = min(style.size, _usual_size(lines))
    for draft in footnotes(drafts, smaller, height):
        draft.kind, draft.fixed = BlockKind.FOOTNOTE, True
    running = [d for d in drafts if d.kind is not BlockKind.FOOTNOTE]
    notes = [d for d in drafts if d.kind is BlockKind.FOOTNOTE]
    drafts = _over_columns(running)
    for draft in drafts:
        if not draft.fixed:
            _classify(draft, style, smaller)
    return gather_figures(drafts) + notes


def _table_rows(lines: Sequence[TextLine]) -> list[bool]:
    """Return which lines are rows of a table: two or more of them in a row with cells, and what stands between."""
    rows = [_is_row(line) for line in lines]
    if not any(rows):
        return rows
    widths = {region: max(x.u1 for x in own) - min(x.u0 for x in own) for region, own in _by_region(lines).items()}

    def near(i: int, j: int) -> bool:
        return (
            0 <= i < len(lines)
            and 0 <= j < len(lines)
            and lines[i].region == lines[j].region
            and 0 < _distance(lines[i], lines[j]) < 2.6 * lines[i].size
        )

    found = [False] * len(lines)
    last = -1  # the row before, while the table may go on
    for i in range(len(lines)):
        if i and not near(i - 1, i):
            last = -1
        elif not rows[i] and lines[i].u1 - lines[i].u0 > _LABEL_WIDTH * widths[lines[i].region]:
            last = -1  # a line of text
        if rows[i]:
            if last >= 0 and i - last <= _ROW_LABELS + 1:
                found[last : i + 1] = [True] * (i + 1 - last)
            last = i
    return found


def _is_row(line: TextLine) -> bool:
    """Return whether a line has cells; the gap behind the mark of an item, and those in a formula, do not count."""
    if line.cells < 2 or line.table is not None or is_formula(line.text):
        return False
    return line.cells > 2 or not (BULLET.match(line.text) or NUMBERED.match(line.text))


def _by_region(lines: Sequence[TextLine]) -> dict[int, list[TextLine]]:
    """Return the lines of each region."""
    found: dict[int, list[TextLine]] = {}
    for line in lines:
        found.setdefault(line.region, []).append(line)
    return found


def _usual_leading(lines: Sequence[TextLine], style: BodyStyle) -> float:
    """Return the usual distance of the lines of a region over their font size."""
    found = sorted(filter(None, itertools.starmap(_leading, itertools.pairwise(lines))))
    return min(found[len(found) // 4], 1.35 * style.leading) if len(found) >= 4 else style.leading


def _same_stack(current: BlockDraft, line: TextLine) -> bool:
    last = current.lines[-1]
    return not current.fixed and last.stack == line.stack and last.region == line.region


def _continues(current: BlockDraft, line: TextLine, in_table: bool, edge: float, leading: float) -> bool:
    """Return whether `line` goes on with the block `current`."""
    last = current.lines[-1]
    if current.fixed or last.region != line.region or last.turn != line.turn or last.hidden != line.hidden:
        return False
    if last.table or line.table or last.kind is not line.kind:
        return False
    distance = _distance(last, line)
    if in_table or current.tabular:
        return in_table and current.tabular and 0 < distance < 2.6 * last.size
    if not _alike(last, line) or last.bold != line.bold or distance <= 0 or _sparse(line) or _sparse(last):
        return False
    expected = leading * line.size
    if len(current.lines) >= 2:
        expected = max(_distance(current.lines[-2], last), 0.9 * expected)
    if distance > 1.25 * expected + 0.5:
        return False
    return not _starts_anew(current, line, edge)


def _sparse(line: TextLine) -> bool:
    """Return whether wide gaps part the words of a line, wider than justified text has them."""
    return line.cells > 2 and len(line.text) * line.size < _DENSITY * (line.u1 - line.u0)


def _starts_anew(current: BlockDraft, line: TextLine, edge: float) -> bool:
    """Return whether `line`, at the usual distance from the block above it, begins a block of its own."""
    last, em = current.lines[-1], line.size
    ended = SENTENCE_END.search(last.text) is not None
    broken = last.u1 + 0.25 * em + line.first_word + 0.6 * em < edge  # its first word had found room above
    if BULLET.match(line.text) or (NUMBERED.match(line.text) and (broken or ended)) or _below_a_list(current, line):
        return True
    left = min(entry.u0 for entry in current.lines)
    if abs((last.u0 + last.u1) - (line.u0 + line.u1)) < 0.4 * em and abs(last.u0 - line.u0) > em:
        return False  # centred
    if line.u0 < left - 0.6 * em:
        return broken or len(current.lines) > 1 or (ended and current.kind is BlockKind.LIST)
    if line.u0 > last.u0 + 0.8 * em and current.kind is not BlockKind.LIST and (ended or broken):
        return True
    fresh = line.text.lstrip(_OPENING)[:1]
    return broken and not _HANGS.search(last.text) and (ended or fresh.isupper() or fresh.isdigit())


def _below_a_list(current: BlockDraft, line: TextLine) -> bool:
    """Return whether `current` is an item whose text hangs behind its mark and `line` begins below the mark."""
    first, em = current.lines[0], line.size
    hanging = len(current.lines) > 1 and current.lines[1].u0 > first.u0 + 0.6 * em
    return current.kind is BlockKind.LIST and hanging and line.u0 < first.u0 + 0.3 * em


def _over_columns(drafts: list[BlockDraft]) -> list[BlockDraft]:
    """Return the blocks with paragraphs made whole that go on in the next column, or behind a stretched line."""
    found: list[BlockDraft] = []
    for draft in drafts:
        if found and _goes_on(found[-1], draft):
            found[-1].lines += draft.lines
        else:
            found.append(draft)
    return found


def _goes_on(before: BlockDraft, draft: BlockDraft) -> bool:
    last, first = before.lines[-1], draft.lines[0]
    in_next_column = last.region != first.region and first.top < last.top
    return (
        (in_next_column or _stretched(last, first))
        and last.turn == first.turn
        and last.hidden == first.hidden
        and not (before.tabular or draft.tabular or last.table or first.table or before.fixed)
        and last.kind is first.kind
        and _alike(last, first)
        and last.bold == first.bold
        and SENTENCE_END.search(last.text) is None
        and (first.text[:1].islower() or _HANGS.search(last.text) is not None)
        and draft.kind is BlockKind.TEXT
    )


def _stretched(last: TextLine, line: TextLine) -> bool:
    """Return whether two lines of a justified column were parted because one has few words with wide gaps."""
    return (
        last.region == line.region
        and (_sparse(last) or _sparse(line))
        and abs(last.u0 - line.u0) < 0.3 * line.size
        and 0 < _distance(last, line) < 1.7 * line.size
    )


def _classify(draft: BlockDraft, style: BodyStyle, smaller: float) -> None:
    text = draft.text
    first = draft.lines[0]
    if first.hidden:
        draft.kind = BlockKind.HIDDEN
    elif first.table is not None:
        draft.kind = BlockKind.TABLE
    elif first.kind is not None:
        draft.kind = first.kind
        draft.level = _level(first, text, style) if first.kind is BlockKind.HEADING else 0
    elif draft.tabular:
        draft.kind = BlockKind.TABLE
    elif _is_caption(first, text, style):
        draft.kind = BlockKind.CAPTION
    elif _is_heading(draft, text, style, smaller):
        draft.kind, draft.level = BlockKind.HEADING, _level(first, text, style)


def _is_caption(first: TextLine, text: str, style: BodyStyle) -> bool:
    found = _CAPTION.match(text)
    if found is None:
        return False
    apart = first.size < 0.95 * style.size or first.bold != style.bold  # a sentence may begin so in the body's type
    return bool(found.group("mark").strip()) or apart


def _is_heading(draft: BlockDraft, text: str, style: BodyStyle, smaller: float) -> bool:
    """Return whether a block is a heading; `smaller` is the font size that bold headings have at least."""
    first = draft.lines[0]
    if first.stack or len(text) > _HEADING_CHARACTERS or len(draft.lines) > _HEADING_LINES or BULLET.match(text):
        return False
    letters = sum(map(str.isalpha, text))
    if (
        not re.search(r"[^\W\d_]{2}", text)
        or letters < 0.4 * len(text)
        or any(line.cells > 2 for line in draft.lines)
        or first.turn % 2
    ):
        return False
    if first.size >= _HEADING_SIZE * style.size:
        return not (text.endswith(".") and len(text) > 80)
    bold = first.bold and not style.bold and first.size >= 0.92 * smaller
    return bold and len(draft.lines) <= 2 and not re.search(r"[.,;]$", text)


def _level(first: TextLine, text: str, style: BodyStyle) -> int:
    """Return 1 (largest) to 4; a section number says more than the size."""
    number = re.match(r"^(\d{1,2}(?:\.\d{1,2})*)\.?\s", text)
    if number and first.size < 1.9 * style.size:
        return min(4, 1 + number.group(1).count("."))
    ratio = first.size / style.size
    return 1 if ratio >= 1.7 else 2 if ratio >= 1.3 else 3 if ratio >= _HEADING_SIZE else 4
