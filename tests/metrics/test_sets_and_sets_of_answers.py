"""Citations, HotpotQA, insufficient context, ASQA: known answers and edge cases."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.citations import citation_overlap
from pdfqa_core.metrics.disambig_f1 import disambig_f1_entities, disambig_f1_qa
from pdfqa_core.metrics.dr import dr, dr_of_items
from pdfqa_core.metrics.exact_match import exact_match
from pdfqa_core.metrics.hotpot import answer_scores, joint_scores, supporting_fact_scores
from pdfqa_core.metrics.insufficient_context import insufficient_context_detection, refusal_scores
from pdfqa_core.metrics.str_em import str_em
from pdfqa_core.metrics.token_f1 import token_f1

IDS = st.sets(st.integers(0, 8))


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


@given(IDS, IDS)
def test_precision_and_recall_of_citations_change_places(one, other):
    ours, theirs = citation_overlap(one, other), citation_overlap(other, one)
    assert (ours.precision, ours.recall) == (theirs.recall, theirs.precision)
    assert ours.f1 == pytest.approx(theirs.f1)
    assert 0 <= ours.f1 <= 1
    assert citation_overlap(one, one).f1 == 1


def test_the_example_batch_of_eight():
    """The example data of the evaluation notebook that these six metrics come from, with its published means."""
    batch = [
        ("Arthur's Magazine", [1, 2], "Arthur's Magazine", [1, 2]),
        ("respiratory droplets", [1, 3], "respiratory droplets and aerosols", [1, 3]),
        ("point guard", [2, 4, 5], "point guard", [2, 4]),
        ("1844", [1], "1844", [1, 3]),
        ("insufficient context", [], "insufficient context", []),
    ]
    values = [citation_overlap(p, g).f1 for _, p, _, g in batch]
    assert values == pytest.approx([1, 1, 0.8, 2 / 3, 1])
    assert [token_f1(a, [b]) for a, _, b, _ in batch] == pytest.approx([1, 2 / 3, 1, 1, 1])
    assert [exact_match(a, [b]) for a, _, b, _ in batch] == [1, 0, 1, 1, 1]
    assert [insufficient_context_detection(a, b) for a, _, b, _ in batch] == [None, None, None, None, 1]


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
    assert insufficient_context_detection("Insufficient context!", "insufficient context") == 1.0
    assert insufficient_context_detection("Paris", "Insufficient Context") == 0.0
    assert insufficient_context_detection("insufficient context", "Paris") is None


def test_refusals_over_both_kinds_of_questions():
    scores = refusal_scores([True, True, False, True, False], [False, False, False, True, True])
    assert (scores.unanswerable, scores.answerable, scores.refused) == (3, 2, 3)
    assert (scores.recall, scores.precision, scores.answered) == pytest.approx((2 / 3, 2 / 3, 0.5))
    assert scores.balanced_accuracy == pytest.approx(7 / 12)
    assert refusal_scores([False], [True]).recall is None
    assert refusal_scores([], []).balanced_accuracy is None
    with pytest.raises(UsageError, match="1 decisions for 2"):
        refusal_scores([True], [True, False])


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


def test_dr_is_taken_over_the_set():
    assert dr_of_items([1.0, 0.0, None], [0.0, 1.0]) == pytest.approx(0.5)  # per item it would be 0
    assert dr_of_items([None], [1.0]) is None
    with pytest.raises(UsageError, match="not defined"):
        dr(-1, 2)
