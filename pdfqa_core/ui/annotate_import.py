"""Ratings made in a spreadsheet, on the Annotate tab: the first rows, what the columns hold, what does not fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gradio as gr

from pdfqa_core.csv_format import CsvTable
from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.protocols.json_rows import read_file
from pdfqa_core.protocols.rating_columns import FIXED, ROW, Choices, columns_of, guessed
from pdfqa_core.protocols.rating_tables import TableError
from pdfqa_core.services import Services
from pdfqa_core.ui import downloads
from pdfqa_core.ui.components import AT_ONCE, QUIET, Click, clicked, error_html, live_html, plural, render
from pdfqa_core.ui.session import Session

SHOWN_ROWS, SHOWN_FAULTS = 5, 50
KINDS = [".csv", ".tsv", ".txt", ".jsonl", ".parquet"]
MAIN = 4  # fields of a row that always show; the others are folded
Done = Callable[[str, Session], dict[Any, Any]]


class ImportParts:
    """The components: the file, and under it what its columns hold."""

    def __init__(self) -> None:
        with gr.Accordion("Ratings from a spreadsheet", open=False, elem_id="annotate-import") as self.fold:
            live_html(render("annotate_import_hint"))
            self.template = gr.Button("Template (CSV)", size="sm", elem_id="annotate-import-template")
            self.file = gr.File(
                label="Table of ratings (CSV, TSV)", file_types=KINDS, height=96, elem_id="annotate-import-file"
            )
            self.shown = live_html(elem_id="annotate-import-columns")

    def wire(
        self, services: Services, study: gr.Dropdown, session: gr.State, outputs: list[Any], file: gr.DownloadButton,
        done: Done,
    ) -> None:  # fmt: skip
        """Connect them; `done` shows the tab of a study anew, among `outputs`, and `file` is what a browser fetches."""
        handlers = Handlers(services, self, done)
        self.file.upload(handlers.show, [self.file, study, session], self.shown, **QUIET)
        self.file.clear(lambda: "", None, self.shown, **AT_ONCE)
        study.change(lambda: (None, ""), None, [self.file, self.shown], **AT_ONCE)
        given = [self.file, study, session]
        self.shown.click(handlers.bring, given, [*outputs, self.shown], **QUIET)
        made = self.template.click(handlers.write, [study, session], [file, self.shown], **AT_ONCE)
        made.success(None, self.shown, None, js="(error) => error || window.pdfqa.fetch('annotate-file')")


class Handlers:
    """What the part does; the file is read anew each time, so that nothing of it is kept."""

    def __init__(self, services: Services, parts: ImportParts, done: Done) -> None:
        self.services = services
        self.parts = parts
        self.done = done

    def show(self, path: str | None, study_id: str | None, session: Session) -> str:
        """Return the first rows of a table, and what its columns hold as far as they say so."""
        try:
            table, choices = self._read(path, study_id, session)
        except PdfQAError as error:
            return error_html(error)
        return form_html(table, choices, guessed(table, choices))

    def write(self, study_id: str | None, session: Session) -> tuple[Any, str]:
        """Give the browser a table of the items to fill in."""
        try:
            file = self.services.study_files.template(session.owner, study_id or "")
        except PdfQAError as error:
            return gr.skip(), error_html(error)
        return downloads.write(file.name, file.data), ""

    def bring(self, path: str | None, study_id: str | None, session: Session, event: gr.EventData) -> dict[Any, Any]:
        """Save the ratings, or say which cells do not fit; nothing is saved then."""
        data = clicked(event)
        try:
            table, choices = self._read(path, study_id, session)
            chosen = picked(data, choices)
            try:
                count = self.services.study_files.add_ratings(
                    session.owner, study_id or "", read_file(Path(path or "")), columns_of(chosen, meant(data)),
                    on_page=True, all_named=data.get("new_people") == "added",
                )  # fmt: skip
            except PdfQAError as error:
                return {self.parts.shown: form_html(table, choices, chosen, data, error)}
        except PdfQAError as error:
            return {self.parts.shown: error_html(error)}
        said = render("said", text=f"{plural(count, 'rating')} of the table are in the study.")
        return self.done(study_id or "", session) | {self.parts.shown: said}

    def _read(self, path: str | None, study_id: str | None, session: Session) -> tuple[CsvTable, Choices]:
        if not path or not study_id:
            raise UsageError("There is no table yet.", "Choose a study, then bring a file.")
        return self.services.study_files.table(session.owner, study_id, read_file(Path(path)))


def picked(data: Click, choices: Choices) -> dict[str, str]:
    """Return what was chosen, by field."""
    return {field: data.get(f"pick_{place}", "") for place, field in enumerate(_fields(choices))}


def meant(data: Click) -> dict[str, str]:
    """Return the values that words in the cells mean, of "Yes=1, No=0". Raises UsageError."""
    found = {}
    for part in filter(str.strip, data.get("words", "").split(",")):
        word, _, value = (one.strip() for one in part.partition("="))
        if not word or not value:
            raise UsageError(f"What words mean: {part.strip()!r} is not WORD=VALUE.", "Write a list like Yes=1, No=0.")
        found[word] = value
    return found


def _fields(choices: Choices) -> list[str]:
    return [one.name for one in (*ROW, *choices.by_criterion, *choices.by_annotator, *choices.by_both)]


def form_html(
    table: CsvTable, choices: Choices, chosen: Mapping[str, str], data: Mapping[str, str] | None = None,
    error: PdfQAError | None = None,
) -> str:  # fmt: skip
    """Return the first rows and the form of the columns, above it what does not fit."""
    places = {name: place for place, name in enumerate(_fields(choices))}
    same = {
        "annotator": [(FIXED + name, name) for name in choices.annotators],
        "criterion": [(FIXED + one.name, one.title) for one in choices.criteria],
    }
    groups = [
        ("A column for each criterion", choices.by_criterion), ("A column for each annotator", choices.by_annotator),
        ("A column for each criterion and annotator", choices.by_both),
    ]  # fmt: skip
    faults = error.faults if isinstance(error, TableError) else ()
    return render(
        "annotate_import", header=table.header, rows=[row.cells for row in table.rows[:SHOWN_ROWS]],
        count=len(table.rows), main=ROW[:MAIN], more=ROW[MAIN:], same=same, places=places, chosen=chosen,
        groups=[(title, fields, any(one.name in chosen and chosen[one.name] for one in fields))
                for title, fields in groups if fields],
        words=(data or {}).get("words", ""), added=(data or {}).get("new_people") == "added", error=error,
        faults=faults[:SHOWN_FAULTS], left=len(faults[SHOWN_FAULTS:]), new=len(faults),
    )  # fmt: skip
