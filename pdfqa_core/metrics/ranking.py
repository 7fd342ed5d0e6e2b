"""How well a ranking finds what is relevant: HR@k, MRR, R@k, nDCG@k of one question.

A ranking is the gain of what stands at each rank (0: not relevant), the first rank first; `gold` holds the gains of
everything relevant, found or not. With binary relevance all gains are 1. Ties are broken by the order given. Names are
those of ir_measures, where HR is called Success.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from math import fsum, log2

from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.base import Group, measure

_NAME = re.compile(r"(HR|MRR|R|nDCG)(?:@(\d+))?")
EXAMPLES = "HR@5, MRR, MRR@10, R@5 or nDCG@10"


@measure(
    "HR@k",
    "HR@k",
    "1 if anything relevant is among the first k, else 0 (success@k)",
    group=Group.RANKING,
    proportion=True,
)
def hit_rate(ranking: Sequence[float], gold: Sequence[float], k: int | None = None) -> float | None:
    """Return 1 if anything relevant is among the first k, else 0 (success@k, 0..1); None without gold."""
    if not _relevant(gold):
        return None
    return float(any(gain > 0 for gain in islice(ranking, k)))


@measure(
    "MRR", "MRR", "1 / rank of the first relevant passage, 0 where none is found", "Voorhees 1999", group=Group.RANKING
)
def reciprocal_rank(ranking: Sequence[float], gold: Sequence[float], k: int | None = None) -> float | None:
    """Return 1/rank of the first relevant thing among the first k, 0 if none of them is relevant; None without gold.

    Its mean over questions is the MRR. Source: Voorhees 1999, TREC-8 question answering track.
    """
    if not _relevant(gold):
        return None
    return next((1.0 / rank for rank, gain in enumerate(islice(ranking, k), start=1) if gain > 0), 0.0)


@measure("R@k", "R@k", "relevant things among the first k / all relevant things", group=Group.RANKING)
def recall(ranking: Sequence[float], gold: Sequence[float], k: int | None = None) -> float | None:
    """Return the share of everything relevant that is among the first k (0..1); None without gold."""
    relevant = _relevant(gold)
    return sum(gain > 0 for gain in islice(ranking, k)) / relevant if relevant else None


@measure(
    "nDCG@k",
    "nDCG@k",
    "Σ gain / log2(rank + 1) over the first k, divided by the largest possible value",
    "Järvelin and Kekäläinen 2002",
    group=Group.RANKING,
)
def ndcg(ranking: Sequence[float], gold: Sequence[float], k: int | None = None) -> float | None:
    """Return the discounted cumulative gain of the first k over the best one possible (0..1); None without gold.

    DCG = Σ gain / log2(rank + 1). Source: Järvelin and Kekäläinen 2002, with the discount of trec_eval's ndcg_cut.
    """
    if not _relevant(gold):
        return None
    return _dcg(islice(ranking, k)) / _dcg(islice(sorted(gold, reverse=True), k))


def _relevant(gold: Sequence[float]) -> int:
    return sum(gain > 0 for gain in gold)


def _dcg(gains: islice[float]) -> float:
    return fsum(gain / log2(rank + 1) for rank, gain in enumerate(gains, start=1) if gain > 0)


_FORMULAS = {one.name.removesuffix("@k"): one for one in (hit_rate, reciprocal_rank, recall, ndcg)}


@dataclass(frozen=True, slots=True)
class RankingMeasure:
    """A measure by its name; `cutoff` is the number of ranks it looks at, None: all."""

    formula: str
    cutoff: int | None = None

    @classmethod
    def parse(cls, name: str) -> RankingMeasure:
        """Return the measure called `name`, such as nDCG@10. Raises UsageError for a name that says nothing."""
        match = _NAME.fullmatch(name.strip())
        cutoff = int(match[2]) if match and match[2] else None
        if match is None or cutoff == 0 or (cutoff is None and match[1] in ("HR", "R")):
            raise UsageError(f"There is no ranking measure called {name!r}.", f"Write it as {EXAMPLES}.")
        return cls(match[1], cutoff)

    @property
    def name(self) -> str:
        """The name, as in tables and on the command line."""
        return self.formula if self.cutoff is None else f"{self.formula}@{self.cutoff}"

    def __call__(self, ranking: Sequence[float], gold: Sequence[float]) -> float | None:
        """Return the value of one question (0..1), None where nothing is relevant."""
        return _FORMULAS[self.formula](ranking, gold, self.cutoff)
