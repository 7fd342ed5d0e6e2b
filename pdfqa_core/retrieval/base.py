"""What all retrievers share: their registry, the checks of a question, and the making of hits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol, TypeAlias

from pdfqa_core.errors import UsageError
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.registry import Registry
from pdfqa_core.retrieval.encoder import OnProgress
from pdfqa_core.retrieval.interface import SearchIndex
from pdfqa_core.retrieval.postings import Ints
from pdfqa_core.text import terms
from pdfqa_core.types import Hit, Query

retrievers: Registry[type[IndexRetriever]] = Registry("retriever")

PageRange: TypeAlias = tuple[int, int]


class Searcher(Protocol):
    """Question to hits: a retriever, or something around one."""

    def prepare(self, *, on_progress: OnProgress | None = None, stop: StopSignal | None = None) -> None:
        """Do now what the first search would otherwise wait for. Raises ModelError, StoppedError."""
        ...

    def search(
        self,
        question: str | Query,
        k: int,
        document_ids: frozenset[str] | None = None,
        *,
        pages: PageRange | None = None,
    ) -> list[Hit]:
        """Return at most `k` hits, best first; of these documents and of these pages (first and last) only."""
        ...


class ScoredRow(NamedTuple):
    """A passage by its row in the index, its score, and the scores that this was made of."""

    row: int
    score: float
    parts: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class IndexRetriever(ABC):
    """Searches an index; the fields of a subclass (but `index`) are its parameters, keyword only.

    `needs_embeddings` says whether the index must have been opened with embeddings. A field `first` is a retriever
    whose candidates this one orders, a field `token_encoder` the model of late interaction.
    """

    name: ClassVar[str]
    needs_embeddings: ClassVar[bool] = False

    index: SearchIndex

    def __post_init__(self) -> None:
        if self.needs_embeddings and not self.index.has_embeddings:
            raise UsageError(
                f"The retriever {self.name} needs embeddings, but the index was opened without them.",
                "Open it with embeddings=True, or choose bm25.",
            )

    def prepare(  # noqa: B027 - most retrievers have nothing to prepare
        self, *, on_progress: OnProgress | None = None, stop: StopSignal | None = None
    ) -> None:
        """Do now what the first search would otherwise wait for. Raises ModelError, StoppedError."""

    def search(
        self,
        question: str | Query,
        k: int,
        document_ids: frozenset[str] | None = None,
        *,
        pages: PageRange | None = None,
    ) -> list[Hit]:
        """Return at most `k` hits, best first, equal scores in the order of the passages.

        `document_ids` limits the search to some documents (None: all), `pages` to passages that touch a page from the
        first to the last of these numbers; the statistics stay those of the whole index. A question without a single
        word or number has no hits. Raises UsageError if k is below 1 or the pages are no range.
        """
        check_k(k)
        query = Query.of(question)
        if pages is not None and not 1 <= pages[0] <= pages[1]:
            raise UsageError(
                f"Pages {pages[0]} to {pages[1]} are no range.", "Pages count from 1, the first one first."
            )
        rows = self.index.rows(document_ids, pages)
        if len(rows) == 0 or not terms(query.text):
            return []
        found = self._find(query, k, rows)
        passages = self.index.at([one.row for one in found])
        return [
            Hit(passage, one.score, rank, self.name, one.parts)
            for rank, (one, passage) in enumerate(zip(found, passages, strict=True), start=1)
        ]

    @abstractmethod
    def _find(self, query: Query, k: int, rows: Ints) -> list[ScoredRow]:
        """Return at most k of the passages `rows` (ascending, at least one), best first."""


def check_k(k: int) -> None:
    """Raise UsageError if `k` is below 1."""
    if k < 1:
        raise UsageError(f"k is {k}.", "Ask for 1 passage or more.")


def check_candidates(owner: str, candidates: int) -> None:
    """Raise UsageError if `candidates` is below 1."""
    if candidates < 1:
        raise UsageError(f"candidates of {owner} is {candidates}.", "It must be 1 or more.")


def page_range(text: str) -> PageRange:
    """Return (first, last) of "3-9" or "7". Raises UsageError."""
    first, _, last = text.strip().partition("-")
    try:
        found = int(first), int(last or first)
    except ValueError:
        raise UsageError(f"{text!r} is no range of pages.", "Write 3-9 or 7.") from None
    if not 1 <= found[0] <= found[1]:
        raise UsageError(f"{text!r} is no range of pages.", "The first page comes first, from 1 on.")
    return found
