"""Re-ranking: a cross-encoder reads the question together with each of the best passages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from pdfqa_core.errors import ModelError
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.retrieval.base import PageRange, Searcher, check_candidates, check_k
from pdfqa_core.retrieval.bm25 import Floats
from pdfqa_core.retrieval.encoder import BATCH, OnProgress
from pdfqa_core.retrieval.index import index_text
from pdfqa_core.retrieval.model_folder import LOADING, LocalModel, encodable
from pdfqa_core.types import Hit, Query

LONGEST_INPUT = 512  # tokens of question and passage, where the model does not say


class PairScorer(Protocol):
    """What re-ranking needs of a model."""

    @property
    def name(self) -> str:
        """The model's name, for people."""
        ...

    def scores(self, question: str, texts: Sequence[str]) -> Floats:
        """Return one number per text, higher for a better answer to the question."""
        ...


class CrossEncoderScorer(LocalModel):
    """A sentence-transformers CrossEncoder."""

    kind = "re-ranking model"
    otherwise = "leave reranker empty for none"

    def scores(self, question: str, texts: Sequence[str]) -> Floats:
        """Return one number per text, higher for a better answer. Raises ModelError if the model makes several."""
        if not texts:
            return np.zeros(0)
        asked = encodable(question)
        with self._lock:
            found = self._model.predict(
                [(asked, encodable(text)) for text in texts],
                batch_size=BATCH,
                show_progress_bar=False,
                convert_to_numpy=True,
            )
        found = np.asarray(found, dtype=np.float64)
        if found.shape != (len(texts),):
            raise ModelError(
                f"{self.name} makes {found.shape[-1]} numbers of a question and a passage, not one.",
                "Choose a cross-encoder that was made for ranking.",
            )
        return found

    @cached_property
    def _model(self) -> Any:
        with self._lock, self._files.loading() as folder:
            from sentence_transformers import CrossEncoder

            model = CrossEncoder(folder, device=self._device, **LOADING)
            stated = self._files.json("config.json").get("max_position_embeddings") or LONGEST_INPUT
            model.max_seq_length = min(int(model.max_seq_length or stated), int(stated), 8192)
            return model


@dataclass(frozen=True, eq=False)
class Reranked:
    """Another retriever whose `candidates` best hits are put in the order of a cross-encoder's scores.

    Source: Nogueira and Cho 2019, "Passage Re-ranking with BERT".
    """

    inner: Searcher
    scorer: PairScorer
    candidates: int = 20

    def __post_init__(self) -> None:
        check_candidates("re-ranking", self.candidates)

    def prepare(self, *, on_progress: OnProgress | None = None, stop: StopSignal | None = None) -> None:
        """Prepare the inner retriever and load the model. Raises ModelError, StoppedError."""
        self.inner.prepare(on_progress=on_progress, stop=stop)
        self.scorer.scores("warm up", ["warm up"])

    def search(
        self,
        question: str | Query,
        k: int,
        document_ids: frozenset[str] | None = None,
        *,
        pages: PageRange | None = None,
    ) -> list[Hit]:
        """Return at most `k` hits, best first; the score is the cross-encoder's, those before stay among the parts."""
        check_k(k)
        hits = self.inner.search(question, max(k, self.candidates), document_ids, pages=pages)
        scores = self.scorer.scores(Query.of(question).text, [index_text(hit.passage) for hit in hits])
        order = np.argsort(-scores, kind="stable")[:k]
        return [
            replace(
                hits[i],
                score=float(scores[i]),
                rank=rank,
                parts={**(hits[i].parts or {hits[i].retriever: hits[i].score}), "rerank": float(scores[i])},
            )
            for rank, i in enumerate(order, 1)
        ]
