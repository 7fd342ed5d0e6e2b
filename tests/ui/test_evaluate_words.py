"""What the Evaluate tab says of results: warnings, numbers of questions, refusals, and what counts as right."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pdfqa_core.evaluation_types import CitedPlace, Evaluation, Prediction, ReadText, ScoredItem, ScoredSystem
from pdfqa_core.protocols.gold import read_gold
from pdfqa_core.reading.declining import DECLINED, NOT_ANSWERED
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.services.systems import grid
from pdfqa_core.ui.evaluate_results import Results
from pdfqa_core.ui.evaluate_runs_results import filters_of
from pdfqa_core.ui.evaluate_runs_view import (
    RIGHT_WORDS,
    Wanted,
    answers_of,
    is_right,
    refusal_of,
    shown_measures,
    wanted_items,
)
from pdfqa_core.ui.evaluate_view import numbers_of
from pdfqa_core.ui.session import EvaluateState, Session
from tests.services.helpers import HYBRID
from tests.serving_fakes import PDF, FakeModels

SESSION = Session(LOCAL_OWNER, HYBRID)
TABLE = (
    "question,document,page,quote\n"
    "How often are the meters read?,harbour-heat.pdf,4,every 15 minutes\n"
    "Who lives there?,other.pdf,1,\n"
    "What did the plant cost?,harbour-heat.pdf,6,\n"
)
READ = (ReadText("p1", "All meters are read every 15 minutes."),)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Services, Evaluation]]:
    folder: Path = tmp_path_factory.mktemp("words")
    (folder / "gold.csv").write_text(TABLE)
    with Services.open(folder / "workspace", HYBRID, FakeModels()) as services:
        list(services.documents.ingest(LOCAL_OWNER, [PDF]))
        systems = grid(HYBRID, ["windows"], ["bm25", "hybrid"])
        *_, found = services.evaluation.evaluate_retrieval(LOCAL_OWNER, read_gold(folder / "gold.csv"), systems)
        assert isinstance(found, Evaluation)
        yield services, found


def test_only_what_calls_for_doing_something_is_a_warning(measured: tuple[Services, Evaluation]) -> None:
    services, evaluation = measured
    assert any("--profile seed" in note for note in evaluation.notes)  # for the command line, and its reports
    _, table, *_ = Results(services).results(EvaluateState(evaluation.id), SESSION)
    warnings, folded = table.split("<details")[0], table.split("<details")[1]
    assert warnings.count('class="note"') == 1
    assert "other.pdf is not in the workspace" in warnings
    assert "Passages are searched together with their title and heading" in folded
    assert "hybrid: a similarity of meaning below 0 counts as 0" in folded
    assert "profile" not in table
    assert "the source" not in table


def test_questions_count_from_1_and_the_curve_ends_with_the_passages(measured: tuple[Services, Evaluation]) -> None:
    services, evaluation = measured
    assert [item.id for item in evaluation.systems[0].items] == ["2", "3", "4"]  # lines of the table
    _, _, plot, questions, *_ = Results(services).results(EvaluateState(evaluation.id), SESSION)
    assert '<span class="muted">1</span> How often' in questions
    assert '<span class="muted">3</span> What did' in questions
    passages = evaluation.systems[0].index.passages if evaluation.systems[0].index else 0
    assert 10 < passages < 100
    assert plot.x_lim == [0, passages]
    assert max(row[1] for row in plot.value["data"]) == passages


@pytest.mark.parametrize(
    ("ids", "shown"),
    [
        (["2", "4", "5"], ["1", "2", "3"]),  # an empty line is passed over
        (["q1", "q2"], ["q1", "q2"]),
        (["1", "2"], ["1", "2"]),
        (["301", "302"], ["301", "302"]),
        (["2", "1"], ["2", "1"]),
        ([], []),
    ],
)
def test_ids_of_the_file_stay_and_lines_of_a_table_become_numbers(ids: list[str], shown: list[str]) -> None:
    assert list(numbers_of(ids).values()) == shown


# ------------------------------------------------------------------ answers


def item(name: str, gold: str, **metrics: float) -> ScoredItem:
    return ScoredItem(name, metrics, {"question": f"{name}?", "gold_answer": gold})


SENTENCE = item("sentence", "902", answer_f1=0.22, answer_em=0.0, token_recall=1.0)
HALF = item("half", "Georges Bizet", answer_f1=0.67, answer_em=0.0, token_recall=0.5)
LONG = item("long", "because the water in it was warmer than before", answer_f1=0.6, answer_em=0.0, token_recall=0.7)
BEFORE = item("before", "902", answer_f1=0.22)  # of a run that was scored by an earlier version


def test_a_sentence_with_a_short_gold_answer_in_it_is_right() -> None:
    assert [is_right(one, "answer_f1") for one in (SENTENCE, HALF, LONG, BEFORE)] == [True, False, True, False]
    assert not is_right(SENTENCE, "answer_em")
    system = ScoredSystem("s", (SENTENCE, HALF, LONG))
    evaluation = Evaluation("answers", "x", ("answer_f1", "answer_em", "token_recall"), (system,))
    assert wanted_items(evaluation, "answer_f1", Wanted("s", "right")) == (0, 2)
    assert wanted_items(evaluation, "answer_f1", Wanted("s", "wrong")) == (1,)
    assert {"right", "wrong"} <= set(filters_of(evaluation).values())
    assert "where the gold answer has up to 5 words: the answer has them all" in RIGHT_WORDS


def test_of_two_systems_the_one_with_the_right_sentence_won() -> None:
    poor = ScoredSystem("poor", (item("sentence", "902", answer_f1=0.3, token_recall=0.0),))
    evaluation = Evaluation("answers", "x", ("answer_f1",), (poor, ScoredSystem("good", (SENTENCE,))))
    assert wanted_items(evaluation, "answer_f1", Wanted("poor", "won")) == (0,)
    assert wanted_items(evaluation, "answer_f1", Wanted("good", "lost")) == (0,)
    assert "won" in filters_of(evaluation).values()


def test_the_table_keeps_token_recall_and_the_citations() -> None:
    text = ("answer_f1", "answer_em", "token_recall", "bleu_1", "rouge_l")
    cited = ("citation_precision", "citation_recall", "citation_f1")
    assert shown_measures(Evaluation("answers", "x", text, ())) == text
    both = shown_measures(Evaluation("answers", "x", (*text, *cited), ()))
    assert both == ("answer_f1", "answer_em", "token_recall", "rouge_l", *cited)


def test_a_refusal_is_shown_as_chat_shows_it() -> None:
    refused = Prediction("q", "Insufficient context.", refused=True, evidence=READ, confidence=0.02)
    assert refusal_of(refused) == (NOT_ANSWERED, ())
    said = "Only 1 of your 2 documents was searched."
    unsure = Prediction(
        "q", "Insufficient context.", True, evidence=READ, confidence=0.3, notes=(said, f"{DECLINED} No.", "Searched.")
    )
    assert refusal_of(unsure) == (NOT_ANSWERED, (said, "Searched."))
    assert refusal_of(Prediction("q", "insufficient context")) == (NOT_ANSWERED, ())
    assert refusal_of(Prediction("q", "At noon.", notes=("Cut.",))) == ("", ("Cut.",))
    evaluation = Evaluation("answers", "x", ("answer_f1",), (ScoredSystem("s", (HALF,)),))
    (shown,) = answers_of(evaluation, {("s", "half"): refused}, "half", {})
    assert shown.outcome == "refused"
    assert " ".join(word for word, _ in shown.words) == NOT_ANSWERED
    assert not any(marks for _, marks in shown.words)


def test_an_answer_that_is_not_sure_is_shown_behind_its_lines() -> None:
    evaluation = Evaluation("answers", "x", ("answer_f1",), (ScoredSystem("s", (HALF,)),))
    lines = CitedPlace("", "a.pdf", 3, quote="Carmen is\nby Bizet.")
    unsure = Prediction("half", "Bizet wrote it.", evidence=READ, perhaps=True, quote=lines)
    (shown,) = answers_of(evaluation, {("s", "half"): unsure}, "half", {})
    assert (shown.outcome, shown.quote) == ("perhaps", "“Carmen is by Bizet.” (a.pdf, p. 3)")
    assert " ".join(word for word, _ in shown.words) == "Bizet wrote it."
    alone = Prediction("half", "Carmen is by Bizet.", perhaps=True, quote=lines)
    assert answers_of(evaluation, {("s", "half"): alone}, "half", {})[0].quote == ""
