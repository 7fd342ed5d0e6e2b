"""Files of a run: what the buttons below its table give to the browser."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import Run
from pdfqa_core.exports.figure import figure
from pdfqa_core.exports.frames import items_frame, write_frame
from pdfqa_core.exports.latex import table_latex
from pdfqa_core.exports.methods import methods_text
from pdfqa_core.exports.report import report_html
from pdfqa_core.exports.results import results_object
from pdfqa_core.exports.run_charts import charts_figure, drawable
from pdfqa_core.exports.runs import with_answers
from pdfqa_core.metrics.comparison import Comparison, compare
from pdfqa_core.services import Services
from pdfqa_core.services.run_export import answer_files
from pdfqa_core.ui import downloads
from pdfqa_core.ui.evaluate_runs_results import RunsState

FILES = {
    "html": ("HTML report", "run.html"), "charts": ("Charts", "charts.pdf"), "figure": ("Figure", "figure.pdf"),
    "csv": ("CSV", "run.csv"), "parquet": ("Parquet", "run.parquet"), "latex": ("LaTeX", "run.tex"),
    "json": ("JSON", "run.json"), "answers": ("Answers", "answers.zip"), "methods": ("Methods", "methods.md"),
    "zip": ("Whole run", "run.zip"),
}  # fmt: skip


def download(services: Services, kind: str, owner: str, state: RunsState) -> str:
    """Return the path of a file of the shown runs; `kind` is one of FILES.

    Answers, methods and the ZIP are of the chosen run alone, all else of those beside it too.
    """
    run = services.runs.get(owner, state.run) if state.run else None
    if run is None or run.results is None:
        raise UsageError("There is nothing to download yet.", "Start a run and let it finish.")
    return downloads.write(FILES[kind][1], _made(services, kind, owner, run, state))


def _made(services: Services, kind: str, owner: str, run: Run, state: RunsState) -> bytes:
    results = services.runs_together.evaluation(owner, state.runs)

    def compared() -> Comparison:
        return compare(results, baseline=state.baseline)

    def answers() -> bytes:
        cases = services.runs.cases(owner, run.plan)
        return _zipped(answer_files(run, cases, services.runs.predictions(owner, run.id)))

    def everything() -> bytes:
        predictions = services.runs_together.predictions(owner, state.runs)
        found = with_answers(results_object(results, compared()), run.id, predictions, {})
        return json.dumps(found, ensure_ascii=False, indent=1).encode("utf-8", "replace")

    makers: Mapping[str, Callable[[], bytes]] = {
        "html": lambda: report_html(results, compared()),
        "charts": lambda: charts_figure(results, "pdf", state.sort if state.sort in drawable(results) else ""),
        "figure": lambda: figure(results, compared(), "pdf"),
        "csv": lambda: write_frame(items_frame(results)),
        "parquet": lambda: write_frame(items_frame(results), "parquet"),
        "latex": lambda: table_latex(results, compared()),
        "json": everything,
        "answers": answers,
        "methods": lambda: methods_text(run).encode("utf-8", "replace"),
        "zip": lambda: services.run_copies.file(owner, run.id),
    }
    return makers[kind]()


def _zipped(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return packed.getvalue()
