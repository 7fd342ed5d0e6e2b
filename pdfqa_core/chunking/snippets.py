"""Snippets: the text cut into disjoint passages of a fixed length, or of a bounded length that ends with a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pdfqa_core.chunking.base import Chunking, check_at_least, chunkers
from pdfqa_core.chunking.stream import Stream, cut
from pdfqa_core.errors import UsageError


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
