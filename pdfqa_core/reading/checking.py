"""Whether the passages say what an answer says: each of its sentences is compared with theirs.

Words and, where an encoder is passed in, meaning find the quote that matches a sentence best. Whether the passages say
it is decided by its facts: a number counts only beside the words that it stands beside in the passages, see
`alignment.py` and `verdicts.py`.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace

from pdfqa_core.interfaces import StopSignal
from pdfqa_core.languages import ENGLISH
from pdfqa_core.reading.alignment import Aligned, align, stem, stems
from pdfqa_core.reading.facts import scales
from pdfqa_core.reading.matching import Match, Quote, language_of, match, quotes, vectors_of
from pdfqa_core.reading.meaning import Meaning
from pdfqa_core.reading.numbers import claimed, stated
from pdfqa_core.reading.otherwise import says_otherwise
from pdfqa_core.reading.same_words import says_the_same
from pdfqa_core.reading.verdicts import agreement, exchanged, signs
from pdfqa_core.streaming import is_set
from pdfqa_core.text import compared_terms, content_terms, sentences, terms
from pdfqa_core.types import CheckedSentence, Citation, Hit, Progress, Support

# By benchmarks/verdicts.py: at most 5 % of the sentences with a swapped fact are SUPPORTED. PARTLY: few of those
# sentences that no passage says.
SUPPORTED = 0.65
PARTLY = 0.45
NEWS = 0.3  # how much better a passage matches that has all words which the question has not, and so the answer
NEAR = 0.1  # how much worse than the best one a sentence of another page may match to be cited too
IN_ROW = 0.6  # how well a number must fit a cell of a table for its row to be the quote
LABELLED = 0.45  # how well a number matches its row where the sentence has the row's whole label

FEW = 4  # content terms below which a sentence says too little to be compared without the question it answers

_LIST_MARK = re.compile(r"\s*(?:[-*•–·]|\(?\d{1,3}[.)]|#+)\s+")
_PREAMBLE = re.compile(
    r"\W*(?:(?:according to|based on|as stated in) (?:the|this) (?:passages?|text|context|documents?|report)\W+)?"
    r"(?:(?:(?:the|my) )?(?:final |correct )?answer(?: to (?:the|this|your) question)? is\W+(?:that )?)?",
    re.I,
)
_VERDICT = re.compile(r"\W*(?:yes|no|ja|nein)\b(?:\s*[,.:;–-]\s*|\W*$)", re.IGNORECASE)
_LINE = re.compile(r"[^\n]+")


@dataclass(frozen=True, slots=True)
class Checked:
    """What the comparison found: the evidence of sentences that have some, and how well each is supported."""

    citations: tuple[Citation, ...] = ()
    sentences: tuple[CheckedSentence, ...] = ()


def answer_sentences(text: str, language: str = ENGLISH) -> list[tuple[int, int]]:
    """Return (start, end) of each sentence of an answer: a line ends one, marks of lists belong to none."""
    found = []
    for line in _LINE.finditer(text):
        mark = _LIST_MARK.match(line[0])
        start = line.start() + (mark.end() if mark else 0)
        bounds = ((start + a, start + b) for a, b in sentences(text[start : line.end()], language))
        found += [(a, b) for a, b in bounds if terms(text[a:b])]
    return found


class Checker:
    """Compares answers with passages.

    `supported` is the probability (0..1) that a careful reader of the passages agrees with a sentence, from which on it
    counts as supported; `partly` the match (0..1) with a quote from which on it is cited. `meaning` adds the similarity
    of vectors to that of words.
    """

    def __init__(self, *, meaning: Meaning | None = None, supported: float = SUPPORTED, partly: float = PARTLY) -> None:
        self.meaning = meaning
        self.supported = supported
        self.partly = partly

    def check(
        self, text: str, hits: Sequence[Hit], question: str = "", *, stop: StopSignal | None = None
    ) -> Generator[Progress, None, Checked]:
        """Yield Progress; return each sentence's support and its citations, best first, one per page.

        A sentence below `partly` gets no citation. A short one ("84.") is compared together with the `question`, and
        supported only by a quote that says all of it. Nothing is supported once `stop` is set. Raises what the encoder
        raises.
        """
        yield Progress("checking")
        language, english = language_of(hits), any(hit.passage.language == ENGLISH for hit in hits)
        bounds = answer_sentences(text, language)
        candidates = [quote for hit in hits for quote in quotes(hit)]
        if not bounds or not candidates:
            return Checked(
                sentences=tuple(CheckedSentence(a, b, Support.NOT_FOUND, _places(text, a, b)) for a, b in bounds)
            )
        passages = [(hit.passage.text, hit.passage.heading) for hit in hits]
        claims = [_claim(text[a:b], question, language) for a, b in bounds]
        compared = self._matches(claims, candidates)
        citations, supports = [], []
        for (start, end), claim, matches in zip(bounds, claims, compared, strict=True):
            sentence = text[start:end]
            short = claim != sentence
            single = [found for found in matches if len(found.quote.parts) == 1]  # two may hold its words by chance
            own = _own(sentence)
            aligned = align(own, passages, question, short=short) if english else []
            fitting = [_in_row(found, hits, aligned, own) for found in (single if short else matches)]
            news = frozenset[str]()
            if question and not short:
                news = frozenset(stems(own, language)) - frozenset(stems(question, language))
            for place, found in enumerate(self._best(fitting, news)):
                support = self._support(own, found, aligned, passages, question)
                if short and support is Support.SUPPORTED and not _says(own, found.quote):
                    support = Support.PARTLY
                if is_set(stop) and support is Support.SUPPORTED:
                    support = Support.PARTLY
                if place == 0:
                    supports.append(support)
                if support is not Support.NOT_FOUND:
                    quote, verified = found.quote, support is Support.SUPPORTED
                    passage = quote.hit.passage.id
                    citations.append(Citation(quote.hit.rank, passage, quote.span, quote.text, verified, start, end))
        cited = {citation.passage_id for citation in citations}
        known = frozenset[tuple[float, bool]]().union(
            *(_stated(hit.passage.text) for hit in hits if hit.passage.id in cited)
        )
        checked = tuple(
            CheckedSentence(start, end, support, _places(text, start, end, known))
            for (start, end), support in zip(bounds, supports, strict=True)
        )
        return Checked(tuple(citations), checked)

    def _support(
        self,
        sentence: str,
        best: Match,
        aligned: Sequence[Aligned],
        passages: Sequence[tuple[str, str]],
        question: str,
    ) -> Support:
        """Return how far the passages support a sentence whose best match is given; each fact must stand in them."""
        if best.score < self.partly:
            return Support.NOT_FOUND
        if (language := best.quote.language) != ENGLISH:
            same = is_statement(sentence, question) and says_the_same(sentence, " ".join(best.quote.parts), language)
            return Support.SUPPORTED if same else Support.PARTLY
        if not is_statement(sentence, question) or any(one.own is None for one in aligned):
            return Support.PARTLY
        quote = best.quote.text
        if exchanged(sentence, quote) or says_otherwise(sentence, quote, aligned, passages):
            return Support.PARTLY
        found = signs(sentence, quote, aligned, passages, question)
        return Support.SUPPORTED if agreement(found) >= self.supported else Support.PARTLY

    @staticmethod
    def _best(matches: Sequence[Match], news: frozenset[str]) -> list[Match]:
        """Return the best match, and the best of each other page that is nearly as good and says some of the news."""

        def told(found: Match) -> float:
            return len(news & {stem(term, found.quote.language) for term in found.quote.terms}) / max(1, len(news))

        best: dict[tuple[str, int], Match] = {}
        for found in sorted(matches, key=lambda found: found.score + NEWS * told(found), reverse=True):
            best.setdefault((found.quote.span.document_id, found.quote.span.page), found)
        first, *others = best.values()
        near = (found for found in others if found.score >= first.score - NEAR)
        return [first, *(found for found in near if told(found) or not told(first))]

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


def begins_with_verdict(text: str) -> bool:
    """Return whether a text begins with a yes or no of its own: "No, it was not.", but not "No roost was found."."""
    return _VERDICT.match(text) is not None


def is_statement(sentence: str, question: str = "") -> bool:
    """Return whether a sentence says something by itself: no heading, question, "Yes." or echo of the question does."""
    if sentence.rstrip().endswith((":", "?")) or begins_with_verdict(sentence):
        return False
    said, asked = ({stem(term) for term in terms(text)} for text in (sentence, question))
    return bool(said) and not said <= asked


def _claim(sentence: str, question: str, language: str) -> str:
    return (
        f"{question} {_own(sentence)}" if question and len(content_terms(_own(sentence), language)) < FEW else sentence
    )


def _own(sentence: str) -> str:
    """Return a sentence without "The answer is" or "According to the passage" before it."""
    preamble = _PREAMBLE.match(sentence)
    return sentence[preamble.end() :] if preamble else sentence


def _in_row(found: Match, hits: Sequence[Hit], aligned: Sequence[Aligned], sentence: str) -> Match:
    """Return a match with a row of a table as good as a number of the sentence fits one of its cells.

    A row whose whole label the sentence has is the quote of such a number also where other words differ.
    """
    quote = found.quote
    cells = [
        one
        for one in aligned
        if one.home is not None and one.home.cell and one.passage < len(hits) and hits[one.passage] is quote.hit
        and quote.start <= one.home.fact.start < quote.end and len(quote.parts) == 1
    ]  # fmt: skip
    fits = [one.own or 0.0 for one in cells if (one.own or 0.0) >= max(one.rival, IN_ROW)]
    label = set(stems(quote.label))
    if cells and not fits and label and label <= set(stems(sentence)):
        fits = [LABELLED]
    return replace(found, row=max(fits)) if fits else found


def _says(sentence: str, quote: Quote) -> bool:
    """Return whether a quote holds every word of a short sentence."""
    said = claimed(sentence)
    words = "".join(letter for i, letter in enumerate(sentence) if not any(n.start <= i < n.end for n in said))
    if not {number.key for number in said} <= stated(quote.text):
        return False
    language = quote.language
    return bool(content_terms(sentence, language)) and all(
        term in quote.terms for term in compared_terms(words, language)
    )


def _stated(text: str) -> frozenset[tuple[float, bool]]:
    """Return the keys of the numbers that a passage states; of a table in millions, what they are worth too."""
    said = stated(text)
    worth = {(round(value * scale, 6), False) for value, percent in said for scale in scales(text) if not percent}
    return said | worth if "|" in text else said


def _places(
    text: str, start: int, end: int, known: frozenset[tuple[float, bool]] = frozenset()
) -> tuple[tuple[int, int], ...]:
    """Return the places of the numbers of `text[start:end]` that are not among the known ones."""
    return tuple(
        (start + number.start, start + number.end) for number in claimed(text[start:end]) if number.key not in known
    )
