"""The result tables as files."""

from __future__ import annotations

import io

import pandas as pd
import pytest

from pdfqa_core.csv_format import read_csv
from pdfqa_core.errors import UsageError
from pdfqa_core.exports.frames import write_frame
from pdfqa_core.exports.studies import (
    result_tables,
    results_figure,
    results_frame,
    results_latex,
    results_panels,
)
from pdfqa_core.metrics.human_results import JudgedTurn, human_results

TURNS = [
    JudgedTurn(f"[Talk] {c} & co", t, "boolean", float(t <= c), (float(t % 2), 0.0))
    for c in range(4)
    for t in range(1, 4)
]
ROWS = human_results([("Ada_1", TURNS), ("majority", TURNS[:-1])])


def test_the_csv_has_every_number() -> None:
    table = read_csv(write_frame(results_frame(ROWS)), ("rater", "group", "value", "measure", "mean", "low", "high"))
    assert len(table.rows) == len(ROWS)
    cells = dict(zip(table.header, table.rows[0].cells, strict=True))
    assert (cells["rater"], cells["group"], cells["measure"], cells["n"]) == ("Ada_1", "overall", "accuracy", "12")
    assert float(cells["mean"]) == ROWS[0].summary.mean
    assert float(cells["low"]) == ROWS[0].summary.low
    stored = pd.read_parquet(io.BytesIO(write_frame(results_frame(ROWS), "parquet")))
    assert stored["mean"].tolist() == pytest.approx([row.summary.mean for row in ROWS])


def test_printed_tables_put_raters_side_by_side() -> None:
    overall, by_turn, by_intent, by_conversation = result_tables(ROWS)
    assert overall.head == ("Rater", "n", "Acc.", "HR@1", "HR@2")
    assert [(line.rater, line.turns) for line in overall.lines] == [("Ada_1", 12), ("majority", 11)]
    assert [line[:3] for line in by_turn.texts][:2] == [["1", "Ada_1", "4"], ["1", "majority", "4"]]
    assert (by_intent.title, len(by_conversation.lines)) == ("By intent", 8)
    assert overall.texts[0][2].startswith("0.50 [")


def test_latex_is_a_booktabs_table_that_compiles_with_any_name() -> None:
    text = results_latex(ROWS, "Pilot_1").decode()
    assert text.count(r"\toprule") == text.count(r"\bottomrule") == 4
    assert r"Ada\_1 & 12 & 0.50 [" in text
    assert r"Pilot\_1: by turn." in text
    assert r"{}[Talk] 0 \& co & Ada\_1" in text  # \\ takes no [ for its argument
    assert "Conversation & Rater & $n$ & Acc. & HR@1 & HR@2" in text


def test_the_chart_is_drawn_in_every_form_and_for_the_page() -> None:
    assert results_figure(ROWS, "Pilot", "pdf").startswith(b"%PDF")
    panels = dict(results_panels(ROWS))
    assert list(panels) == ["Accuracy of answers by turn", "HR@2 of passages by turn"]
    for svg in panels.values():
        assert 'role="img"' in svg
        assert "currentColor" in svg
        assert "#010203" not in svg
    with pytest.raises(UsageError, match="not written as 'gif'"):
        results_figure(ROWS, "Pilot", "gif")
    with pytest.raises(UsageError, match="no rated answers or passages"):
        results_figure((), "Pilot", "png")
