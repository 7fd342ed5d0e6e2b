"""Files of a run: what the buttons below its table give to the browser."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping

from pdfqa_core.errors import UsageError
from pdfqa_core.exports.frames import items_frame, write_frame
from pdfqa_core.exports.methods import methods_text
from pdfqa_core.exports.report import report_html
from pdfqa_core.exports.results import results_object
from pdfqa_core.exports.runs import with_answers
from pdfqa_core.exports.table import table_latex
from pdfqa_core.metrics.comparison import compare
from pdfqa_core.services import Services
from pdfqa_core.services.run_export import answer_files
from pdfqa_core.ui import downloads

FILES = {
    "html": ("HTML report", "run.html"), "csv": ("CSV", "run.csv"), "latex": ("LaTeX", "run.tex"),
    "json": ("JSON", "run.json"), "answers": ("Answers", "answers.zip"), "methods": ("Methods", "methods.md"),
    "zip": ("Whole run", "run.zip"),
}  # fmt: skip


def download(services: Services, kind: str, owner: str, run_id: str, baseline: str) -> str:
    """Return the path of a file of a run; `kind` is one of FILES."""
    run = services.runs.get(owner, run_id) if run_id else None
    if run is None or run.results is None:
        raise UsageError("There is nothing to download yet.", "Start a run and let it finish.")
    return downloads.write(FILES[kind][1], _made(services, kind, owner, run_id, baseline))


def _made(services: Services, kind: str, owner: str, run_id: str, baseline: str) -> bytes:
    run = services.runs.get(owner, run_id)
    results = run.results
    assert results is not None

    def answers() -> bytes:
        cases = services.runs.cases(owner, run.plan)
        return _zipped(answer_files(run, cases, services.runs.predictions(owner, run_id)))

    def everything() -> bytes:
        compared = results_object(results, compare(results, baseline=baseline))
        found = with_answers(compared, run_id, services.runs.predictions(owner, run_id), {})
        return json.dumps(found, ensure_ascii=False, indent=1).encode("utf-8", "replace")

    makers: Mapping[str, Callable[[], bytes]] = {
        "html": lambda: report_html(results, compare(results, baseline=baseline)),
        "csv": lambda: write_frame(items_frame(results)),
        "latex": lambda: table_latex(results, compare(results, baseline=baseline)),
        "json": everything,
        "answers": answers,
        "methods": lambda: methods_text(run).encode("utf-8", "replace"),
        "zip": lambda: services.run_copies.file(owner, run_id),
    }
    return makers[kind]()


def _zipped(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return packed.getvalue()
