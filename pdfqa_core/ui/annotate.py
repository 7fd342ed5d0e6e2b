"""The Annotate tab: two people rate the same answers without seeing each other's ratings; agreement appears after."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr

from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.exports.conversations import REMOVED
from pdfqa_core.services import Services
from pdfqa_core.services.invitations import is_seat
from pdfqa_core.services.rated_study import RatingItem, own_name
from pdfqa_core.ui import annotate_view, downloads
from pdfqa_core.ui.annotate_results import ResultParts, measured, measures_html, report
from pdfqa_core.ui.components import AT_ONCE, QUIET, Click, clicked, error_html, live_html, render, switch
from pdfqa_core.ui.invite import People
from pdfqa_core.ui.page_view import main_page, show_page
from pdfqa_core.ui.session import Session, Shown

START = "Choose a study and sign in on the right. A study is a set of answered questions that two people rate."
NOBODY = "Nobody is signed in, so there is no item to open."
NO_TURNS = "Ask some questions in the Chat tab first; then make a study of those conversations here."

# The page sends one choice after the other (`app.js`); should it not wait, none may be dropped.
NEVER_DROPPED: dict[str, Any] = {**AT_ONCE, "trigger_mode": "multiple"}

FILES = {"csv": "Ratings as CSV", "jsonl": "Ratings as JSONL", "parquet": "Parquet", "latex": "LaTeX"}


@dataclass(frozen=True, slots=True)
class Work:
    """The open study, who is rating, the turn on screen, when it was opened (seconds of a clock), the last save."""

    study_id: str = ""
    annotator: str = ""
    turn_id: str = ""
    opened: float = 0.0
    saved: datetime | None = None
    rank: int = 0


class Parts:
    """The components of the tab, in their places."""

    def __init__(self, session: gr.State) -> None:
        self.session = session
        self.work = gr.State(Work())
        switch("annotate-columns", "Item", "Form", chosen=2)
        with gr.Row(elem_classes=["pq-columns"], elem_id="annotate-columns"):
            with gr.Column():
                self.item = live_html(annotate_view.no_item_html(START), elem_id="annotate-item")
                self.page = live_html(elem_id="annotate-page")
                self.reports = ResultParts()
            with gr.Column():
                self.message = live_html(elem_id="annotate-message")
                with gr.Group() as self.sign_in:
                    self.study = gr.Dropdown([], label="Study", elem_id="annotate-study")
                    self.name = gr.Textbox(label="Your name", elem_id="annotate-name", max_length=80)
                    self.begin = gr.Button("Sign in and rate", variant="primary", elem_id="annotate-begin")
                    with gr.Accordion("New study", open=False, elem_id="annotate-new"):
                        self.conversations = gr.Dropdown([], multiselect=True, label="Conversations")
                        self.study_name = gr.Textbox(
                            label="Name of the study", max_length=120, elem_id="annotate-study-name"
                        )
                        self.create = gr.Button("Make study", elem_id="annotate-create")
                        self.bring = gr.UploadButton(
                            "Bring a study from another workspace (ZIP)", file_types=[".zip"], size="sm",
                            elem_id="annotate-bring",
                        )  # fmt: skip
                    self.people = People()
                with gr.Group(visible=False) as self.rating:
                    self.form = live_html(elem_id="annotate-form", padding=True)
                    self.comment = gr.Textbox(
                        label="Comment (C)", lines=2, max_lines=4, elem_id="annotate-comment",
                        placeholder="optional, saved with the answer", elem_classes=["pq-field"],
                    )  # fmt: skip
                    self.bar = live_html(elem_id="annotate-bar", padding=True)
                    self.who = gr.Button("Sign out", size="sm", elem_id="annotate-sign-out")
                self.results = live_html(elem_id="annotate-results")
                with gr.Row():
                    self.files = {
                        kind: gr.Button(label, size="sm", elem_id=f"annotate-{kind}", min_width=86)
                        for kind, label in FILES.items()
                    }
                    self.copy = gr.Button("Copy ratings", size="sm", elem_id="annotate-copy", min_width=86)
                self.copied = live_html(elem_id="annotate-copied", classes="pq-offstage")
                self.file = gr.DownloadButton("download", elem_id="annotate-file", elem_classes=["pq-offstage"])

    def everything(self) -> list[Any]:
        """Return all that handlers fill, for events that may change any."""
        return [
            self.session, self.work, self.item, self.page, self.message, self.sign_in, self.study, self.name,
            self.conversations, self.rating, self.form, self.comment, self.bar, self.who, self.results,
            *self.reports.all(),
        ]  # fmt: skip


def build(services: Services, session: gr.State) -> Shown:
    """Build the tab."""
    parts = Parts(session)
    handlers, state, outputs = Handlers(services, parts), [parts.work, session], parts.everything()
    for signed_in in (parts.begin.click, parts.name.submit):
        signed_in(handlers.begin, [parts.study, parts.name, *state], outputs, **AT_ONCE)
    parts.study.input(handlers.choose, [parts.study, *state], outputs, **AT_ONCE)
    parts.create.click(handlers.create, [parts.study_name, parts.conversations, *state], outputs, **AT_ONCE)
    parts.bring.upload(handlers.bring, [parts.bring, *state], outputs, **QUIET)
    parts.who.click(handlers.sign_out, state, outputs, **AT_ONCE)
    for clickable in (parts.form, parts.bar, parts.results):
        clickable.click(handlers.form_clicked, [parts.comment, *state], outputs, **NEVER_DROPPED)
    parts.comment.blur(handlers.comment, [parts.comment, *state], outputs, **AT_ONCE)
    parts.item.click(handlers.item_clicked, state, [parts.work, parts.item, parts.page], **AT_ONCE)
    parts.page.click(handlers.page_clicked, state, parts.page, **AT_ONCE)
    fetch = "(error) => error || window.pdfqa.fetch('annotate-file')"
    parts.copy.click(handlers.copy, state, [parts.copied, parts.message], **AT_ONCE)
    for kind, button in parts.files.items():
        made = button.click(partial(handlers.export, kind), state, [parts.file, parts.message], **AT_ONCE)
        made.success(None, parts.message, None, js=fetch)
    parts.people.wire(services, parts.study, session)
    reports = parts.reports
    reports.gold.upload(handlers.gold, [reports.gold, *state], [reports.measures, parts.message], **QUIET)
    chosen = [reports.choice, reports.gold, *state]
    made = reports.get.click(handlers.report, chosen, [parts.file, parts.message], **QUIET)
    made.success(None, parts.message, None, js=fetch)
    return Shown(handlers.arrive, state, outputs)


class Handlers:
    """What the tab does. Every choice is saved before the page shows it."""

    def __init__(self, services: Services, parts: Parts) -> None:
        self.services = services
        self.parts = parts

    # ------------------------------------------------------------ showing

    def arrive(self, work: Work, session: Session) -> dict[Any, Any]:
        """Return the whole tab when it is opened: with the answer that the Chat tab wants rated, if there is one."""
        study_id, turn_id = session.to_rate
        if study_id and study_id != work.study_id:
            work = Work(study_id)
        elif study_id and work.annotator:
            work = self._opened(work, turn_id)
        return {**self.show(work, session), self.parts.session: replace(session, to_rate=("", ""))}

    def show(self, work: Work, session: Session) -> dict[Any, Any]:
        """Return the whole tab."""
        parts = self.parts
        studies = self.services.studies.list(session.owner)
        work = self._seated(work, session)
        if work.study_id not in {one.id for one in studies}:
            work = Work(studies[0].id if studies else "")
        conversations = [c for c in self.services.conversations.list(session.owner) if c.turn_count]
        signed_in = bool(work.study_id and work.annotator)
        update: dict[Any, Any] = {
            parts.work: work,
            parts.study: gr.Dropdown(choices=[(s.name, s.id) for s in studies], value=work.study_id or None),
            parts.conversations: gr.Dropdown(choices=[(f"{c.title} ({c.turn_count})", c.id) for c in conversations]),
            parts.message: "",
            parts.page: "",
            parts.name: gr.Textbox(value=""),
            parts.sign_in: gr.Group(visible=not signed_in and not is_seat(session.owner)),
            parts.rating: gr.Group(visible=signed_in),
            parts.who: gr.Button(f"{work.annotator}: sign out", visible=not is_seat(session.owner)),
            parts.results: self._results(work, session),
        }
        if signed_in:
            shown = self._shown(work, session)
            update |= self._item(work, shown)
            update[parts.comment] = gr.Textbox(value=shown.comment, interactive=bool(shown.item))
        else:
            update[parts.item] = annotate_view.no_item_html(START if studies or conversations else NO_TURNS)
        return update | self._reports(work, session)

    def _seated(self, work: Work, session: Session) -> Work:
        """Return the work of who came by an invitation: signed in to its study, or looking on."""
        seat = self.services.invitations.seat(session.owner)
        if seat is None or (work.study_id, work.annotator) == (seat.study_id, own_name(seat)):
            return work
        work = Work(seat.study_id, own_name(seat))
        return self._next(work, session) if work.annotator else work

    def _reports(self, work: Work, session: Session) -> dict[Any, Any]:
        """Return the tables of the study, in whose place an item stands while one is open."""
        reports = self.parts.reports
        if work.turn_id:
            return reports.emptied()
        return reports.filled(self.services, session.owner, work.study_id, work.annotator)

    def _shown(self, work: Work, session: Session) -> RatingItem:
        return self.services.studies.item(session.owner, work.study_id, work.annotator, work.turn_id)

    def _item(self, work: Work, shown: RatingItem) -> dict[Any, Any]:
        criteria = self.services.studies.criteria
        return {
            self.parts.item: annotate_view.item_html(shown, criteria, work.rank),
            self.parts.form: annotate_view.form_html(shown, criteria, work.saved),
            self.parts.bar: annotate_view.bar_html(shown.position, shown.progress),
        }

    def _results(self, work: Work, session: Session) -> str:
        if not work.study_id:
            return ""
        return annotate_view.results_html(self.services.studies.results(session.owner, work.study_id, work.annotator))

    # ------------------------------------------------------------ studies and annotators

    def choose(self, study_id: str, work: Work, session: Session) -> dict[Any, Any]:
        """Show another study."""
        return self.show(Work(study_id or ""), session)

    def create(self, name: str, conversations: list[str], work: Work, session: Session) -> dict[Any, Any]:
        """Make a study of the chosen conversations."""
        try:
            study = self.services.studies.create(session.owner, name, conversations)
        except PdfQAError as error:
            return {self.parts.message: error_html(error)}
        return self.show(Work(study.id), session)

    def bring(self, path: str, work: Work, session: Session) -> dict[Any, Any]:
        """Take in a study that another workspace wrote."""
        file = Path(path)
        try:
            study = self.services.study_files.take_in(session.owner, file.read_bytes(), file.name)
        except PdfQAError as error:
            return {self.parts.message: error_html(error)}
        return self.show(Work(study.id), session)

    def begin(self, study_id: str, name: str, work: Work, session: Session) -> dict[Any, Any]:
        """Sign in by name and open the first unrated item."""
        try:
            annotator = self.services.studies.sign_in(session.owner, study_id, name)
        except PdfQAError as error:
            return {self.parts.message: error_html(error)}
        return self.show(self._next(Work(study_id, annotator), session), session)

    def sign_out(self, work: Work, session: Session) -> dict[Any, Any]:
        """Leave the form to the next annotator."""
        return self.show(Work(work.study_id), session)

    # ------------------------------------------------------------ rating

    def _next(self, work: Work, session: Session) -> Work:
        turn_id = self.services.studies.next(session.owner, work.study_id, work.annotator, work.turn_id)
        return self._opened(work, turn_id)

    def _step(self, work: Work, session: Session, by: int) -> Work:
        turn_id = self.services.studies.neighbour(session.owner, work.study_id, work.annotator, work.turn_id, by)
        return self._opened(work, turn_id)

    @staticmethod
    def _opened(work: Work, turn_id: str) -> Work:
        return Work(work.study_id, work.annotator, turn_id, time.monotonic())

    def form_clicked(self, comment: str | None, work: Work, session: Session, event: gr.EventData) -> dict[Any, Any]:
        """Save a choice, or go to another item. Before anybody has signed in there is no comment."""
        data, comment = clicked(event), comment or ""
        try:
            match data.get("action"):
                case "rate" | "rest":
                    return self._save(data, comment, work, session)
                case "item" if not work.annotator:
                    raise UsageError(NOBODY, "Sign in above, then click it again.")
                case "next" | "skip" | "back" | "item" if work.annotator:
                    self.services.studies.check_comment(
                        session.owner, work.study_id, work.annotator, work.turn_id, comment
                    )
            match data.get("action"):
                case "next":
                    work = self._next(work, session)
                case "skip":
                    work = self._step(work, session, 1)
                case "back":
                    work = self._step(work, session, -1)
                case "item":
                    work = self._opened(work, data["turn"])
            return self.show(work, session)
        except PdfQAError as error:
            return {self.parts.message: error_html(error)}

    def _save(self, data: Click, comment: str, work: Work, session: Session) -> dict[Any, Any]:
        """Save a choice for the turn on the screen."""
        place = (session.owner, work.study_id, work.annotator, data["turn"])
        criterion, seconds = data["criterion"], self._seconds(work)
        if data["action"] == "rest":
            saved = self.services.studies.save_rest(*place, criterion, seconds=seconds)
        else:
            values = {(data["item"], criterion): data["value"]}
            saved = self.services.studies.save(*place, values, comment=comment, seconds=seconds)
        return self._saved(replace(work, saved=saved), session)

    @staticmethod
    def _seconds(work: Work) -> float:
        return round(time.monotonic() - work.opened, 1)

    def _saved(self, work: Work, session: Session) -> dict[Any, Any]:
        """Return what a save changes on the screen: all but the comment, which may be being typed."""
        shown = self._item(work, self._shown(work, session))
        return {
            **shown, self.parts.work: work, self.parts.results: self._results(work, session), self.parts.message: "",
        }  # fmt: skip

    def comment(self, comment: str | None, work: Work, session: Session) -> dict[Any, Any]:
        """Save the comment with the rating that keeps it, if there is one yet; else it is saved with it later."""
        try:
            saved = self.services.studies.save_comment(
                session.owner, work.study_id, work.annotator, work.turn_id, comment or "", seconds=self._seconds(work)
            )
        except PdfQAError as error:
            return {self.parts.message: error_html(error)}
        return self._saved(replace(work, saved=saved), session) if saved else {self.parts.message: ""}

    # ------------------------------------------------------------ pages and files

    def item_clicked(self, work: Work, session: Session, event: gr.EventData) -> tuple[Any, ...]:
        """Show the page of a passage."""
        rank = clicked(event).number("rank")
        work = replace(work, rank=0 if rank == work.rank else rank)
        shown = self._item(work, self._shown(work, session))
        return work, shown[self.parts.item], self._page(work, session) if work.rank else ""

    def page_clicked(self, work: Work, session: Session, event: gr.EventData) -> str:
        """Turn the page."""
        return self._page(work, session, clicked(event))

    def _page(self, work: Work, session: Session, request: Click | None = None) -> str:
        item = self._shown(work, session).item
        hit = next((h for h in item.turn.answer.hits if h.rank == work.rank), None) if item else None
        if hit is None:
            return ""
        passage = hit.passage
        owner = self.services.studies.page_owner(session.owner, work.study_id)
        return show_page(
            self.services, owner, passage.document_id, main_page(passage), settings=session.settings,
            passage=passage, request=request, filename=item.filenames.get(passage.document_id, REMOVED) if item else "",
        ).html  # fmt: skip

    def export(self, kind: str, work: Work, session: Session) -> tuple[Any, str]:
        """Write the ratings that may be seen into a file for the browser; return it, or why there is none."""
        try:
            file = self.services.studies.file(session.owner, work.study_id, kind, work.annotator)
        except PdfQAError as error:
            return gr.skip(), error_html(error)
        return downloads.write(file.name, file.data), ""

    def report(self, choice: str, gold: str | None, work: Work, session: Session) -> tuple[Any, str]:
        """Give the browser the chosen report, or say why there is none."""
        return report(self.services, choice, session.owner, work.study_id, work.annotator, gold)

    def gold(self, path: str, work: Work, session: Session) -> tuple[Any, str]:
        """Measure the answers against gold answers too."""
        try:
            found = measured(self.services, session.owner, work.study_id, work.annotator, path)
        except PdfQAError as error:
            return gr.skip(), error_html(error)
        return measures_html(found), ""

    def copy(self, work: Work, session: Session) -> tuple[Any, str]:
        """Give the browser the ratings that may be seen for its clipboard, or why there are none."""
        try:
            file = self.services.studies.file(session.owner, work.study_id, "tsv", work.annotator)
        except PdfQAError as error:
            return gr.skip(), error_html(error)
        return render("clipboard", text=file.data.decode(), moment=time.monotonic_ns()), ""
