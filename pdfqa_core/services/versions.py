"""The versions that numbers depend on, looked up in one place."""

from __future__ import annotations

import importlib.metadata
import logging
import platform
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pdfqa_core import __version__
from pdfqa_core.errors import PdfQAError
from pdfqa_core.storage import NewerVersion, Reading
from pdfqa_core.storage.versions import KEPT, REPLACED, Versions
from pdfqa_core.text import terms
from pdfqa_core.types import Document

if TYPE_CHECKING:
    from pdfqa_core.services.documents import DocumentService

# ----------------------------------------------------------------------------------------------------
# Documents that look like newer versions of others: noticed, never acted upon unless their owner says so.

SAME_TITLE = 0.7  # share of the words from which on two documents of the same title are versions of one
SAME_PAGES = 0.2  # share of the pages that these have in common too: reports of a series share words, not pages
SHORT = 3  # pages; in shorter documents every page may have changed
SAME_FILE = 0.2  # the same of two files of the same name: below it they just happen to be called so
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Notice:
    """A document that looks like a newer version of `earlier`; `same_pages` of its `page_count` pages are the same."""

    document_id: str
    earlier: Document
    same_pages: int
    page_count: int

    @property
    def words(self) -> str:
        """What a person reads: "looks like a new version of report.pdf (12 of 14 pages the same)"."""
        pages = "page" if self.page_count == 1 else "pages"
        same = f" ({self.same_pages} of {self.page_count} {pages} the same)" if self.page_count else ""
        return f"looks like a new version of {self.earlier.filename}{same}"


class NewerVersionService:
    """Compares each document that was read with those of its owner that it may be a version of."""

    def __init__(self, kept: Versions, documents: DocumentService) -> None:
        self._kept = kept
        self._documents = documents

    def look(self, owner: str, document: Document) -> None:
        """Note what a document that has just been read is a version of: of the others the likest one.

        It has another file's name, or its title, most of its words and some of its pages. The newer one is the one that
        was added later.
        """
        if not document.id or not document.state.usable:
            return
        try:
            found = self._likest(owner, document)
            if found is not None:
                self._kept.found(owner, found)
        except PdfQAError as error:  # a page that cannot be read, a document that was removed meanwhile
            _log.warning("%s is not compared with earlier versions: %s", document.filename, error)

    def notices(self, owner: str) -> dict[str, Notice]:
        """Return by document what its owner has not decided about yet."""
        known = {document.id: document for document in self._documents.kept.list(owner)}
        return {
            one.document_id: Notice(one.document_id, known[one.earlier_id], one.same_pages, one.page_count)
            for one in self._kept.list(owner)
            if not one.decision and one.earlier_id in known and one.document_id in known
        }

    def keep_both(self, owner: str, document_id: str, earlier_id: str) -> None:
        """Say no more of these two. Raises UsageError where they are not two versions."""
        self._kept.decide(owner, document_id, earlier_id, KEPT)

    def replace(self, owner: str, document_id: str, earlier_id: str) -> None:
        """Let a document take the place of an earlier one in collections and scopes, and remove that one.

        Conversations keep what they cited of it. Raises UsageError where they are not two versions.
        """
        self._kept.decide(owner, document_id, earlier_id, REPLACED)
        self._documents.remove(owner, earlier_id)

    def _likest(self, owner: str, document: Document) -> NewerVersion | None:
        readings = {(r.document_id, r.extractor): r for r in self._documents.kept.readings(owner)}
        others = list(_candidates(document, self._documents.kept.list(owner)))
        if not others:
            return None
        mine = self._texts(document, readings)
        best: tuple[float, NewerVersion] | None = None
        for other in others:
            theirs = self._texts(other, readings)
            alike = _alike(mine, theirs)
            same = sum((Counter(filter(None, mine)) & Counter(filter(None, theirs))).values())
            few = same < SAME_PAGES * len(theirs) and len(theirs) > SHORT
            if alike < SAME_FILE if other.filename == document.filename else alike < SAME_TITLE or few:
                continue
            earlier, newer = sorted((other, document), key=lambda one: one.added_at)
            if best is None or alike > best[0]:
                count = len(mine if newer is document else theirs)
                best = alike, NewerVersion(newer.id, earlier.id, same, count)
        return best[1] if best else None

    def _texts(self, document: Document, readings: dict[tuple[str, str], Reading]) -> list[str]:
        """Return the words of each page, so that lines may break elsewhere."""
        reading = readings.get((document.id, document.extractor))
        pages = self._documents.pages_of(document, reading) if reading is not None else ()
        return [" ".join(terms(page.text)) for page in pages]


def _candidates(document: Document, others: Sequence[Document]) -> Iterator[Document]:
    """Yield the other documents that have the same file name, or the same title."""
    title = document.title.casefold()
    for other in others:
        if other.id == document.id or not other.state.usable:
            continue
        if other.filename == document.filename or (title and other.title.casefold() == title):
            yield other


def _alike(mine: Sequence[str], theirs: Sequence[str]) -> float:
    """Return the share of words that two documents have in common, of those of the longer one, in 0..1."""
    one, other = (Counter(word for text in texts for word in text.split()) for texts in (mine, theirs))
    longer = max(one.total(), other.total())
    return (one & other).total() / longer if longer else 0.0


# ----------------------------------------------------------------------------------------------------
# The versions that numbers depend on, looked up in one place.

STATISTICS = ("numpy", "scipy", "matplotlib")
MODELS = ("torch", "transformers", "sentence-transformers", "llama-cpp-python")
RETRIEVAL = (*STATISTICS, *MODELS, "hnswlib", "pypdfium2")


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of the program, of Python and of packages; "unknown" for one that is not installed."""
    found = {"pdfqa": __version__, "python": platform.python_version()}
    for name in packages:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "unknown"
    return found
