"""Keeps evaluations honest: a model that was trained here is not measured with what it was trained on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pdfqa_core.evaluation_types import GoldItem
from pdfqa_core.models import ModelFiles
from pdfqa_core.protocols.runs.base import Case, CaseFile
from pdfqa_core.retrieval import needs_embeddings, prepared
from pdfqa_core.retrieval.paired_encoder import parts_of
from pdfqa_core.settings import Settings
from pdfqa_core.storage.synthetic_questions import SyntheticQuestions
from pdfqa_core.training import Generated, check_leakage, words_hash
from pdfqa_core.types import GENERATED, Question, Span


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
        generated = generated_questions(self._questions, owner)
        for record in records:
            check_leakage(record.trained_on, items, generated)

    def check_run(self, owner: str, settings: Settings, file: CaseFile) -> None:
        """Raise UsageError where the recipe uses a model that was trained on passages that these cases are made of."""
        texts = {one.document_id: one.text for one in file.corpus}
        self.check(owner, settings, [_item(case, texts) for case in file.cases])


def _item(case: Case, texts: Mapping[str, str]) -> GoldItem:
    """Return a case as what searches are measured with. `texts` are those that its data set brings along, by id."""
    question = Question(case.id, case.question, GENERATED if case.generated else "file")
    item = replace(case.gold, question=question) if case.gold is not None else GoldItem(question)
    return replace(item, gold_texts=tuple(texts[name] for name in case.gold_citations or () if name in texts))


def generated_questions(questions: SyntheticQuestions, owner: str) -> Generated:
    """Return the places that the questions made for an owner are of, whatever became of them: by id and by words.

    The words are those that a question has now, and those that it had before a person changed it.
    """
    found: defaultdict[str, list[Span]] = defaultdict(list)
    for one in questions.list(owner):
        for name in {one.id, words_hash(one.text), words_hash(one.made)}:
            found[name] += one.spans
    return dict(found)
