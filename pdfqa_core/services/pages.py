"""Pages of documents with their images, and the passwords that open them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from pdfqa_core.errors import DocumentError, PdfQAError, UsageError
from pdfqa_core.extraction.process.render import PageRenderer
from pdfqa_core.services import readings
from pdfqa_core.services.documents import DocumentService
from pdfqa_core.services.passwords import Passwords
from pdfqa_core.services.readings import Claim
from pdfqa_core.settings import Settings
from pdfqa_core.storage import Reading
from pdfqa_core.types import Box, Document, DocumentState, Page

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
    """Pages as they look. `settings` is the recipe whose reading is shown where none is asked for."""

    def __init__(self, documents: DocumentService, settings: Settings, passwords: Passwords) -> None:
        self._documents = documents
        self._settings = settings
        self._passwords = passwords
        self._renderer = PageRenderer()
        documents.before_removal(self._renderer.release)

    def close(self) -> None:
        """End the child processes that draw pages."""
        self._renderer.close()

    def forget_gone(self) -> None:
        """Forget the pictures of pages whose files are gone."""
        self._renderer.forget_gone()

    def view(
        self, owner: str, document_id: str, number: int, *, width: int = 1400, reading: str = "",
        settings: Settings | None = None, claims: Sequence[Claim] = (),
    ) -> PageView:  # fmt: skip
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
        mime = self._renderer.mime if image else ""
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
        self, owner: str, document_id: str, number: int, reading: str, settings: Settings | None,
        claims: Sequence[Claim],
    ) -> tuple[Document, dict[str, Reading], str, Page, tuple[Claim, ...]]:  # fmt: skip
        """Return a document, its usable readings, the name of the one to show, the page, the claims that stand on it.

        As `view`. Raises UsageError if the owner has no such page.
        """
        document = self._documents.get(owner, document_id)
        usable = {r.extractor: r for r in self._documents.readings(owner, document_id) if r.state.usable}
        if not usable:
            raise UsageError(f"{document.filename} has no pages to show: {document.state}.", document.reason)
        first = readings.used(
            document, usable.values(), reading or self._documents.wanted_reading(settings or self._settings)
        )
        names = [reading] if reading in usable else [first.extractor] if first else []
        if reading not in usable and claims:
            names += [name for name in usable if name not in names]
        return document, usable, *self._page_with(owner, document_id, number, names or list(usable), claims)

    def _image(
        self, owner: str, document: Document, number: int, width: int, *, marks: Sequence[Box] = (), jpeg: bool = False
    ) -> bytes:
        return self._renderer.render(
            self._documents.original(owner, document.id).path, number, width_px=width, filename=document.filename,
            password=self._passwords.get(owner, document.id), marks=marks, jpeg=jpeg,
        )  # fmt: skip

    def enter_password(self, owner: str, document_id: str, password: str) -> None:
        """Keep the password of a document for the images of its pages, in memory, until the program ends.

        Raises DocumentError with state ENCRYPTED if it does not open the document.
        """
        pdf = self._documents.original(owner, document_id)
        self._renderer.render(pdf.path, 1, width_px=THUMBNAIL_WIDTH, filename=pdf.filename, password=password)
        self._passwords.keep(owner, document_id, password)

    def _page_with(
        self, owner: str, document_id: str, number: int, names: Sequence[str], claims: Sequence[Claim]
    ) -> tuple[str, Page, tuple[Claim, ...]]:
        """Return the first of these readings in which all claims stand, else the first: its name, page and claims."""
        here = [claim for claim in claims if (claim.span.document_id, claim.span.page) == (document_id, number)]
        tried = []
        for name in names:
            page = self._documents.page(owner, document_id, name, number)
            tried.append((name, page, tuple(claim for claim in here if readings.stands(page, claim))))
            if len(tried[-1][2]) == len(here):
                return tried[-1]
        return tried[0]

    def thumbnail(self, owner: str, document_id: str, number: int) -> Picture:
        """Return a small image of a page; empty where it cannot be drawn."""
        document = self._documents.get(owner, document_id)
        try:
            data = self._image(owner, document, number, THUMBNAIL_WIDTH)
        except PdfQAError:
            _log.warning("no thumbnail of page %d of %s", number, document_id[:12])
            return Picture(b"", "")
        return Picture(data, self._renderer.mime)
