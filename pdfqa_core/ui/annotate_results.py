"""What the Annotate tab shows of a study that everybody has finished: tables, charts and files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gradio as gr
from markupsafe import Markup

from pdfqa_core.errors import PdfQAError
from pdfqa_core.exports.agreement import EXPLAINED, kappa_matrix, name_of
from pdfqa_core.exports.studies import INTERVALS, counted_words, result_tables
from pdfqa_core.metrics.against_people import Trust
from pdfqa_core.metrics.agreement import AgreementOfMany
from pdfqa_core.protocols.answers import read_rows
from pdfqa_core.protocols.study_measures import OWN, gold_pairs, text_scores
from pdfqa_core.services import Services
from pdfqa_core.ui import downloads
from pdfqa_core.ui.components import error_html, live_html, render

# What can be downloaded: what it is called, and the report and form that it is.
FILES = {
    "Results, CSV": ("results", "csv"), "Results, LaTeX": ("results", "latex"),
    "Results, chart (PDF)": ("results", "pdf"),
    "Results, chart (PNG)": ("results", "png"), "Agreement, report (HTML)": ("agreement", "html"),
    "Agreement, CSV": ("agreement", "csv"), "Agreement, LaTeX": ("agreement", "latex"),
    "Agreement, figure (PDF)": ("agreement", "pdf"),
    "Measures against people, CSV": ("measures", "csv"), "Measures against people, LaTeX": ("measures", "latex"),
    "Ratings, a row per item (CSV)": ("ratings", "wide"), "The study for another workspace (ZIP)": ("study", "zip"),
}  # fmt: skip


class ResultParts:
    """The components, in the place of the item."""

    def __init__(self) -> None:
        self.tables = live_html(elem_id="annotate-tables")
        self.measures = live_html(elem_id="annotate-measures")
        with gr.Row(visible=False, elem_id="annotate-reports") as self.row:
            self.choice = gr.Dropdown(
                list(FILES),
                value=next(iter(FILES)),
                label="File",
                show_label=False,
                container=False,
                elem_id="annotate-report",
                scale=3,
            )
            self.get = gr.Button("Download", size="sm", elem_id="annotate-report-get", scale=1)
            self.gold = gr.UploadButton(
                "Add gold answers (JSON)", file_types=[".json", ".jsonl"], size="sm", elem_id="annotate-gold", scale=1
            )

    def all(self) -> list[Any]:
        """Return what is filled with the tab."""
        return [self.tables, self.measures, self.row]

    def filled(self, services: Services, owner: str, study_id: str, viewer: str) -> dict[Any, Any]:
        """Return the tables of a study; nothing where the viewer may not see them, or nobody has rated."""
        if not study_id or not (html := tables_html(services, owner, study_id, viewer)):
            return self.emptied()
        measures = measures_html(measured(services, owner, study_id, viewer, None))
        return {self.tables: html, self.measures: measures, self.row: gr.Row(visible=True)}

    def emptied(self) -> dict[Any, Any]:
        """Return what makes room for an item."""
        return {self.tables: "", self.measures: "", self.row: gr.Row(visible=False)}


def tables_html(services: Services, owner: str, study_id: str, viewer: str) -> str:
    """Return results and agreement of a study; empty where they are not open to the viewer."""
    reports = services.studies.reports
    if not reports.open_to(owner, study_id, viewer):
        return ""
    tables = result_tables(reports.results(owner, study_id, viewer))
    found = reports.agreement(owner, study_id, viewer)
    if not tables and not found:
        return ""
    return render(
        "annotate_tables",
        tables=tables,
        intervals=INTERVALS,
        counted=counted_words,
        charts=[(title, Markup(svg)) for title, svg in reports.charts(owner, study_id, viewer)],  # noqa: S704 - drawn by the program, names escaped
        many=[_of_many(one) for one in found if len(one.annotators) > 2],
        indices=[one.pairs[0] for one in found if one.pairs[0].n],
    )


def measured(services: Services, owner: str, study_id: str, viewer: str, gold: str | None) -> tuple[Trust, ...]:
    """Return what measures are worth beside people; `gold` is the path of a file with gold answers."""
    reports, more = services.studies.reports, None
    if gold:
        pairs = gold_pairs(reports.answers(owner, study_id, viewer), read_rows(Path(gold), several=True))
        more = text_scores(pairs)
    return reports.measures(owner, study_id, viewer, more)


def measures_html(trust: Sequence[Trust]) -> str:
    """Return the table of measures against people; what they need where there are none."""
    return render(
        "annotate_measures",
        trust=trust,
        explained=EXPLAINED,
        names={one.measure: name_of(one.measure, OWN) for one in trust},
    )


def report(
    services: Services, choice: str, owner: str, study_id: str, viewer: str, gold: str | None
) -> tuple[Any, str]:
    """Write the chosen report into a file for the browser; return it, or why there is none."""
    what, kind = FILES[choice]
    try:
        if what == "study":
            file = services.studies.files.file(owner, study_id, viewer)
        elif what == "measures":
            found = measured(services, owner, study_id, viewer, gold)
            file = services.studies.reports.measures_file(owner, study_id, found, kind)
        elif what == "ratings":
            file = services.studies.file(owner, study_id, kind, viewer)
        else:
            file = services.studies.reports.file(owner, study_id, what, kind, viewer)
    except PdfQAError as error:
        return gr.skip(), error_html(error)
    return downloads.write(file.name, file.data), ""


def _of_many(one: AgreementOfMany) -> dict[str, Any]:
    names, cells = kappa_matrix(one)
    return {"found": one, "names": names, "rows": list(zip(names, cells, strict=True))}
