"""The chunkers (paragraphs, snippets of sentences, windows of words) and the headings above passages."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby, pairwise
from typing import ClassVar

from pdfqa_core.chunking.base import Chunking, check_at_least, chunkers
from pdfqa_core.chunking.stream import Stream, cut
from pdfqa_core.errors import UsageError
from pdfqa_core.types import BlockKind, Page, Passage

# ----------------------------------------------------------------------------------------------------
# The text that a passage is indexed under: its document's title and the heading it stands below.

# Longer "headings" are mostly misread text; what is beyond says little about the section.
LONGEST_HEADING = 120


def with_headings(passages: Sequence[Passage], pages: Sequence[Page], title: str) -> list[Passage]:
    """Return the passages with `heading` set to the title and the nearest heading at or before their beginning.

    The two are joined by ": ". White space is collapsed and a heading cut to 120 characters; where the passage has no
    heading before it, or that heading is the title, the title stands alone. Ids and texts stay as they are.
    """
    title = " ".join(title.split())
    places: list[tuple[int, int]] = []
    headings: list[str] = []
    for page in sorted(pages, key=lambda p: p.number):
        for block in sorted((b for b in page.blocks if b.kind is BlockKind.HEADING), key=lambda b: b.start):
            text = _shortened(" ".join(page.text[block.start : block.end].split()))
            if text:
                places.append((page.number, block.start))
                headings.append(text)
    found = []
    for passage in passages:
        index = bisect_right(places, (passage.spans[0].page, passage.spans[0].start)) - 1
        nearest = headings[index] if index >= 0 else ""
        parts = [title] if nearest.casefold() == title.casefold() else [title, nearest]
        found.append(replace(passage, heading=": ".join(part for part in parts if part)))
    return found


def _shortened(text: str) -> str:
    if len(text) <= LONGEST_HEADING:
        return text
    return text[: LONGEST_HEADING + 1].rsplit(" ", 1)[0][:LONGEST_HEADING]


# ----------------------------------------------------------------------------------------------------
# Paragraphs: the document's own blocks of text as passages.


@dataclass(frozen=True, slots=True)
class _Group:
    """Atoms `first` to `last` (exclusive); `body` is their length without headings, `total` with them."""

    first: int
    last: int
    body: int
    total: int

    def joined(self, other: _Group) -> _Group:
        return _Group(self.first, other.last, self.body + other.body, self.total + other.total)


@chunkers.register("paragraphs", "each paragraph, as the page has it")
@dataclass(frozen=True, kw_only=True)
class Paragraphs(Chunking):
    """One passage per block of text; of uneven length, as documents are.

    A heading is no passage of its own: it opens the passage of the text below it. A paragraph that a page border (or a
    header in between) broke in mid-sentence is mended. Text under `shortest`, such as a list item, is joined with its
    neighbours: with what follows while the whole is too short, else to what precedes as long as that stays within half
    of `longest`. A block above `longest` is cut at sentence ends. `unmodified`: each block as it stands on its page, of
    any length; nothing is joined, mended or cut.
    """

    name: ClassVar[str] = "paragraphs"

    shortest: int = 20
    longest: int = 300
    unmodified: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least(self.name, shortest=self.shortest, longest=self.longest)
        if self.shortest > self.longest:
            raise UsageError(f"shortest ({self.shortest}) is above longest ({self.longest}).")

    @property
    def longest_atom(self) -> int:
        """A word longer than a passage is cut."""
        return self.longest

    def ranges(self, stream: Stream) -> list[tuple[int, int]]:
        """Return (first, last) atom of each passage."""
        if self.unmodified:
            return _runs(stream)
        found: list[tuple[int, int]] = []
        for group in self._groups(_blocks(stream)):
            if group.total <= self.longest:
                found.append((group.first, group.last))
            else:
                shortest = min(self.longest, max(self.shortest, self.longest // 2))
                found += cut(stream, group.first, group.last, shortest, self.longest)
        return found

    def _groups(self, blocks: list[_Group]) -> list[_Group]:
        groups: list[_Group] = []
        for block in blocks:
            if groups and self._joins(groups[-1], block):
                groups[-1] = groups[-1].joined(block)
            else:
                groups.append(block)
        if len(groups) > 1 and groups[-1].body < self.shortest:
            whole = groups[-2].joined(groups[-1])
            if whole.total <= self.longest:
                groups[-2:] = [whole]
        return groups

    def _joins(self, group: _Group, block: _Group) -> bool:
        if group.body < self.shortest:
            return True
        return 0 < block.body < self.shortest and group.total + block.total <= self.longest // 2


def _runs(stream: Stream) -> list[tuple[int, int]]:
    """Return the atoms of each block."""
    edges = [0, *accumulate(sum(1 for _ in atoms) for _, atoms in groupby(stream.atoms, key=lambda atom: atom.part))]
    return list(pairwise(edges))


def _blocks(stream: Stream) -> list[_Group]:
    """Return one group per block, those that go on across a page border joined."""
    blocks: list[_Group] = []
    first = 0
    for number, atoms in groupby(stream.atoms, key=lambda atom: atom.part):
        last = first + sum(1 for _ in atoms)
        length = stream.length(first, last)
        block = _Group(first, last, 0 if stream.parts[number].kind is BlockKind.HEADING else length, length)
        if blocks and stream.continues(number):
            blocks[-1] = blocks[-1].joined(block)
        else:
            blocks.append(block)
        first = last
    return blocks


# ----------------------------------------------------------------------------------------------------
# Snippets: the text cut into disjoint passages of a fixed length, or of a bounded length that ends with a sentence.


@chunkers.register("snippets", "pieces of one length, ending at a sentence end where a range is given")
@dataclass(frozen=True, kw_only=True)
class Snippets(Chunking):
    """Disjoint passages of `length`, or of `min_length` to `max_length` where these two are given.

    Fixed: n words make ceil(n / length) snippets, the last one takes the rest. Bounded: if a sentence ends between
    `min_length` and `max_length`, the snippet ends at the last such place, else at `max_length`; only the last snippet
    may be shorter. Raises UsageError where one bound is missing or the two are crossed.
    """

    name: ClassVar[str] = "snippets"

    length: int = 120
    min_length: int | None = None
    max_length: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.min_length is None) != (self.max_length is None):
            raise UsageError("min_length and max_length go together.", "Give both, or a fixed length.")
        if self.min_length is None or self.max_length is None:
            check_at_least(self.name, length=self.length)
            return
        check_at_least(self.name, min_length=self.min_length, max_length=self.max_length)
        if self.min_length > self.max_length:
            raise UsageError(f"min_length ({self.min_length}) is above max_length ({self.max_length}).")

    @property
    def words(self) -> str:
        """Their length, or its range."""
        length = self.length if self.min_length is None else f"{self.min_length} to {self.max_length}"
        return f"snippets of {length} {self.unit}"

    @property
    def longest_atom(self) -> int:
        """A word longer than a snippet is cut."""
        return self.length if self.max_length is None else self.max_length

    def ranges(self, stream: Stream) -> list[tuple[int, int]]:
        """Return (first, last) atom of each snippet."""
        if self.min_length is None or self.max_length is None:
            return cut(stream, 0, len(stream.atoms), None, self.length)
        return cut(stream, 0, len(stream.atoms), self.min_length, self.max_length)


# ----------------------------------------------------------------------------------------------------
# Sliding windows: passages of one size whose beginnings lie `step` apart, so that neighbours overlap.


@chunkers.register("windows", "a sliding window, so that neighbours overlap")
@dataclass(frozen=True, kw_only=True)
class Windows(Chunking):
    """Windows of `size` that move on by `step`; n words make 1 + ceil((n - size) / step) of them, 1 if n <= size.

    The last window ends with the document and is never wholly inside the one before. In tokens, a window ends before
    the word that no longer fits. Raises UsageError where step exceeds size (text would be left out).
    """

    name: ClassVar[str] = "windows"

    size: int = 120
    step: int = 60

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least(self.name, size=self.size, step=self.step)
        if self.step > self.size:
            raise UsageError(f"step ({self.step}) is above size ({self.size}): text would be left out.")

    @property
    def words(self) -> str:
        """Their size and their step."""
        return f"windows of {self.size} {self.unit}, step {self.step}"

    @property
    def longest_atom(self) -> int:
        """A word longer than a window is cut."""
        return self.size

    def ranges(self, stream: Stream) -> list[tuple[int, int]]:
        """Return (first, last) atom of each window."""
        found: list[tuple[int, int]] = []
        first, count = 0, len(stream.atoms)
        while first < count:
            last = stream.fit(first, self.size)
            found.append((first, last))
            if last == count:
                break
            first = min(last, max(first + 1, bisect_left(stream.offsets, stream.offsets[first] + self.step)))
        return found
