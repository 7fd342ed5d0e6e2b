"""Finding by words: in titles and file names, in the text of documents, in conversations.

No index of passages is needed. Nothing of another owner is found: only readings and turns of the owner are looked at.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from pdfqa_core.errors import PdfQAError
from pdfqa_core.reading.base import INSUFFICIENT_CONTEXT
from pdfqa_core.reading.declining import NOT_ANSWERED
from pdfqa_core.services.documents import DocumentService
from pdfqa_core.services.found_words import Parts, excerpt, has_all, marked, phrases_of
from pdfqa_core.storage import ConversationSummary, Reading, Store, TurnText
from pdfqa_core.storage.page_texts import FILENAME, FoundPage, Key, PageTexts, Phrase
from pdfqa_core.storage.server_page_texts import ServerPageTexts
from pdfqa_core.types import BlockKind, Document, Page

MOST = 8  # documents, and conversations
MOST_INSIDE = 3  # pages of a document, turns of a conversation
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PageFound:
    """A page with the words: a piece of its text."""

    number: int
    parts: Parts


@dataclass(frozen=True, slots=True)
class DocumentFound:
    """A document whose name or text has the words, with its best pages; `more` pages have them too."""

    id: str
    title: Parts
    filename: Parts
    pages: tuple[PageFound, ...]
    more: int


@dataclass(frozen=True, slots=True)
class TurnFound:
    """A question, or its answer, with the words."""

    id: str
    question: Parts
    answer: Parts


@dataclass(frozen=True, slots=True)
class ConversationFound:
    """A conversation whose title or turns have the words; `more` turns have them too."""

    id: str
    title: Parts
    turns: tuple[TurnFound, ...]
    more: int


@dataclass(frozen=True, slots=True)
class Found:
    """What was found, the best first; `more_documents` and `more_conversations` are not listed."""

    documents: tuple[DocumentFound, ...] = ()
    conversations: tuple[ConversationFound, ...] = ()
    more_documents: int = 0
    more_conversations: int = 0


class FindService:
    """Finds words for each owner. Pages come into the index when they have been read, or else when they are missed."""

    def __init__(self, store: Store, documents: DocumentService) -> None:
        self._documents = documents
        self._conversations = store.conversations
        self._kept = store.documents
        on_server = not store.database.is_sqlite
        self._texts = ServerPageTexts(store.database) if on_server else PageTexts(store.workspace / FILENAME)
        self._filling = threading.Lock()
        documents.when_removed(lambda _, document_id: self._texts.forget([document_id]))

    def close(self) -> None:
        """Close the index."""
        self._texts.close()

    def tidy(self) -> None:
        """Remove what is left of documents that nobody has any more."""
        self._texts.keep_only(self._kept.all_ids())

    def take(self, owner: str, document: Document) -> None:
        """Put a document that has just been read into the index; what goes wrong is left to the next search."""
        try:
            self._fill(owner, [document.id])
        except PdfQAError as error:
            _log.warning("the words of %s are not in the index yet: %s", document.filename, error)

    def find(self, owner: str, query: str) -> Found:
        """Return where all words of a query stand. Raises StorageError."""
        phrases = phrases_of(query)
        if not phrases:
            return Found()
        keys = self._fill(owner)
        documents = self._in_documents(owner, phrases, keys)
        conversations = self._in_conversations(owner, phrases)
        return Found(
            tuple(documents[:MOST]), tuple(conversations[:MOST]), max(0, len(documents) - MOST),
            max(0, len(conversations) - MOST),
        )  # fmt: skip

    # ------------------------------------------------------------ documents

    def _fill(self, owner: str, only: Sequence[str] = ()) -> set[Key]:
        """Put what is missing into the index and return the readings that count (of these documents)."""
        readings = {(r.document_id, r.extractor): r for r in self._documents.readings(owner)}
        wanted = {
            _key(reading): (document, reading)
            for document in self._documents.list(owner)
            if (reading := readings.get((document.id, document.extractor))) is not None and reading.state.usable
            and (not only or document.id in only)
        }  # fmt: skip
        with self._filling:
            for key in wanted.keys() - self._texts.known():
                pages = self._documents.pages_of(*wanted[key])
                self._texts.put(key, [(page.number, visible_text(page)) for page in pages])
        return set(wanted)

    def _in_documents(self, owner: str, phrases: Sequence[Phrase], keys: set[Key]) -> list[DocumentFound]:
        pages: dict[str, list[FoundPage]] = {}
        for page in self._texts.find(phrases, keys):
            pages.setdefault(page.document_id, []).append(page)
        order = {document_id: place for place, document_id in enumerate(pages)}
        known = self._documents.list(owner)
        named = {one.id for one in known if has_all(f"{one.title} {one.filename}", phrases)}
        found = [one for one in known if one.id in named or one.id in pages]
        found.sort(key=lambda one: (one.id not in named, order.get(one.id, len(order))))
        return [self._document(one, phrases, pages.get(one.id, ()) if n < MOST else ()) for n, one in enumerate(found)]

    def _document(self, document: Document, phrases: Sequence[Phrase], pages: Sequence[FoundPage]) -> DocumentFound:
        listed = sorted(self._texts.page(page.row) for page in pages[:MOST_INSIDE])
        return DocumentFound(
            document.id, marked(document.title or document.filename, phrases), marked(document.filename, phrases),
            tuple(PageFound(number, excerpt(text, phrases)) for number, text in listed if number),
            max(0, len(pages) - MOST_INSIDE),
        )  # fmt: skip

    # ------------------------------------------------------------ conversations

    def _in_conversations(self, owner: str, phrases: Sequence[Phrase]) -> list[ConversationFound]:
        turns: dict[str, list[TurnText]] = {}
        for turn in self._conversations.texts(owner):
            if has_all(f"{turn.question}\n{_told(turn.answer)}", phrases):
                turns.setdefault(turn.conversation_id, []).append(turn)
        found = [one for one in self._conversations.list(owner) if one.id in turns or has_all(one.title, phrases)]
        return [_conversation(one, phrases, turns.get(one.id, ()) if n < MOST else ()) for n, one in enumerate(found)]


def _conversation(one: ConversationSummary, phrases: Sequence[Phrase], turns: Sequence[TurnText]) -> ConversationFound:
    listed = tuple(
        TurnFound(turn.turn_id, marked(turn.question, phrases), excerpt(_told(turn.answer), phrases))
        for turn in turns[:MOST_INSIDE]
    )
    return ConversationFound(one.id, marked(one.title, phrases), listed, max(0, len(turns) - MOST_INSIDE))


def _told(answer: str) -> str:
    """Return an answer as it is shown; of a refusal its words are kept elsewhere."""
    return NOT_ANSWERED if answer == INSUFFICIENT_CONTEXT else answer


def _key(reading: Reading) -> Key:
    return reading.document_id, reading.extractor, reading.version


def visible_text(page: Page) -> str:
    """Return the text of a page without what a reader cannot see on it."""
    text = page.text
    for block in page.blocks:
        if block.kind is BlockKind.HIDDEN:
            text = text[: block.start] + " " * (block.end - block.start) + text[block.end :]
    return text
