"""Keeps evaluations honest: a model that was trained here is not measured with what it was trained on."""

from __future__ import annotations

from collections.abc import Sequence

from pdfqa_core.evaluation_types import GoldItem
from pdfqa_core.models import ModelFiles
from pdfqa_core.retrieval import needs_embeddings, prepared
from pdfqa_core.retrieval.paired_encoder import parts_of
from pdfqa_core.settings import Settings
from pdfqa_core.storage.synthetic_questions import SyntheticQuestions
from pdfqa_core.training import check_leakage, question_hash


class LeakageCheck:
    """Compares evaluation questions with what the models of a recipe were trained on."""

    def __init__(self, files: ModelFiles, questions: SyntheticQuestions) -> None:
        self._files = files
        self._questions = questions

    def check(self, owner: str, settings: Settings, items: Sequence[GoldItem]) -> None:
        """Raise UsageError where the recipe uses a model that was trained on passages these questions are made of."""
        retrieval = settings.retrieval.model_dump()
        used = [*parts_of(settings.retrieval.embedding_model)] if needs_embeddings(retrieval) else []
        used += [settings.retrieval.late_model] if prepared(retrieval) else []
        records = [one.record for one in self._files.encoders.trained() if one.name in used or one.path in used]
        if not records:
            return
        generated = generated_names(self._questions, owner)
        for record in records:
            check_leakage(record.trained_on, items, generated)


def generated_names(questions: SyntheticQuestions, owner: str) -> frozenset[str]:
    """Return the ids and hashes of all questions that were made for an owner, whatever became of them."""
    made = questions.list(owner)
    return frozenset(one.id for one in made) | frozenset(question_hash(one.text) for one in made)
