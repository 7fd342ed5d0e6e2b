"""Claims that were judged one by one: precision, recall and faithfulness from entailment labels. Source: RAGChecker."""

from __future__ import annotations

from collections.abc import Sequence

from pdfqa_core.metrics.base import Group, measure
from pdfqa_core.metrics.token_f1 import harmonic


def claim_share(entailed: Sequence[bool]) -> float | None:
    """Return the share of claims that are entailed (0..1); None without claims."""
    return sum(entailed) / len(entailed) if entailed else None


def claim_f1(precision: float | None, recall: float | None) -> float | None:
    """Return the harmonic mean; None where one of the two is."""
    return None if precision is None or recall is None else harmonic(precision, recall)


_SOURCE = "Ru et al. 2024 (RAGChecker)"
for _name, _pretty, _formula, _compute in (
    ("claim_precision", "Claim precision", "claims of the answer that the gold answer entails / all of them",
     claim_share),
    ("claim_recall", "Claim recall", "claims of the gold answer that the answer entails / all of them", claim_share),
    ("claim_f1", "Claim F1", "2PR / (P + R) of claim precision and recall, per item", claim_f1),
):  # fmt: skip
    measure(_name, _pretty, _formula, _SOURCE, group=Group.ENTAILMENT)(_compute)
