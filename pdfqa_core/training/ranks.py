"""At which rank a model finds the passage of each question, HR@k and MRR of that, and the loss behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pdfqa_core.interfaces import StopSignal
from pdfqa_core.metrics.ranking import hit_rate, reciprocal_rank
from pdfqa_core.metrics.statistics import Summary, paired_difference, summarise
from pdfqa_core.training.base import Pair
from pdfqa_core.training.trainee import Trainee
from pdfqa_core.types import Passage, Progress

Scores: TypeAlias = npt.NDArray[np.floating[Any]]
GOLD = (1.0,)


@dataclass(frozen=True)
class RankedPairs:
    """Pairs whose passages are looked for among `passages`; one that shares text with the right one counts too."""

    pairs: tuple[Pair, ...]
    passages: tuple[Passage, ...]
    text_of: Callable[[Passage], str]

    @cached_property
    def _right(self) -> list[np.ndarray[tuple[int], np.dtype[np.int64]]]:
        """The places of the passages that answer each question."""
        by_document: dict[str, list[int]] = {}
        for place, one in enumerate(self.passages):
            by_document.setdefault(one.document_id, []).append(place)
        return [
            np.asarray(
                [place for place in by_document.get(pair.positive.document_id, ())
                 if pair.positive.overlaps(self.passages[place])], dtype=np.int64,
            )
            for pair in self.pairs
        ]  # fmt: skip

    def ranks(
        self, trainee: Trainee, *, on_progress: Callable[[Progress], None] | None = None, stop: StopSignal | None = None
    ) -> tuple[int, ...]:
        """Return the rank (from 1) of the first right passage of each pair, 0 where there is none. StoppedError.

        Of equal scores the worst order counts, so that a model that tells nothing apart finds nothing.
        """
        return self._ranks(self._similarities(trainee, on_progress, stop))

    def score(
        self, trainee: Trainee, k: int, scale: float = 0.0, *,
        on_progress: Callable[[Progress], None] | None = None, stop: StopSignal | None = None,
    ) -> HeldOutScore:  # fmt: skip
        """Return HR@k, MRR and the loss, whose scores are multiplied by `scale` (0: the model's own). StoppedError."""
        similarities = self._similarities(trainee, on_progress, stop)
        loss = self._loss(similarities.astype(np.float64) * (scale or trainee.scale))
        return HeldOutScore.of(self._ranks(similarities), k, loss)

    def _similarities(
        self, trainee: Trainee, on_progress: Callable[[Progress], None] | None, stop: StopSignal | None
    ) -> Scores:
        """Return the score of each question with each passage (pairs x passages)."""
        if not self.pairs:
            return np.zeros((0, len(self.passages)), np.float32)
        return trainee.similarities(
            [pair.question for pair in self.pairs], [self.text_of(one) for one in self.passages],
            on_progress=on_progress, stop=stop,
        )  # fmt: skip

    def _ranks(self, similarities: Scores) -> tuple[int, ...]:
        found = []
        for row, right in zip(similarities, self._right, strict=True):
            if not len(right):
                found.append(0)
                continue
            wrong = np.delete(row, right)
            found.append(1 + int((wrong >= row[right].max()).sum()))
        return tuple(found)

    def _loss(self, scores: Scores) -> float | None:
        """Return the mean of -log softmax at the best right passage beside all wrong ones; None without a right one."""
        losses = []
        for row, right in zip(scores, self._right, strict=True):
            if len(right):
                best = row[right].max()
                losses.append(float(np.logaddexp.reduce(np.append(np.delete(row, right), best)) - best))
        return sum(losses) / len(losses) if losses else None


@dataclass(frozen=True, slots=True)
class HeldOutScore:
    """HR@k and MRR of a model on held-out questions, each 0..1, and the loss (nats; None where nothing was to find)."""

    hit_rate: float
    mrr: float
    loss: float | None = None

    @classmethod
    def of(cls, ranks: Sequence[int], k: int, loss: float | None = None) -> HeldOutScore:
        """Return the means over ranks, 0 standing for not found; 0 without any."""
        if not ranks:
            return cls(0.0, 0.0, loss)
        return cls(sum(hits_at(ranks, k)) / len(ranks), sum(reciprocals(ranks)) / len(ranks), loss)


def hits_at(ranks: Sequence[int], k: int) -> list[float]:
    """Return HR@k of each question."""
    return [hit_rate(_ranking(rank), GOLD, k) or 0.0 for rank in ranks]


def reciprocals(ranks: Sequence[int]) -> list[float]:
    """Return the reciprocal rank of each question."""
    return [reciprocal_rank(_ranking(rank), GOLD) or 0.0 for rank in ranks]


def _ranking(rank: int) -> list[float]:
    return [0.0] * (rank - 1) + [1.0] if rank else []


@dataclass(frozen=True, slots=True)
class Compared:
    """A measure before and after on the same questions, and the difference (after - before) with its interval."""

    before: Summary
    after: Summary
    difference: Summary

    @property
    def better(self) -> bool:
        """Whether the interval of the difference is above 0."""
        return (self.difference.low or 0.0) > 0

    @property
    def worse(self) -> bool:
        """Whether the interval of the difference is below 0."""
        return (self.difference.high or 0.0) < 0


def compared(before: Sequence[int], after: Sequence[int], k: int, seed: int = 0) -> dict[str, Compared]:
    """Return HR@k and MRR of two models by measure, with 95 % intervals; ranks are in the order of the questions."""
    values = {
        f"HR@{k}": (hits_at(before, k), hits_at(after, k)),
        "MRR": (reciprocals(before), reciprocals(after)),
    }
    return {
        name: Compared(
            summarise(old, seed=seed), summarise(new, seed=seed), paired_difference(new, old, seed=seed)
        )
        for name, (old, new) in values.items()
    }  # fmt: skip


def said(summary: Summary, *, sign: bool = False) -> str:
    """Return a mean with its interval: "0.612 [0.540, 0.684]"."""
    form = "{:+.3f}" if sign else "{:.3f}"
    if summary.mean is None:
        return "–"
    if summary.low is None or summary.high is None:
        return form.format(summary.mean)
    return f"{form.format(summary.mean)} [{form.format(summary.low)}, {form.format(summary.high)}]"
