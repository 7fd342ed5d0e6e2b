"""Hard negatives: what an out-of-domain retriever takes for the answer, without what may be one.

Source of the triples: seed 001, after Karpukhin et al. 2020 (DPR) and Santhanam et al. 2022 (ColBERTv2). Source of the
filter: Moreira et al. 2024, "NV-Retriever", TopK-PercPos.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pdfqa_core.interfaces import StopSignal
from pdfqa_core.metrics.statistics import Summary, paired_difference, summarise
from pdfqa_core.training.base import Example, Pair
from pdfqa_core.training.trainee import Trainee
from pdfqa_core.types import Hit, Passage, Progress

# ----------------------------------------------------------------------------------------------------
# At which rank a model finds the passage of each question, HR@k and MRR of that, and the loss behind it.

Scores: TypeAlias = npt.NDArray[np.floating[Any]]


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
                [
                    place
                    for place in by_document.get(pair.positive.document_id, ())
                    if pair.positive.overlaps(self.passages[place])
                ],
                dtype=np.int64,
            )
            for pair in self.pairs
        ]

    def ranks(
        self, trainee: Trainee, *, on_progress: Callable[[Progress], None] | None = None, stop: StopSignal | None = None
    ) -> tuple[int, ...]:
        """Return the rank (from 1) of the first right passage of each pair, 0 where there is none. StoppedError.

        Of equal scores the worst order counts, so that a model that tells nothing apart finds nothing.
        """
        return self._ranks(self._similarities(trainee, on_progress, stop))

    def score(
        self,
        trainee: Trainee,
        k: int,
        scale: float = 0.0,
        *,
        on_progress: Callable[[Progress], None] | None = None,
        stop: StopSignal | None = None,
    ) -> HeldOutScore:
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
            [pair.question for pair in self.pairs],
            [self.text_of(one) for one in self.passages],
            on_progress=on_progress,
            stop=stop,
        )

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
    return [float(0 < rank <= k) for rank in ranks]


def reciprocals(ranks: Sequence[int]) -> list[float]:
    """Return the reciprocal rank of each question."""
    return [1.0 / rank if rank else 0.0 for rank in ranks]


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
    found = {}
    for name, (old, new) in values.items():
        first, second = (summarise(one, proportion=name != "MRR", seed=seed) for one in (old, new))
        found[name] = Compared(first, second, paired_difference(new, old, seed=seed))
    return found


def said(summary: Summary, *, sign: bool = False) -> str:
    """Return a mean with its interval: "0.612 [0.540, 0.684]"."""
    form = "{:+.3f}" if sign else "{:.3f}"
    if summary.mean is None:
        return "–"
    if summary.low is None or summary.high is None:
        return form.format(summary.mean)
    return f"{form.format(summary.mean)} [{form.format(summary.low)}, {form.format(summary.high)}]"


# ----------------------------------------------------------------------------------------------------
# Hard negatives: what an out-of-domain retriever takes for the answer, without what may be one.

MARGIN = 0.95  # share of the right passage's score above which another is taken for right too


def mine(
    pair: Pair,
    hits: Sequence[Hit],
    k: int,
    usable: Collection[str],
    *,
    margin: float = MARGIN,
) -> Example:
    """Return the pair with its hard negatives: those of the first k `hits` that do not share text with its passage.

    `hits` are the out-of-domain retriever's, as deep as it was asked; only passages with ids in `usable` count, so that
    no held-out passage is learnt as wrong. A hit that scores above `margin` times the right passage's score is
    probably right too, and left out (a right passage that was not found scores 0). `margin` 0 turns that off.
    """
    within = [hit for hit in hits if hit.passage.id in usable]
    right = [hit for hit in within if pair.positive.overlaps(hit.passage)]
    wrong = [hit for hit in within[:k] if not pair.positive.overlaps(hit.passage)]
    found = any(hit in right for hit in within[:k])
    best = max((hit.score for hit in right), default=0.0)
    kept = [hit.passage for hit in wrong if not margin or hit.score <= margin * best]
    return Example(pair, tuple(kept), found)


def distractors(held_out: Iterable[Example], each: int) -> tuple[Passage, ...]:
    """Return the `each` best hard negatives of held-out questions, every passage once."""
    return tuple({one.id: one for example in held_out for one in example.negatives[:each]}.values())


@dataclass(frozen=True, slots=True)
class Split:
    """Pairs to train on and pairs held out, with the passages of each side; `note` tells what the split could not be.

    Sides share no text: of several documents, none is on both; of a single one, the last pages are held out.
    """

    training: tuple[Pair, ...]
    held_out: tuple[Pair, ...]
    training_passages: tuple[Passage, ...]
    held_out_passages: tuple[Passage, ...]
    note: str = ""


NOTHING_HELD_OUT = (
    "Nothing is held out: no score chooses a step, the last weights are kept, and no figure is of unseen questions."
)
ONE_DOCUMENT = "All questions are about one document: its last pages are held out, not other documents."


def split_by_documents(pairs: Sequence[Pair], passages: Sequence[Passage], share: float, seed: int) -> Split:
    """Return the pairs split so that about `share` of them, of whole documents drawn with `seed`, are held out."""
    if not share:
        return Split(tuple(pairs), (), tuple(passages), (), NOTHING_HELD_OUT)
    counts: dict[str, int] = {}
    for pair in pairs:
        document = pair.positive.document_id
        counts[document] = counts.get(document, 0) + 1
    if len(counts) < 2:
        return _split_by_pages(pairs, passages, share)
    drawn = sorted(counts)
    Random(f"held out {seed}").shuffle(drawn)  # noqa: S311 - not a secret
    wanted, taken, held = share * len(pairs), 0, set[str]()
    for document in drawn:
        # The first may be large; later ones only where they bring the share nearer.
        if held and abs(taken + counts[document] - wanted) > abs(taken - wanted):
            continue
        if len(held) + 1 < len(counts):
            held.add(document)
            taken += counts[document]
    return Split(
        tuple(pair for pair in pairs if pair.positive.document_id not in held),
        tuple(pair for pair in pairs if pair.positive.document_id in held),
        tuple(one for one in passages if one.document_id not in held),
        tuple(one for one in passages if one.document_id in held),
    )


def _split_by_pages(pairs: Sequence[Pair], passages: Sequence[Passage], share: float) -> Split:
    ordered = sorted(pairs, key=lambda pair: (pair.positive.pages[0], pair.positive.spans[0].start, pair.id))
    first = ordered[min(len(ordered) - 1, round(len(ordered) * (1 - share)))].positive if ordered else None

    def late(passage: Passage) -> bool:
        return first is not None and passage.pages[-1] >= first.pages[0]

    return Split(
        tuple(pair for pair in pairs if not late(pair.positive)),
        tuple(pair for pair in pairs if late(pair.positive)),
        tuple(one for one in passages if not late(one)),
        tuple(one for one in passages if late(one)),
        ONE_DOCUMENT,
    )
