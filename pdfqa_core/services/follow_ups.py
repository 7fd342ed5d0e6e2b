"""Questions to ask after an answer: those of the sample document, and those that its pages answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from pdfqa_core.conversation.follow_ups import Section, follow_ups
from pdfqa_core.errors import PdfQAError
from pdfqa_core.services.documents import DocumentService
from pdfqa_core.services.indexes import IndexService
from pdfqa_core.services.sample import sample_pdf, sample_questions
from pdfqa_core.settings import Settings
from pdfqa_core.types import BlockKind, Hit, Turn

NEAR = 3  # hits around which questions are looked for
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

        A question made of a heading is offered only if its section's page is what a search for it finds first; there is
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
        """Yield the sections on the pages of the best hits and on the page after each, in the order of the hits."""
        usable = {document.id: reading for document, reading in self._documents.readable(owner, settings, document_ids)}
        titles = {document.id: document.title for document in self._documents.list(owner)}
        seen: set[tuple[str, int]] = set()
        for hit in _cited_first(turn):
            document_id = hit.passage.document_id
            for number in (*hit.passage.pages, hit.passage.pages[-1] + 1):
                if document_id not in usable or (document_id, number) in seen:
                    continue
                seen.add((document_id, number))
                try:
                    page = self._documents.page(owner, document_id, usable[document_id].extractor, number)
                except PdfQAError:
                    continue  # the last page has none after it
                for block in page.blocks:
                    if block.kind is BlockKind.HEADING:
                        title = titles[document_id] if len(usable) > 1 else ""
                        yield Section(page.text[block.start : block.end], document_id, number, title)


def _cited_first(turn: Turn) -> list[Hit]:
    cited = {citation.number for citation in turn.answer.citations}
    return sorted(turn.answer.hits, key=lambda hit: (hit.rank not in cited, hit.rank))[:NEAR]
