"""Citations, HotpotQA, insufficient context, ASQA: known answers and edge cases."""

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.asqa import disambig_f1_entities, disambig_f1_qa, dr, linearised, str_em
from pdfqa_core.metrics.rag import (
    answered_surely,
    citation_overlap,
    claim_f1,
    claim_share,
    insufficient_context_detection,
    refusal_precision,
    refusal_recall,
    wrongly_sure,
)
from pdfqa_core.metrics.short_answers import (
    accuracy,
    answer_scores,
    exact_match,
    joint_scores,
    supporting_fact_scores,
    token_f1,
)
from pdfqa_core.types import Outcome


@pytest.mark.parametrize(
    ("predicted", "gold", "scores"),
    [
        ([2, 4, 5], [2, 4], (2 / 3, 1, 0.8)),
        ([1], [1, 3], (1, 0.5, 2 / 3)),
        ([], [], (1, 1, 1)),
        ([1], [], (0, 0, 0)),
        ([], [1], (0, 0, 0)),
        ([1, 1, 1], [1], (1, 1, 1)),
    ],
)
def test_known_answers_of_citations(predicted, gold, scores):
    assert citation_overlap(predicted, gold) == pytest.approx(scores)


BATCH = (  # prediction and its citations, gold answer and its citations
    ("Arthur's Magazine", [1, 2], "Arthur's Magazine", [1, 2]),
    ("respiratory droplets", [1, 3], "respiratory droplets and aerosols", [1, 3]),
    ("point guard", [2, 4, 5], "point guard", [2, 4]),
    ("1844", [1], "1844", [1, 3]),
    ("insufficient context", [], "insufficient context", []),
    ("2.5 million", [1, 2], "2.5 million", [1, 2]),
    ("Tesla", [2], "SpaceX", [1, 3]),
    ("insufficient context", [], "insufficient context", []),
)


def test_the_example_batch_of_eight():
    """The example data of the evaluation notebook that these six metrics come from, with its published means."""

    def mean(values):
        return sum(values) / len(values)

    citations = [citation_overlap(cited, gold) for _, cited, _, gold in BATCH]
    assert mean([token_f1(answer, [gold]) for answer, _, gold, _ in BATCH]) == pytest.approx(0.8333, abs=5e-5)
    assert mean([exact_match(answer, [gold]) for answer, _, gold, _ in BATCH]) == 0.75
    assert mean([one.precision for one in citations]) == pytest.approx(0.8333, abs=5e-5)
    assert mean([one.recall for one in citations]) == 0.8125
    assert mean([one.f1 for one in citations]) == pytest.approx(0.8083, abs=5e-5)  # of the items' F1s, not of the means
    noticed = [insufficient_context_detection(answer, [gold]) for answer, _, gold, _ in BATCH]
    assert [value for value in noticed if value is not None] == [1.0, 1.0]


# ------------------------------------------------------------------ HotpotQA


def test_yes_and_no_must_match_as_a_whole():
    assert answer_scores("Yes, they were", "yes") == (0, 0, 0, 0)
    assert answer_scores("Yes.", "yes") == (1, 1, 1, 1)
    assert answer_scores("no", "noanswer") == (0, 0, 0, 0)
    assert answer_scores("blue cat", "blue dog") == pytest.approx((0, 0.5, 0.5, 0.5))
    assert answer_scores("", "") == (1, 0, 0, 0)  # as the official script counts it


def test_supporting_facts_and_the_joint_scores():
    facts = supporting_fact_scores([("A", 0), ("B", 1)], [("A", 0)])
    assert facts == pytest.approx((0, 0.5, 1, 2 / 3))
    assert supporting_fact_scores([], []) == (1, 0, 0, 0)
    joint = joint_scores(answer_scores("blue cat", "blue dog"), facts)
    assert joint == pytest.approx((0, 0.25, 0.5, 1 / 3))
    assert joint_scores(answer_scores("x", "x"), supporting_fact_scores([("A", 1)], [("A", 1)])) == (1, 1, 1, 1)


