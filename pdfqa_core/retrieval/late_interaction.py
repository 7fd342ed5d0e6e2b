"""Late interaction: every token of the question looks for its best match among the tokens of the passage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pdfqa_core.errors import ModelError, UsageError
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.retrieval.base import IndexRetriever, ScoredRow, check_candidates, retrievers
from pdfqa_core.retrieval.encoder import OnProgress
from pdfqa_core.retrieval.postings import Ints, top
from pdfqa_core.retrieval.token_encoder import TokenEncoder
from pdfqa_core.retrieval.token_store import TokenStore
from pdfqa_core.types import Query


@retrievers.register("late_interaction", "compares every word's meaning; takes most time and disk (ColBERT)")
@dataclass(frozen=True, eq=False)
class LateInteraction(IndexRetriever):
    """MaxSim of ColBERT: score(q, p) = Σ over question tokens of the largest cosine with a passage token.

    Where a query has several texts, the tokens of each count with its weight. Over all passages, or, with a `first`
    retriever, over its `candidates` best. Source: Khattab and Zaharia 2020, "ColBERT: Efficient and effective passage
    search via contextualized late interaction over BERT".
    """

    name: ClassVar[str] = "late_interaction"

    token_encoder: TokenEncoder | None = None
    first: IndexRetriever | None = None
    candidates: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        check_candidates(self.name, self.candidates)
        if self.token_encoder is None:
            raise UsageError("Late interaction needs an encoder of tokens.", "Give one as token_encoder.")

    @property
    def _encoder(self) -> TokenEncoder:
        assert self.token_encoder is not None
        return self.token_encoder

    def _store(self, on_progress: OnProgress | None = None, stop: StopSignal | None = None) -> TokenStore:
        def make() -> TokenStore:
            return TokenStore.open_or_build(self.index, self._encoder, on_progress=on_progress, stop=stop)

        return self.index.shared(("tokens", self._encoder.model_hash), make)

    def prepare(self, *, on_progress: OnProgress | None = None, stop: StopSignal | None = None) -> None:
        """Encode the tokens of all passages that are not stored yet. Raises ModelError, StoppedError."""
        if self.first is not None:
            self.first.prepare(on_progress=on_progress, stop=stop)
        self._store(on_progress, stop)

    def _find(self, query: Query, k: int, rows: Ints) -> list[ScoredRow]:
        parts: dict[int, dict[str, float]] = {}
        if self.first is not None:
            found = self.first._find(query, max(k, self.candidates), rows)
            parts = {item.row: dict(item.parts) for item in found}
            rows = np.asarray(sorted(parts), dtype=np.int64)
            if len(rows) == 0:
                return []
        texts = query.dense or ((query.text, 1.0),)
        encoded = self._encoder.encode_tokens([text for text, _ in texts], question=True)
        vectors = np.concatenate([weight * own for (_, weight), own in zip(texts, encoded, strict=True)])
        if len(vectors) == 0:
            return []
        try:
            scores = self._store().maxsim(vectors, rows if len(rows) < len(self.index.passages) else None)
        except (ValueError, RuntimeError) as error:
            raise ModelError(
                f"The tokens of the index do not fit those of {self._encoder.name}: {error}.",
                "Restart the program; the index is built again.",
            ) from error
        best = top(scores, k)
        return [
            ScoredRow(
                int(rows[i]), float(scores[i]), {**parts.get(int(rows[i]), {}), "late_interaction": float(scores[i])}
            )
            for i in best
        ]
