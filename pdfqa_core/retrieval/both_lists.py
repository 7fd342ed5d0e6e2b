"""What retrievers that combine the lexical and the semantic list share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from pdfqa_core.retrieval.analysis import Analyser
from pdfqa_core.retrieval.base import IndexRetriever, check_candidates
from pdfqa_core.retrieval.bm25 import Lexical
from pdfqa_core.retrieval.dense import Semantic
from pdfqa_core.retrieval.encoder import OnProgress
from pdfqa_core.types import StopSignal


@dataclass(frozen=True, eq=False)
class BothLists(IndexRetriever):
    """A retriever with BM25 (fields as in `BM25`) and embeddings; the `candidates` best of each list are combined."""

    needs_embeddings: ClassVar[bool] = True

    k1: float = 1.5
    b: float = 0.75
    language: str = "english"
    stemming: bool = False
    stop_words: bool = True
    candidates: int = 100
    exact_below: int = 50_000

    def __post_init__(self) -> None:
        super().__post_init__()
        check_candidates(self.name, self.candidates)
        self._lexical.prepare()

    @cached_property
    def _lexical(self) -> Lexical:
        return Lexical(self.index, self.k1, self.b, Analyser(self.language, self.stemming, self.stop_words))

    @cached_property
    def _semantic(self) -> Semantic:
        return Semantic(self.index, self.exact_below)

    def prepare(self, *, on_progress: OnProgress | None = None, stop: StopSignal | None = None) -> None:
        """Build the graph of a large index. Raises ModelError, StoppedError."""
        self._semantic.prepare(on_progress, stop)
