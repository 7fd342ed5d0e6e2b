"""What retrievers need of an index, wherever it keeps its passages, and what they share: registry, checks, hits."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias, TypeVar

from pdfqa_core.errors import UsageError
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.registry import Registry
from pdfqa_core.retrieval.bm25 import LUCENE, Analysis, Floats, Ints, Mask
from pdfqa_core.retrieval.encoder import OnProgress, TextEncoder, Vectors
from pdfqa_core.text import terms
from pdfqa_core.types import Hit, Passage, Query

T = TypeVar("T")

# ----------------------------------------------------------------------------------------------------
# What retrievers need of an index.


@dataclass(frozen=True, slots=True)
class IndexStats:
    """What an index holds. Lengths are words of the passages' texts, without headings.

    `recall` is the share of the 10 nearest passages that the graph of a large index finds, exact search being 1; None
    where every search compares all passages, and where it was not measured.
    """

    documents: int
    passages: int
    vocabulary: int
    shortest: int
    percentile_5: float
    median: float
    percentile_95: float
    longest: int
    bytes: int
    build_seconds: float
    recall: float | None = None


@dataclass(frozen=True)
class WordRules:
    """How BM25 compares words: `k1` (term saturation), `b` (length normalisation), whose stop words, stems and idf."""

    k1: float
    b: float
    language: str
    stemming: bool
    stop_words: bool
    idf: str = LUCENE

    def analysis(self, present: Sequence[str]) -> Analysis:
        """Return how words of passages in these languages are compared. Raises UsageError."""
        return Analysis.of(self.language, self.stemming, self.stop_words, present)


class LexicalScores(Protocol):
    """The BM25 scores of one question."""

    def best(self, k: int, rows: Ints) -> Ints:
        """Return the k best of the passages `rows` that hold a term of the question, equal ones in their order."""
        ...

    def of(self, rows: Ints) -> tuple[Floats, Mask]:
        """Return the scores of the passages `rows`, and whether they hold any term of the question."""
        ...


class LexicalSearch(Protocol):
    """BM25 over the passages of an index."""

    def prepare(self) -> None:
        """Compute what all questions share."""
        ...

    def asked(self, query: Query) -> LexicalScores:
        """Return the scores of a question."""
        ...


class SemanticSearch(Protocol):
    """Search by the vectors of the passages of an index, whose products are cosines if they have length 1."""

    def prepare(self, on_progress: OnProgress | None, stop: StopSignal | None) -> None:
        """Build what approximate search needs, where it is used."""
        ...

    def vector(self, query: Query) -> Vectors:
        """Return the query's vector."""
        ...

    def cosines(self, vector: Vectors, rows: Ints) -> Vectors:
        """Return the products with the passages `rows`."""
        ...

    def nearest(self, vector: Vectors, k: int, rows: Ints) -> tuple[Ints, Vectors]:
        """Return the k nearest of the passages `rows`, best first, and their products."""
        ...


class SearchIndex(Protocol):
    """Passages by their row, in the order of their documents, and search in them."""

    @property
    def passages(self) -> Sequence[Passage]:
        """All passages, in order."""
        ...

    @property
    def resident(self) -> bool:
        """Whether all passages are in memory; going through them takes no reading then."""
        ...

    @property
    def has_embeddings(self) -> bool:
        """Whether passages have vectors."""
        ...

    @property
    def waiting(self) -> Mask | None:
        """Which passages have no vector yet; None: there are none."""
        ...

    @property
    def encoder(self) -> TextEncoder | None:
        """The encoder of the vectors."""
        ...

    @property
    def document_ids(self) -> tuple[str, ...]:
        """The documents that have passages, in order."""
        ...

    @property
    def folder(self) -> Path | None:
        """Where the index lies; None in memory."""
        ...

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages by whose rules the passages are compared, in order."""
        ...

    @property
    def passages_by_term(self) -> Mapping[str, int]:
        """In how many passages each term stands."""
        ...

    @property
    def stats(self) -> IndexStats:
        """Counts, lengths and size of the index."""
        ...

    def at(self, rows: Sequence[int]) -> list[Passage]:
        """Return the passages of these rows."""
        ...

    def languages_of(self, document_ids: frozenset[str] | None = None) -> frozenset[str]:
        """Return the languages of these documents (None: of all)."""
        ...

    def rows(self, document_ids: frozenset[str] | None = None, pages: tuple[int, int] | None = None) -> Ints:
        """Return the rows of the passages of these documents (None: all) on pages from first to last, ascending."""
        ...

    def shared(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` returned the first time for this key."""
        ...

    def lexical(self, rules: WordRules) -> LexicalSearch:
        """Return BM25 by these rules. Raises UsageError."""
        ...

    def semantic(self, exact_below: int) -> SemanticSearch:
        """Return search by meaning, exact in fewer than `exact_below` passages."""
        ...


Shared = Callable[[Hashable, Callable[[], Any]], Any]


# ----------------------------------------------------------------------------------------------------
# What all retrievers share.

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


# ----------------------------------------------------------------------------------------------------
# Derived data that several users of an index share, made once.


class Once:
    """Keeps by key what was made for it."""

    def __init__(self) -> None:
        self._made: dict[Hashable, Any] = {}
        self._locks: dict[Hashable, threading.RLock] = {}

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` returned the first time for this key.

        Threads that ask for the same key wait for the first; nothing is kept where `make` raises.
        """
        with self._locks.setdefault(key, threading.RLock()):
            if key not in self._made:
                self._made[key] = make()
            return self._made[key]  # type: ignore[no-any-return]

    def known(self, key: Hashable) -> Any:
        """Return what was made for a key; None: nothing yet."""
        return self._made.get(key)
