"""Pages of documents with their images, and the passwords that open them."""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pdfqa_core.background import in_background
from pdfqa_core.errors import DocumentError, PdfQAError, UsageError
from pdfqa_core.extraction import extractors
from pdfqa_core.extraction.process.render import PageRenderer
from pdfqa_core.extraction.process.worker import outcome
from pdfqa_core.extraction.raw_page import IS_PICTURE, OCR_FOUND_NOTHING
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.services import readings
from pdfqa_core.services.readings import Claim, read_pdf
from pdfqa_core.services.tasks import Tasks
from pdfqa_core.settings import Settings
from pdfqa_core.storage import Reading
from pdfqa_core.types import Box, Document, DocumentState, Page, Progress

if TYPE_CHECKING:
    from pdfqa_core.services.documents import DocumentService

# ----------------------------------------------------------------------------------------------------
# OCR of single pages: what it reads takes their place in the reading that counts, all other pages stay as they are.

AROUND = 3  # pages before and after that are read too: they tell running titles and page numbers from the text


def ocr_extractor() -> str:
    """Return the extractor that reads pages by OCR: the one with a choice of pages; "" if there is none."""
    return next((name for name in extractors.names() if "visual_pages" in extractors.parameters(name)), "")


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


def ocr_task(owner: str) -> str:
    """Return the name of the task in which pages of an owner are read."""
    return f"OCR of pages {owner}"


# ----------------------------------------------------------------------------------------------------
# Pages of documents with their images, and the passwords that open them.

THUMBNAIL_WIDTH = 168  # pixels
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Picture:
    """An image of a page."""

    data: bytes
    mime: str


@dataclass(frozen=True, slots=True)
class PageView:
    """A page of `reading` with its image; `message` says why there is no image.

    `locked`: there would be one if the password were known, see `enter_password`.
    `readings` are all that have text, `found` those of the claims about this page whose text stands where they say.
    """

    document: Document
    page: Page
    reading: Reading
    readings: tuple[Reading, ...]
    image: bytes
    mime: str
    message: str = ""
    found: tuple[Claim, ...] = ()
    locked: bool = False


