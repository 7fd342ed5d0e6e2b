"""Hard negatives: what an out-of-domain retriever takes for the answer, without what may be one.

Source of the triples: seed 001, after Karpukhin et al. 2020 (DPR) and Santhanam et al. 2022 (ColBERTv2). Source of the
filter: Moreira et al. 2024, "NV-Retriever", TopK-PercPos.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeAlias

from pdfqa_core.training.base import Example, Pair
from pdfqa_core.types import Hit, Passage

Teacher: TypeAlias = Callable[[str, Sequence[Passage]], Sequence[float]]
MARGIN = 0.95  # share of the right passage's score above which another is taken for right too


def mine(
    pair: Pair, hits: Sequence[Hit], k: int, usable: Collection[str], *, margin: float = MARGIN,
    teacher: Teacher | None = None,
) -> Example:  # fmt: skip
    """Return the pair with its hard negatives: those of the first k `hits` that do not share text with its passage.

    `hits` are the out-of-domain retriever's, as deep as it was asked; only passages with ids in `usable` count, so that
    no held-out passage is learnt as wrong. A passage that the teacher scores above `margin` times the right one's score
    is probably right too, and left out; without a `teacher` the hits' own scores say so (a right passage that was not
    found scores 0). `margin` 0 turns that off. The teacher's margins are kept for distillation.
    """
    within = [hit for hit in hits if hit.passage.id in usable]
    right = [hit for hit in within if pair.positive.overlaps(hit.passage)]
    wrong = [hit for hit in within[:k] if not pair.positive.overlaps(hit.passage)]
    found = any(hit in right for hit in within[:k])
    scores = [hit.score for hit in wrong]
    best = max((hit.score for hit in right), default=0.0)
    if teacher is not None and wrong:
        best, *scores = teacher(pair.question, [pair.positive, *(hit.passage for hit in wrong)])
    kept = [(hit.passage, best - score) for hit, score in zip(wrong, scores, strict=True)
            if not margin or score <= margin * best]  # fmt: skip
    margins = tuple(by for _, by in kept) if teacher is not None else ()
    return Example(pair, tuple(passage for passage, _ in kept), found, margins)


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


ONE_DOCUMENT = "All questions are about one document: its last pages are held out, not other documents."


def split_by_documents(pairs: Sequence[Pair], passages: Sequence[Passage], share: float, seed: int) -> Split:
    """Return the pairs split so that about `share` of them, of whole documents drawn with `seed`, are held out."""
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
