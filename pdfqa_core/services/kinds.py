"""Kinds of questions put together: which documents their plans search, and which reader reads what was found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from pdfqa_core import plans
from pdfqa_core.chunking.sections import parts, sections
from pdfqa_core.chunking.spread import spread
from pdfqa_core.errors import UsageError
from pdfqa_core.interfaces import Reader
from pdfqa_core.languages import ENGLISH, rules_of
from pdfqa_core.pipeline import Planned
from pdfqa_core.reading.document_names import (
    asked_about,
    asks_for_section,
    is_heading,
    newest,
    of_kind,
    summarised,
    unnamed,
)
from pdfqa_core.reading.kinds import Kind, Request, recognised
from pdfqa_core.reading.meaning import Meaning
from pdfqa_core.reading.mentions import MentionsReader
from pdfqa_core.reading.overview import OverviewReader
from pdfqa_core.reading.table_rows import TableRows
from pdfqa_core.reading.whole_sections import INSTRUCTIONS, SectionReader
from pdfqa_core.retrieval import SearchIndex
from pdfqa_core.retrieval.whole_sentences import completed
from pdfqa_core.services.documents import DocumentService
from pdfqa_core.services.indexes import IndexService
from pdfqa_core.settings import Settings
from pdfqa_core.text import terms
from pdfqa_core.types import Hit, Page, Query

COMPARED = 4  # passages of a comparison that are read at least


def parameters(kind: Kind, offered: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a reader of this kind is given: for ordinary questions what is offered, else whole passages, more."""
    if kind not in INSTRUCTIONS:
        return dict(offered)
    passages = COMPARED if kind is Kind.COMPARISON else plans.LONGEST_SECTION
    return {
        **offered, "passages": max(passages, offered["passages"]), "prompt_tokens": 0, "type_of": "abstractive",
        "instruction": offered["instruction"] or INSTRUCTIONS[kind],
    }  # fmt: skip


def reader_for(kind: Kind, reader: Reader, offered: Mapping[str, Any], titles: Mapping[str, str]) -> Reader:
    """Return who reads what was found for a question of this kind, in own words where `reader` does."""
    if kind is Kind.SUMMARY:
        return OverviewReader(reader.llm, titles=titles, sampling=offered["sampling"], checker=offered["checker"])
    if kind in (Kind.LIST, Kind.SECTION) and reader.llm is None:
        return SectionReader(items=kind is Kind.LIST)
    return reader


class _Found(dict[str, Any]):
    """Documents by id. One of an open index that is missing was removed meanwhile."""

    def __missing__(self, document_id: str) -> Any:
        raise UsageError("A document was removed while it was asked about.", "Ask again: the others are searched.")


class Scope:
    """The documents that a question is asked about, as plans see them."""

    def __init__(
        self, documents: DocumentService, indexes: IndexService, index: SearchIndex, owner: str, settings: Settings,
        document_ids: Sequence[str],
    ) -> None:  # fmt: skip
        self._documents = documents
        self._indexes = indexes
        self._index = index
        self._settings = settings
        self._document_ids = tuple(document_ids)
        self._owner = owner
        self._pages: dict[str, tuple[Page, ...]] = {}
        self._texts: dict[tuple[str, int], str] = {}

    @cached_property
    def _readable(self) -> dict[str, Any]:
        found = self._documents.readable(self._owner, self._settings, self._document_ids)
        return _Found({document.id: (document, reading) for document, reading in found})

    @cached_property
    def titles(self) -> Mapping[str, str]:
        """What each document is called: its title, else its file name."""
        return {key: document.title or document.filename for key, (document, _) in self._readable.items()}

    def called(self, document_id: str) -> str:
        """Return the title of a document; its file name where another one has the same title."""
        title = self.titles[document_id]
        alone = sum(one == title for one in self.titles.values()) == 1
        return title if alone else self._readable[document_id][0].filename

    @cached_property
    def names(self) -> Mapping[str, str]:
        """The words that name each document: its title and its file name."""
        return {key: f"{self.titles[key]} {stem}" for key, stem in self.files.items()}

    @cached_property
    def files(self) -> Mapping[str, str]:
        """The file names, without their endings."""
        return {key: document.filename.rsplit(".", 1)[0] for key, (document, _) in self._readable.items()}

    @cached_property
    def languages(self) -> Mapping[str, str]:
        """The language by whose rules each document is read."""
        return {key: rules_of(reading.language) for key, (_, reading) in self._readable.items()}

    def within(self, document_ids: Sequence[str]) -> Scope:
        """Return these documents alone."""
        return Scope(self._documents, self._indexes, self._index, self._owner, self._settings, document_ids)

    def search(self, query: Query, k: int, document_ids: Sequence[str] = ()) -> list[Hit]:
        """Return at most `k` hits, best first, in whole sentences; of these documents only (none given: of all)."""
        scope = document_ids or self._document_ids
        return completed(self._indexes.search_in(self._index, query, self._settings, scope, k), self._page_text)

    def table_row(self, question: str, document_ids: Sequence[str] = ()) -> Hit | None:
        """Return the passage with the row of a table that a question asks for; None if it asks for none."""
        if not self._index.resident:  # going through all passages would read them all
            return None
        rows = self._index.shared("table rows", lambda: TableRows(self._index.passages))
        found = rows.asked_for(question, document_ids or self._document_ids)
        return None if found is None else completed([Hit(found, 1.0, 1, "table row")], self._page_text)[0]

    def _page_text(self, document_id: str, number: int) -> str:
        key = document_id, number
        if key not in self._texts:
            _, reading = self._readable[document_id]
            self._texts[key] = self._documents.page(self._owner, document_id, reading.extractor, number).text
        return self._texts[key]

    def pages(self, document_id: str) -> Sequence[Page]:
        """Return the pages of a document, read from storage once for a question."""
        if document_id not in self._pages:
            self._pages[document_id] = self._documents.pages_of(*self._readable[document_id])
        return self._pages[document_id]


