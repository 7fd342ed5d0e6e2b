"""A bi-encoder: one vector of a question, one of a passage, their inner product is the score (DPR, Sentence-BERT)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Self

from pdfqa_core.retrieval.encoder import Encoder
from pdfqa_core.training.base import BI_ENCODER
from pdfqa_core.training.loss import inner_products
from pdfqa_core.training.trainee import Embedded, Trainee

if TYPE_CHECKING:
    from torch import Tensor


class BiEncoder(Trainee):
    """A SentenceTransformer whose vectors have length 1.

    Cosines lie so near each other that a softmax over them tells nothing apart: they are multiplied by 20, as usual in
    sentence-transformers.
    """

    kind: ClassVar[str] = BI_ENCODER
    scale: ClassVar[float] = 20.0

    @classmethod
    def load(cls, path_or_name: str, device: str | None = None) -> Self:
        """Return the encoder at a path or of a hub name ("" is the bundled one). Raises ModelError."""
        return cls(Encoder(path_or_name, device=device).fresh_model())

    def embed(self, texts: Sequence[str], *, question: bool) -> Embedded:
        """Return the vectors of texts (n x 1 x d)."""
        import torch
        from torch.nn.functional import normalize

        vectors = normalize(self._features(texts, question)["sentence_embedding"].float(), dim=-1)
        return vectors.unsqueeze(1), torch.ones(len(vectors), 1, dtype=torch.bool, device=vectors.device)

    def scores(self, questions: Embedded, passages: Embedded) -> Tensor:
        """Return the cosines (n x m)."""
        return inner_products(questions[0].squeeze(1), passages[0].squeeze(1))
