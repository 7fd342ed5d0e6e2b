"""Whether the passages say what an answer says: each of its sentences is compared with theirs.

Words and, where an encoder is passed in, meaning decide how well two sentences match. Neither tells "covered" from
"not covered" or one name or number from another, so that a sentence counts as supported only if its numbers and names
stand in the passage and the quote is negated where it is.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass

from pdfqa_core.reading.matching import Match, Quote, match, quotes, vectors_of
from pdfqa_core.reading.meaning import Meaning
from pdfqa_core.reading.numbers import claimed, stated
from pdfqa_core.streaming import is_set
from pdfqa_core.text import content_terms, sentences, terms
from pdfqa_core.types import CheckedSentence, Citation, Hit, Progress, StopSignal, Support

# By benchmarks/citations_threshold.py: the best F1 for SUPPORTED; for PARTLY, whose F1 is flat from 0.35 to 0.5, few of
# those sentences that no passage says.
SUPPORTED = 0.55
PARTLY = 0.45
NAMED = 0.1  # how much worse than the best one a passage may match that the model named itself
NEAR = 0.1  # how much worse than the best one a sentence of another page may match to be cited too

FEW = 4  # content terms below which a sentence says too little to be compared without the question it answers

_NEGATION = re.compile(r"\b(?:not|no|never|without|none|neither|nor|cannot)\b|n[’']t\b", re.IGNORECASE)
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]{2,}")  # a capital within a sentence
_LIST_MARK = re.compile(r"\s*(?:[-*•–·]|\(?\d{1,3}[.)]|#+)\s+")
_PREAMBLE = re.compile(
    r"\W*(?:(?:the|my) )?(?:final |correct )?answer(?: to (?:the|this|your) question)? is\W+(?:that )?", re.I
)
_LINE = re.compile(r"[^\n]+")


@dataclass(frozen=True, slots=True)
class Checked:
    """What the comparison found: the evidence of sentences that have some, and how well each is supported."""

    citations: tuple[Citation, ...] = ()
    sentences: tuple[CheckedSentence, ...] = ()


def answer_sentences(text: str) -> list[tuple[int, int]]:
    """Return (start, end) of each sentence of an answer: a line ends one, marks of lists belong to none."""
    found = []
    for line in _LINE.finditer(text):
        mark = _LIST_MARK.match(line[0])
        start = line.start() + (mark.end() if mark else 0)
        bounds = ((start + a, start + b) for a, b in sentences(text[start : line.end()]))
        found += [(a, b) for a, b in bounds if terms(text[a:b])]
    return found


class Checker:
    """Compares answers with passages.

    `supported` and `partly` are the scores (0..1) from which on a sentence counts as such; `meaning` adds the
    similarity of vectors to that of words.
    """

    def __init__(self, *, meaning: Meaning | None = None, supported: float = SUPPORTED, partly: float = PARTLY) -> None:
        self.meaning = meaning
        self.supported = supported
        self.partly = min(partly, supported)

    def check(
        self, text: str, hits: Sequence[Hit], markers: Sequence[tuple[int, int]] = (), question: str = "", *,
        stop: StopSignal | None = None,
    ) -> Generator[Progress, None, Checked]:  # fmt: skip
        """Yield Progress; return each sentence's support and its citations, best first, one per page.

        `markers` are the places and numbers of the citations the model wrote itself: one is kept if its passage
        matches the sentence nearly as well as the best one. A sentence below `partly` gets no citation. A short one
        ("84.") is compared together with the `question`, and supported only by a quote that says all of it.
        Nothing is supported once `stop` is set. Raises what the encoder raises.
        """
        yield Progress("checking")
        bounds = answer_sentences(text)
        candidates = [quote for hit in hits for quote in quotes(hit)]
        if not bounds or not candidates:
            return Checked(
                sentences=tuple(CheckedSentence(a, b, Support.NOT_FOUND, _places(text, a, b)) for a, b in bounds)
            )
        claims = [_claim(text[a:b], question) for a, b in bounds]
        compared = self._matches(claims, candidates)
        citations, supports = [], []
        for (start, end), claim, matches in zip(bounds, claims, compared, strict=True):
            named = frozenset(number for place, number in markers if start < place <= end)
            short = claim != text[start:end]
            single = [found for found in matches if len(found.quote.parts) == 1]  # two may hold its words by chance
            for place, found in enumerate(self._best(single if short else matches, named)):
                support = self.support(text[start:end], found)
                if is_set(stop) and support is Support.SUPPORTED:
                    support = Support.PARTLY
                if short and support is Support.SUPPORTED and not _says(text[start:end], found.quote):
                    support = Support.PARTLY
                if place == 0:
                    supports.append(support)
                if support is not Support.NOT_FOUND:
                    quote, verified = found.quote, support is Support.SUPPORTED
                    passage = quote.hit.passage.id
                    citations.append(Citation(quote.hit.rank, passage, quote.span, quote.text, verified, start, end))
        cited = {citation.passage_id for citation in citations}
        known = frozenset[tuple[float, bool]]().union(
            *(stated(hit.passage.text) for hit in hits if hit.passage.id in cited)
        )
        checked = tuple(
            CheckedSentence(start, end, support, _places(text, start, end, known))
            for (start, end), support in zip(bounds, supports, strict=True)
        )
        return Checked(tuple(citations), checked)

    @staticmethod
    def _best(matches: Sequence[Match], named: frozenset[int]) -> list[Match]:
        """Return the best match, and the best of each other page that is nearly as good."""

        def score(found: Match) -> float:
            return found.score + (NAMED if found.quote.hit.rank in named else 0.0)

        best: dict[tuple[str, int], Match] = {}
        for found in sorted(matches, key=score, reverse=True):
            best.setdefault((found.quote.span.document_id, found.quote.span.page), found)
        first, *others = best.values()
        return [first, *(found for found in others if score(found) >= score(first) - NEAR)]

    def support(self, sentence: str, best: Match) -> Support:
        """Return how far the best match supports the sentence."""
        if best.score < self.partly:
            return Support.NOT_FOUND
        if best.score >= self.supported and not contradicts(sentence, best.quote):
            return Support.SUPPORTED
        return Support.PARTLY

    def _matches(self, texts: Sequence[str], candidates: Sequence[Quote]) -> list[list[Match]]:
        if self.meaning is None:
            return [[match(text, quote) for quote in candidates] for text in texts]
        parts = [part for quote in candidates for part in quote.parts]
        self.meaning.vectors([*texts, *parts])  # one call of the encoder for all of them
        cosines = self.meaning.vectors(texts) @ vectors_of(candidates, self.meaning).T
        return [
            [match(text, quote, float(cosine)) for quote, cosine in zip(candidates, row, strict=True)]
            for text, row in zip(texts, cosines, strict=True)
        ]


def _claim(sentence: str, question: str) -> str:
    return f"{question} {_own(sentence)}" if question and len(content_terms(_own(sentence))) < FEW else sentence


def _own(sentence: str) -> str:
    """Return a sentence without "The answer is" before it."""
    return _PREAMBLE.sub("", sentence, count=1) if _PREAMBLE.match(sentence) else sentence


def _says(sentence: str, quote: Quote) -> bool:
    """Return whether a quote holds every word of a short sentence; a mere "Yes." is said by none."""
    own = _own(sentence)
    said = claimed(own)
    words = "".join(letter for i, letter in enumerate(own) if not any(n.start <= i < n.end for n in said))
    if not {number.key for number in said} <= stated(quote.text):
        return False
    return bool(content_terms(own)) and all(term in quote.terms for term in content_terms(words))


def contradicts(sentence: str, quote: Quote) -> bool:
    """Return whether one of the two is negated and the other not, or the sentence's names or numbers are others.

    Names and numbers may stand anywhere in the quote's passage, names in its heading too.
    """
    if bool(_NEGATION.search(sentence)) != bool(_NEGATION.search(quote.text)):
        return True
    passage = quote.hit.passage
    if not {number.key for number in claimed(sentence)} <= stated(passage.text):
        return True
    return not set(terms(" ".join(_NAME.findall(sentence)))) <= set(terms(f"{passage.heading} {passage.text}"))


def _places(
    text: str, start: int, end: int, known: frozenset[tuple[float, bool]] = frozenset()
) -> tuple[tuple[int, int], ...]:
    """Return the places of the numbers of `text[start:end]` that are not among the known ones."""
    return tuple(
        (start + number.start, start + number.end) for number in claimed(text[start:end]) if number.key not in known
    )
