"""OCR of single pages: what it reads takes their place in the reading that counts, all other pages stay as they are."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace

from pdfqa_core.background import in_background
from pdfqa_core.cluster import Cluster
from pdfqa_core.errors import DocumentError, PdfQAError, UsageError
from pdfqa_core.extraction import extractors
from pdfqa_core.extraction.process.worker import outcome
from pdfqa_core.extraction.raw_page import IS_PICTURE, OCR_FOUND_NOTHING
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.services.documents import DocumentService, read_pdf
from pdfqa_core.services.passwords import Passwords
from pdfqa_core.services.tasks import Tasks
from pdfqa_core.settings import Settings
from pdfqa_core.storage.documents import Documents
from pdfqa_core.types import Document, DocumentState, Page, Progress

AROUND = 3  # pages before and after that are read too: they tell running titles and page numbers from the text


def ocr_extractor() -> str:
    """Return the extractor that reads pages by OCR: the one with a choice of pages; "" if there is none."""
    return next((name for name in extractors.names() if "visual_pages" in extractors.parameters(name)), "")


class PageOcr:
    """Reads single pages of each owner's documents by OCR, one call of an owner at a time; on a cluster if any."""

    def __init__(
        self, kept: Documents, documents: DocumentService, settings: Settings, passwords: Passwords, tasks: Tasks,
        cluster: Cluster | None = None,
    ) -> None:  # fmt: skip
        self._kept = kept
        self._documents = documents
        self._extraction = settings.extraction
        self._passwords = passwords
        self._tasks = tasks
        self._cluster = cluster

    def read(self, owner: str, document_id: str, numbers: Sequence[int]) -> Iterator[Progress | Document]:
        """Read the pages with these 1-based numbers by OCR; yields progress, and last the Document with their text.

        A page on which OCR finds less than there was stays as it is. Raises UsageError for pages that the document does
        not have, PdfQAError (no text where there was some, no OCR on this machine, another call of the owner under
        way), StoppedError: nothing is changed then.
        """
        document = self._documents.get(owner, document_id)
        before = {page.number: page for page in self._kept.pages(owner, document_id, document.extractor)}
        wanted = sorted(set(numbers))
        unknown = [number for number in wanted if number not in before]
        if unknown or not wanted:
            listed = ", ".join(map(str, unknown)) or "none"
            raise UsageError(f"{document.filename} has no such page: {listed}.", f"It has pages 1 to {len(before)}.")
        with self._tasks.start(_task(owner)) as stop:
            read = yield from self._read(owner, document, wanted, stop)
        better = {number: _better(before[number], read.get(number)) for number in wanted}
        if all(better[number] is before[number] for number in wanted):
            pages = "page " if len(wanted) == 1 else "pages "
            raise PdfQAError(
                f"OCR found nothing more on {pages}{', '.join(map(str, wanted))} of {document.filename}.",
                "The text stays as it was.",
            )
        pages_now = [better.get(number, page) for number, page in sorted(before.items())]
        result = outcome(pages_now, document.filename, document.title)
        changed = replace(
            document, state=result.state, reason=result.reason, pages_without_text=result.pages_without_text
        )  # fmt: skip
        self._kept.add(changed, document.extractor, pages_now)
        yield self._documents.get(owner, document_id)

    def _read(
        self, owner: str, document: Document, wanted: Sequence[int], stop: StopSignal
    ) -> Generator[Progress, None, dict[int, Page]]:
        """Yield progress; return the pages by their number as OCR reads them, none where it finds no text at all."""
        near = {number + step for number in wanted for step in range(-AROUND, AROUND + 1)}
        numbers = sorted(number for number in near if 1 <= number <= document.page_count)
        pdf = self._documents.original(owner, document.id)
        extraction = self._extraction.model_copy(update={"extractor": ocr_extractor()})
        if not extraction.extractor:
            raise PdfQAError("There is no OCR on this computer.", "Install the program with its set-up script.")
        which = "page" if len(wanted) == 1 else "pages"
        phase = f"reading {which} {', '.join(map(str, wanted))} with OCR"
        yield Progress(phase)
        slots, room = self._documents.slots, self._documents.room
        with slots.take(min(len(wanted), slots.count), stop, owner) as workers, room.reading(owner):
            room.allowed(owner, document.id, extraction)
            result = yield from in_background(
                lambda report: read_pdf(
                    pdf.path, extraction, self._passwords.get(owner, document.id),
                    lambda step: report(Progress(phase, step.done, step.total)), document_id=document.id,
                    filename=pdf.filename, workers=workers, stop=stop, numbers=numbers,
                    visual_pages=",".join(map(str, wanted)), most_seconds=room.seconds_left(owner),
                    cluster=self._cluster,
                )
            )  # fmt: skip
        if not result.state.usable and result.state is not DocumentState.NO_TEXT:
            raise DocumentError(result.state, result.reason)
        return {page.number: page for page in result.pages}

    def stop(self, owner: str) -> None:
        """Stop reading for an owner; nothing is changed."""
        self._tasks.stop(_task(owner))


def _better(before: Page, read: Page | None) -> Page:
    """Return the page as OCR read it, or as it was where OCR found less; a label that was known stays.

    A picture on which OCR found nothing says so from then on.
    """
    if read is None or not read.text.strip():
        picture = any(warning.endswith(IS_PICTURE) for warning in before.warnings)
        nothing = (f"Page {before.number}{OCR_FOUND_NOTHING}",) if read is None else read.warnings
        return replace(before, source="ocr", warnings=nothing) if picture else before
    label = before.label if read.label == str(read.number) else read.label
    return replace(read, label=label)


def _task(owner: str) -> str:
    return f"OCR of pages {owner}"
