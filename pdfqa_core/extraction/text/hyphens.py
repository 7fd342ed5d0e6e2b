"""Words parted by a hyphen at the end of a line: whether the hyphen belongs to the word.

The document itself is asked first: a spelling that it uses within a line wins. Where it is silent, the hyphens that
it did decide tell whether its lines are hyphenated at all. Knows nothing about pages; standard library only.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from pdfqa_core.extraction.text.normalise import HYPHENS

_WORD = re.compile(r"[^\W\d_]+(?:[-\u2010\u2011][^\W\d_]+)*")
_HEAD = re.compile(r"([^\W\d_]+(?:[-\u2010\u2011][^\W\d_]+)*)[-\u2010\u00ad\u2011]$")
_TAIL = re.compile(r"^[^\W\d_]+(?:[-\u2010\u2011][^\W\d_]+)*")
_FREE_PREFIXES = frozenset({"self", "non", "well", "ex"})


class Hyphenation:
    """Decides for the line ends of one document. Build it from all of its lines in reading order."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._words: Counter[str] = Counter()
        pairs = []
        previous = ""
        for line in lines:
            skipped = _TAIL.match(line) if previous else None
            start = skipped.end() if skipped else 0
            head = _HEAD.search(line) if line[-1:] in HYPHENS else None
            stop = head.start(1) if head else len(line)
            self._words.update(map(str.casefold, _WORD.findall(line, start, max(start, stop))))
            if previous and skipped:
                pairs.append((previous, skipped.group()))
            previous = head.group(1) if head else ""
        votes = [self._evidence(a, b) for a, b in pairs]
        self._joins_by_default = sum(v > 0 for v in votes) >= sum(v < 0 for v in votes)

    def _evidence(self, head: str, tail: str) -> int:
        """Return above 0 where the document writes the two as one word, below 0 where with a hyphen."""
        joined, parted = f"{head}{tail}".casefold(), f"{head}-{tail}".casefold()
        return self._words[joined] - self._words[parted]

    def joins(self, line: str, following: str) -> str | None:
        """Return what stands between two lines: a space, nothing, or None where the hyphen is dropped as well."""
        if not line or line[-1] not in HYPHENS:
            return " "
        head, tail = _HEAD.search(line), _TAIL.match(following)
        if line[-1] == "\u00ad":
            return None
        if head and tail:
            return self._within_word(head.group(1), tail.group())
        digit = following[:1].isdigit()
        return "" if digit and (head or line[-2:-1].isdigit()) else " "

    def _within_word(self, head: str, tail: str) -> str | None:
        evidence = self._evidence(head, tail)
        if evidence:
            return None if evidence > 0 else ""
        capitals = len(head) > 1 and head.isupper()
        if capitals and tail.isupper():
            return None
        kept = capitals or not tail[0].islower() or head.casefold() in _FREE_PREFIXES
        return "" if kept or not self._joins_by_default else None
