"""The Annotate tab: two people rate the same answers without seeing each other's ratings; agreement appears after.

This module wires the tab and shows it; `annotate_rating` is what a rater does, `annotate_setup` what the owner of a
study does, `annotate_disputes` what is decided where raters differ.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr

from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.services import Services
from pdfqa_core.services.accounts import is_seat
from pdfqa_core.services.studies import own_name
from pdfqa_core.study_types import StudyState
from pdfqa_core.ui import (
    annotate_setup,
    annotate_view,
    downloads,
)
from pdfqa_core.ui.annotate_rating import NO_STUDY, START, Parts, Rating
from pdfqa_core.ui.annotate_results import measured, measures_html, report
from pdfqa_core.ui.annotate_view import Work
from pdfqa_core.ui.components import AT_ONCE, QUIET, clicked, error_html, render
from pdfqa_core.ui.session import Session, Shown

NO_TURNS = "Ask some questions in the Chat tab first, or bring answers in a file; then make a study of them here."

# Who rates in this window, which `unsaved.js` remembers.
RATER = "(...known) => [...known.slice(0, -1), window.pdfqa.rater()]"
LEADS = UsageError("The results are for whoever leads the study.", "Sign out first.")

# The page sends one choice after the other (`app.js`); should it not wait, none may be dropped.
NEVER_DROPPED: dict[str, Any] = {**AT_ONCE, "trigger_mode": "multiple"}


def build(services: Services, session: gr.State) -> Shown:
    """Build the tab."""
    parts = Parts(session)
    handlers, state, outputs = Handlers(services, parts), [parts.work, session], parts.everything()
    for signed_in in (parts.begin.click, parts.name.submit):
        signed_in(handlers.begin, [parts.study, parts.name, *state], outputs, **AT_ONCE)
    parts.names.click(handlers.begin_as, [parts.study, *state], outputs, **AT_ONCE)
    parts.study.input(handlers.choose, [parts.study, *state], outputs, **AT_ONCE)
    with_form = list(dict.fromkeys([*outputs, *parts.new.everything()]))
    parts.new.create.click(handlers.create, [*parts.new.inputs(), *state], with_form, **QUIET)
    parts.new.bring.upload(handlers.bring, [parts.new.bring, *state], outputs, **QUIET)
    parts.manage.click(handlers.manage_clicked, state, outputs, **AT_ONCE)
    parts.who.click(handlers.sign_out, state, outputs, **AT_ONCE)
    for clickable in (parts.form, parts.bar, parts.results, parts.dispute):
        clickable.click(handlers.rating.form_clicked, [parts.comment, *state], outputs, **NEVER_DROPPED)
    parts.comment.blur(handlers.rating.comment, [parts.comment, *state], outputs, **AT_ONCE)
    parts.item.click(handlers.rating.item_clicked, state, [parts.work, parts.item, parts.page], **AT_ONCE)
    parts.page.click(handlers.rating.page_clicked, state, parts.page, **AT_ONCE)
    fetch = "(error) => error || window.pdfqa.fetch('annotate-file')"
    parts.copy.click(handlers.copy, state, [parts.copied, parts.message], **AT_ONCE)
    for kind, button in parts.files.items():
        made = button.click(partial(handlers.export, kind), state, [parts.file, parts.message], **AT_ONCE)
        made.success(None, parts.message, None, js=fetch)
    reports = parts.reports
    reports.gold.upload(handlers.gold, [reports.gold, *state], [reports.measures, parts.message], **QUIET)
    chosen = [reports.choice, reports.gold, *state]
    made = reports.get.click(handlers.report, chosen, [parts.file, parts.message], **QUIET)
    made.success(None, parts.message, None, js=fetch)
    parts.missed.wire(services, parts.work, session)
    parts.people.wire(services, parts.study, session)
    parts.spreadsheet.wire(
        services, parts.study, session, outputs, parts.file, lambda one, now: handlers.show(Work(one), now)
    )
    parts.protocol.wire(
        services,
        parts.work,
        session,
        outputs,
        parts.message,
        lambda one, now: handlers.show(Work(one), now),
        handlers.go_on,
    )
    return Shown(handlers.arrive, [*state, parts.rater], outputs, js=RATER)


class Handlers:
    """What the tab does beside rating, which `rating` does."""

    def __init__(self, services: Services, parts: Parts) -> None:
        self.services = services
        self.parts = parts
        self.rating = Rating(services, parts, self.show)

    # ------------------------------------------------------------ showing

    def arrive(self, work: Work, session: Session, rater: str = "") -> dict[Any, Any]:
        """Return the whole tab when it is opened: with the answer that the Chat tab wants rated, if there is one.

        `rater` is who was signed in at this window before the page was loaded again, as "STUDY NAME".
        """
        study_id, turn_id = session.to_rate
        if not study_id and not work.annotator:
            work = self._again(rater or "", work, session)
        if study_id and study_id != work.study_id:
            work = Work(study_id)
        elif study_id and work.annotator:
            work = self.rating.opened(work, turn_id)
        came = {self.parts.session: replace(session, to_rate=("", ""))} if study_id else {}
        typed = not study_id and bool(work.annotator) and self._seated(work, session) == work
        return {**self.show(work, session, typed=typed), **came}

    def _again(self, rater: str, work: Work, session: Session) -> Work:
        study_id, _, name = rater.partition(" ")
        if not name or is_seat(session.owner):
            return work
        try:
            return self.rating.next(
                Work(study_id, self.services.studies.sign_in(session.owner, study_id, name)), session
            )
        except PdfQAError:  # the study is gone or closed, or the name was taken out: one signs in anew
            return work

    def show(self, work: Work, session: Session, *, typed: bool = False) -> dict[Any, Any]:
        """Return the whole tab; where the item is the same as before, what is `typed` there stays."""
        parts, owner = self.parts, session.owner
        studies = annotate_setup.choices(self.services, owner)
        work = self._seated(work, session)
        if work.study_id not in {one for _, one in studies}:
            work = Work(studies[0][1] if studies else "")
        signed_in, mine = bool(work.study_id and work.annotator), not is_seat(owner)
        study = self.services.studies.kept.get(owner, work.study_id) if work.study_id else None
        to_type = not (study and study.invited) and not (study and study.state is not StudyState.OPEN)
        update: dict[Any, Any] = {
            parts.work: work,
            parts.study: gr.Dropdown(choices=studies, value=work.study_id or None),
            **parts.new.filled(self.services, owner),
            parts.message: "",
            parts.page: "",
            parts.names: annotate_setup.names_html(self.services, owner, work.study_id)
            if study and not is_seat(owner)
            else "",
            # What somebody types is theirs until they are in: the answer to a click before it may come late.
            parts.name: gr.Textbox(value="", visible=to_type) if signed_in else gr.Textbox(visible=to_type),
            parts.begin: gr.Button(visible=to_type),
            parts.own: gr.Accordion(visible=bool(study)),
            parts.spreadsheet.fold: gr.Accordion(visible=bool(study)),
            parts.sign_in: gr.Group(visible=not signed_in and not work.deciding and mine),
            parts.rating: gr.Group(visible=signed_in and not work.deciding),
            parts.ratings: gr.Row(visible=bool(study)),
            parts.who: gr.Button(f"{work.annotator}: sign out", visible=signed_in and mine),
            parts.results: "" if work.deciding else self.rating.results(work, session),  # it names those who differ
            parts.dispute: "",
            parts.missing: gr.Column(visible=signed_in and bool(work.turn_id) and not work.deciding),
            **parts.protocol.filled(self.services, work, session, typed=typed),
        }
        if study and mine and not signed_in:
            update[parts.manage] = annotate_setup.setup_html(self.services, owner, work.study_id)
        if work.deciding:
            update |= self.rating.deciding(work, session)
        elif signed_in:
            shown = self.rating.shown(work, session)
            work = replace(work, seen=shown.seen)
            update |= self.rating.item(work, shown) | {parts.work: work}
            comment = gr.Textbox(value=shown.comment, interactive=bool(shown.item))
            update[parts.comment] = gr.Textbox(interactive=bool(shown.item)) if typed else comment
        else:
            words = START if studies else NO_STUDY if annotate_setup.talks(self.services, owner) else NO_TURNS
            update[parts.item] = annotate_view.no_item_html(words)
        return update | self._reports(work, session)

    def go_on(self, work: Work, session: Session) -> dict[Any, Any]:
        """Show the next item to rate."""
        return self.show(self.rating.next(work, session), session) if work.annotator else self.show(work, session)

    def _seated(self, work: Work, session: Session) -> Work:
        """Return the work of who came by an invitation: signed in to its study, or looking on."""
        seat = self.services.studies.kept.seat(session.owner)
        if seat is None or (work.study_id, work.annotator) == (seat.study_id, own_name(seat)):
            return work
        work = Work(seat.study_id, own_name(seat))
        return self.rating.next(work, session) if work.annotator else work

    def _reports(self, work: Work, session: Session) -> dict[Any, Any]:
        """Return the tables of the study, for whoever leads it: not for those who rate, nor while an item is open."""
        reports = self.parts.reports
        if work.turn_id or work.annotator:
            return reports.emptied()
        return reports.filled(self.services, session.owner, work.study_id, work.annotator)

    # ------------------------------------------------------------ studies and annotators

    def choose(self, study_id: str, work: Work, session: Session) -> dict[Any, Any]:
        """Show another study; Gradio tells of each choice twice."""
        if study_id and study_id == work.study_id:
            return {self.parts.message: ""}
        return self.show(Work(study_id or ""), session)

    def create(self, *inputs: Any) -> dict[Any, Any]:
        """Make the study that the form describes."""
        *form, _work, session = inputs
        try:
            study = annotate_setup.make(self.services, session.owner, *form)
        except PdfQAError as error:
            return {self.parts.message: error_html(error)}
        said = annotate_setup.made_words(study, self.services.studies.names(session.owner, study.id))
        emptied = self.parts.new.emptied(self.services, session.owner)
        return self.show(Work(study.id), session) | emptied | {self.parts.message: render("said", text=said)}

    def bring(self, path: str | None, work: Work, session: Session) -> dict[Any, Any]:
        """Take in a study that another workspace wrote."""
        if not path:
            raise UsageError("No file was sent.", "Choose the file of a study.")
        file = Path(path)
        try:
            study = self.services.studies.files.take_in(session.owner, file, file.name)
        except PdfQAError as error:
            return {self.parts.message: error_html(error)}
        return self.show(Work(study.id), session)

    def manage_clicked(self, work: Work, session: Session, event: gr.EventData) -> dict[Any, Any]:
        """Change something of the study, and say what was done."""
        if not work.study_id:
            return {self.parts.message: ""}
        html, gone = annotate_setup.answered(self.services, session.owner, work.study_id, clicked(event))
        if gone:
            text = render("said", text="The study is deleted. Its answers stay in the chat.")
            return self.show(Work(), session) | {self.parts.message: text}
        return self.show(work, session) | {self.parts.manage: html}

    def begin(self, study_id: str, name: str, work: Work, session: Session) -> dict[Any, Any]:
        """Sign in by name and open the first unrated item."""
        try:
            annotator = self.services.studies.sign_in(session.owner, study_id, name)
            work = self.rating.next(Work(study_id, annotator), session)
        except PdfQAError as error:
            return {self.parts.message: error_html(error)}
        return self.show(work, session)

    def begin_as(self, study_id: str, work: Work, session: Session, event: gr.EventData) -> dict[Any, Any]:
        """Sign in by choosing a name."""
        return self.begin(study_id, clicked(event).get("name", ""), work, session)

    def sign_out(self, work: Work, session: Session) -> dict[Any, Any]:
        """Leave the form to the next annotator."""
        return self.show(Work(work.study_id), session)

    # ------------------------------------------------------------ files

    def export(self, kind: str, work: Work, session: Session) -> tuple[Any, str]:
        """Write the ratings that may be seen into a file for the browser; return it, or why there is none."""
        try:
            file = self.services.studies.file(session.owner, work.study_id, kind, work.annotator)
        except PdfQAError as error:
            return gr.skip(), error_html(error)
        return downloads.write(file.name, file.data), ""

    def report(self, choice: str, gold: str | None, work: Work, session: Session) -> tuple[Any, str]:
        """Give the browser the chosen report, or say why there is none."""
        if work.annotator:
            return gr.skip(), error_html(LEADS)
        return report(self.services, choice, session.owner, work.study_id, work.annotator, gold)

    def gold(self, path: str, work: Work, session: Session) -> tuple[Any, str]:
        """Measure the answers against gold answers too."""
        if work.annotator:
            return gr.skip(), error_html(LEADS)
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
