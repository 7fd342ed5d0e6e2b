"""Evaluations as reports, figures, LaTeX and CSV, and as JSON that is read back exactly."""

from __future__ import annotations

import io
import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest
from PIL import Image

from pdfqa_core.csv_format import read_csv
from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import Evaluation, ScoredItem, ScoredSystem
from pdfqa_core.exports.figure import figure
from pdfqa_core.exports.frames import comparison_frame, items_frame, latex_escape, write_frame
from pdfqa_core.exports.report import report_html, table_latex
from pdfqa_core.exports.runs import read_results, write_results
from pdfqa_core.exports.table import table_text
from pdfqa_core.metrics.comparison import compare

MEASURES = ("answer_f1", "answer_em", "citation_f1", "insufficient_context_detection")
HOSTILE = '<script>alert("x")</script> & $\\alpha_1$ #1 100% {x}'


def system(name: str, values: list[tuple[float | None, ...]], text: str = "an answer") -> ScoredSystem:
    return ScoredSystem(
        name,
        tuple(
            ScoredItem(f"q{place}", dict(zip(MEASURES, row, strict=True)), {"question": "Why?", "prediction": text})
            for place, row in enumerate(values, start=1)
        ),
    )


@pytest.fixture
def evaluation() -> Evaluation:
    good = system("good", [(1.0, 1.0, 1.0, None)] * 6 + [(0.5, 0.0, 0.8, 1.0)])
    bad = system("bad", [(0.2, 0.0, 0.5, None)] * 6 + [(0.5, 0.0, 0.8, None)], HOSTILE)
    return Evaluation(
        "answers", "gold.json", MEASURES, (good, bad), {"ROUGE-L": "β = 1"}, {"pdfqa": "9.9"}, ("A note.",),
        {"someone": {"answer_f1": 0.5}}, datetime(2026, 1, 2, 3, 4, tzinfo=UTC),
    )  # fmt: skip


