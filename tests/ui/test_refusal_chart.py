import pytest

from pdfqa_core.reading.answerability import STEPS, RefusalCurve, refusal_curves
from pdfqa_core.ui.evaluate_runs_view import refusal_chart

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


@pytest.mark.parametrize("refusal", ["retrieval", "model", "combined"])
def test_the_measured_curves_count_every_question_once(refusal):
    curves = refusal_curves(refusal)
    assert curves
    for curve in curves:
        assert len(curve.rightly) == len(curve.wrongly) == STEPS + 1
        assert list(curve.rightly) == sorted(curve.rightly)
        assert (curve.rightly[0], curve.wrongly[0]) == (0, 0)
        assert (curve.rightly[-1], curve.wrongly[-1]) == (curve.unanswerable, curve.answerable)


def test_the_chart_says_in_words_what_the_threshold_does():
    html, curves = refusal_chart("retrieval", 0.45), refusal_curves("retrieval")
    clapnq = next(curve for curve in curves if curve.dataset == "clapnq")
    share = f"{clapnq.recall(0.45):.0%}".replace("%", " %")
    assert f"turns away {share} of the questions that cannot be answered" in html
    assert f"clapnq, {clapnq.answerable + clapnq.unanswerable} questions" in html
    assert html.count("<polyline") == len(curves)
    assert "No question is turned away" in refusal_chart("none", 0.5)
