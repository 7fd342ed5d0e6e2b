"""What a document is, at a glance: title, authors, contents, and which of its pages could be read better."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pdfqa_core.chunking.contents import ContentsEntry, contents, levelled, shown_first
from pdfqa_core.errors import PdfQAError
from pdfqa_core.extraction.layout.authors import authors_on
from pdfqa_core.extraction.layout.outline import OutlineEntry
from pdfqa_core.services.documents import DocumentService
from pdfqa_core.services.kept import Kept
from pdfqa_core.settings import Settings
from pdfqa_core.text import terms
from pdfqa_core.types import Document, Page

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
    """Overviews of each owner's documents, kept in memory until the text changes."""

    def __init__(self, documents: DocumentService) -> None:
        self._documents = documents
        self.kept: Kept[Overview] = Kept(MOST_KEPT)

    def of(self, owner: str, document_id: str, settings: Settings) -> Overview:
        """Return the overview of a document in the reading that a recipe uses; only the facts where it has no text.

        Raises UsageError if the owner has no such document.
        """
        document = self._documents.get(owner, document_id)
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
        one for one in entries
        if not names or one.page > 1 or not set(terms(re.sub(r"\d+", " ", one.title))) <= names
    )  # fmt: skip
