"""What lines and blocks are, seen beside their neighbours.

Entries of a table of contents, words in a figure, footnotes, headings in the type of the text: found by geometry and
marks only. A block that nothing speaks for stays as it is.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pdfqa_core.extraction.layout.formulas import SIGNS
from pdfqa_core.extraction.raw_page import TextLine
from pdfqa_core.types import BlockKind

SENTENCE_END = re.compile(r"[.!?:;…]['\"”’)\]]*$")
BULLET = re.compile(r"^[•◦▪▫‣⁃●○■□▸►➢✓✔❖∙·\*–—-]\s+\S|^o\s+[A-Z]|^[•◦▪●■▸➢❖]\S")
NUMBERED = re.compile(
    r"^(?:[1-9]\d{0,2}[.)]|\((?:\d{1,2}|[a-zA-Z]|[ivx]{1,5})\)|(?:[a-zA-Z]|[ivx]{1,5})[.)]|\[\d{1,3}\]|"
    r"\d{1,2}(?:\.\d{1,2}){1,3}\.?)\s+\S"
)
_CONTENTS = re.compile(
    r"^(?:\d+\s+)?(?:(?:table of )?contents|inhalt(?:sverzeichnis)?|inhoud|índice|indice|sommaire|sommario|"
    r"table des matières|list of (?:figures|tables)|(?:abbildungs|tabellen)verzeichnis)(?:\s+\d+)?$",
    re.IGNORECASE,
)
_ENTRY_END = re.compile(r"(?:(?:[.…·_]\s?){3,}|\s)\s*(\d{1,4}|[ivxlc]{1,7})$")
_LAST_OF_NUMBERS = frozenset("0123456789ivxlcIVXLC")
_LEADER = re.compile(r"(?:[.·_]\s?){4,}\s*\w{0,6}$|…\s*\w{0,6}$")
FIGURE = re.compile(r"^(?:figure|fig\.|abbildung|abb\.|chart|diagram|graph|figura|schaubild)\s*[A-Z]?\d", re.IGNORECASE)
_NOTE = re.compile(
    r"^(?:\d{1,2}(?:\s+(?=\S)|(?=[^\W\d]))|[¹²³⁰-⁹ʰ-ʸᵃ-ᶻ]{1,2}\s*|[*†‡§]{1,3}\s*|\(\d\)\s*)(?=.*[^\W\d_]{3}).{6}",
    re.DOTALL,
)
_QUESTION = re.compile(
    r"^(?:what|how|who|when|where|why|which|is|are|do|does|can|may|will|should|was|wie|wer|wo)\b", re.I
)

_LONGEST_ENTRY = 400  # characters at the end of a line in which leaders are looked for
_FIGURE_WORD = 26  # characters that a line in a figure has at most
_PLAIN_LENGTH, _PLAIN_WORDS = 80, 11  # of a heading in the type of the text
_PAGE_END = 0.75  # of the page's height
_PARAGRAPH = 80  # characters that the text below such a heading has at least


@dataclass(slots=True)
class BlockDraft:
    """A block before its text is put together. The kind of a `fixed` one is known and not looked for."""

    lines: list[TextLine]
    kind: BlockKind = BlockKind.TEXT
    level: int = 0
    tabular: bool = False
    fixed: bool = False

    @property
    def text(self) -> str:
        """The lines joined by spaces."""
        return " ".join(line.text for line in self.lines)


def contents_entries(lines: Sequence[TextLine]) -> dict[int, bool]:
    """Return the lines of a page that are a table of contents: index -> whether an entry begins with it.

    Entries end in a page number that leaders or a gap part from the title. They count below a line such as "Contents",
    or where most of the page's lines are entries, and where the numbers go up.
    """
    numbers = {i: number for i, line in enumerate(lines) if (number := _entry_page(line)) is not None}
    if len(numbers) < 3:
        return {}
    title = next((i for i, line in enumerate(lines) if _CONTENTS.match(line.text.strip())), None)
    inside = [i for i in numbers if title is None or i > title]
    if len(inside) < (3 if title is not None else max(5, 0.6 * len(lines))):
        return {}
    run = [inside[0]]
    for i in inside[1:]:
        if i - run[-1] > 4:
            break
        run.append(i)
    arabic = [numbers[i] for i in run if numbers[i]]
    falls = sum(b < a for a, b in itertools.pairwise(arabic))
    if len(run) < 3 or falls > 0.1 * len(arabic):
        return {}
    first = run[0]
    while first - 1 > (-1 if title is None else title) and _wraps(lines, first - 1):
        first -= 1
    return {i: not (i > first and _wraps(lines, i - 1) and i - 1 not in numbers) for i in range(first, run[-1] + 1)}


def _entry_page(line: TextLine) -> int | None:
    """Return the page that an entry of a table of contents names (0: in Roman numerals); None if it is no entry."""
    if line.text[-1:] not in _LAST_OF_NUMBERS or line.hidden or line.table is not None or line.kind is not None:
        return None
    text = line.text[-_LONGEST_ENTRY:]
    found = _ENTRY_END.search(text)
    if found is None or not any(c.isalpha() for c in text[: found.start()]):
        return None
    if line.cells < 2 and not _LEADER.search(text):
        return None
    return int(found.group(1)) if found.group(1).isdigit() else 0


def _wraps(lines: Sequence[TextLine], index: int) -> bool:
    """Return whether the entry on a line goes on in the line below it."""
    line, below = lines[index], lines[index + 1]
    near = 0 < below.baseline - line.baseline < 1.5 * line.size and line.region == below.region
    alike = abs(line.size - below.size) < 0.08 * line.size and line.bold == below.bold
    return near and alike and line.u1 - line.u0 > 0.6 * (below.u1 - below.u0) and _entry_page(line) is None


def is_formula(text: str) -> bool:
    """Return whether a line is made of signs and single letters rather than of words."""
    words = text.split()
    long = sum(len(word) > 3 and word.isalpha() for word in words)
    return len(SIGNS.findall(text)) >= 1 and long < 0.34 * len(words)


def footnotes(drafts: Sequence[BlockDraft], size: float, height: float) -> Iterator[BlockDraft]:
    """Yield the blocks that are footnotes, given the body's font size and the page's height in points.

    Those are the last blocks of a column, in smaller type, in the lower half of the page, from the first on that begins
    with a mark such as a small number.
    """
    regions: dict[tuple[int, int], list[BlockDraft]] = {}
    for draft in drafts:
        line = draft.lines[0]
        if not line.hidden and line.kind is None:
            regions.setdefault((line.region, line.turn), []).append(draft)
    for column in regions.values():
        last = len(column)
        while last and _note_like(column[last - 1], size, height):
            last -= 1
        for position in range(last, len(column)):
            if _NOTE.match(column[position].text):
                yield from column[position:]
                break


def _note_like(draft: BlockDraft, size: float, height: float) -> bool:
    first = draft.lines[0]
    small = all(line.size < 0.92 * size and not line.bold for line in draft.lines)
    return small and not (draft.fixed or draft.tabular or first.table) and first.top > 0.5 * height and not first.turn


def gather_figures(drafts: Sequence[BlockDraft]) -> list[BlockDraft]:
    """Return the blocks with the words printed inside a figure made one block, right above the figure's caption."""
    found: list[BlockDraft] = []
    for draft in drafts:
        if draft.kind is BlockKind.CAPTION and FIGURE.match(draft.text):
            words: list[BlockDraft] = []
            while found and _in_figure(found[-1], draft):
                words.insert(0, found.pop())
            if len(words) > 1 or sum(len(block.lines) for block in words) > 1:
                lines = [line for block in words for line in block.lines]
                found.append(BlockDraft(lines, BlockKind.CAPTION, fixed=True))
            else:
                found += words
        found.append(draft)
    return found


