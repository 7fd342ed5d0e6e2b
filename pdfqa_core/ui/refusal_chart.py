"""The chart beside the setting "Evidence needed": precision and recall of refusals at every threshold, as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pdfqa_core.reading.refusal_curve import RefusalCurve, refusal_curves
from pdfqa_core.ui.components import render

WIDTH, HEIGHT = 320.0, 190.0  # of the plot, in the units of the SVG
LOWEST = 0.4  # precision at the bottom of the plot
TICKS = 5


def refusal_chart(refusal: str, threshold: float) -> str:
    """Return the measured curves of a way to refuse with the threshold marked, and what it means in words."""
    curves = refusal_curves(refusal)
    return render(
        "refusal_curve",
        refusal=refusal,
        curves=[_drawn(curve, threshold) for curve in curves],
        threshold=f"{threshold:.2f}",
        asked=sorted({curve.model for curve in curves if curve.model}),
        measured=max((curve.measured for curve in curves), default=""),
        xs=[(_x(n / TICKS), f"{100 * n // TICKS}") for n in range(TICKS + 1)],
        ys=[(_y(n / 10), f"{10 * n}") for n in range(4, 11, 2)],
        width=WIDTH,
        height=HEIGHT,
    )


def _x(recall: float) -> float:
    return round(WIDTH * recall, 1)


def _y(precision: float) -> float:
    return round(HEIGHT * (1 - max(0.0, precision - LOWEST) / (1 - LOWEST)), 1)


def _drawn(curve: RefusalCurve, threshold: float) -> dict[str, Any]:
    precision, asked = curve.precision(threshold), curve.answerable + curve.unanswerable
    words = (
        f"turns away {curve.recall(threshold):.0%} of the questions that cannot be answered, and "
        f"{curve.lost(threshold):.0%} of those that can ({curve.dataset}, {asked} questions)"
    )
    point = None if precision is None else (_x(curve.recall(threshold)), _y(precision))
    return {"line": _line(curve.points()), "point": point, "words": words.replace("%", " %")}


def _line(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{_x(recall)},{_y(precision)}" for recall, precision in points)
