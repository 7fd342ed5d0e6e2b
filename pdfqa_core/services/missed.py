"""Passages that the system missed: while somebody judges an answer, all passages can be searched, read and marked.

A mark is a rating of its own kind: criterion `missed`, item "TURN#+PASSAGE", value 1, or 0 where it was taken back. Its
comment holds the place of the passage and its text, so that it can be read without the index it came from.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pdfqa_core.errors import UsageError
from pdfqa_core.services.documents import DocumentService
from pdfqa_core.services.indexes import IndexService
from pdfqa_core.services.studies import StudyService
from pdfqa_core.settings import Settings
from pdfqa_core.storage.studies import Studies
from pdfqa_core.study_types import MISSED, Rating, StudyState, missed_item
from pdfqa_core.types import Hit

MOST = 10  # passages that a search shows


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
        self, owner: str, study_id: str, annotator: str, turn_id: str, found: Sequence[Searched], passage_id: str,
        *, relevant: bool = True,
    ) -> None:  # fmt: skip
        """Mark one of the passages that were found as missed, or take the mark back. Raises UsageError."""
        item = self._studies.item(owner, study_id, annotator, turn_id)
        one = next((one for one in found if one.hit.passage.id == passage_id), None)
        if item.item is None or not annotator or one is None:
            raise UsageError("There is no such passage here.", "Search once more.")
        if one.shown:
            raise UsageError("This passage was shown with the answer.", "Rate it among the others.")
        if self._studies.get(owner, study_id).state is not StudyState.OPEN:
            raise UsageError("Nothing can be rated in this study any more.")
        made = Rating(
            study_id, missed_item(turn_id, passage_id), annotator, MISSED, "1" if relevant else "0",
            f"{one.place}\n{one.hit.passage.text}", 0.0, datetime.now(UTC),
        )  # fmt: skip
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
        index = self._indexes.opened(whose, by_words, threading.Event())
        while True:
            try:
                next(index)
            except StopIteration as done:
                return self._indexes.search_in(done.value, query, by_words, (), MOST)


def _place(hit: Hit, names: dict[str, str]) -> str:
    pages = ", ".join(map(str, hit.passage.pages))
    return f"{names.get(hit.passage.document_id, 'a removed document')} p. {pages}"