class PageService:
    """Pages as they look, and OCR of single ones, one call of an owner at a time; on a cluster if there is any.

    `settings` is the recipe whose reading is shown where none is asked for.
    """

    def __init__(self, documents: DocumentService, settings: Settings, tasks: Tasks) -> None:
        self._documents = documents
        self._settings = settings
        self._tasks = tasks
        self.renderer = PageRenderer()

    def view(
        self,
        owner: str,
        document_id: str,
        number: int,
        *,
        width: int = 1400,
        reading: str = "",
        settings: Settings | None = None,
        claims: Sequence[Claim] = (),
    ) -> PageView:
        """Return a page with its image, `width` pixels wide, as the reading of this name has it.

        Where none is named, it is one in which the claims stand: the one that a recipe (`settings`) uses, else another
        in which all of them do. Raises UsageError if the owner has no such page, or may not read it: pages are kept
        once for all owners, so another one may have opened the same file with its password.
        """
        document, usable, name, page, found = self._read(owner, document_id, number, reading, settings, claims)
        image, message, locked = b"", "", False
        try:
            image = self._image(owner, document, number, width)
        except DocumentError as error:
            locked = error.state is DocumentState.ENCRYPTED
            message = "The page image needs the password: enter it again." if locked else str(error)
        except PdfQAError as error:
            message = str(error)
        mime = self.renderer.mime if image else ""
        return PageView(document, page, usable[name], tuple(usable.values()), image, mime, message, found, locked)

    def marked(
        self, owner: str, document_id: str, number: int, claims: Sequence[Claim], *, width: int = 900
    ) -> Picture:
        """Return a page as a JPEG, `width` pixels wide, with what the claims say stands on it marked.

        Raises PdfQAError where it cannot be drawn: the owner has no such page, or its password is not known.
        """
        document, _, _, page, found = self._read(owner, document_id, number, "", None, claims)
        boxes = [box for claim in found for box in page.boxes(claim.span.start, claim.span.end)]
        return Picture(self._image(owner, document, number, width, marks=boxes, jpeg=True), "image/jpeg")

    def _read(
        self,
        owner: str,
        document_id: str,
        number: int,
        reading: str,
        settings: Settings | None,
        claims: Sequence[Claim],
    ) -> tuple[Document, dict[str, Reading], str, Page, tuple[Claim, ...]]:
        """Return a document, its usable readings, the name of the one to show, the page, the claims that stand on it.

        As `view`. Raises UsageError if the owner has no such page.
        """
        document = self._documents.kept.get(owner, document_id)
        usable = {r.extractor: r for r in self._documents.kept.readings(owner, document_id) if r.state.usable}
        if not usable:
            raise UsageError(f"{document.filename} has no pages to show: {document.state}.", document.reason)
        first = readings.used_reading(
            document, usable.values(), reading or self._documents.wanted_reading(settings or self._settings)
        )
        names = [reading] if reading in usable else [first.extractor] if first else []
        if reading not in usable and claims:
            names += [name for name in usable if name not in names]
        return document, usable, *self._page_with(owner, document_id, number, names or list(usable), claims)

    def _image(
        self, owner: str, document: Document, number: int, width: int, *, marks: Sequence[Box] = (), jpeg: bool = False
    ) -> bytes:
        return self.renderer.render(
            self._documents.original(owner, document.id).path,
            number,
            width_px=width,
            filename=document.filename,
            password=self._documents.passwords.get(owner, document.id),
            marks=marks,
            jpeg=jpeg,
        )

    def enter_password(self, owner: str, document_id: str, password: str) -> None:
        """Keep the password of a document for the images of its pages, in memory, until the program ends.

        Raises DocumentError with state ENCRYPTED if it does not open the document.
        """
        pdf = self._documents.original(owner, document_id)
        self.renderer.render(pdf.path, 1, width_px=THUMBNAIL_WIDTH, filename=pdf.filename, password=password)
        self._documents.passwords.keep(owner, document_id, password)

    def _page_with(
        self, owner: str, document_id: str, number: int, names: Sequence[str], claims: Sequence[Claim]
    ) -> tuple[str, Page, tuple[Claim, ...]]:
        """Return the first of these readings in which all claims stand, else the first: its name, page and claims."""
        here = [claim for claim in claims if (claim.span.document_id, claim.span.page) == (document_id, number)]
        tried = []
        for name in names:
            page = self._documents.kept.page(owner, document_id, name, number)
            tried.append((name, page, tuple(claim for claim in here if readings.stands(page, claim))))
            if len(tried[-1][2]) == len(here):
                return tried[-1]
        return tried[0]

    def thumbnail(self, owner: str, document_id: str, number: int) -> Picture:
        """Return a small image of a page; empty where it cannot be drawn."""
        document = self._documents.kept.get(owner, document_id)
        try:
            data = self._image(owner, document, number, THUMBNAIL_WIDTH)
        except PdfQAError:
            _log.warning("no thumbnail of page %d of %s", number, document_id[:12])
            return Picture(b"", "")
        return Picture(data, self.renderer.mime)

    # ------------------------------------------------------------ OCR

    def read_by_ocr(self, owner: str, document_id: str, numbers: Sequence[int]) -> Iterator[Progress | Document]:
        """Read the pages with these 1-based numbers by OCR; yields progress, and last the Document with their text.

        A page on which OCR finds less than there was stays as it is. Raises UsageError for pages that the document does
        not have, PdfQAError (no text where there was some, no OCR on this machine, another call of the owner under
        way), StoppedError: nothing is changed then.
        """
        document = self._documents.kept.get(owner, document_id)
        before = {page.number: page for page in self._documents.kept.pages(owner, document_id, document.extractor)}
        wanted = sorted(set(numbers))
        unknown = [number for number in wanted if number not in before]
        if unknown or not wanted:
            listed = ", ".join(map(str, unknown)) or "none"
            raise UsageError(f"{document.filename} has no such page: {listed}.", f"It has pages 1 to {len(before)}.")
        with self._tasks.start(ocr_task(owner)) as stop:
            read = yield from self._by_ocr(owner, document, wanted, stop)
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
        )
        self._documents.kept.add(changed, document.extractor, pages_now)
        yield self._documents.kept.get(owner, document_id)

    def _by_ocr(
        self, owner: str, document: Document, wanted: Sequence[int], stop: StopSignal
    ) -> Generator[Progress, None, dict[int, Page]]:
        """Yield progress; return the pages by their number as OCR reads them, none where it finds no text at all."""
        near = {number + step for number in wanted for step in range(-AROUND, AROUND + 1)}
        numbers = sorted(number for number in near if 1 <= number <= document.page_count)
        pdf = self._documents.original(owner, document.id)
        extraction = self._documents.extraction.model_copy(update={"extractor": ocr_extractor()})
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
                    pdf.path,
                    extraction,
                    self._documents.passwords.get(owner, document.id),
                    lambda step: report(Progress(phase, step.done, step.total)),
                    document_id=document.id,
                    filename=pdf.filename,
                    workers=workers,
                    stop=stop,
                    numbers=numbers,
                    visual_pages=",".join(map(str, wanted)),
                    most_seconds=room.seconds_left(owner),
                    cluster=self._documents.cluster,
                )
            )
        if not result.state.usable and result.state is not DocumentState.NO_TEXT:
            raise DocumentError(result.state, result.reason)
        return {page.number: page for page in result.pages}
