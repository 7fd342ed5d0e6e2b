import pytest

from pdfqa_core.reading.refusal_curve import STEPS, RefusalCurve, refusal_curves
from pdfqa_core.settings import ReadingSettings
from pdfqa_core.ui.refusal_chart import refusal_chart

CURVE = RefusalCurve(
    "retrieval",
    "x",
    "",
    "2026-11-21",
    4,
    2,
    tuple(min(4, n // 25) for n in range(101)),
    (0,) * 50 + (1,) * 30 + (2,) * 21,
)


def test_shares_are_counts_below_the_threshold():
    assert (CURVE.recall(0), CURVE.lost(0), CURVE.precision(0)) == (0, 0, None)
    assert (CURVE.recall(0.5), CURVE.lost(0.5)) == (0.5, 0.5)
    assert CURVE.precision(0.5) == pytest.approx(1 / 3)
    assert (CURVE.recall(1), CURVE.lost(1), CURVE.precision(1)) == (1, 1, pytest.approx(2 / 6))


def test_points_begin_where_something_is_turned_away():
    points = CURVE.points()
    assert len(points) == STEPS + 1 - 25
    assert points[0] == (0, 0)
    assert points[-1] == (1, pytest.approx(1 / 3))


def test_the_measured_curves_count_every_question_once():
    curves = refusal_curves("retrieval")
    assert {curve.dataset: (curve.answerable, curve.unanswerable) for curve in curves} == {
        "northwind": (50, 45), "clapnq": (300, 300),
    }  # fmt: skip
    for curve in curves:
        assert len(curve.rightly) == len(curve.wrongly) == STEPS + 1
        assert list(curve.rightly) == sorted(curve.rightly)
        assert (curve.rightly[0], curve.wrongly[0]) == (0, 0)
        assert (curve.rightly[-1], curve.wrongly[-1]) == (curve.unanswerable, curve.answerable)


def test_the_default_threshold_reaches_what_was_promised_on_both_data_sets():
    threshold = ReadingSettings().confidence_threshold
    for curve in refusal_curves(ReadingSettings().refusal):
        assert (curve.recall(threshold) + 1 - curve.lost(threshold)) / 2 >= 0.7


def test_none_has_no_curve():
    assert refusal_curves("none") == ()
    assert "No question is turned away" in refusal_chart("none", 0.5)


def test_the_chart_says_in_words_what_the_threshold_does():
    html = refusal_chart("retrieval", 0.45)
    clapnq = next(curve for curve in refusal_curves("retrieval") if curve.dataset == "clapnq")
    share = f"{clapnq.recall(0.45):.0%}".replace("%", " %")
    assert f"turns away {share} of the questions that cannot be answered" in html
    assert "clapnq, 600 questions" in html
    assert html.count("<polyline") == 2
