"""What every measure says about itself, the table in the docs, and that the metrics stand alone as a library."""

import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import pdfqa_core.metrics
from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.base import measure, measures
from pdfqa_core.metrics.catalogue import all_measures, markdown_table, measure_named

ROOT = Path(__file__).resolve().parent.parent.parent
MODULES = sorted(module.name for module in pkgutil.iter_modules(pdfqa_core.metrics.__path__, "pdfqa_core.metrics."))
ABSENT = ("gradio", "torch", "sqlalchemy", "llama_cpp", "sentence_transformers", "transformers", "sklearn", "scipy")


@pytest.mark.parametrize("measure", all_measures(), ids=lambda measure: measure.name)
def test_every_measure_says_what_it_is(measure):
    assert all((measure.name, measure.pretty_name, measure.formula, measure.group))
    assert measure.low is None or measure.high is None or measure.low < measure.high
    assert measure.direction in ("↑", "↓", "")
    assert measure_named(measure.name) is measure


def test_names_with_a_cutoff_are_found():
    assert measure_named("HR@5") is measure_named("HR@k")
    assert measure_named("nDCG@10").pretty_name == "nDCG@k"
    assert measure_named("MRR@10").name == "MRR"
    with pytest.raises(UsageError, match="no measure called 'P@5'"):
        measure_named("P@5")


def test_a_new_measure_is_offered_to_whoever_has_what_it_reads(monkeypatch):
    monkeypatch.setattr(measures, "_entries", dict(measures._entries))

    @measure("length_ratio", "Length ratio", "words of the prediction / words of the reference")
    def length_ratio(prediction: str, references: list[str], *, least: int = 1) -> float | None:
        return len(prediction.split()) / max(least, len(references[0].split()))

    assert length_ratio("a b", ["a"]) == 2
    assert (length_ratio.inputs, length_ratio.parameters) == (("prediction", "references"), {"least": 1})
    assert length_ratio in all_measures()
    assert "| Length ratio | `length_ratio` |" in markdown_table()


def test_the_table_of_the_docs_is_the_one_of_the_code():
    page = (ROOT / "docs" / "metrics.md").read_text("utf-8")
    assert markdown_table() in page, "Run: python scripts/metrics_table.py"


def test_all_metrics_are_importable_without_heavy_libraries():
    code = f"import sys, {', '.join(MODULES)}; print(*sorted(set({ABSENT!r}) & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=120, cwd=ROOT
    )
    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr
    assert len(MODULES) > 15
