"""What a document is, at a glance: title, authors, contents, and which of its pages could be read better."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pdfqa_core.chunking.sections import ContentsEntry, contents, levelled, shown_first
from pdfqa_core.errors import PdfQAError
from pdfqa_core.extraction.layout.outline import OutlineEntry, authors_on
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.languages import rules_of
from pdfqa_core.reading.checking import with_sources
from pdfqa_core.services.documents import DocumentService
from pdfqa_core.services.finding import spread_hits
from pdfqa_core.services.indexes import IndexService, Kept
from pdfqa_core.services.tasks import Job, Tasks, job_name
from pdfqa_core.settings import Settings
from pdfqa_core.storage import Reading, Summary
from pdfqa_core.storage.summaries import Summaries
from pdfqa_core.text import terms
from pdfqa_core.types import Document, Done, Page

if TYPE_CHECKING:
    from pdfqa_core.services.answers import AnswerService

# ----------------------------------------------------------------------------------------------------
# What a document is, at a glance: title, authors, contents, and which of its pages could be read better.

SUMMARY = "summary"  # the kind of such jobs
BUSY = ("This document is being summarised already.", "Wait for it, or press Stop.")
MOST_KEPT = 200  # overviews in memory
LEAST_BOOKMARKS = 2  # with fewer the headings say more


@dataclass(frozen=True, slots=True)
class Overview:
    """A document at a glance.

    `authors` is what the file says, else its first page where that is plain. `contents` are the file's bookmarks
    (`bookmarks`), else the headings that were found; `first_contents` what is shown first of a long table. `pictures`
    are the pages without text that OCR has not been tried on. `language` is that of the text, empty where it has none.
    """

    document: Document
    authors: str
    contents: tuple[ContentsEntry, ...] = ()
    first_contents: tuple[ContentsEntry, ...] = ()
    bookmarks: bool = False
    pictures: tuple[int, ...] = ()
    language: str = ""


class OverviewService:
    """Overviews of each owner's documents, kept in memory until the text changes, and summaries on demand, stored."""

    def __init__(
        self,
        summaries: Summaries,
        documents: DocumentService,
        indexes: IndexService,
        answers: AnswerService,
        tasks: Tasks,
    ) -> None:
        self._summaries = summaries
        self._documents = documents
        self._indexes = indexes
        self._answers = answers
        self._tasks = tasks
        self.kept: Kept[Overview] = Kept(MOST_KEPT)
        documents.when_removed.append(lambda owner, document_id: tasks.stop(job_name(SUMMARY, owner, document_id)))

    def of(self, owner: str, document_id: str, settings: Settings) -> Overview:
        """Return the overview of a document in the reading that a recipe uses; only the facts where it has no text.

        Raises UsageError if the owner has no such document.
        """
        document = self._documents.kept.get(owner, document_id)
        found = self._documents.readable(owner, settings, (document_id,))
        if not found:
            return Overview(document, document.authors)
        document, reading = found[0]
        key = (owner, document_id, reading.extractor, reading.version, document.title)
        known = self.kept.get(key)
        if known is not None:
            return known
        try:
            outline, locked = self._documents.properties(owner, document_id).outline, False
        except PdfQAError:  # its password is not known any more, or the file is gone: the headings are there
            outline, locked = (), True
        made = overview(document, self._documents.pages_of(document, reading), outline)
        made = replace(made, language=reading.language)
        if reading.extractor != document.extractor:  # what OCR adds is added to the reading that counts
            made = replace(made, pictures=())
        if not locked:
            self.kept.keep(key, made)
        return made

    # ------------------------------------------------------------ summaries

    def summary(self, owner: str, document_id: str, settings: Settings) -> Summary | None:
        """Return the summary of a document as a recipe reads it; None where there is none of this text."""
        found = self._documents.readable(owner, settings, (document_id,))
        return self._summaries.get(owner, found[0][1]) if found else None

    def summarise(self, owner: str, document_id: str, settings: Settings) -> Job:
        """Begin to summarise a document in the background.

        Raises PdfQAError where it has no text, or is being summarised already.
        """
        found = self._documents.readable(owner, settings, (document_id,))
        if not found:
            raise PdfQAError("This document has no text to summarise.", "Read it with OCR first.")
        document, reading = found[0]
        job = Job(SUMMARY, owner, document_id, document.title or document.filename)

        def write() -> None:
            with (
                self._tasks.start(job.name) as stop,
                self._indexes.preparation.answering(owner, (document_id,)),
            ):
                self._write(job, document, reading, settings, stop)

        return self._tasks.begin(job, write, BUSY)

    def _write(self, job: Job, document: Document, reading: Reading, settings: Settings, stop: StopSignal) -> None:
        """Summarise a document; the summary is stored before whoever looks on is told.

        One that was stopped is too, unless there is another.
        """
        pages = self._documents.pages_of(document, reading)
        reader, notes = self._answers.summary_reader(settings, job.title)
        hits = spread_hits(pages, job.title, rules_of(reading.language), quoted=reader.llm is None)
        for event in reader.read(job.title, hits, stop=stop):
            if not isinstance(event, Done):
                job.take(event)
                continue
            answer = replace(event.answer, notes=(*notes, *event.answer.notes))
            answer = with_sources(answer, (), {document.id: document.filename})
            finished = not answer.stopped or self._summaries.get(job.owner, reading) is None
            if answer.text and not answer.refused and finished:
                self._summaries.put(job.owner, reading, answer)
            job.take(Done(answer))


def overview(document: Document, pages: Sequence[Page], outline: Sequence[OutlineEntry] = ()) -> Overview:
    """Return the overview that pages and bookmarks make."""
    marked = tuple(ContentsEntry(one.level, one.title, one.page) for one in outline if one.page <= len(pages))
    bookmarks = len(marked) >= LEAST_BOOKMARKS
    authors = document.authors or next((authors_on(page, document.title) for page in pages[:1]), "")
    entries = marked if bookmarks else _no_authors(contents(pages, document.title), authors)
    unread = {page.number for page in pages if page.source == "text"} & set(document.pages_without_text)
    return Overview(
        document, authors, levelled(entries), levelled(shown_first(entries)), bookmarks, tuple(sorted(unread))
    )


def _no_authors(entries: Sequence[ContentsEntry], authors: str) -> tuple[ContentsEntry, ...]:
    """Return the entries without a line of the authors' names on the first page, whatever marks stand behind these."""
    names = set(terms(authors))
    return tuple(
        one for one in entries if not names or one.page > 1 or not set(terms(re.sub(r"\d+", " ", one.title))) <= names
    )
