"""What retrievers need of an index of passages, wherever it keeps them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from pdfqa_core.interfaces import StopSignal
from pdfqa_core.retrieval.analysis import Analysis
from pdfqa_core.retrieval.encoder import OnProgress, TextEncoder, Vectors
from pdfqa_core.retrieval.postings import LUCENE, Floats, Ints, Mask
from pdfqa_core.types import Passage, Query

T = TypeVar("T")


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
