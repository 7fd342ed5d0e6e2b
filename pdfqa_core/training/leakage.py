"""Questions that a model was trained with, or that were made of what it was trained on, cannot measure it."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import GoldItem
from pdfqa_core.text import terms
from pdfqa_core.types import GENERATED, Span

Generated = Mapping[str, Sequence[Span]]  # places that a question was made of, by its id and by `words_hash` of it


@dataclass(frozen=True, slots=True)
class TrainedOn:
    """What a model called `name` was trained on.

    `spans` are the places of the passages, `passages` hashes of their texts. `questions` are hashes of the questions
    trained with, `generated` ids and hashes of all that were made of these passages, whatever became of them.
    Hashes are `words_hash`.
    """

    name: str
    spans: tuple[Span, ...]
    questions: tuple[str, ...]
    passages: tuple[str, ...] = ()
    generated: tuple[str, ...] = ()


class _Places:
    """Places of pages, asked whether others overlap them."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._by_page: dict[tuple[str, int], list[Span]] = defaultdict(list)
        for span in spans:
            self._by_page[span.document_id, span.page].append(span)

    def overlap(self, spans: Sequence[Span]) -> bool:
        return any(
            span.start < other.end and other.start < span.end
            for span in spans
            for other in self._by_page.get((span.document_id, span.page), ())
        )

    def on(self, pages: Sequence[tuple[str, int]]) -> bool:
        return any(page in self._by_page for page in pages)


def leaked(trained: TrainedOn, items: Sequence[GoldItem], generated: Generated) -> tuple[GoldItem, ...]:
    """Return the items that the model may not be measured with.

    Those are the questions it was trained with, and questions generated from a passage it was trained on: known by
    their words, from `generated`, or since their file says that a program made them. The passage is known by where it
    was when the question was made, by where the file says that the answer stands, and by its text where the file brings
    it along. Questions of people about the same pages are not among them.
    """
    places, passages = _Places(trained.spans), frozenset(trained.passages)
    known = frozenset((*trained.questions, *trained.generated))

    def seen(item: GoldItem) -> bool:
        texts = any(words_hash(text) in passages for text in item.gold_texts)
        return texts or places.overlap(item.gold_spans) or places.on(item.gold_pages)

    found = []
    for item in items:
        name = words_hash(item.question.text)
        made_of = [span for key in (item.question.id, name) for span in generated.get(key, ())]
        made = bool(made_of) or item.question.origin == GENERATED
        if name in known or item.question.id in known or places.overlap(made_of) or (made and seen(item)):
            found.append(item)
    return tuple(found)


def made_of(trained: TrainedOn, generated: Generated) -> tuple[str, ...]:
    """Return the names (ids and hashes) of generated questions whose places overlap what was trained on."""
    places = _Places(trained.spans)
    return tuple(name for name, spans in generated.items() if places.overlap(spans))


def joined(name: str, parts: Sequence[TrainedOn]) -> TrainedOn:
    """Return what the parts were trained on as one, called `name`."""
    return TrainedOn(
        name,
        tuple(dict.fromkeys(span for one in parts for span in one.spans)),
        tuple(dict.fromkeys(question for one in parts for question in one.questions)),
        tuple(dict.fromkeys(passage for one in parts for passage in one.passages)),
        tuple(dict.fromkeys(question for one in parts for question in one.generated)),
    )


def check_leakage(trained: TrainedOn, items: Sequence[GoldItem], generated: Generated) -> None:
    """Raise UsageError where the model was (or would be) trained on what would measure it, see `leaked`."""
    found = leaked(trained, items, generated)
    if found:
        raise UsageError(
            f"{len(found)} of {len(items)} questions were made of passages that {trained.name} is trained on, such as "
            f"{found[0].question.text!r}: they would measure what it remembers.",
            "Evaluate it with questions of people, or with documents that it is not trained on.",
        )


def words_hash(text: str) -> str:
    """Return 16 hex digits that name a question or a passage by its words, whatever its case and punctuation."""
    return hashlib.sha256(" ".join(terms(text)).encode("utf-8", "replace")).hexdigest()[:16]
