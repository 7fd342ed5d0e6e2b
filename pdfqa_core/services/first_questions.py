"""Questions to begin with: accepted ones, then what a document's own headings ask, or name, and its pages answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest

from pdfqa_core.chunking.sections import Section as Part
from pdfqa_core.chunking.sections import outline, sections
from pdfqa_core.chunking.spread import is_aside
from pdfqa_core.conversation.follow_ups import ASKED_IN, Section, follow_ups
from pdfqa_core.retrieval import Index, confidence
from pdfqa_core.services.documents import DocumentService
from pdfqa_core.services.indexes import IndexService
from pdfqa_core.services.kept import Kept
from pdfqa_core.services.sample import sample_pdf, sample_questions
from pdfqa_core.settings import Settings
from pdfqa_core.storage import Outcome, Reading, SyntheticQuestion
from pdfqa_core.storage.synthetic_questions import SyntheticQuestions
from pdfqa_core.types import Document, Page

SURE = 0.35  # confidence of the search from which on the documents are taken to answer a question
MOST = 3
CANDIDATES = 10  # questions that are tried, each by one search
LEAST_WORDS = 30  # of a section that answers a question
MOST_KEPT = 200  # documents whose questions are kept in memory

# What a question leans on that does not say itself what it is about.
_POINTS = re.compile(
    r"\b(?:this|these|those|that|it|its|they|them|we|us|our|he|she|tips?|exceptions?)\b", re.IGNORECASE
)
_FEWEST = 3  # words of a heading that asks


class FirstQuestions:
    """Questions about one document that a search of it answers; kept in memory until its text changes.

    Those that a person accepted (see `SynthesisService`) come first.
    """

    def __init__(self, documents: DocumentService, indexes: IndexService, made: SyntheticQuestions) -> None:
        self._made = made
        self._documents = documents
        self._indexes = indexes
        self.kept: Kept[tuple[str, ...]] = Kept(MOST_KEPT)

    def accepted(self, owner: str, document_ids: Sequence[str] = ()) -> tuple[str, ...]:
        """Return at most MOST accepted questions about these documents (none given: all), of each in turn."""
        by_document: dict[str, list[SyntheticQuestion]] = {}
        for one in self._made.list(owner, [Outcome.ACCEPTED], document_ids):
            by_document.setdefault(one.document_id, []).append(one)
        spread = [_spread(sorted(own, key=lambda one: one.spans[0].page)) for own in by_document.values()]
        in_turn = [one.text for row in zip_longest(*spread) for one in row if one is not None]
        return tuple(dict.fromkeys(in_turn))[:MOST]

    def offer(self, owner: str, document_id: str, settings: Settings) -> tuple[str, ...]:
        """Return at most MOST questions; none is better than one that the document does not answer.

        Accepted ones first. Another one is offered only if the best passage of a search for it by words lies in the
        section that it is made of, and the search is as sure as an answer needs it to be; those are in the order of the
        document.
        """
        known = self.known(owner, document_id, settings)
        if known is not None:
            return known
        return _first(self.accepted(owner, (document_id,)), self._found(owner, document_id, settings))

    def _found(self, owner: str, document_id: str, settings: Settings) -> tuple[str, ...]:
        document, reading = self._documents.readable(owner, settings, (document_id,))[0]
        if document.filename == sample_pdf().name:
            questions = _of_sample()
        else:
            pages = self._documents.pages_of(document, reading)
            questions = self._answered(owner, document, pages, reading.language, settings)
        self.kept.keep(_key(owner, reading, settings), questions)
        return questions

    def known(self, owner: str, document_id: str, settings: Settings) -> tuple[str, ...] | None:
        """Return the questions of a document where they have been found before; None where `offer` has to look."""
        found = self._documents.readable(owner, settings, (document_id,))
        if not found:
            return ()
        accepted = self.accepted(owner, (document_id,))
        if len(accepted) == MOST:
            return accepted
        cached = self.kept.get(_key(owner, found[0][1], settings))
        return None if cached is None else _first(accepted, cached)

    def _answered(
        self, owner: str, document: Document, pages: Sequence[Page], language: str, settings: Settings
    ) -> tuple[str, ...]:
        """Return the first of the questions that a search answers, in the order of the document."""
        by_words = settings.changed("retrieval", retriever="bm25", reranker="")
        index = Index.in_memory(self._indexes.passages(owner, settings, (document.id,)))
        found: list[tuple[int, str]] = []
        for question, part in islice(_asked(pages, document, language), CANDIDATES):
            hits = self._indexes.search_in(index, question, by_words, (), settings.retrieval.k)
            sure = confidence(question, hits, language=settings.retrieval.language)
            inside = {span.page for span in part.spans}
            if hits and inside & set(hits[0].passage.pages) and sure >= SURE:
                found.append((part.pieces[0].page.number, question))
            if len(found) == MOST:
                break
        return tuple(question for _, question in sorted(found, key=lambda one: one[0]))


def _first(accepted: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*accepted, *others)))[:MOST] if accepted else tuple(others)


def _spread(questions: Sequence[SyntheticQuestion]) -> list[SyntheticQuestion]:
    """Return at most MOST of them, from the beginning to the end."""
    if len(questions) <= MOST:
        return list(questions)
    return [questions[place * (len(questions) - 1) // (MOST - 1)] for place in range(MOST)]


def _key(owner: str, reading: Reading, settings: Settings) -> tuple[str, ...]:
    return owner, reading.document_id, reading.extractor, reading.version, settings.fingerprint()


def _asked(pages: Sequence[Page], document: Document, language: str) -> Iterator[tuple[str, Part]]:
    """Yield questions and the sections that should answer them: first those that headings ask, then what they name.

    What headings name is asked about in the document's language, where questions can be made in it.
    """
    every = [one for one in sections(pages) if one.length >= LEAST_WORDS and not is_aside(one.heading)]
    seen: set[str] = set()
    for part in sorted((one for one in every if _is_asked(one.heading)), key=lambda one: -one.length):
        question = _as_asked(part)
        if question.casefold() not in seen:
            seen.add(question.casefold())
            yield question, part
    if language not in ASKED_IN:
        return
    top = sorted((one for one in outline(pages) if one in every), key=lambda one: -one.length)
    parts = {(one.heading, one.pieces[0].page.number): one for one in (*top, *every)}
    named = (Section(heading, document.id, number, language=language) for heading, number in parts)
    for one in follow_ups(named, [document.title]):
        if one.question.casefold() not in seen:
            yield one.question, parts[one.section.heading, one.section.page]


def _is_asked(heading: str) -> bool:
    return heading.endswith("?") and len(heading.split()) >= _FEWEST and not _POINTS.search(heading)


def _as_asked(part: Part) -> str:
    """Return the heading of a section as a question is typed: in capitals only what the section writes so."""
    if not part.heading.isupper():
        return part.heading
    known = {word for piece in part.pieces if not piece.is_heading for word in re.findall(r"\w+", piece.text)}

    def plain(word: re.Match[str]) -> str:
        lower = word[0].casefold()
        return lower.capitalize() if lower == "i" or (lower.capitalize() in known and lower not in known) else lower

    text = re.sub(r"\w+", plain, part.heading)
    return text[:1].upper() + text[1:]


def _of_sample() -> tuple[str, ...]:
    """Return questions of the sample that its pages answer, from its beginning, middle and end."""
    items = [item for item in sample_questions() if item["answerable"] and not item.get("follow_up_of")]
    items.sort(key=lambda item: min(item["pages"]))
    chosen = [items[place * (len(items) - 1) // (MOST - 1)] for place in range(MOST)]
    return tuple(item["question"] for item in chosen)
