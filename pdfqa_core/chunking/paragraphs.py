"""Paragraphs: the document's own blocks of text as passages."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise
from typing import ClassVar

from pdfqa_core.chunking.base import Chunking, check_at_least, chunkers
from pdfqa_core.chunking.stream import Stream, cut
from pdfqa_core.errors import UsageError
from pdfqa_core.types import BlockKind


@dataclass(frozen=True, slots=True)
class _Group:
    """Atoms `first` to `last` (exclusive); `body` is their length without headings, `total` with them."""

    first: int
    last: int
    body: int
    total: int

    def joined(self, other: _Group) -> _Group:
        return _Group(self.first, other.last, self.body + other.body, self.total + other.total)


@chunkers.register("paragraphs", "each paragraph of the page is a passage")
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
