"""Questions that a model was trained with, or that were made of what it was trained on, cannot measure it."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import GoldItem
from pdfqa_core.text import terms
from pdfqa_core.types import Span


@dataclass(frozen=True, slots=True)
class TrainedOn:
    """What a model called `name` was trained on: places of the passages, and hashes of the questions."""

    name: str
    spans: tuple[Span, ...]
    questions: tuple[str, ...]


def leaked(trained: TrainedOn, items: Sequence[GoldItem], generated: Collection[str]) -> tuple[GoldItem, ...]:
    """Return the items that the model may not be measured with.

    Those are the questions it was trained with, and questions generated (their ids or hashes are in `generated`) from a
    passage it was trained on. Questions of people about the same pages are not among them.
    """
    by_page: dict[tuple[str, int], list[Span]] = defaultdict(list)
    for span in trained.spans:
        by_page[span.document_id, span.page].append(span)

    def seen(item: GoldItem) -> bool:
        spans = any(
            span.start < other.end and other.start < span.end
            for span in item.gold_spans
            for other in by_page.get((span.document_id, span.page), ())
        )
        return spans or any(page in by_page for page in item.gold_pages)

    questions = frozenset(trained.questions)
    found = []
    for item in items:
        name = question_hash(item.question.text)
        made = item.question.id in generated or name in generated
        if name in questions or (made and seen(item)):
            found.append(item)
    return tuple(found)


def check_leakage(trained: TrainedOn, items: Sequence[GoldItem], generated: Collection[str]) -> None:
    """Raise UsageError where the model was (or would be) trained on what would measure it, see `leaked`."""
    found = leaked(trained, items, generated)
    if found:
        raise UsageError(
            f"{len(found)} of {len(items)} questions were made of passages that {trained.name} is trained on, such as "
            f"{found[0].question.text!r}: they would measure what it remembers.",
            "Evaluate it with questions of people, or with documents that it is not trained on.",
        )


def question_hash(question: str) -> str:
    """Return 16 hex digits that name a question, whatever its case and punctuation."""
    return hashlib.sha256(" ".join(terms(question)).encode("utf-8", "replace")).hexdigest()[:16]
