"""The loss of a retriever: negative log-likelihood of the right passage among those of the batch.

Sources: Karpukhin et al. 2020, "Dense Passage Retrieval", equation 2 and section 3.2 (in-batch negatives); Khattab and
Zaharia 2020, "ColBERT", for the score of late interaction; Hofstätter et al. 2020, "Improving Efficient Neural Ranking
Models with Cross-Architecture Knowledge Distillation", for the margins of a teacher.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def inner_products(questions: Tensor, passages: Tensor) -> Tensor:
    """Return S = Q Pᵀ (n x m) of question vectors (n x d) and passage vectors (m x d)."""
    return questions @ passages.T


def maxsim(questions: Tensor, question_mask: Tensor, passages: Tensor, passage_mask: Tensor) -> Tensor:
    """Return the score of late interaction (n x m): Σ over question tokens of the largest product with a passage token.

    Vectors are (n x tokens x d) and (m x tokens x d), masks (n x tokens) and (m x tokens), true where a token counts.
    """
    from sentence_transformers.util.similarity import maxsim as scored

    found: Tensor = scored(questions, passages, a_mask=question_mask, b_mask=passage_mask)
    return found


def in_batch_loss(scores: Tensor, positives: Tensor, ignored: Tensor | None = None) -> Tensor:
    """Return the mean of -log softmax(scores of a question) at its own passage, a number.

    `scores` is (questions x passages): the columns hold the passages of all questions and their hard negatives.
    `positives` (questions) is the column of each question's passage. `ignored` (questions x passages) is true where a
    passage is no negative of a question, because it answers it too.
    """
    from torch.nn.functional import cross_entropy

    if ignored is not None:
        scores = scores.masked_fill(ignored, float("-inf"))
    return cross_entropy(scores, positives)


def margin_loss(scores: Tensor, positives: Tensor, margins: Sequence[tuple[int, int, float]]) -> Tensor:
    """Return the mean squared difference of the model's margins and a teacher's (Margin-MSE), a number.

    `scores` and `positives` are as in `in_batch_loss`; `margins` are (question, passage, the teacher's margin), at
    least one: how much more the question's own passage scores than this one.
    """
    import torch

    rows = torch.tensor([row for row, _, _ in margins], device=scores.device)
    columns = torch.tensor([column for _, column, _ in margins], device=scores.device)
    told = torch.tensor([margin for _, _, margin in margins], device=scores.device, dtype=scores.dtype)
    own = scores[rows, positives[rows]] - scores[rows, columns]
    return torch.nn.functional.mse_loss(own, told)
