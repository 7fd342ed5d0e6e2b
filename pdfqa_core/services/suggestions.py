"""Questions that are offered: first ones about a document, and those that go on from an answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest

from pdfqa_core.chunking.sections import Section as Part
from pdfqa_core.chunking.sections import outline, sections
from pdfqa_core.chunking.stream import is_aside
from pdfqa_core.conversation.follow_ups import (
    ASKED_IN,
    Heading,
    Section,
    asks,
    follow_ups,
    related_parts,
    says_again,
    topic,
)
from pdfqa_core.errors import PdfQAError
from pdfqa_core.languages import rules_of
from pdfqa_core.retrieval import Index, confidence
from pdfqa_core.services.documents import DocumentService, sample_pdf, sample_questions
from pdfqa_core.services.indexes import IndexService, Kept
from pdfqa_core.settings import Settings
from pdfqa_core.storage import Outcome, Reading, SyntheticQuestion
from pdfqa_core.storage.synthetic_questions import SyntheticQuestions
from pdfqa_core.types import BlockKind, Document, Hit, Page, Span, Turn

# Questions to ask after an answer: those of the sample document, and those that its pages answer.

NEAR = 3  # hits around which questions are looked for
AROUND = 6  # pages before and after a hit whose headings are looked at
ANSWER_CHARACTERS = 400  # of an answer, that its heading is compared with
# Cosine with the question or the answer from which on a heading relates to them (bundled encoder). Chosen by eye on 20
# questions: see "Questions to ask next" in docs/experiments.md. Another encoder's cosines differ.
RELATED = 0.4
CANDIDATES = 8  # questions that are tried, each by one search

# ----------------------------------------------------------------------------------------------------
# Questions to begin with: accepted ones, then what a document's own headings ask, or name, and its pages answer.

SURE = 0.35  # confidence of the search from which on the documents are taken to answer a question
MOST = 3
FIRST_CANDIDATES = 10  # questions that are tried, each by one search
LEAST_WORDS = 30  # of a section that answers a question
MOST_KEPT = 200  # documents whose questions are kept in memory


class Suggestions:
    """Questions that a search of the owner's documents answers; first ones are kept in memory until the text changes.

    Those that a person accepted (see `SynthesisService`) come first.
    """

    def __init__(self, documents: DocumentService, indexes: IndexService, made: SyntheticQuestions) -> None:
        self._documents = documents
        self._indexes = indexes
        self._made = made
        self.kept: Kept[tuple[str, ...]] = Kept(MOST_KEPT)

    # ------------------------------------------------------------ after an answer

    def follow_ups(
        self, owner: str, turns: Sequence[Turn], settings: Settings, document_ids: Sequence[str] = (), most: int = 3
    ) -> tuple[str, ...]:
        """Return at most `most` questions to ask after the last of these turns, those of the sample document first.

        A question made of a heading is offered only if its section belongs to the same chapter as what was cited,
        relates to the question or the answer (`RELATED`), and its page is what a search for it finds first; there is
        none while the index is not open.
        """
        if not turns or not turns[-1].answer.hits:
            return ()
        found = list(self._sample_follow_ups(owner, turns))[:most]
        asked = [turn.question for turn in turns] + found
        candidates = follow_ups(self._sections(owner, turns[-1], settings, document_ids), asked)
        for candidate in islice(candidates, CANDIDATES):
            if len(found) >= most:
                break
            section = candidate.section
            try:
                hits = self._indexes.search(owner, candidate.question, settings, document_ids=document_ids, k=1)
            except PdfQAError:
                break  # the index is not open
            places = [(hit.passage.document_id, page) for hit in hits for page in hit.passage.pages]
            if (section.document_id, section.page) in places:
                found.append(candidate.question)
        return tuple(found)

    def _sample_follow_ups(self, owner: str, turns: Sequence[Turn]) -> Iterator[str]:
        """Yield the questions of the sample that lean on the last one, then those of the pages that were cited."""
        answer = turns[-1].answer
        sample = {d.id for d in self._documents.kept.list(owner) if d.filename == sample_pdf().name}
        pages = {c.span.page for c in answer.citations if c.span.document_id in sample}
        if not pages:
            return
        items = sample_questions()
        asked = {turn.question for turn in turns}
        last = {item["id"] for item in items if item["question"] == turns[-1].question}
        leaning = [item for item in items if item.get("follow_up_of") in last]
        near = [i for i in items if i["answerable"] and not i.get("follow_up_of") and pages & set(i["pages"])]
        yield from (item["question"] for item in (*leaning, *near) if item["question"] not in asked)

    def _sections(self, owner: str, turn: Turn, settings: Settings, document_ids: Sequence[str]) -> Iterator[Section]:
        """Yield the sections of the same chapter as the cited passages that relate to what was asked and answered."""
        usable = {document.id: reading for document, reading in self._documents.readable(owner, settings, document_ids)}
        titles = {document.id: document.title for document in self._documents.kept.list(owner)}
        near: dict[tuple[str, int, int], Section] = {}
        for hit in _cited(turn):
            first = hit.passage.spans[0]
            if first.document_id not in usable:
                continue
            title = titles[first.document_id] if len(usable) > 1 else ""
            for heading in related_parts(self._headings(owner, first, usable[first.document_id]), first):
                language = hit.passage.language
                if heading.text.casefold() == titles[first.document_id].casefold():
                    continue
                if not says_again(heading.text, heading.below, language):
                    continue
                section = Section(heading.text, first.document_id, heading.page, title, language)
                near.setdefault((first.document_id, heading.page, heading.start), section)
        yield from self._related(turn, list(near.values()), settings)

    def _headings(self, owner: str, near: Span, reading: Reading) -> list[Heading]:
        """Return the headings of the pages around a passage, in their order."""
        text, found = "", []
        for number in range(max(1, near.page - AROUND), min(reading.page_count, near.page + AROUND) + 1):
            try:
                page = self._documents.kept.page(owner, near.document_id, reading.extractor, number)
            except PdfQAError:
                continue
            found += [(page, block, len(text)) for block in page.blocks if block.kind is BlockKind.HEADING]
            text += f"{page.text}\n"
        headings = []
        for place, (page, block, at) in enumerate(found):
            ends = (start + one.start for _, one, start in found[place + 1 :] if one.level <= block.level)
            words, below = page.text[block.start : block.end], text[at + block.end : next(ends, len(text))]
            headings.append(Heading(words, block.level, page.number, block.start, below))
        return headings

    def _related(self, turn: Turn, sections: Sequence[Section], settings: Settings) -> list[Section]:
        """Return the sections whose heading is near the question or the answer in meaning, the nearest first.

        None where the recipe has no encoder: words alone do not tell what relates.
        """
        named = [(section, topic(section.heading, section.language)) for section in sections]
        named = [(section, words) for section, words in named if words]
        if not named or not self._indexes.needs_embeddings(settings):
            return []
        texts = [turn.standalone_question, turn.answer.text[:ANSWER_CHARACTERS], *(words for _, words in named)]
        vectors = self._indexes.unit_vectors(settings, texts)
        cosines = (vectors[2:] @ vectors[:2].T).max(axis=1)
        ranked = sorted(zip(cosines, range(len(named)), strict=True), key=lambda pair: (-pair[0], pair[1]))
        return [named[place][0] for cosine, place in ranked if cosine >= RELATED]

    # ------------------------------------------------------------ to begin with

    def accepted(self, owner: str, document_ids: Sequence[str] = ()) -> tuple[str, ...]:
        """Return at most MOST accepted questions about these documents (none given: all), of each in turn."""
        by_document: dict[str, list[SyntheticQuestion]] = {}
        for one in self._made.list(owner, [Outcome.ACCEPTED], document_ids):
            if not one.follows:
                by_document.setdefault(one.document_id, []).append(one)
        spread = [_spread(sorted(own, key=lambda one: one.spans[0].page)) for own in by_document.values()]
        in_turn = [one.text for row in zip_longest(*spread) for one in row if one is not None]
        return tuple(dict.fromkeys(in_turn))[:MOST]

    def first(self, owner: str, document_id: str, settings: Settings) -> tuple[str, ...]:
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
        for question, part in islice(_asked(pages, document, language), FIRST_CANDIDATES):
            hits = self._indexes.search_in(index, question, by_words, (), settings.retrieval.k)
            sure = confidence(question, hits, language=settings.retrieval.language)
            inside = {span.page for span in part.spans}
            if hits and inside & set(hits[0].passage.pages) and sure >= SURE:
                found.append((part.pieces[0].page.number, question))
            if len(found) == MOST:
                break
        return tuple(question for _, question in sorted(found, key=lambda one: one[0]))


def _cited(turn: Turn) -> list[Hit]:
    """Return the hits that the answer cites, the best one where it cites none; a refusal has nothing to go on from."""
    cited = {citation.number for citation in turn.answer.citations}
    hits = [hit for hit in turn.answer.hits if hit.rank in cited] or list(turn.answer.hits[:1])
    return [] if turn.answer.refused else hits[:NEAR]


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
    for part in sorted((one for one in every if asks(one.heading, rules_of(language))), key=lambda one: -one.length):
        question = _as_asked(part)
        if question.casefold() not in seen:
            seen.add(question.casefold())
            yield question, part
    if language not in ASKED_IN:
        return
    top = sorted((one for one in outline(pages) if one in every), key=lambda one: -one.length)
    parts = {(one.heading, one.pieces[0].page.number): one for one in (*top, *every)}
    named = (
        Section(heading, document.id, number, language=language)
        for (heading, number), part in parts.items()
        if says_again(heading, _text(part), language)
    )
    for one in follow_ups(named, [document.title]):
        if one.question.casefold() not in seen:
            yield one.question, parts[one.section.heading, one.section.page]


def _text(part: Part) -> str:
    return "\n".join(piece.text for piece in part.pieces if not piece.is_heading)


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
