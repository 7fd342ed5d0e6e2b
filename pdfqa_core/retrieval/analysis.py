"""Index terms of a language: which words of a question do not count, and which words count as one (stems)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from pdfqa_core.errors import UsageError
from pdfqa_core.languages import ENGLISH, NONE, Language, snowball, stop_words
from pdfqa_core.text import terms
from pdfqa_core.types import Query

LANGUAGES = tuple(language for language in get_args(Language) if language != NONE)
AUTO = "auto"  # each passage in its own language
NOT_FOUND = "\0"  # before a word that no question has


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
        """Return what each term is compared by: its Snowball stem, or itself where stemming is off."""
        if not self.stemming:
            return list(vocabulary)
        return snowball(self.language, vocabulary)

    def question_terms(self, question: str) -> list[str]:
        """Return what is searched for: the stems of the question's words that are no stop words.

        All words if only stop words are left.
        """
        found = terms(question)
        return self.stems([term for term in found if term not in self.left_out] or found)

    def query_terms(self, query: Query) -> dict[str, float]:
        """Return what is searched for as `question_terms` does, each stem with its weight.

        The weights of a word that stands in several texts, or several times in one, add up.
        """
        found = _weighted(query, self.left_out)
        weights: dict[str, float] = {}
        for stem, (_, weight) in zip(self.stems([term for term, _ in found]), found, strict=True):
            weights[stem] = weights.get(stem, 0.0) + weight
        return weights

    @property
    def left_out(self) -> frozenset[str]:
        """The words of a question that are not searched for."""
        return stop_words(self.language) if self.stop_words and self.language != NONE else frozenset()


@dataclass(frozen=True)
class Analysis:
    """How the words of passages in one or several languages are compared: an analyser for each language."""

    analysers: Mapping[str, Analyser]

    @classmethod
    def of(cls, language: str, stemming: bool, stop_words: bool, present: Iterable[str]) -> Analysis:
        """Return what compares passages in the languages `present` by the rules of `language`; AUTO: of their own.

        Words of languages other than English are then compared by stem, whatever `stemming` says of English: they
        have more endings, and it finds more (benchmarks/retrieval.py). Raises UsageError as `Analyser` does.
        """
        languages = tuple(present) or (ENGLISH,)
        if language != AUTO:
            return cls(dict.fromkeys(languages, Analyser(language, stemming, stop_words)))
        return cls({one: Analyser(one, stemming or one != ENGLISH, stop_words) for one in languages})

    @property
    def only(self) -> Analyser | None:
        """The analyser of all passages; None where they need several."""
        different = set(self.analysers.values())
        return next(iter(different)) if len(different) == 1 else None

    @property
    def key(self) -> tuple[tuple[str, str], ...]:
        """What names the stems that passages are compared by."""
        used = ((one, analyser.language) for one, analyser in self.analysers.items() if analyser.stemming)
        return tuple(sorted(used))

    def names(self, language: str, vocabulary: Sequence[str]) -> list[str]:
        """Return what the terms of passages in one of several languages are found by.

        Their stop words by nothing: "die" of an English question is no German article.
        """
        analyser = self.analysers[language]
        stems = analyser.stems(vocabulary)
        return [
            NOT_FOUND + term if term in analyser.left_out else stem
            for term, stem in zip(vocabulary, stems, strict=True)
        ]

    def query_terms(self, query: Query) -> dict[str, float]:
        """Return what is searched for, each stem with its weight: the question's words by the stems of each language.

        Stop words are those of the question's language; where that is not known, of every language there is.
        """
        if (only := self.only) is not None:
            return only.query_terms(query)
        own = self.analysers.get(query.language)
        every = frozenset[str]().union(*(one.left_out for one in self.analysers.values()))
        weights: dict[str, float] = {}
        for term, weight in _weighted(query, own.left_out if own is not None else every):
            for stem in dict.fromkeys(analyser.stems([term])[0] for analyser in self.analysers.values()):
                weights[stem] = weights.get(stem, 0.0) + weight
        return weights


def _weighted(query: Query, left_out: frozenset[str]) -> list[tuple[str, float]]:
    """Return the words of a query with the weights of their texts, those left out only if there are no others."""
    texts = query.lexical or ((query.text, 1.0),)
    found = [(term, weight) for text, weight in texts for term in terms(text)]
    return [(term, weight) for term, weight in found if term not in left_out] or found
