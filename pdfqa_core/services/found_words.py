"""Words that are looked for in a text: where they stand, and a piece of the text around them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from pdfqa_core.storage.page_texts import Phrase

LONGEST_QUERY = 200  # characters
MOST_PLACES, NEAR = 50, 12  # places of a text that are compared, and words behind each
Parts = tuple[tuple[str, bool], ...]
"""A text in pieces, each with whether it was looked for."""

_PART = re.compile(r'"([^"]*)"?|(\S+)')
_WORD = re.compile(r"[^\W_]+")
_SPACE = re.compile(r"\s+")
_BETWEEN = re.compile(r"(?:\s|\||-{3,})+")  # words, also in the Markdown of a table


class _Folded(dict[int, int]):
    """Letters without case and accents, one for one, so that places stay what they are."""

    def __missing__(self, code: int) -> int:
        plain = unicodedata.normalize("NFD", chr(code))[0].lower()
        self[code] = ord(plain) if len(plain) == 1 else code
        return self[code]


_FOLDED = _Folded()


def folded(text: str) -> str:
    """Return a text of the same length without case and accents."""
    return text.translate(_FOLDED)


def phrases_of(query: str) -> tuple[Phrase, ...]:
    """Return what a person looks for: words that may go on ("heat" finds "heating"), and, in quotes, whole phrases."""
    found = []
    for quoted, plain in _PART.findall(folded(query[:LONGEST_QUERY])):
        words = tuple(_WORD.findall(quoted or plain))
        if words:
            found.append(Phrase(words, whole=bool(quoted)))
    return tuple(dict.fromkeys(found))


def places(text: str, phrases: Sequence[Phrase]) -> list[tuple[int, int]]:
    """Return (start, end) of each place where one of the phrases stands, without overlaps."""
    flat, spans = folded(text), []
    for phrase in phrases:
        words = r"[\W_]+".join(map(re.escape, phrase.words))
        end = r"(?![^\W_])" if phrase.whole else r"[^\W_]*"
        spans += [match.span() for match in re.finditer(rf"(?<![^\W_]){words}{end}", flat)]
    joined: list[tuple[int, int]] = []
    for start, last in sorted(spans):
        if joined and start < joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], last)
        else:
            joined.append((start, last))
    return joined


def has_all(text: str, phrases: Sequence[Phrase]) -> bool:
    """Whether each of the phrases stands somewhere in the text."""
    return bool(phrases) and all(places(text, [phrase]) for phrase in phrases)


def marked(text: str, phrases: Sequence[Phrase]) -> Parts:
    """Return a whole text in pieces."""
    return _parts(text, places(text, phrases), 0, len(text))


def excerpt(text: str, phrases: Sequence[Phrase], length: int = 180) -> Parts:
    """Return about so many characters of a text around the place with most of the phrases, in pieces."""
    spans = places(text, phrases)
    if not spans:
        return _parts(text, [], 0, _edge(text, min(length, len(text))))

    def kinds(first: int) -> int:
        """How many different words are found within reach of a place."""
        reach = spans[first][0] + length * 2 // 3
        return len({folded(text[a:b]) for a, b in spans[first : first + NEAR] if b <= reach})

    best = max(range(min(len(spans), MOST_PLACES)), key=lambda first: (kinds(first), -first))
    start = max(0, spans[best][0] - length // 3)
    start = 0 if start == 0 else _edge(text, start)
    return _parts(text, spans, min(start, spans[best][0]), _edge(text, min(len(text), start + length)))


def _edge(text: str, place: int) -> int:
    """Return the next white space from a place on, so that no word is cut."""
    found = _SPACE.search(text, place) if place < len(text) else None
    return found.start() if found and found.start() - place < 30 else place


def _parts(text: str, spans: Sequence[tuple[int, int]], start: int, end: int) -> Parts:
    found, reached = [("… ", False)] if start else [], start
    for first, last in spans:
        if first >= reached and last <= end:
            found += [(text[reached:first], False), (text[first:last], True)]
            reached = last
    found += [(text[reached:end], False)] + ([(" …", False)] if end < len(text) else [])
    return tuple((_BETWEEN.sub(" ", piece), hit) for piece, hit in found if piece)
