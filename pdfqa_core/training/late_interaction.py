"""Late interaction: one vector per token, each token of the question looks for its best match (ColBERT)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Self

from pdfqa_core.retrieval.token_encoder import LateEncoder
from pdfqa_core.training.base import LATE_INTERACTION
from pdfqa_core.training.loss import maxsim
from pdfqa_core.training.trainee import Embedded, Trainee

if TYPE_CHECKING:
    from torch import Tensor


class LateInteraction(Trainee):
    """A MultiVectorEncoder. One that was made for single vectors starts with a fixed projection, which is trained too.

    The score is a sum over the tokens of the question, wide enough for a softmax as it is.
    """

    kind: ClassVar[str] = LATE_INTERACTION
    scale: ClassVar[float] = 1.0

    @classmethod
    def load(cls, path_or_name: str, device: str | None = None) -> Self:
        """Return the model at a path or of a hub name ("" is the bundled encoder). Raises ModelError."""
        return cls(LateEncoder(path_or_name, device=device).fresh_model())

    def embed(self, texts: Sequence[str], *, question: bool) -> Embedded:
        """Return the vectors of the tokens of texts (n x tokens x d) and which of them count."""
        from torch.nn.functional import normalize

        made = self._features(texts, question)
        return normalize(made["token_embeddings"].float(), dim=-1), made["attention_mask"].bool()

    def scores(self, questions: Embedded, passages: Embedded) -> Tensor:
        """Return the sums of largest products (n x m)."""
        return maxsim(*questions, *passages)
