"""Index terms of a language: which words of a question do not count, and which words count as one (stems)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args

from pdfqa_core.errors import ModelError, UsageError
from pdfqa_core.text import STOP_WORDS, Language, terms
from pdfqa_core.types import Query

NONE = "none"
LANGUAGES = tuple(language for language in get_args(Language) if language != NONE)
INSTALL = "Install it with: pip install PyStemmer stop-words"
_stemming = threading.Lock()


@dataclass(frozen=True)
class Analyser:
    """How words are compared: `language` (or "none"), whether by stem, whether questions lose their stop words.

    Raises UsageError for a language that is not in LANGUAGES, and for stemming without a language.
    """

    language: str = "english"
    stemming: bool = False
    stop_words: bool = True

    def __post_init__(self) -> None:
        if self.language not in (*LANGUAGES, NONE):
            raise UsageError(
                f"There are no stemmer and stop words for the language {self.language!r}.",
                f"Choose one of: {', '.join(LANGUAGES)}; or none.",
            )
        if self.stemming and self.language == NONE:
            raise UsageError("Stemming needs a language.", "Set language, or turn stemming off.")

    def stems(self, vocabulary: Sequence[str]) -> list[str]:
        """Return what each term is compared by: its Snowball stem, or itself where stemming is off.

        Source: Porter 2001, "Snowball: A language for stemming algorithms". Raises ModelError without PyStemmer.
        """
        if not self.stemming:
            return list(vocabulary)
        with _stemming:  # a stemmer keeps state
            found: list[str] = _stemmer(self.language).stemWords([_plain(term) for term in vocabulary])
        return found

    def question_terms(self, question: str) -> list[str]:
        """Return what is searched for: the stems of the question's words that are no stop words.

        All words if only stop words are left.
        """
        found = terms(question)
        return self.stems([term for term in found if term not in self._left_out] or found)

    def query_terms(self, query: Query) -> dict[str, float]:
        """Return what is searched for as `question_terms` does, each stem with its weight.

        The weights of a word that stands in several texts, or several times in one, add up.
        """
        texts = query.lexical or ((query.text, 1.0),)
        found = [(term, weight) for text, weight in texts for term in terms(text)]
        found = [(term, weight) for term, weight in found if term not in self._left_out] or found
        weights: dict[str, float] = {}
        for stem, (_, weight) in zip(self.stems([term for term, _ in found]), found, strict=True):
            weights[stem] = weights.get(stem, 0.0) + weight
        return weights

    @property
    def _left_out(self) -> frozenset[str]:
        return stop_words(self.language) if self.stop_words and self.language != NONE else frozenset()


@cache
def stop_words(language: str) -> frozenset[str]:
    """Return the function words of a language as index terms. Raises ModelError without the library stop-words."""
    if language == "english":
        return STOP_WORDS
    try:
        from stop_words import get_stop_words
    except ImportError as error:
        raise ModelError("The library with the stop words of other languages is not installed.", INSTALL) from error
    return frozenset(term for word in get_stop_words(language) for term in terms(word))


@cache
def _stemmer(language: str) -> Any:
    try:
        import Stemmer
    except ImportError as error:
        raise ModelError("The stemming library is not installed.", INSTALL) from error
    return Stemmer.Stemmer(language, 0)


def _plain(term: str) -> str:
    """Replace lone surrogates, which broken PDFs hold and the stemmer refuses."""
    return term if term.isascii() else term.encode("utf-8", "replace").decode("utf-8")
