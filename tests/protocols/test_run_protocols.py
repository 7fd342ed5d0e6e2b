"""What protocols make of predictions: questions read, answers scored, by hand-computed values."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import CitedPlace, Evaluation, Prediction
from pdfqa_core.exports.runs import with_answers
from pdfqa_core.metrics.asqa import once
from pdfqa_core.metrics.comparison import compare
from pdfqa_core.protocols import Tools, drawn, run_protocols
from pdfqa_core.protocols.base import AS_IN_THE_SOURCES, deviations
from pdfqa_core.protocols.json_rows import JsonRow
from pdfqa_core.protocols.refusal import with_unanswerable
from tests.protocols.test_data_sets import ASQA, CLAPNQ, COQA, HOTPOT, MTRAG, SQUAD


@pytest.fixture
def read(tmp_path):
    def go(protocol, value, name="data.json"):
        path = tmp_path / name
        path.write_text(json.dumps(value), encoding="utf-8")
        return run_protocols.get(protocol).read(path)

    return go


def score(protocol, file, answers, tools=None):
    """Score answers by id, which are texts or predictions."""
    given = {key: one if isinstance(one, Prediction) else Prediction(key, one) for key, one in answers.items()}
    return run_protocols.get(protocol).score("system", file.cases, given, tools or Tools())


def test_hotpotqa_has_the_six_measures_and_the_official_ones(read):
    file = read("hotpotqa", HOTPOT)
    (case,) = file.cases
    assert case.gold_citations == ("1", "2")
    cited = case.cited((CitedPlace("T", start=6, end=9), CitedPlace("V", start=0, end=5)))
    assert [one.id for one in cited] == ["1", "3"]
    (item,) = score("hotpotqa", file, {"h": Prediction("h", "Ann", citations=cited)}).items
    halves = ("citation_precision", "citation_recall", "sp_precision", "sp_recall", "joint_f1")
    assert (item.metrics["answer_em"], *(item.metrics[name] for name in halves)) == (1.0, *(0.5 for _ in halves))
    assert item.texts["predicted_facts"] == "T 1; V 0"
    assert item.texts["gold_facts"] == "T 1; U 0"
    yes = [{**HOTPOT[0], "answer": "yes"}]
    (item,) = score("hotpotqa", read("hotpotqa", yes, "yes.json"), {"h": "Yes, they are"}).items
    assert (round(item.metrics["answer_f1"], 3), item.metrics["official_answer_f1"]) == (0.5, 0.0)


def test_asqa_is_scored_beside_the_source_s_way(read):
    file = read("asqa", ASQA)
    tools = Tools()
    system = score("asqa", file, {"s": "It was Ann."}, tools)
    assert system.items[0].metrics["str_em"] == 1.0
    assert system.items[0].metrics["rouge_l"] == 1.0
    measures = run_protocols.get("asqa").measures([system], tools)
    assert measures[:2] == ("str_em", "rouge_l_sum")
    found = compare(Evaluation("asqa", "x", measures, (system,)))
    cells = found.cells["system"]
    assert cells["dr_rouge_l"].summary.mean == pytest.approx((1.0 * cells["disambig_f1"].summary.mean) ** 0.5)
    seeds = run_protocols.get("asqa").measures([system], Tools(profile=AS_IN_THE_SOURCES))
    assert (seeds[1], seeds[-2]) == ("rouge_l", "dr_rouge_l")
    assert once(lambda text: text.split())("the USA USA Paris") == ["the", "USA", "Paris"]
    assert run_protocols.get("asqa").overrides["llm"]["max_tokens"] == 256


def test_refusals_of_answerable_and_unanswerable_questions(read):
    file = read("refusal", SQUAD)
    tools = Tools()
    system = score("refusal", file, {"a": "frogs", "b": Prediction("b", "Insufficient context.", True)}, tools)
    first, second = system.items
    assert (first.metrics["answered"], first.metrics["refusal_recall"], first.metrics["answer_f1"]) == (1.0, None, 1.0)
    assert (second.metrics["refusal_recall"], second.metrics["refusal_precision"]) == (1.0, 1.0)
    assert tools.notes == [
        "system: balanced accuracy 1.000, the mean of the shares refused and answered rightly.",
        (
            "system: of 1 answerable questions 1 surely answered, 0 perhaps, 0 refused; "
            "of 1 unanswerable questions 0 surely answered, 0 perhaps, 1 refused."
        ),
    ]
    declined = score("refusal", file, {"a": "The passages do not mention it.", "b": "Storks."}).items
    assert [item.metrics["answered"] for item in declined] == [0.0, None]
    only = read("refusal", CLAPNQ, "only.json")
    with pytest.raises(UsageError, match="only: all questions are unanswerable"):
        run_protocols.get("refusal").check(only, {})
    both = with_unanswerable(
        file, read("refusal", [{"id": "a", "question": "Why?", "answer": "Placeholder."}], "b.json")
    )
    assert [(case.id, case.answerable) for case in both.cases] == [("a", True), ("b", False), ("b.a", False)]
    assert both.cases[2].references == ()


def test_perhaps_counts_as_answered_but_not_surely_and_is_scored_by_its_text(read):
    file = read("refusal", SQUAD)
    measures = ("answered", "answered_surely", "answer_f1", "refusal_recall", "wrongly_sure")

    def scored(**of):
        answers = {key: Prediction(key, text, **of) for key, text in (("a", "frogs"), ("b", "Storks."))}
        system = score("refusal", file, answers)
        assert {*measures} <= {*run_protocols.get("refusal").measures([system], Tools())}
        return [[item.metrics[name] for name in measures] for item in system.items]

    assert scored() == [[1.0, 1.0, 1.0, None, None], [None, None, None, 0.0, 1.0]]
    assert scored(perhaps=True) == [[1.0, 0.0, 1.0, None, None], [None, None, None, 0.0, 0.0]]
    assert scored(refused=True)[1] == [None, None, None, 1.0, 0.0]
    texts = score("refusal", file, {"a": Prediction("a", "frogs", perhaps=True)}).items[0].texts
    assert texts["outcome"] == "perhaps"


def test_what_came_of_a_question_stands_in_the_file_of_a_run(read):
    rows, case = run_protocols.get("answers").rows, read("answers", SQUAD).cases[0]
    lines = CitedPlace("", "a.pdf", 3, quote="Frogs live\nhere.")
    for of, outcome in (({}, "answer"), ({"perhaps": True}, "perhaps"), ({"refused": True}, "nothing")):
        given = Prediction("a", "frogs", quote=lines, **of)
        row = rows.predicted(case, given, cited=True)
        assert row["outcome"] == outcome
        assert row["quote"] == {"filename": "a.pdf", "page": 3, "quote": "Frogs live\nhere."}
        assert rows.prediction(JsonRow(1, "rows.json, row 1", row)) == given
    (told,) = with_answers(
        {"systems": [{"name": "s", "items": [{"id": "a"}]}]}, "r", {("s", "a"): replace(given, perhaps=True)}, {}
    )["systems"][0]["items"]
    assert (told["outcome"], told["quote"]["page"]) == ("nothing", 3)
    with pytest.raises(UsageError, match="outcome"):
        rows.prediction(JsonRow(1, "rows.json, row 1", {"id": "a", "outcome": "maybe"}))


def test_an_unanswerable_question_s_gold_answer_is_the_phrase(read):
    file = read("answers", SQUAD)
    system = score("answers", file, {"a": "frogs", "b": "Insufficient context."})
    assert [item.metrics["answer_em"] for item in system.items] == [1.0, 1.0]
    assert [item.metrics["insufficient_context_detection"] for item in system.items] == [None, 1.0]


def test_the_profile_of_the_sources_scores_what_does_not_apply(read):
    rows = [{"question": "What?", "answer": "frogs"}]
    plain = score("answers", read("answers", rows), {"1": "frogs"}).items[0].metrics
    assert "citation_f1" not in plain
    assert plain["insufficient_context_detection"] is None
    seeds = score("answers", read("answers", rows), {"1": "frogs"}, Tools(profile=AS_IN_THE_SOURCES)).items[0].metrics
    assert (seeds["citation_f1"], seeds["insufficient_context_detection"]) == (1.0, 0.0)
    told = deviations(("answer_em", "bertscore_f1", "citation_f1"), Tools().profile)
    assert [one.partition(":")[0] for one in told] == ["BERTScore", "Insufficient context"]
    assert deviations(("citation_f1",), AS_IN_THE_SOURCES) == ()


@pytest.mark.parametrize("protocol", ["answers", "judge", "entailment"])
def test_a_file_without_gold_is_told_by_its_name(read, protocol):
    bare = read(protocol, [{"question": "Who?"}], "bare.json")
    with pytest.raises(UsageError, match="bare: no question has a gold answer") as told:
        run_protocols.get(protocol).check(bare, {})
    assert "--column answer=NAME" in told.value.hint
    run_protocols.get(protocol).check(read(protocol, [{"question": "Who?", "answer": "Ann"}, {"question": "?"}]), {})


def test_a_judge_needs_answers_that_people_judged(read):
    rows = [{"question": "Who?", "truth": "Ann", "answer": "Bo", "human": False} for _ in range(6)]
    judge, wanted = run_protocols.get("judge"), {"calibrate": "yes"}
    with pytest.raises(UsageError, match="people call 0 answers right and 6 wrong"):
        judge.check(read("judge", rows), wanted)
    judge.check(read("judge", rows), {})
    run_protocols.get("answers").check(read("answers", rows), wanted)
    with pytest.raises(UsageError, match="cannot be calibrated"):
        run_protocols.get("answers").check(read("answers", rows), {**wanted, "judge": "yes"})
    judge.check(read("judge", [*rows, {**rows[0], "human": True}]), wanted)


def test_conversations_have_turns(read):
    file = read("conversations", COQA)
    assert [(case.turn, case.history, case.follow_ups) for case in file.cases] == [
        (1, (), ()), (2, (("Who?", "Anna"),), ("s.1",)),
    ]  # fmt: skip
    assert [case.conversation for case in file.cases] == ["s.1", "s.1"]
    (case,) = read("conversations", MTRAG, "m.json").cases
    assert (case.turn, case.follow_ups, case.conversation) == (2, (), "t")
    with pytest.raises(UsageError, match="no question follows up another"):
        read("conversations", HOTPOT, "h.json")


def test_a_draw_keeps_the_order_and_conversations_together(read):
    rows = [{"id": f"{n}", "question": "?" * (n + 1), "answer": "x"} for n in range(20)]
    rows += [{"id": f"f{n}", "question": "And?", "answer": "y", "follow_up_of": f"{n}"} for n in range(20)]
    file = read("answers", rows)
    some = drawn(file, 8, 1)
    ids = [case.id for case in some.cases]
    assert (len(ids), ids) == (8, [case.id for case in file.cases if case.id in ids])
    assert {one.removeprefix("f") for one in ids if one.startswith("f")} == {one for one in ids if one[0] != "f"}
    assert [case.id for case in drawn(file, 8, 1).cases] == ids != [case.id for case in drawn(file, 8, 2).cases]
    assert drawn(file, 0, 1) is file
    with pytest.raises(UsageError, match="no questions"):
        drawn(type(file)("empty", ()), 3, 0)


@pytest.mark.parametrize(("without", "limit", "expected"), [(30, 12, 6), (10, 12, 3), (1, 8, 0)])
def test_a_draw_keeps_the_shares_of_questions_with_and_without_an_answer(read, without, limit, expected):
    rows = [{"id": f"{n}", "question": "?" * (n + 1), "answer": "x"} for n in range(30)]
    rows += [{"id": f"w{n}", "question": "!" * (n + 1), "answerable": False} for n in range(without)]
    some = drawn(read("refusal", rows), limit, 3).cases
    assert (len(some), sum(not case.answerable for case in some)) == (limit, expected)
