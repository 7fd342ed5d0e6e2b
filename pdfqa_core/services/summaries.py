"""Summaries of documents on demand: written whether or not a page looks on, and kept until the text changes."""

from __future__ import annotations

from dataclasses import replace

from pdfqa_core.errors import PdfQAError
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.languages import rules_of
from pdfqa_core.services.answers import AnswerService
from pdfqa_core.services.asked import with_sources
from pdfqa_core.services.documents import DocumentService
from pdfqa_core.services.hits import spread_hits
from pdfqa_core.services.preparation import Preparation
from pdfqa_core.services.tasks import Tasks
from pdfqa_core.services.under_way import UnderWay, Written
from pdfqa_core.settings import Settings
from pdfqa_core.storage import Reading, Summary
from pdfqa_core.storage.summaries import Summaries
from pdfqa_core.types import Document, Done

BUSY = "This document is being summarised already."


class SummaryService:
    """The summaries of each owner's documents, and those under way, each in a thread of its own."""

    def __init__(
        self, kept: Summaries, documents: DocumentService, answers: AnswerService, preparation: Preparation,
        tasks: Tasks,
    ) -> None:  # fmt: skip
        self._kept = kept
        self._documents = documents
        self._answers = answers
        self._preparation = preparation
        self._tasks = tasks
        self._under_way = UnderWay("summary", BUSY, "Wait for it, or press Stop.", tasks)
        documents.when_removed(self.stop)

    def get(self, owner: str, document_id: str, settings: Settings) -> Summary | None:
        """Return the summary of a document as a recipe reads it; None where there is none of this text."""
        found = self._documents.readable(owner, settings, (document_id,))
        return self._kept.get(owner, found[0][1]) if found else None

    def begin(self, owner: str, document_id: str, settings: Settings) -> Written:
        """Begin to summarise a document.

        Raises PdfQAError where it has no text, or is being summarised already.
        """
        found = self._documents.readable(owner, settings, (document_id,))
        if not found:
            raise PdfQAError("This document has no text to summarise.", "Read it with OCR first.")
        document, reading = found[0]
        written = Written(owner, document_id, document.title or document.filename)

        def write() -> None:
            with (
                self._tasks.start(self._under_way.task(owner, document_id)) as stop,
                self._preparation.answering(owner, (document_id,)),
            ):
                self._write(written, document, reading, settings, stop)

        self._under_way.start(written, write)
        return written

    def _write(
        self, written: Written, document: Document, reading: Reading, settings: Settings, stop: StopSignal
    ) -> None:
        """Summarise a document; the summary is stored before whoever looks on is told.

        One that was stopped is too, unless there is another.
        """
        pages = self._documents.pages_of(document, reading)
        reader, notes = self._answers.summary_reader(settings, written.question)
        hits = spread_hits(pages, written.question, rules_of(reading.language), quoted=reader.llm is None)
        for event in reader.read(written.question, hits, stop=stop):
            if not isinstance(event, Done):
                written.take(event)
                continue
            answer = replace(event.answer, notes=(*notes, *event.answer.notes))
            answer = with_sources(answer, (), {document.id: document.filename})
            finished = not answer.stopped or self._kept.get(written.owner, reading) is None
            if answer.text and not answer.refused and finished:
                self._kept.put(written.owner, reading, answer)
            written.take(Done(answer))

    def of(self, owner: str, document_id: str) -> Written | None:
        """Return the summary of a document that is being written, None where there is none."""
        return self._under_way.of(owner, document_id)

    def stop(self, owner: str, document_id: str) -> None:
        """Stop a summary; what is written is kept."""
        self._under_way.stop(owner, document_id)

    def close(self) -> None:
        """Stop all, and wait until what is written is stored."""
        self._under_way.close()