class Page(HTMLParser):
    """The tags, attributes and visible text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


def test_a_table_has_means_differences_and_p_of_the_same_items(evaluation):
    table = compare(evaluation)
    cell = table.cells["bad"]["answer_f1"]
    assert table.baseline == "good"
    assert cell.summary.mean == pytest.approx(1.7 / 7)
    assert cell.difference.mean == pytest.approx(-0.8 * 6 / 7)
    assert cell.p == pytest.approx(2 / 2**6)  # six equal differences: two of the 64 sign patterns are as extreme
    assert cell.significant
    assert table.cells["good"]["answer_f1"].difference is None
    unscored = table.cells["bad"]["insufficient_context_detection"]
    assert (unscored.summary.n, unscored.summary.unscored, unscored.summary.mean, unscored.p) == (0, 7, None, None)
    assert compare(evaluation, baseline="bad").cells["good"]["answer_f1"].difference.mean > 0


def test_systems_on_other_items_or_of_one_name_are_not_compared(evaluation):
    good, bad = evaluation.systems
    with pytest.raises(UsageError, match="Item 1 of good is 'q1'"):
        compare(replace(evaluation, systems=(good, replace(bad, items=bad.items[::-1]))))
    with pytest.raises(UsageError, match="7 items and bad on 6"):
        compare(replace(evaluation, systems=(good, replace(bad, items=bad.items[:-1]))))
    with pytest.raises(UsageError, match="Two systems are called 'good'"):
        compare(replace(evaluation, systems=(good, good)))
    with pytest.raises(UsageError, match="no system called 'other'"):
        compare(evaluation, baseline="other")


def test_results_are_read_back_exactly(evaluation):
    for made in (evaluation, replace(evaluation, systems=evaluation.systems[:1])):
        data = write_results(made, compare(made))
        assert read_results(data, "r.json") == made
        shown = json.loads(data)
        assert shown["systems"][0]["metrics"]["answer_f1"]["mean"] == pytest.approx(6.5 / 7)
        assert shown["systems"][0]["metrics"]["insufficient_context_detection"]["unscored"] == 6
    assert shown["comparisons"] == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: b"", "line 1: no valid JSON"),
        (lambda d: b"\xff", "line 1: not UTF-8"),
        (lambda d: b"[1]", "holds no results"),
        (lambda d: b'{"systems": [NaN]}', "NaN is no value"),
        (lambda d: b"[" * 100_000, "nested too deeply"),
        (lambda d: d.pop("measures"), "measures is missing"),
        (lambda d: d["systems"].clear(), "lacks measures, systems or items"),
        (lambda d: d["systems"][1].pop("name"), "systems, number 2, name is missing"),
        (lambda d: d["systems"][1].update(items=[]), "lacks measures, systems or items"),
        (
            lambda d: d["systems"][0]["items"][2].pop("metrics"),
            "systems, number 1, items, number 3, metrics is missing",
        ),
        (
            lambda d: d["systems"][0]["items"][2]["metrics"].update(answer_f1="1"),
            "number 3, metrics, answer_f1 is no nu",
        ),
        (lambda d: d["systems"][0]["items"][0].update(texts={"a": 1}), "number 1, texts, a is no text"),
        (lambda d: d.pop("protocol"), "is not complete"),
        (lambda d: d.update(made_at="yesterday"), "is not complete"),
    ],
)
def test_wrong_results_are_one_clear_error(evaluation, change, message):
    data = json.loads(write_results(evaluation, compare(evaluation)))
    changed = change(data)
    raw = changed if isinstance(changed, bytes) else json.dumps(data).encode()
    with pytest.raises(UsageError) as caught:
        read_results(raw, "r.json")
    assert message in caught.value.what
    assert caught.value.hint


def test_the_text_shows_n_and_unscored_of_every_mean(evaluation):
    text = table_text(evaluation, compare(evaluation))
    assert re.search(r"good  0\.9286  \[0\.\d+, 1\.000\]  n = 7, 0 unscored +baseline", text)
    assert "undefined  (n = 0, 7 unscored)" in text
    assert "p = 0.031 *" in text
    assert "someone  Answer F1 50.0" in text
    single = replace(evaluation, systems=evaluation.systems[:1], published={})
    assert "baseline" not in table_text(single, compare(single))


def test_csv_files_hold_every_value_and_every_mean(evaluation):
    items = read_csv(write_frame(items_frame(evaluation)))
    assert len(items.rows) == 2 * 7 * 4
    assert items.rows[0].cells == ("good", "q1", "answer_f1", "1.0")
    assert ("good", "q1", "insufficient_context_detection", "") in {row.cells for row in items.rows}
    table = read_csv(write_frame(comparison_frame(compare(evaluation))))
    row = dict(zip(table.header, table.rows[4].cells, strict=True))
    assert (row["system"], row["measure"], row["baseline"], row["n"]) == ("bad", "answer_f1", "good", "7")
    assert float(row["p"]) == pytest.approx(2 / 64)
    assert float(row["difference_high"]) < 0


def test_latex_is_escaped_and_the_best_is_bold(evaluation):
    other = system("b_d", [(0.2, 0.0, 0.5, None)] * 7)
    named = replace(evaluation, dataset="gold_1 & 2.json", systems=(evaluation.systems[0], other))
    text = table_latex(named, compare(named)).decode()
    assert r"gold\_1 \& 2.json" in text
    assert r"b\_d" in text
    assert r"Answer F1 & \textbf{0.929}" in text
    assert r"& 0.200$^{*}$ \\" in text  # always the same and no proportion: no interval
    assert r"0.000$^{*}$ {\scriptsize [0.000, 0.410]}" in text
    assert "exact interval (Clopper and Pearson) where a proportion is 0 or 1; no interval where another" in text
    assert text.count("{") == text.count("}")
    assert text.count(r"\\") == 1 + len(MEASURES)
    assert [text.count(rule) for rule in (r"\toprule", r"\midrule", r"\bottomrule")] == [1, 1, 1]
    assert latex_escape("\\~^<|") == (r"\textbackslash{}\textasciitilde{}\textasciicircum{}\textless{}\textbar{}")
    single = replace(evaluation, systems=evaluation.systems[:1])
    assert "Measure & Mean &" in table_latex(single, compare(single)).decode()
    many = replace(evaluation, systems=tuple(replace(evaluation.systems[0], name=f"s{n}") for n in range(6)))
    assert text.index("Measure &") < text.index(r"\midrule")
    assert "System & F1" in table_latex(many, compare(many)).decode()


def test_the_figure_is_the_same_file_for_the_same_results(evaluation):
    table = compare(evaluation)
    data = figure(evaluation, table, "svg")
    assert data == figure(evaluation, table, "svg")
    assert ET.fromstring(data).tag.endswith("svg")
    assert Image.open(io.BytesIO(figure(evaluation, table, "png"))).size == (3000, 1840)


@pytest.mark.filterwarnings("error")
def test_figures_of_odd_results_are_drawn_without_a_warning(evaluation):
    good, bad = evaluation.systems
    odd = (
        replace(evaluation, systems=(replace(good, name="$x$ 漢字 " + "long name " * 9), bad)),
        replace(evaluation, measures=("unknown", "answer_f1"), systems=(replace(good, items=good.items[:1]),)),
    )
    for one in odd:
        assert ET.fromstring(figure(one, compare(one), "svg")).tag.endswith("svg")


def test_a_figure_without_values_or_of_another_kind_is_refused(evaluation):
    nothing = replace(evaluation, measures=("insufficient_context_detection",), systems=evaluation.systems[1:])
    with pytest.raises(UsageError, match="nothing to draw"):
        figure(nothing, compare(nothing), "png")
    with pytest.raises(UsageError, match="not written as 'gif'"):
        figure(evaluation, compare(evaluation), "gif")
    assert b"<figure>" not in report_html(nothing, compare(nothing))


def test_the_report_escapes_every_text_and_loads_nothing(evaluation):
    bad = replace(evaluation.systems[1], name=HOSTILE)
    hostile = replace(
        evaluation, dataset=HOSTILE, systems=(evaluation.systems[0], bad), notes=(HOSTILE,),
        settings={HOSTILE: HOSTILE}, published={HOSTILE: {"answer_f1": 0.1}},
    )  # fmt: skip
    html = report_html(hostile, compare(hostile)).decode()
    page = Page(html)
    assert html.count("<script>") == 1
    assert "default-src 'none'" in html
    for tag, attributes in page.tags:
        assert tag not in ("link", "iframe", "object", "embed", "base", "form")
        assert not any(name.startswith("on") for name in attributes)
        for name in ("src", "href", "xlink:href"):
            value = attributes.get(name) or "#"
            assert value.startswith(("#", "data:image/png;base64,"))
    assert "@import" not in html
    assert page.text.count(HOSTILE) >= 7 + 4


def test_the_report_says_everything_about_the_numbers(evaluation):
    text = Page(report_html(evaluation, compare(evaluation)).decode()).text
    for part in (
        "Answers: gold.json", "2026-01-02 03:04 UTC", "0.929", "n = 7, 0 unscored", "n = 0, 7 unscored", "undefined",
        "p = 0.031 *", "A note.", "β = 1", "9.9", "someone", "Rajpurkar", "Holm",
        "How to read them",
    ):  # fmt: skip
        assert part in text
    assert text.count("q1") == 2  # a row for each system
