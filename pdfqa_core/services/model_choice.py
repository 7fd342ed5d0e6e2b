"""Several language models on the same questions, side by side: an evaluation run with the model as its axis."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import Evaluation, Prediction
from pdfqa_core.llm.catalogue import entry, is_path, title_of
from pdfqa_core.metrics.comparison import compare
from pdfqa_core.metrics.short_answers import token_recall
from pdfqa_core.protocols import run_protocols
from pdfqa_core.protocols.base import Case
from pdfqa_core.services.documents import SAMPLE, DocumentService, sample_pdf
from pdfqa_core.services.evaluation import EvaluationService, RunRequest
from pdfqa_core.services.systems import run_grid
from pdfqa_core.settings import Settings
from pdfqa_core.types import Outcome, Progress

MEASURE = "answer_f1"
MOST = 4  # models side by side


@dataclass(frozen=True, slots=True)
class ModelRow:
    """What one model made of `n` questions.

    `right` counts answers with all words of a gold answer (strict recall: Adlakha et al. 2024), sure or not, and
    unanswerable questions for which nothing was found. `f1` is the mean token F1 of its answers with the gold ones,
    with its 95 % interval; `sure`, `cautioned`, `nothing` count outcomes, `failed` those of which nothing came.
    `seconds` and `first_word` are medians from the question on, `rate` the median of tokens a second; None where all
    replies were remembered. `memory` is in bytes, 0: not known.
    """

    model: str
    title: str
    n: int
    right: int
    f1: float | None
    low: float | None
    high: float | None
    sure: int
    cautioned: int
    nothing: int
    failed: int
    seconds: float | None
    first_word: float | None
    rate: float | None
    memory: int


@dataclass(frozen=True, slots=True)
class ModelComparison:
    """Models on the same questions, and in a sentence which one to take."""

    dataset: str
    rows: tuple[ModelRow, ...]
    advice: str


def compare_models(
    evaluation: EvaluationService,
    documents: DocumentService,
    owner: str,
    models: Sequence[str],
    data: Path | None,
    settings: Settings,
    begun: Callable[[str], None] = lambda _: None,
) -> Iterator[Progress | ModelComparison]:
    """Put the questions of a file to several models; yields progress, then the comparison.

    Without a file those of the sample, which is added if it is missing and searched alone.
    What was asked before with the same settings is not asked again. `begun` is told the run's id, by which it is
    stopped. Raises UsageError for fewer than two models, an unknown name or a file that cannot be read, ModelError
    where one is not here.
    """
    if not 2 <= len(set(models)) <= MOST:
        raise UsageError(f"Two to {MOST} models are compared.", "Name them: pdfqa models compare A B.")
    scope: tuple[str, ...] = ()
    if data is None:
        yield from (event for event in documents.add_sample(owner) if isinstance(event, Progress))
        data, scope = SAMPLE / "questions.jsonl", documents.document_ids(owner, [sample_pdf().name])
    systems = run_grid(settings, {"models": list(dict.fromkeys(models))})
    cases = {case.id: case for case in run_protocols.get("answers").read(data).cases}
    protocol = "refusal" if len({case.answerable for case in cases.values()}) > 1 else "answers"
    request = RunRequest(protocol, data, systems, options={"bertscore": "no"}, document_ids=scope)
    run = evaluation.begin(owner, request)
    begun(run.id)
    for event in evaluation.go(owner, run.id):
        if isinstance(event, Evaluation):
            predictions = evaluation.runs.predictions(owner, run.id)
            yield compared(event, predictions, cases, {name: one.llm.model for name, one in systems.items()}, settings)
        else:
            yield event


def compared(
    evaluation: Evaluation,
    predictions: Mapping[tuple[str, str], Prediction],
    cases: Mapping[str, Case],
    models: Mapping[str, str],
    settings: Settings,
) -> ModelComparison:
    """Return the table of a finished run; `cases` are by their ids, `models` by the names of their systems."""
    cells = compare(evaluation, measures=(MEASURE,)).cells
    rows = []
    for system in evaluation.systems:
        made = [one for (name, _), one in predictions.items() if name == system.name]
        outcomes = [one.outcome for one in made if not one.failed]
        found, model = cells[system.name][MEASURE].summary, models[system.name]
        llm = settings.llm
        known = 0 if is_path(model) else entry(model).memory(llm.context_size, llm.batch_size)
        rows.append(
            ModelRow(
                model,
                title_of(model),
                len(made),
                sum(_right(one, cases[one.item_id]) for one in made),
                found.mean,
                found.low,
                found.high,
                outcomes.count(Outcome.ANSWER),
                outcomes.count(Outcome.PERHAPS),
                outcomes.count(Outcome.NOTHING),
                sum(one.failed for one in made),
                _median(one.seconds for one in made),
                _median(one.first_word for one in made),
                _median(one.rate for one in made),
                known,
            )
        )
    return ModelComparison(evaluation.dataset, tuple(rows), _advice(evaluation, rows))


def _right(made: Prediction, case: Case) -> bool:
    if not case.answerable:
        return made.refused
    return not made.failed and not made.refused and token_recall(made.answer, case.references) == 1.0


def _advice(evaluation: Evaluation, rows: Sequence[ModelRow]) -> str:
    """Return which model to take: the quickest of those that are not clearly worse than the best one."""
    scored = [(row, system.name) for row, system in zip(rows, evaluation.systems, strict=True) if row.f1 is not None]
    if not scored:
        return "No question has a gold answer, so that nothing says which model is right more often."
    best, name = max(scored, key=lambda one: one[0].f1 or 0.0)
    cells = compare(evaluation, measures=(MEASURE,), baseline=name).cells
    differences = {row.model: cells[system][MEASURE].difference for row, system in scored}
    close = [row for row, _ in scored if (gap := differences[row.model]) is None or gap.high is None or gap.high >= 0.0]
    quickest = min(close, key=lambda row: float("inf") if row.seconds is None else row.seconds)
    if len(close) == 1:
        return f"Take {best.title}: its answers are nearer to the gold ones than those of all others (n = {best.n})."
    if quickest is best:
        return f"Take {best.title}: none answers better or, as well as it does, quicker (n = {best.n})."
    return (
        f"{best.title} answers best, but {quickest.title} is quicker, and {best.n} questions do not show that its "
        "answers are worse. Take the quick one, or ask more questions."
    )


def _median(values: Iterable[float | None]) -> float | None:
    found = [value for value in values if value is not None]
    return statistics.median(found) if found else None