# ------------------------------------------------------------------ insufficient context


def test_only_unanswerable_items_are_scored_for_insufficient_context():
    assert insufficient_context_detection("Insufficient context!", ["insufficient context"]) == 1.0
    assert insufficient_context_detection("Paris", ["Insufficient Context"]) == 0.0
    assert insufficient_context_detection("insufficient context", ["Paris"]) is None


def test_sure_answers_over_both_kinds_of_questions():
    for outcome, sure in ((Outcome.ANSWER, 1.0), (Outcome.PERHAPS, 0.0), (Outcome.NOTHING, 0.0)):
        assert (answered_surely(outcome, True), answered_surely(outcome, False)) == (sure, None)
        assert (wrongly_sure(outcome, True), wrongly_sure(outcome, False)) == (None, sure)


def test_refusals_over_both_kinds_of_questions():
    judged = list(zip([True, True, False, True, False, None], [False, False, False, True, True, False], strict=True))
    assert [refusal_recall(*one) for one in judged] == [1.0, 1.0, 0.0, None, None, None]
    assert [refusal_precision(*one) for one in judged] == [1.0, 1.0, None, 0.0, None, None]


# ------------------------------------------------------------------ ASQA


def test_str_em_counts_pairs_whose_answer_stands_in_the_text():
    assert str_em("It was the 1976 film, by Smith.", [["1976"], ["1977", "the Smith"], ["Jones"]]) == pytest.approx(
        2 / 3
    )
    assert str_em("anything", [["the"], [""]]) == 0.0
    assert str_em("anything", []) is None


def test_disambig_f1_in_both_modes():
    read = {"who first?": "Ann Lee", "who last?": ""}
    pairs = [("who first?", ["Ann Lee", "A. Lee"]), ("who last?", ["Bob"])]
    assert disambig_f1_qa("text", pairs, lambda question, text: read[question]) == 0.5
    assert disambig_f1_qa("text", [], lambda question, text: "") is None

    def capitals(text):
        return [word for word in text.split() if word[0].isupper()]

    assert disambig_f1_entities("Ann met Bob", ["Ann saw Cy", "nobody"], capitals) == pytest.approx(0.5)
    assert disambig_f1_entities("nobody", ["no one"], capitals) == 1.0
    assert disambig_f1_entities("Ann", ["no one"], capitals) == 0.0
    assert disambig_f1_entities("Ann", [], capitals) is None


@pytest.mark.parametrize(
    ("rouge", "disambig", "value"), [(39.1518, 26.3735, 32.1337), (30.2, 30.7, 30.45), (33.3, 24.2, 28.39)]
)
def test_dr_of_published_rows(rouge, disambig, value):
    assert dr(rouge, disambig) == pytest.approx(value, abs=0.005)


def test_claims_by_hand():
    assert claim_share([True] * 8 + [False] * 3) == pytest.approx(0.7273, abs=5e-5)
    assert claim_share([True] * 11 + [False] * 11) == 0.5
    assert claim_f1(8 / 11, 0.5) == pytest.approx(0.5926, abs=5e-5)
    assert claim_share([]) is None
    assert claim_f1(None, 0.5) is claim_f1(0.5, None) is None
    assert claim_f1(0.0, 0.0) == 0.0


@pytest.mark.parametrize(("label", "value"), [("Yes", 1), (" 1 ", 1), ("no", 0), ("incorrect", 0), ("", None)])
def test_accuracy_of_a_persons_label(label, value):
    assert accuracy(label) == value


def test_other_labels_are_told():
    with pytest.raises(UsageError, match="'maybe' says neither"):
        accuracy("maybe")


def test_dr_is_taken_over_the_set():
    parts = linearised([1.0, 0.0, None], [0.0, 1.0, None])
    assert sum(part for part in parts if part is not None) / 2 == pytest.approx(0.5)  # per item it would be 0
    assert linearised([None], [1.0]) == [None]
    with pytest.raises(UsageError, match="not defined"):
        dr(-1, 2)
