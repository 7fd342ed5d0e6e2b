"""The passages of one question: what the search finds, in whole sentences, with the row of a table that it asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pdfqa_core.chunking.spread import MOST, abstract, spread
from pdfqa_core.chunking.spread import head as head_of
from pdfqa_core.errors import UsageError
from pdfqa_core.languages import rules_of
from pdfqa_core.reading.summary import ABSTRACT
from pdfqa_core.reading.table_rows import TableRows
from pdfqa_core.retrieval import SearchIndex
from pdfqa_core.retrieval.whole_sentences import completed
from pdfqa_core.services.documents import DocumentService
from pdfqa_core.services.indexes import IndexService
from pdfqa_core.settings import Settings
from pdfqa_core.storage import Reading
from pdfqa_core.text import content_terms
from pdfqa_core.types import Document, Hit, Page, Passage, Query

QUOTED_FROM = 24  # passages among whose sentences those are looked for that stand for a document


class Hits:
    """Finds passages in the documents that a question is asked about (`document_ids`; none given: all of the owner's).

    `searched` says in words, once something was found, which document a question names; "" where it names none.
    """

    def __init__(
        self, documents: DocumentService, indexes: IndexService, index: SearchIndex, owner: str, settings: Settings,
        document_ids: Sequence[str],
    ) -> None:  # fmt: skip
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

    def spread(self, question: str, *, quoted: bool) -> list[Hit]:
        """Return passages that together stand for the documents, of each at least one; of a named one alone."""
        found: list[Hit] = []
        documents = self._whole(question)
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
            self._texts[key] = self._documents.page(self._owner, document_id, reading.extractor, number).text
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
        and span.start <= longest.start and longest.end <= span.end
        for span in one.spans
    )  # fmt: skip
