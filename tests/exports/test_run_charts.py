"""The charts of a run: which there are, that many systems stay apart, and that names are escaped."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import Evaluation, ScoredItem, ScoredSystem
from pdfqa_core.exports.report import report_html
from pdfqa_core.exports.runs import chart_panels, charts_figure, drawable
from pdfqa_core.metrics.comparison import TURN, compare, group_means, grouped, hit_curve

MEASURES = ("answer_f1", "answer_em", "citation_f1")


def system(name: str, shift: float, *, searched: bool = True) -> ScoredSystem:
    items = []
    for place in range(12):
        values: dict[str, float | None] = {
            "answer_f1": (place % 4) / 8 + shift, "answer_em": float(place % 3 == 0), "citation_f1": None,
        }  # fmt: skip
        if searched:
            values |= {"HR@1": float(place % 2), "HR@2": 1.0}
        texts = {"question": f"What {place}?", "turn": str(place % 4 + 1), "type": "fact" if place % 2 else "reason"}
        items.append(ScoredItem(str(place), values, texts, seconds=0.5 + shift))
    return ScoredSystem(name, tuple(items))


def evaluation(count: int) -> Evaluation:
    return Evaluation("answers", "d.json", MEASURES, tuple(system(f"system {n}", n / 40) for n in range(count)))


def titles(found: Evaluation, *choice: str) -> list[str]:
    return [title for title, _ in chart_panels(found, *choice)]


def test_there_is_a_chart_for_each_thing_that_the_items_know():
    assert titles(evaluation(2)) == [
        "Answer F1 of every system", "Answer F1 by turn", "Answer F1 by type of question",
        "Gold among the first k passages found (HR@k)",
    ]  # fmt: skip
    alone = replace(evaluation(1), systems=(system("one", 0, searched=False),))
    assert titles(alone) == ["Answer F1 by turn", "Answer F1 by type of question"]


def test_a_measure_without_a_value_is_not_drawn():
    assert drawable(evaluation(2)) == ("answer_f1", "answer_em")
    with pytest.raises(UsageError, match="citation_f1"):
        chart_panels(evaluation(2), "citation_f1")
    nothing = replace(evaluation(2), measures=("citation_f1",))
    assert chart_panels(nothing) == ()
    with pytest.raises(UsageError, match="nothing to draw"):
        charts_figure(nothing, "png")


def test_of_many_systems_all_means_and_the_first_lines_are_drawn():
    few, many = dict(chart_panels(evaluation(2))), dict(chart_panels(evaluation(8)))
    first, *others = many
    assert first in few
    assert others == [f"{title}, the first 5 systems" for title in [*few][1:]]
    for svg in (*few.values(), *many.values()):
        ET.fromstring(svg)
        assert "currentColor" in svg
    ids = re.findall(r'\bid="([^"]+)"', "".join(many.values()))
    assert len(ids) == len(set(ids))


def test_the_charts_are_one_file_too_and_stand_in_the_report():
    found = evaluation(2)
    assert charts_figure(found, "pdf").startswith(b"%PDF")
    with pytest.raises(UsageError, match="gif"):
        charts_figure(found, "gif")
    hostile = replace(found, systems=(replace(found.systems[0], name="<b>x</b> & y"), *found.systems[1:]))
    page = report_html(hostile, compare(hostile)).decode()
    assert "<h2>Charts</h2>" in page
    assert "<b>x</b> &amp;" not in page
    assert '<th scope="row">Answer F1' in page


def test_hit_rates_and_group_means_are_those_of_the_items():
    assert hit_curve(system("x", 0)) == (0.5, 1.0)
    assert hit_curve(system("x", 0, searched=False)) == ()
    found = evaluation(2)
    means = group_means(found, TURN, "answer_f1")
    whole = grouped(found, TURN, ("answer_f1",))
    assert [(one.value, one.n) for one in means] == [("1", 3), ("2", 3), ("3", 3), ("4", 3)]
    for one, other in zip(means, whole, strict=True):
        assert {name: cells["answer_f1"].summary for name, cells in other.cells.items()} == one.means
