"""Questions to ask after an answer: those of the sample document, and those that its pages answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from pdfqa_core.conversation.follow_ups import Heading, Section, follow_ups, related_parts, topic
from pdfqa_core.errors import PdfQAError
from pdfqa_core.services.documents import DocumentService
from pdfqa_core.services.indexes import IndexService
from pdfqa_core.services.sample import sample_pdf, sample_questions
from pdfqa_core.settings import Settings
from pdfqa_core.storage import Reading
from pdfqa_core.types import BlockKind, Hit, Span, Turn

NEAR = 3  # hits around which questions are looked for
AROUND = 6  # pages before and after a hit whose headings are looked at
ANSWER_CHARACTERS = 400  # of an answer, that its heading is compared with
# Cosine with the question or the answer from which on a heading relates to them (bundled encoder). Chosen by eye on 20
# questions: see "Questions to ask next" in docs/experiments.md. Another encoder's cosines differ.
RELATED = 0.4
CANDIDATES = 8  # questions that are tried, each by one search


class FollowUpService:
    """Follow-up questions that a search of the owner's documents answers."""

    def __init__(self, documents: DocumentService, indexes: IndexService) -> None:
        self._documents = documents
        self._indexes = indexes

    def offer(
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
        sample = {d.id for d in self._documents.list(owner) if d.filename == sample_pdf().name}
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
        titles = {document.id: document.title for document in self._documents.list(owner)}
        near: dict[tuple[str, int, int], Section] = {}
        for hit in _cited(turn):
            first = hit.passage.spans[0]
            if first.document_id not in usable:
                continue
            title = titles[first.document_id] if len(usable) > 1 else ""
            for heading in related_parts(self._headings(owner, first, usable[first.document_id]), first):
                if heading.text.casefold() == titles[first.document_id].casefold():
                    continue
                section = Section(heading.text, first.document_id, heading.page, title, hit.passage.language)
                near.setdefault((first.document_id, heading.page, heading.start), section)
        yield from self._related(turn, list(near.values()), settings)

    def _headings(self, owner: str, near: Span, reading: Reading) -> list[Heading]:
        """Return the headings of the pages around a passage, in their order."""
        found = []
        for number in range(max(1, near.page - AROUND), min(reading.page_count, near.page + AROUND) + 1):
            try:
                page = self._documents.page(owner, near.document_id, reading.extractor, number)
            except PdfQAError:
                continue
            for block in page.blocks:
                if block.kind is BlockKind.HEADING:
                    found.append(Heading(page.text[block.start : block.end], block.level, number, block.start))
        return found

    def _related(self, turn: Turn, sections: Sequence[Section], settings: Settings) -> list[Section]:
        """Return the sections whose heading is near the question or the answer in meaning, the nearest first.

        None where the recipe has no encoder: words alone do not tell what relates.
        """
        named = [(section, topic(section.heading, section.language)) for section in sections]
        named = [(section, words) for section, words in named if words]
        if not named or not self._indexes.needs_embeddings(settings):
            return []
        vectors = self._indexes.encoder(settings).encode(
            [turn.standalone_question, turn.answer.text[:ANSWER_CHARACTERS], *(words for _, words in named)]
        )
        cosines = (vectors[2:] @ vectors[:2].T).max(axis=1)
        ranked = sorted(zip(cosines, range(len(named)), strict=True), key=lambda pair: (-pair[0], pair[1]))
        return [named[place][0] for cosine, place in ranked if cosine >= RELATED]


def _cited(turn: Turn) -> list[Hit]:
    """Return the hits that the answer cites, the best one where it cites none; a refusal has nothing to go on from."""
    cited = {citation.number for citation in turn.answer.citations}
    hits = [hit for hit in turn.answer.hits if hit.rank in cited] or list(turn.answer.hits[:1])
    return [] if turn.answer.refused else hits[:NEAR]
