"""Misspelt words of a question, and the words of the documents that are meant."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping

from rapidfuzz import process
from rapidfuzz.distance import OSA, JaroWinkler

from pdfqa_core.languages import STOP_WORDS
from pdfqa_core.text import terms
from pdfqa_core.types import Query

SHORTEST = 4  # letters of a word that may be misspelt
LONG = 8  # letters from which on it may have two mistakes, below one
SHORTEST_HALF = 3  # letters of each of the two words that one may be written for

_LETTERS = re.compile(r"[^\W\d_]+", re.UNICODE)
# British endings and how they are written in America: "summarise", "analysed", "colour", "centre".
_BRITISH = (
    (re.compile(r"is(?=(?:e|es|ed|er|ers|ing|ation|ations)$)"), "iz"), (re.compile(r"ys(?=(?:e|es|ed|ing)$)"), "yz"),
    (re.compile(r"our(?=s|ed|ing|ful|$)"), "or"), (re.compile(r"re(?=s?$)"), "er"),
    (re.compile(r"ll(?=ed$|ing$)"), "l"),
)  # fmt: skip


class Spelling:
    """Finds the words that are meant by those that no passage has and that are no words at all.

    `is_word` tells a word that the documents happen not to have ("contract" beside "contact") from a misspelt one; rare
    words and names it does not know, so what is found is searched for beside the word and not in its place. It is the
    word of the passages that begins with the same letter and is nearest by optimal string alignment (a letter more,
    fewer, other, or two exchanged), of several the one that is nearer by Jaro and Winkler's similarity, then the more
    frequent. A word near to none may be two that are written as one.
    """

    def __init__(self, passages_by_term: Mapping[str, int], is_word: Callable[[str], bool]) -> None:
        self._is_word = is_word
        self._passages = passages_by_term
        self._by_letter: dict[str, list[str]] = defaultdict(list)
        for term in passages_by_term:
            if len(term) >= SHORTEST and _LETTERS.fullmatch(term):
                self._by_letter[term[0]].append(term)

    def corrections(self, text: str) -> dict[str, str]:
        """Return the misspelt words of a text, each with the word of the passages that is meant."""
        words = dict.fromkeys(_LETTERS.findall(text))
        return {word: right for word in words if (right := self._right(word)) != word}

    def _right(self, word: str) -> str:
        if len(word) < SHORTEST or (word.isupper() and len(word) < LONG):
            return word
        (term, *others) = terms(word) or [""]
        if others or term in self._passages or not term or self._is_word(term):
            return word
        if any((american := ending.sub(other, term)) != term and self._is_word(american) for ending, other in _BRITISH):
            return word
        mistakes = 2 if len(term) >= LONG else 1
        near = process.extract(
            term, self._by_letter.get(term[0], ()), scorer=OSA.distance, score_cutoff=mistakes, limit=None
        )
        if not near:
            return self._apart(term) or word

        def order(found: tuple[str, float, int]) -> tuple[float, float, int]:
            return found[1], -JaroWinkler.similarity(term, found[0]), -self._passages[found[0]]

        best, *_ = min(near, key=order)
        return best.capitalize() if word[0].isupper() else str(best)

    def _apart(self, term: str) -> str:
        """Return the two words of the passages that a word is made of ("keycard": "key card"), "" if there are none.

        Of several pairs it is the one whose rarer word is the more frequent.
        """
        pairs = [(term[:end], term[end:]) for end in range(SHORTEST_HALF, len(term) - SHORTEST_HALF + 1)]
        known = [
            pair for pair in pairs
            if all(half in self._passages and self._is_word(half) and half not in STOP_WORDS for half in pair)
        ]  # fmt: skip
        return " ".join(max(known, key=lambda pair: min(self._passages[half] for half in pair), default=()))


def in_both_spellings(query: Query, corrections: Callable[[str], Mapping[str, str]]) -> Query:
    """Return the query with the words that are meant by misspelt ones beside them.

    Words are searched for in both spellings, the meaning is the mean of the text in both.
    """
    lexical, dense = query.lexical or ((query.text, 1.0),), query.dense or ((query.text, 1.0),)
    meant = [(" ".join(found.values()), weight) for text, weight in lexical if (found := corrections(text))]
    if not meant:
        return query
    texts = []
    for text, weight in dense:
        texts += [(text, weight / 2), (_replaced(text, corrections(text)), weight / 2)]
    return Query(query.text, (*lexical, *meant), tuple(texts))


def _replaced(text: str, words: Mapping[str, str]) -> str:
    return _LETTERS.sub(lambda word: words.get(word[0], word[0]), text)
