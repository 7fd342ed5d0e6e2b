"""What happens to a model's text between the engine and the reader: loops end it, its own markers are held back."""

from __future__ import annotations

import re

from pdfqa_core.reading.citations import strip_markers
from pdfqa_core.text import sentences, terms

LEAST_WORDS = 4  # shorter sentences may be repeated ("Yes." "See above.")
_TAIL = re.compile(r"(.{6,200}?)\1{2,}\s*$", re.DOTALL)


def cut_at_loop(text: str) -> str | None:
    """Return the text up to where it begins to repeat itself, None if it does not.

    A loop is a sentence or line that was written before word for word, or a piece of 6 to 200 characters three times
    in a row at the end. Only sentences that are finished count, so call it when one ends.
    """
    seen: set[tuple[str, ...]] = set()
    for line in re.finditer(r"[^\n]+", text):
        for start, end in sentences(line[0]):
            key = tuple(terms(line[0][start:end]))
            if key in seen:
                return text[: line.start() + start].rstrip()
            if len(key) >= LEAST_WORDS:
                seen.add(key)
    tail = _TAIL.search(text[-700:])
    if tail is None or not tail[1].strip():
        return None
    return text[: max(0, len(text) - 700) + tail.start() + len(tail[1])].rstrip(" ,;")


class MarkerFilter:
    """Holds back text from an opening bracket on until it is clear whether a citation marker like [1] follows."""

    LONGEST = 24

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """Return what can be shown now."""
        self._held += piece
        bracket = self._held.rfind("[")
        closed = self._held.rfind("]")
        if bracket < 0 or closed > bracket or len(self._held) - bracket > self.LONGEST:
            return self.flush()
        while bracket > 0 and self._held[bracket - 1].isspace():
            bracket -= 1
        shown, self._held = self._held[:bracket], self._held[bracket:]
        return strip_markers(shown)[0]

    def flush(self) -> str:
        """Return what is still held back."""
        shown, self._held = self._held, ""
        return strip_markers(shown)[0]