def _in_figure(draft: BlockDraft, caption: BlockDraft) -> bool:
    first = draft.lines[0]
    if first.stack:
        return not first.hidden and first.top <= caption.lines[0].top
    if draft.fixed or draft.kind in (BlockKind.HEADING, BlockKind.CAPTION, BlockKind.FOOTNOTE):
        return False
    if first.table is not None or first.kind is not None or first.turn or first.hidden or BULLET.match(first.text):
        return False
    return first.top <= caption.lines[0].top and all(_figure_word(line) for line in draft.lines)


def _figure_word(line: TextLine) -> bool:
    ended = SENTENCE_END.search(line.text) is not None and len(line.text) > 12
    return len(line.text) <= _FIGURE_WORD * max(1, line.cells) and not ended


def promote_headings(pages: Sequence[Sequence[BlockDraft]], heights: Sequence[float]) -> None:
    """Make headings (level 4) of single lines in the type of the text that stand above a paragraph like a title.

    `pages` are the blocks of each page in reading order, `heights` those of the pages in points. Such a line is short,
    has no end punctuation but "?" or ":", and is written like a title. A paragraph of several words follows it (the
    last line of a page may have it on the next one), or another such heading, or (without ":") a list.
    """
    following: BlockDraft | None = None
    for drafts, height in zip(reversed(pages), reversed(heights), strict=True):
        seen = [d for d in drafts if d.kind is not BlockKind.HIDDEN and d.kind is not BlockKind.FOOTNOTE]
        promoted: BlockDraft | None = None
        for position in range(len(seen) - 1, -1, -1):
            draft, before = seen[position], seen[position - 1] if position else None
            if position == len(seen) - 1 and draft.lines[0].bottom < _PAGE_END * height:
                following = None
            if following is not None and _like_a_title(draft, before):
                listed = following.kind is BlockKind.LIST and not draft.text.endswith(":")
                if _paragraph(following, draft) or (listed and _near(following, draft)) or following is promoted:
                    draft.kind, draft.level = BlockKind.HEADING, 4
                    promoted = draft if following is not promoted else None
            following = draft
        if not seen:
            following = None


