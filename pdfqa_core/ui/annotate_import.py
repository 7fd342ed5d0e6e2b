"""Ratings made in a spreadsheet, on the Annotate tab: the first rows, what the columns hold, what does not fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr

from pdfqa_core.csv_format import CsvTable
from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.extraction.process.outside import read_file
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


@dataclass(frozen=True, slots=True)
class Asked:
    """What was chosen last for a study, so that a table which was mended meets the same choices."""

    study_id: str = ""
    chosen: tuple[tuple[str, str], ...] = ()
    words: str = ""
    added: bool = False

    def fits(self, table: CsvTable, choices: Choices, study_id: str) -> bool:
        """Return whether all that was chosen can be chosen again."""
        fields, columns = _fields(choices), {*table.header}
        return study_id == self.study_id and bool(self.chosen) and all(
            field in fields and (column in columns or column.startswith(FIXED)) for field, column in self.chosen
        )  # fmt: skip


class ImportParts:
    """The components: the file, and under it what its columns hold."""

    def __init__(self) -> None:
        title = "Ratings from a spreadsheet"
        with gr.Accordion(title, open=False, elem_id="annotate-import", visible=False) as self.fold:
            live_html(render("annotate_import_hint"))
            with gr.Row():
                self.file = gr.UploadButton(
                    "Bring a table…", file_types=KINDS, size="sm", elem_id="annotate-import-file", min_width=120
                )
                self.template = gr.Button(
                    "Template (CSV)", size="sm", elem_id="annotate-import-template", min_width=120
                )
            self.told = live_html(elem_id="annotate-import-told")
            self.shown = live_html(elem_id="annotate-import-columns")
        self.asked = gr.State(Asked())

    def wire(
        self, services: Services, study: gr.Dropdown, session: gr.State, outputs: list[Any], file: gr.DownloadButton,
        done: Done,
    ) -> None:  # fmt: skip
        """Connect them; `done` shows the tab of a study anew, among `outputs`, and `file` is what a browser fetches."""
        handlers = Handlers(services, self, done)
        given = [self.file, study, self.asked, session]
        self.file.upload(handlers.show, given, [self.shown, self.asked], **QUIET)
        study.input(lambda: (None, "", ""), None, [self.file, self.shown, self.told], **AT_ONCE)
        self.shown.click(handlers.bring, given, [*outputs, self.shown, self.asked], **QUIET)
        made = self.template.click(handlers.write, [study, session], [file, self.told], **AT_ONCE)
        made.success(None, self.told, None, js="(error) => error || window.pdfqa.fetch('annotate-file')")


class Handlers:
    """What the part does; the file is read anew each time, so that nothing of it is kept."""

    def __init__(self, services: Services, parts: ImportParts, done: Done) -> None:
        self.services = services
        self.parts = parts
        self.done = done

    def show(self, path: str | None, study_id: str | None, asked: Asked, session: Session) -> tuple[str, Asked]:
        """Return the first rows of a table, and what its columns hold: as chosen before, or as far as they say so."""
        try:
            table, choices = self._read(path, study_id, session)
        except PdfQAError as error:
            return error_html(error), asked
        if not asked.fits(table, choices, study_id or ""):
            asked = Asked(study_id or "", tuple(guessed(table, choices).items()))
        return form_html(table, choices, asked), asked

    def write(self, study_id: str | None, session: Session) -> tuple[Any, str]:
        """Give the browser a table of the items to fill in."""
        try:
            file = self.services.study_files.template(session.owner, study_id or "")
        except PdfQAError as error:
            return gr.skip(), error_html(error)
        return downloads.write(file.name, file.data), ""

    def bring(
        self, path: str | None, study_id: str | None, asked: Asked, session: Session, event: gr.EventData
    ) -> dict[Any, Any]:
        """Save the ratings, or say which cells do not fit; nothing is saved then."""
        parts, data = self.parts, clicked(event)
        if asked.study_id != (study_id or ""):  # the table was shown for another study
            return dict(zip((parts.shown, parts.asked), self.show(path, study_id, asked, session), strict=True))
        try:
            table, choices = self._read(path, study_id, session)
            asked = chosen_of(data, choices, asked.study_id)
            try:
                count = self.services.study_files.add_ratings(
                    session.owner, study_id or "", read_file(Path(path or "")),
                    columns_of(dict(asked.chosen), meant(asked.words)), on_page=True, all_named=asked.added,
                )  # fmt: skip
            except PdfQAError as error:
                return {parts.shown: form_html(table, choices, asked, error), parts.asked: asked}
        except PdfQAError as error:
            return {parts.shown: error_html(error)}
        said = render("said", text=f"Saved: {plural(count, 'rating')} of the table.")
        return self.done(study_id or "", session) | {parts.shown: said, parts.asked: asked}

    def _read(self, path: str | None, study_id: str | None, session: Session) -> tuple[CsvTable, Choices]:
        if not path or not study_id:
            raise UsageError("There is no table yet.", "Choose a study, then bring a file.")
        return self.services.study_files.table(session.owner, study_id, read_file(Path(path)))


def chosen_of(data: Click, choices: Choices, study_id: str) -> Asked:
    """Return what a click says was chosen."""
    picked = {field: data.get(f"pick_{place}", "") for place, field in enumerate(_fields(choices))}
    chosen = tuple((field, column) for field, column in picked.items() if column)
    return Asked(study_id, chosen, data.get("words", ""), data.get("new_people") == "added")


def meant(words: str) -> dict[str, str]:
    """Return the values that words in the cells mean, of "Yes=1, No=0". Raises UsageError."""
    found = {}
    for part in filter(str.strip, words.split(",")):
        word, _, value = (one.strip() for one in part.partition("="))
        if not word or not value:
            raise UsageError(f"What words mean: {part.strip()!r} is not WORD=VALUE.", "Write a list like Yes=1, No=0.")
        found[word] = value
    return found


def _fields(choices: Choices) -> list[str]:
    return [one.name for one in (*ROW, *choices.by_criterion, *choices.by_annotator, *choices.by_both)]


def form_html(table: CsvTable, choices: Choices, asked: Asked, error: PdfQAError | None = None) -> str:
    """Return the first rows and the form of the columns, with what does not fit."""
    places = {name: place for place, name in enumerate(_fields(choices))}
    chosen = dict(asked.chosen)
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
        groups=[(title, fields, sum(one.name in chosen for one in fields)) for title, fields in groups if fields],
        words=asked.words, added=asked.added, error=error,
        faults=faults[:SHOWN_FAULTS], left=len(faults[SHOWN_FAULTS:]), new=len(faults),
    )  # fmt: skip
