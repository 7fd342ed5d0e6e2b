"""Finding: words in titles, texts and conversations, and the passages of a question.

Nothing of another owner is found: only readings and turns of the owner are looked at. Words need no index of passages.
"""

from __future__ import annotations

import logging
import re
import threading
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pdfqa_core.chunking.stream import MOST, abstract, spread
from pdfqa_core.chunking.stream import head as head_of
from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.languages import rules_of
from pdfqa_core.reading.outcomes import NOT_ANSWERED
from pdfqa_core.reading.prompts import INSUFFICIENT_CONTEXT
from pdfqa_core.reading.summary import ABSTRACT
from pdfqa_core.reading.tables import TableRows
from pdfqa_core.retrieval import SearchIndex
from pdfqa_core.retrieval.postprocessing import completed
from pdfqa_core.settings import Settings
from pdfqa_core.storage import ConversationSummary, Reading, Store, TurnText
from pdfqa_core.storage.page_texts import FILENAME, FoundPage, Key, PageTexts, Phrase, ServerPageTexts
from pdfqa_core.storage.studies import Studies
from pdfqa_core.streaming import result_of
from pdfqa_core.study_types import MISSED, Rating, StudyState, missed_item
from pdfqa_core.text import content_terms
from pdfqa_core.types import BlockKind, Document, Hit, Page, Passage, Query

if TYPE_CHECKING:
    from pdfqa_core.services.documents import DocumentService
    from pdfqa_core.services.indexes import IndexService
    from pdfqa_core.services.studies import StudyService

# ----------------------------------------------------------------------------------------------------
# Words that are looked for in a text: where they stand, and a piece of the text around them.

LONGEST_QUERY = 200  # characters
MOST_PLACES, NEAR = 50, 12  # places of a text that are compared, and words behind each
Parts = tuple[tuple[str, bool], ...]
"""A text in pieces, each with whether it was looked for."""

_PART = re.compile(r'"([^"]*)"?|(\S+)')
_WORD = re.compile(r"[^\W_]+")
_SPACE = re.compile(r"\s+")
_BETWEEN = re.compile(r"(?:\s|\||-{3,})+")  # words, also in the Markdown of a table


class _Folded(dict[int, int]):
    """Letters without case and accents, one for one, so that places stay what they are."""

    def __missing__(self, code: int) -> int:
        plain = unicodedata.normalize("NFD", chr(code))[0].lower()
        self[code] = ord(plain) if len(plain) == 1 else code
        return self[code]


_FOLDED = _Folded()


def folded(text: str) -> str:
    """Return a text of the same length without case and accents."""
    return text.translate(_FOLDED)


def phrases_of(query: str) -> tuple[Phrase, ...]:
    """Return what a person looks for: words that may go on ("heat" finds "heating"), and, in quotes, whole phrases."""
    found = []
    for quoted, plain in _PART.findall(folded(query[:LONGEST_QUERY])):
        words = tuple(_WORD.findall(quoted or plain))
        if words:
            found.append(Phrase(words, whole=bool(quoted)))
    return tuple(dict.fromkeys(found))


def places(text: str, phrases: Sequence[Phrase]) -> list[tuple[int, int]]:
    """Return (start, end) of each place where one of the phrases stands, without overlaps."""
    flat, spans = folded(text), []
    for phrase in phrases:
        words = r"[\W_]+".join(map(re.escape, phrase.words))
        end = r"(?![^\W_])" if phrase.whole else r"[^\W_]*"
        spans += [match.span() for match in re.finditer(rf"(?<![^\W_]){words}{end}", flat)]
    joined: list[tuple[int, int]] = []
    for start, last in sorted(spans):
        if joined and start < joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], last)
        else:
            joined.append((start, last))
    return joined


def has_all(text: str, phrases: Sequence[Phrase]) -> bool:
    """Whether each of the phrases stands somewhere in the text."""
    return bool(phrases) and all(places(text, [phrase]) for phrase in phrases)


def marked(text: str, phrases: Sequence[Phrase]) -> Parts:
    """Return a whole text in pieces."""
    return _parts(text, places(text, phrases), 0, len(text))


