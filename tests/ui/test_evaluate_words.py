"""What the Evaluate tab says of results: warnings, numbers of questions, refusals, and what counts as right."""

from __future__ import annotations

import re
from pathlib import Path

from pdfqa_core.evaluation_types import CitedPlace, Evaluation, Prediction, ReadText, ScoredItem, ScoredSystem
from pdfqa_core.protocols.gold import read_gold
from pdfqa_core.reading.outcomes import DECLINED, NOT_ANSWERED
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.services.systems import grid
from pdfqa_core.ui.evaluate_results import Results, numbers_of
from pdfqa_core.ui.evaluate_runs_view import (
    RIGHT_WORDS,
    Wanted,
    answers_of,
    filters_of,
    is_right,
    refusal_of,
    wanted_items,
)
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


def test_warnings_questions_and_the_curve_of_an_evaluation(tmp_path: Path) -> None:
    (tmp_path / "gold.csv").write_text(TABLE)
    with Services.open(tmp_path / "workspace", HYBRID, FakeModels()) as services:
        list(services.documents.ingest(LOCAL_OWNER, [PDF]))
        systems, gold = grid(HYBRID, ["windows"], ["bm25", "hybrid"]), read_gold(tmp_path / "gold.csv")
        *_, evaluation = services.evaluation.evaluate_retrieval(LOCAL_OWNER, gold, systems)
        assert isinstance(evaluation, Evaluation)
        _, table, questions, *_ = Results(services).results(EvaluateState(evaluation.id), SESSION)
    assert any("--profile seed" in note for note in evaluation.notes)  # for the command line, and its reports
    warnings, folded, *_ = table.split("<details")
    first, second, *more = re.findall('class="note">([^<]*)<', warnings)
    assert not more  # only what calls for doing something
    assert first == "1 of 3 questions has no gold place in the documents searched, and is not scored by place."
    assert second == "other.pdf is not in the documents searched (1 gold place)."
    assert warnings.index(first) < warnings.index("<table")
    assert "hybrid: a similarity of meaning below 0 counts as 0" in folded
    assert "profile" not in table
    assert "<b>bm25 · windows 120/60</b>" in table
    assert (
        "n = 2, 1 unscored: all values are the same, so there is no interval" in table
    )  # of nDCG, which is no proportion
    assert "n = 2, 1 unscored, 95 % exact interval 0.158 to 1.000" in table  # of HR@5
    assert [item.id for item in evaluation.systems[0].items] == ["2", "3", "4"]  # lines of the table
    assert '<span class="muted">1</span> How often' in questions
    assert '<span class="muted">3</span> What did' in questions
    passages = evaluation.systems[0].index.passages if evaluation.systems[0].index else 0
    lines = re.findall(r'points="([^"]*)"', table)
    assert [len(line.split()) for line in lines] == [passages] * 2  # a point for each k, for each system
    assert f">{passages}</text>" in table
    assert [line.split()[-1] for line in lines] == ["360.0,0.0"] * 2  # all questions have their gold among all passages


def test_ids_of_the_file_stay_and_lines_of_a_table_become_numbers() -> None:
    assert list(numbers_of(["2", "4", "5"]).values()) == ["1", "2", "3"]  # an empty line is passed over
    for ids in (["q1", "q2"], ["1", "2"], ["301", "302"], ["2", "1"], []):
        assert list(numbers_of(ids).values()) == ids


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
    assert "where the gold answer has up to 5 words, an answer that has all of them" in RIGHT_WORDS


def test_of_two_systems_the_one_with_the_right_sentence_won() -> None:
    poor = ScoredSystem("poor", (item("sentence", "902", answer_f1=0.3, token_recall=0.0),))
    evaluation = Evaluation("answers", "x", ("answer_f1",), (poor, ScoredSystem("good", (SENTENCE,))))
    assert wanted_items(evaluation, "answer_f1", Wanted("poor", "won")) == (0,)
    assert wanted_items(evaluation, "answer_f1", Wanted("good", "lost")) == (0,)


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
    assert shown["outcome"] == "refused"
    assert " ".join(word for word, _ in shown["words"]) == NOT_ANSWERED


def test_an_answer_that_is_not_sure_is_shown_behind_its_lines() -> None:
    evaluation = Evaluation("answers", "x", ("answer_f1",), (ScoredSystem("s", (HALF,)),))
    lines = CitedPlace("", "a.pdf", 3, quote="Carmen is\nby Bizet.")
    unsure = Prediction("half", "Bizet wrote it.", evidence=READ, perhaps=True, quote=lines)
    (shown,) = answers_of(evaluation, {("s", "half"): unsure}, "half", {})
    assert (shown["outcome"], shown["quote"]) == ("perhaps", "“Carmen is by Bizet.” (a.pdf, p. 3)")
    assert " ".join(word for word, _ in shown["words"]) == "Bizet wrote it."
    alone = Prediction("half", "Carmen is by Bizet.", perhaps=True, quote=lines)
    assert answers_of(evaluation, {("s", "half"): alone}, "half", {})[0]["quote"] == ""