class Planner:
    """Finds passages for one question and says who reads them.

    `reader` makes the reader of a kind of question about the document that is called so ("": about any).
    """

    def __init__(
        self, corpus: Scope, settings: Settings, reader: Callable[[Kind, str], Reader], meaning: Meaning | None
    ) -> None:
        self._corpus = corpus
        self._settings = settings
        self._reader = reader
        self._meaning = meaning

    def retrieve(self, query: Query, k: int, document_ids: Sequence[str] = ()) -> list[Hit]:
        """Return the hits of an ordinary question, with those of a second search and the row of a table it asks for."""
        hits = self._corpus.search(query, k, document_ids)
        if self._settings.reading.second_search and all(hit.passage.language == ENGLISH for hit in hits):
            hits = plans.second_search(query, hits, k, self._corpus, self._meaning, document_ids)
        row = self._corpus.table_row(query.text, document_ids) if self._settings.reading.kinds else None
        return plans.with_row(hits, row, k)

    def plan(self, question: str, query: Query, k: int) -> Planned | None:
        """Return what a question that asks for more than a fact, or names its document, needs; None for all others.

        The question as it was typed goes first: one for a summary stands alone.
        """
        if not self._settings.reading.kinds:
            return None
        request = recognised(question)
        if request.kind is Kind.ORDINARY:
            request = recognised(query.text)
        if request.kind is Kind.ORDINARY:
            return self._in_one(question, query, k)
        if request.kind is Kind.MENTIONS:
            return self._mentioned(request)
        if request.kind in (Kind.SUMMARY, Kind.SECTION) and (planned := self._summary(request, question, query, k)):
            return planned
        found = plans.found(request, query, k, self._corpus)
        judged = found.kind is not Kind.SUMMARY
        return Planned(found.hits, self._reader(found.kind, ""), judged, found.notes, parts=request.questions)

    def _mentioned(self, request: Request) -> Planned | None:
        """Return a passage of each document that speaks of the subject; None if none does."""
        found = plans.mentioned(request.subjects[0], self._corpus)
        called = {one: self._corpus.called(one) for one in self._corpus.titles}
        reader = MentionsReader(request.subjects[0], called, self._meaning)
        return Planned(found.hits, reader, judged=False, notes=found.notes) if found.hits else None

    def _summary(self, request: Request, question: str, query: Query, k: int) -> Planned | None:
        """Return what a summary of the documents that the question names is made of, or of the section it names.

        None where it names neither. A document goes before a section, unless a section is asked for in words.
        """
        corpus = self._corpus
        if not request.said and not asks_for_section(question):
            if request.kind is Kind.SUMMARY:
                several = len(corpus.titles) > 1
                about = tuple(filter(None, (of_kind(question, corpus.names),))) if several else ()
            else:
                about = summarised(request.subjects[0], corpus.names, corpus.files)
            if about:
                found = plans.found(Request(Kind.SUMMARY), query, k, corpus.within(about))
                hits = found.hits or self._beginnings(about)
                called = " and ".join(f"“{corpus.called(one)}”" for one in about)
                notes = (f"Summarised {called}, which the question names.", *found.notes)
                return Planned(hits, self._reader(Kind.SUMMARY, ""), judged=False, notes=notes)
        return self._headed(request, k) if request.kind is Kind.SECTION else None

    def _beginnings(self, document_ids: Sequence[str]) -> tuple[Hit, ...]:
        """Return passages spread over documents without sections, like a letter of one page."""
        corpus = self._corpus
        passages = [
            passage
            for one in document_ids[: plans.MOST]
            for passage in spread(corpus.pages(one), corpus.titles[one], language=corpus.languages[one])
        ]
        return tuple(Hit(passage, 1.0, rank, "spread over the document") for rank, passage in enumerate(passages, 1))

    def _headed(self, request: Request, k: int) -> Planned | None:
        """Return the whole section with the words of the subject for a heading, in a document the search leads to."""
        corpus, subject = self._corpus, request.subjects[0]
        hits = corpus.search(Query(subject), k)
        for one in dict.fromkeys(hit.passage.document_id for hit in hits):
            for section in sections(corpus.pages(one), corpus.languages[one]):
                if not is_heading(subject, section.heading):
                    continue
                whole = parts(section, corpus.titles[one])
                if 0 < len(whole) <= plans.LONGEST_SECTION:
                    own = tuple(Hit(passage, 1.0, rank, "section") for rank, passage in enumerate(whole, start=1))
                    note = f"Read the section “{section.heading}”."
                    reader = SectionReader(firsts=False) if request.said else self._reader(Kind.SECTION, "")
                    return Planned(own, reader, judged=False, notes=(note,))
        return None

    def _in_one(self, question: str, query: Query, k: int) -> Planned | None:
        """Return what the one document that the question names has; None if it names none, or that has nothing."""
        corpus = self._corpus
        for text in (question, query.text):
            for which, why in ((asked_about, "which the question names"), (newest, "the newest of its series")):
                for names in (corpus.files, corpus.titles):
                    if (one := which(text, names)) and (hits := self.retrieve(query, k, (one,))):
                        note = f"Searched in “{corpus.called(one)}”, {why}."
                        names_of = corpus.names[one]
                        asked = " ".join(set(terms(query.text)) - set(terms(unnamed(query.text, names_of))))
                        reader = self._reader(Kind.ORDINARY, f"{names_of} {asked}")
                        return Planned(tuple(hits), reader, notes=(note,), called=names_of)
        return None
