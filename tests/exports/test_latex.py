"""The table as LaTeX: short heads with what they stand for, deviations from the sources as notes."""

from __future__ import annotations

import pytest

from pdfqa_core.evaluation_types import Evaluation, ScoredItem, ScoredSystem
from pdfqa_core.exports.report import deviations_of, table_latex
from pdfqa_core.metrics.comparison import compare
from pdfqa_core.protocols.base import (
    DEFAULT,
    HEADINGS,
    TABLES,
    WINDOWS,
    deviations,
    ranking_deviations,
    search_deviations,
)
from pdfqa_core.settings import Settings

MEASURES = ("answer_f1", "rouge_l_sum", "citation_precision", "MRR", "HR@5")
NOTES = (
    "2 answers failed.", *deviations(MEASURES, DEFAULT), *ranking_deviations("page", all_passages=False),
    *search_deviations([Settings().changed("retrieval", retriever="dense", spelling=False, merge_overlaps=False)]),
)  # fmt: skip


def evaluation(*names: str) -> Evaluation:
    items = tuple(ScoredItem(f"q{n}", dict.fromkeys(MEASURES, n / 10)) for n in range(6))
    systems = tuple(ScoredSystem(name, items) for name in names)
    return Evaluation("answers", "gold.json", MEASURES, systems, notes=NOTES)


def latex(*names: str) -> str:
    found = evaluation(*names)
    return table_latex(found, compare(found)).decode()


def test_deviations_are_told_from_other_notes_and_belong_to_their_measures():
    found = deviations_of(NOTES, MEASURES)
    assert found.marks == {"rouge_l_sum": "a", "MRR": "bc", "HR@5": "c"}
    assert [text.partition(":")[0] for _, text in found.lettered] == ["ROUGE-Lsum and DR", "MRR", "HR@k and MRR"]
    assert found.others == (HEADINGS, TABLES, f"{WINDOWS} (always)")
    assert (found.notes, found.any) == (("2 answers failed.",), True)
    assert not deviations_of(("A note.",), MEASURES).any
    marks = deviations_of(deviations(("bertscore_f1",), DEFAULT), ("bertscore_f1", "bleu_1")).marks
    assert marks == {"bertscore_f1": "a"}


def test_what_names_of_systems_end_in_is_left_out_of_heads_and_long_ones_are_numbers():
    text = latex("bm25 · windows 120/60", "hybrid · windows 120/60")
    assert "Measure & bm25 & hybrid " in text
    assert "bm25: bm25 · windows 120/60; hybrid: hybrid · windows 120/60." in text
    assert "ROUGE-Lsum F$^{a}$ &" in text
    assert "Measure & bm25 & dense " in latex("bm25", "dense")
    assert "Measure & S1 & S2 " in latex("a" * 30, "b" * 30)


def test_many_systems_stand_below_short_heads():
    text = latex(*(f"system {n}" for n in range(12)))
    assert r"System & F1 & R-Lsum$^{a}$ & Cit. P & MRR$^{bc}$ & HR@5$^{c}$ \\" in text
    assert "F1: Answer F1; R-Lsum: ROUGE-Lsum F; Cit. P: Citation precision." in text
    assert all(f"system {n} &" in text for n in range(12))


@pytest.mark.parametrize("names", [("one",), ("one", "two"), tuple("abcdefg")])
def test_deviations_stand_below_the_table_and_inside_it(names):
    text = latex(*names)
    notes = text[text.index(r"\end{tabular}") : text.index(r"\end{table}")]
    assert "$^{a}$ ROUGE-Lsum and DR: sentences are matched one by one" in notes
    assert "Other than in the sources: Passages are searched together with their title and heading" in notes
    assert "failed" not in notes
    assert "--profile" not in notes
    assert text.count("{") == text.count("}")
