"""Files of the Evaluate tab: what the buttons above the questions give to the browser."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace

from pdfqa_core.errors import UsageError
from pdfqa_core.exports.figure import figure
from pdfqa_core.exports.frames import items_frame, write_frame
from pdfqa_core.exports.latex import table_latex
from pdfqa_core.exports.report import report_html
from pdfqa_core.exports.results import write_results
from pdfqa_core.exports.trec import trec_files
from pdfqa_core.services import Services
from pdfqa_core.ui import downloads
from pdfqa_core.ui.evaluate_view import SHOWN
from pdfqa_core.ui.session import EvaluateState, Session

FILES = {
    "html": ("HTML report", "retrieval.html"), "csv": ("CSV", "retrieval.csv"),
    "parquet": ("Parquet", "retrieval.parquet"), "latex": ("LaTeX", "retrieval.tex"),
    "figure": ("Figure", "retrieval.pdf"), "json": ("JSON", "retrieval.json"), "trec": ("TREC runs", "trec.zip"),
}  # fmt: skip


def download(services: Services, kind: str, state: EvaluateState, session: Session) -> str:
    """Return the path of a file of the shown evaluation; `kind` is one of FILES."""
    if not state.evaluation:
        raise UsageError("There is nothing to download yet.", "Evaluate first.")
    return downloads.write(FILES[kind][1], _made(services, kind, state, session.owner))


def _made(services: Services, kind: str, state: EvaluateState, owner: str) -> bytes:
    evaluation = replace(services.evaluation.get(owner, state.evaluation), measures=SHOWN)
    comparison = services.evaluation.compared(owner, state.evaluation, SHOWN, state.baseline)
    match kind:
        case "html":
            return report_html(evaluation, comparison)
        case "latex":
            return table_latex(evaluation, comparison)
        case "figure":
            return figure(evaluation, comparison, "pdf")
        case "json":
            return write_results(evaluation, comparison)
        case "trec":
            rankings = services.evaluation.rankings(owner, state.evaluation)
            systems = [system.name for system in evaluation.systems]
            return _zipped(trec_files(rankings, systems, services.documents.filenames(owner)))
    return write_frame(items_frame(evaluation), kind)


def _zipped(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return packed.getvalue()
