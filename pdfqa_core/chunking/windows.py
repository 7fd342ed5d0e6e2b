"""Sliding windows: passages of one size whose beginnings lie `step` apart, so that neighbours overlap."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import ClassVar

from pdfqa_core.chunking.base import Chunking, check_at_least, chunkers
from pdfqa_core.chunking.stream import Stream
from pdfqa_core.errors import UsageError


@chunkers.register("windows", "a window that slides over the text, so that neighbours overlap")
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