def excerpt(text: str, phrases: Sequence[Phrase], length: int = 180) -> Parts:
    """Return about so many characters of a text around the place with most of the phrases, in pieces."""
    spans = places(text, phrases)
    if not spans:
        return _parts(text, [], 0, _edge(text, min(length, len(text))))

    def kinds(first: int) -> int:
        """How many different words are found within reach of a place."""
        reach = spans[first][0] + length * 2 // 3
        return len({folded(text[a:b]) for a, b in spans[first : first + NEAR] if b <= reach})

    best = max(range(min(len(spans), MOST_PLACES)), key=lambda first: (kinds(first), -first))
    start = max(0, spans[best][0] - length // 3)
    start = 0 if start == 0 else _edge(text, start)
    return _parts(text, spans, min(start, spans[best][0]), _edge(text, min(len(text), start + length)))


def _edge(text: str, place: int) -> int:
    """Return the next white space from a place on, so that no word is cut."""
    found = _SPACE.search(text, place) if place < len(text) else None
    return found.start() if found and found.start() - place < 30 else place


def _parts(text: str, spans: Sequence[tuple[int, int]], start: int, end: int) -> Parts:
    found, reached = [("… ", False)] if start else [], start
    for first, last in spans:
        if first >= reached and last <= end:
            found += [(text[reached:first], False), (text[first:last], True)]
            reached = last
    found += [(text[reached:end], False)] + ([(" …", False)] if end < len(text) else [])
    return tuple((_BETWEEN.sub(" ", piece), hit) for piece, hit in found if piece)


# ----------------------------------------------------------------------------------------------------
# The passages of one question: what the search finds, in whole sentences, with the row of a table that it asks for.

QUOTED_FROM = 24  # passages among whose sentences those are looked for that stand for a document


class Hits:
    """Finds passages in the documents that a question is asked about (`document_ids`; none given: all of the owner's).

    `searched` says in words, once something was found, which document a question names; "" where it names none.
    """

    def __init__(
        self,
        documents: DocumentService,
        indexes: IndexService,
        index: SearchIndex,
        owner: str,
        settings: Settings,
        document_ids: Sequence[str],
    ) -> None:
        self._documents = documents
        self._indexes = indexes
        self._index = index
        self._settings = settings
        self._owner = owner
        self._document_ids = tuple(document_ids)
        self._readable = {one.id: (one, reading) for one, reading in documents.readable(owner, settings, document_ids)}
        self._texts: dict[tuple[str, int], str] = {}
        self.searched = ""

    def retrieve(self, query: Query, k: int) -> list[Hit]:
        """Return at most `k` hits, best first; of the one document that the question names, if it has any.

        Raises UsageError where a document was removed meanwhile, and what the search raises.
        """
        if (one := self._named(query.text)) and (hits := self._search(query, k, (one,))):
            self.searched = f"Searched in “{self._readable[one][0].filename}”, which the question names."
            return hits
        return self._search(query, k, self._document_ids)

    def plain(self, query: Query, k: int) -> list[Hit]:
        """Return at most `k` hits of one search, best first, as the passages are and the question is spelt."""
        settings = self._settings.changed("retrieval", spelling=False)
        return self._indexes.search_in(self._index, query, settings, self._document_ids, k)

    def spread(self, question: str, *, quoted: bool) -> list[Hit]:
        """Return passages that together stand for the documents, of each at least one; of a named one alone.

        `quoted`: those among whose sentences a summary is chosen, as it is of several documents.
        """
        found: list[Hit] = []
        documents = self._whole(question)
        quoted = quoted or len(documents) > 1
        for document, reading in documents:
            pages = self._documents.pages_of(document, reading)
            passages = spread_hits(pages, called(document), rules_of(reading.language), quoted=quoted)
            found += passages[: max(1, MOST // len(documents))]
        return [replace(hit, rank=rank) for rank, hit in enumerate(found[: 2 * MOST], start=1)]

    def titles(self, question: str) -> str:
        """Return what the documents are called that `spread` takes passages of."""
        return ", ".join(called(document) for document, _ in self._whole(question))

    def _whole(self, question: str) -> list[tuple[Document, Reading]]:
        one = self._named(question)
        return [self._readable[one]] if one else list(self._readable.values())

    def _named(self, question: str) -> str:
        names = {key: f"{one.title} {one.filename.rpartition('.')[0]}" for key, (one, _) in self._readable.items()}
        return named(question, names)

    def _search(self, query: Query, k: int, document_ids: Sequence[str]) -> list[Hit]:
        found = self._indexes.search_in(self._index, query, self._settings, document_ids, k)
        hits = completed(found, self._page_text)
        if not hits or not self._index.resident:  # going through all passages would read them all
            return hits
        rows = self._index.shared("table rows", lambda: TableRows(self._index.passages))
        row = rows.asked_for(query.text, document_ids)
        if row is None:
            return hits
        return with_row(hits, completed([Hit(row, hits[0].score, 1, "table row")], self._page_text)[0], k)

    def _page_text(self, document_id: str, number: int) -> str:
        key = document_id, number
        if document_id not in self._readable:
            raise UsageError("A document was removed while it was asked about.", "Ask again: the others are searched.")
        if key not in self._texts:
            _, reading = self._readable[document_id]
            self._texts[key] = self._documents.kept.page(self._owner, document_id, reading.extractor, number).text
        return self._texts[key]


def called(document: Document) -> str:
    """Return the title of a document, else its file name."""
    return document.title or document.filename


def spread_hits(pages: Sequence[Page], title: str, language: str, *, quoted: bool) -> list[Hit]:
    """Return the passages that a summary is made of; where it is quoted, those of the abstract if there is one."""
    summed_up = abstract(pages, language) if quoted else None
    if summed_up is not None:
        passages = [head_of(summed_up, title)]
    else:
        passages = spread(pages, title, QUOTED_FROM if quoted else MOST, language=language)
    retriever = ABSTRACT if summed_up is not None else "spread over the document"
    return [Hit(passage, 1.0, rank, retriever) for rank, passage in enumerate(passages, start=1)]


def named(question: str, names: Mapping[str, str]) -> str:
    """Return the only document that has all words of the question which are in names of documents, but not in all.

    "" where there is none: "the Q2 filing" names one of two filings, "the filing" neither.
    """
    words = {key: set(content_terms(name.replace("_", " "))) for key, name in names.items()}
    if len(words) < 2:
        return ""
    owns = list(words.values())
    telling = set[str]().union(*owns) - owns[0].intersection(*owns)
    asked = set(content_terms(question)) & telling
    found = [key for key, own in words.items() if asked <= own] if asked else []
    return found[0] if len(found) == 1 else ""


def with_row(hits: Sequence[Hit], row: Hit, k: int) -> list[Hit]:
    """Return at most `k` hits, the passage with the row that is asked for behind the best one; ranks from 1."""
    same = next((hit for hit in hits if _shares_text(hit.passage, row.passage)), None)
    if same is hits[0]:
        return list(hits)
    best, *others = (hit for hit in hits if hit is not same)
    return [replace(hit, rank=rank) for rank, hit in enumerate([best, same or row, *others][:k], start=1)]


def _shares_text(one: Passage, other: Passage) -> bool:
    """Return whether one passage holds the whole of the other one's longest piece."""
    longest = max(other.spans, key=lambda span: span.end - span.start)
    return any(
        (span.document_id, span.page) == (longest.document_id, longest.page)
        and span.start <= longest.start
        and longest.end <= span.end
        for span in one.spans
    )


# ----------------------------------------------------------------------------------------------------
# Passages that the system missed: while somebody judges an answer, all passages can be searched, read and marked.
#
# A mark is a rating of its own kind: criterion `missed`, item "TURN#+PASSAGE", value 1, or 0 where it was taken
# back. Its comment holds the place of the passage and its text, so that it can be read without the index it came
# from.

MOST_SHOWN = 10  # passages that a search shows


@dataclass(frozen=True, slots=True)
class Searched:
    """A passage that was found: where it stands, whether the answer showed it, whether it is marked as missed."""

    hit: Hit
    place: str
    shown: bool
    marked: bool


class MissedPassages:
    """Search while judging, in the documents of the study's owner. Methods raise UsageError and StorageError."""

    def __init__(
        self, store: Studies, studies: StudyService, documents: DocumentService, indexes: IndexService
    ) -> None:
        self._store = store
        self._studies = studies
        self._documents = documents
        self._indexes = indexes

    def search(
        self, owner: str, study_id: str, annotator: str, turn_id: str, query: str, settings: Settings
    ) -> tuple[Searched, ...]:
        """Return the passages that hold the words of a query, best first.

        Raises UsageError where no item is open or the query is empty, PdfQAError where there are no documents.
        """
        item = self._studies.item(owner, study_id, annotator, turn_id)
        if item.item is None or not annotator:
            raise UsageError("No item is open.", "Open one, then search.")
        if not query.strip():
            raise UsageError("The search is empty.", "Type words of the passage.")
        whose = self._studies.page_owner(owner, study_id)
        self._documents.require_documents(whose)
        names = self._documents.filenames(whose)
        shown = {hit.passage.id for hit in item.item.turn.answer.hits}
        marked = set(self.marked(owner, study_id, annotator, turn_id))
        return tuple(
            Searched(hit, _place(hit, names), hit.passage.id in shown, hit.passage.id in marked)
            for hit in self._found(whose, query, settings)
        )

    def mark(
        self,
        owner: str,
        study_id: str,
        annotator: str,
        turn_id: str,
        found: Sequence[Searched],
        passage_id: str,
        *,
        relevant: bool = True,
    ) -> None:
        """Mark one of the passages that were found as missed, or take the mark back. Raises UsageError."""
        item = self._studies.item(owner, study_id, annotator, turn_id)
        one = next((one for one in found if one.hit.passage.id == passage_id), None)
        if item.item is None or not annotator or one is None:
            raise UsageError("There is no such passage here.", "Search once more.")
        if one.shown:
            raise UsageError("This passage was shown with the answer.", "Rate it among the others.")
        if self._studies.kept.get(owner, study_id).state is not StudyState.OPEN:
            raise UsageError("Nothing can be rated in this study any more.")
        made = Rating(
            study_id,
            missed_item(turn_id, passage_id),
            annotator,
            MISSED,
            "1" if relevant else "0",
            f"{one.place}\n{one.hit.passage.text}",
            0.0,
            datetime.now(UTC),
        )
        self._store.save_ratings([made])

    def marked(self, owner: str, study_id: str, annotator: str, turn_id: str) -> dict[str, str]:
        """Return what somebody has marked as missed under an answer: by passage, its place and text."""
        given = self._studies.item(owner, study_id, annotator, turn_id).given
        return {
            rating.item_id.partition("#+")[2]: rating.comment
            for (_, criterion), rating in given.items()
            if criterion == MISSED and rating.turn_id == turn_id and rating.value == "1"
        }

    def _found(self, whose: str, query: str, settings: Settings) -> list[Hit]:
        by_words = settings.changed("retrieval", retriever="bm25", reranker="")
        index = result_of(self._indexes.opened(whose, by_words, threading.Event()))
        return self._indexes.search_in(index, query, by_words, (), MOST_SHOWN)


def _place(hit: Hit, names: dict[str, str]) -> str:
    pages = ", ".join(map(str, hit.passage.pages))
    return f"{names.get(hit.passage.document_id, 'a removed document')} p. {pages}"


# ----------------------------------------------------------------------------------------------------
# Finding by words: in titles and file names, in the text of documents, in conversations.

MOST_FOUND = 8  # documents, and conversations
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
        self._store = store
        self._opened: PageTexts | ServerPageTexts | None = None
        self._opening, self._filling = threading.Lock(), threading.Lock()

    @property
    def _texts(self) -> PageTexts | ServerPageTexts:
        """The index, opened when it is first used."""
        with self._opening:
            if self._opened is None:
                on_server, place = not self._store.database.is_sqlite, self._store.workspace / FILENAME
                self._opened = ServerPageTexts(self._store.database) if on_server else PageTexts(place)
            return self._opened

    def close(self) -> None:
        """Close the index."""
        if self._opened is not None:
            self._opened.close()

    def forget(self, document_id: str) -> None:
        """Remove the words of a removed document."""
        self._texts.forget([document_id])

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
            tuple(documents[:MOST_FOUND]),
            tuple(conversations[:MOST_FOUND]),
            max(0, len(documents) - MOST_FOUND),
            max(0, len(conversations) - MOST_FOUND),
        )

    # ------------------------------------------------------------ documents

    def _fill(self, owner: str, only: Sequence[str] = ()) -> set[Key]:
        """Put what is missing into the index and return the readings that count (of these documents)."""
        readings = {(r.document_id, r.extractor): r for r in self._documents.kept.readings(owner)}
        wanted = {
            _key(reading): (document, reading)
            for document in self._documents.kept.list(owner)
            if (reading := readings.get((document.id, document.extractor))) is not None
            and reading.state.usable
            and (not only or document.id in only)
        }
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
        known = self._documents.kept.list(owner)
        named = {one.id for one in known if has_all(f"{one.title} {one.filename}", phrases)}
        found = [one for one in known if one.id in named or one.id in pages]
        found.sort(key=lambda one: (one.id not in named, order.get(one.id, len(order))))
        return [
            self._document(one, phrases, pages.get(one.id, ()) if n < MOST_FOUND else ()) for n, one in enumerate(found)
        ]

    def _document(self, document: Document, phrases: Sequence[Phrase], pages: Sequence[FoundPage]) -> DocumentFound:
        listed = sorted(self._texts.page(page.row) for page in pages[:MOST_INSIDE])
        return DocumentFound(
            document.id,
            marked(document.title or document.filename, phrases),
            marked(document.filename, phrases),
            tuple(PageFound(number, excerpt(text, phrases)) for number, text in listed if number),
            max(0, len(pages) - MOST_INSIDE),
        )

    # ------------------------------------------------------------ conversations

    def _in_conversations(self, owner: str, phrases: Sequence[Phrase]) -> list[ConversationFound]:
        turns: dict[str, list[TurnText]] = {}
        for turn in self._conversations.texts(owner):
            if has_all(f"{turn.question}\n{_told(turn.answer)}", phrases):
                turns.setdefault(turn.conversation_id, []).append(turn)
        found = [one for one in self._conversations.list(owner) if one.id in turns or has_all(one.title, phrases)]
        return [
            _conversation(one, phrases, turns.get(one.id, ()) if n < MOST_FOUND else ()) for n, one in enumerate(found)
        ]


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
