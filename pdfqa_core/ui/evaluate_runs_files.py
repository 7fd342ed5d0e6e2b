"""Files of a run: what the buttons below its table give to the browser."""

from __future__ import annotations

import io
import json
import zipfile

from pdfqa_core.errors import UsageError
from pdfqa_core.exports.frames import items_frame, write_frame
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
    "json": ("JSON", "run.json"), "answers": ("Answers", "answers.zip"),
}  # fmt: skip


def download(services: Services, kind: str, owner: str, run_id: str, baseline: str) -> str:
    """Return the path of a file of a run; `kind` is one of FILES."""
    run = services.runs.get(owner, run_id) if run_id else None
    if run is None or run.results is None:
        raise UsageError("There is nothing to download yet.", "Start a run and let it finish.")
    return downloads.write(FILES[kind][1], _made(services, kind, owner, run_id, baseline))


def _made(services: Services, kind: str, owner: str, run_id: str, baseline: str) -> bytes:
    run = services.runs.get(owner, run_id)
    assert run.results is not None
    if kind == "csv":
        return write_frame(items_frame(run.results))
    predictions = services.runs.predictions(owner, run_id)
    if kind == "answers":
        return _zipped(answer_files(run, services.runs.cases(owner, run.plan), predictions))
    comparison = compare(run.results, baseline=baseline)
    if kind == "html":
        return report_html(run.results, comparison)
    if kind == "latex":
        return table_latex(run.results, comparison)
    found = with_answers(results_object(run.results, comparison), run_id, predictions, {})
    return json.dumps(found, ensure_ascii=False, indent=1).encode("utf-8", "replace")


def _zipped(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return packed.getvalue()