def _like_a_title(draft: BlockDraft, before: BlockDraft | None) -> bool:
    line = draft.lines[0]
    if draft.kind is not BlockKind.TEXT or draft.fixed or len(draft.lines) != 1 or line.kind is not None:
        return False
    if line.cells > 1 or line.turn or line.hidden or line.table is not None or len(line.text) > _PLAIN_LENGTH:
        return False
    if before is not None and before.kind is BlockKind.TEXT:
        above = before.text.rstrip()
        if above.endswith((":", ",")) or (len(before.lines) == 1 and ": " in above and ": " in line.text):
            return False  # an item of what is said above, or one of several entries of a form
    return titled(line.text.strip().lstrip("# "))


def titled(text: str) -> bool:
    """Return whether a line of text is written like a title: few words, most of them with a capital, or a question."""
    words = text.rstrip("?:").split()
    if not 1 <= len(words) <= _PLAIN_WORDS or not words[0][:1].isupper() or len(text) < 4:
        return False
    letters = sum(c.isalpha() or c in " -–—’'&/,?:()" for c in text)
    if letters < 0.95 * len(text) or re.search(r"[.!;,…]$", text):
        return False
    if text.endswith("?"):
        return _QUESTION.match(text) is not None
    long = [word for word in words[1:] if len(word) > 3]
    capitals = sum(word[0].isupper() or not word[0].isalpha() for word in long)
    return capitals >= 0.75 * len(long) or len(words) <= 3


def _paragraph(draft: BlockDraft, title: BlockDraft) -> bool:
    """Return whether the block is a paragraph that may stand below the title."""
    text = draft.text
    if draft.kind is not BlockKind.TEXT or len(text) < _PARAGRAPH or not text.lstrip("“\"'„(")[:1].isupper():
        return False
    return _near(draft, title) and (SENTENCE_END.search(text) is not None or len(draft.lines) > 2)


def _near(draft: BlockDraft, title: BlockDraft) -> bool:
    """Return whether the block is right below the title, or where the text goes on in another column or page."""
    first, line = draft.lines[0], title.lines[0]
    apart = first.baseline - line.baseline
    return first.region != line.region or apart <= 0 or apart < 4 * line.size
