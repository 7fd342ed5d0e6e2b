"""What somebody who rates does on the Annotate tab. Every choice is saved before the page shows it."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import gradio as gr

from pdfqa_core.errors import ConflictError, PdfQAError, UsageError
from pdfqa_core.exports.conversations import REMOVED
from pdfqa_core.protocols.study_measures import ERROR_CATEGORIES
from pdfqa_core.services import Services
from pdfqa_core.services.studies import RatingItem
from pdfqa_core.study_types import GoldPassage, ItemRole
from pdfqa_core.types import Hit
from pdfqa_core.ui import annotate_view
from pdfqa_core.ui.annotate_results import ResultParts
from pdfqa_core.ui.annotate_setup import ImportParts, NewStudyParts, People
from pdfqa_core.ui.annotate_view import Work
from pdfqa_core.ui.components import QUIET, Click, clicked, error_html, live_html, render, switch
from pdfqa_core.ui.mahueval import ProtocolParts
from pdfqa_core.ui.page_view import main_page, passage_parts, show_page
from pdfqa_core.ui.session import Session

# ----------------------------------------------------------------------------------------------------
# Where raters differ, as the Annotate tab shows it to be decided: what was said without names, value and reason.

ACTIONS = ("decide", "decide-next", "own", "close")


def decide(services: Services, owner: str, study_id: str, viewer: str, data: Click) -> None:
    """Save a decision. Raises UsageError."""
    services.studies.reports.decide(
        owner,
        study_id,
        viewer,
        data["item"],
        data["criterion"],
        data["value"],
        reason=data.get("reason", ""),
        category=data.get("category", ""),
        decided_by=data.get("by", ""),
    )


def now() -> datetime:
    """Return the time, for what was just saved."""
    return datetime.now(UTC)


# ----------------------------------------------------------------------------------------------------
# Search all passages while one judges an answer, and mark the relevant ones that it was not shown.


class MissedParts:
    """The components, below the item."""

    def __init__(self) -> None:
        with gr.Accordion("Search all passages for one that was missed", open=False, elem_id="annotate-missed"):
            self.query = gr.Textbox(
                label="Words of the passage",
                show_label=False,
                placeholder="words of the passage",
                lines=1,
                max_length=500,
                elem_id="annotate-missed-query",
                elem_classes=["pq-field"],
            )
            self.found = live_html(elem_id="annotate-missed-found")

    def wire(self, services: Services, work: gr.State, session: gr.State) -> None:
        """Connect them."""
        handlers = Handlers(services)
        inputs = [self.query, work, session]
        self.query.submit(handlers.search, inputs, self.found, **QUIET)
        self.found.click(handlers.clicked, inputs, self.found, **QUIET)


class Handlers:
    """What the part does."""

    def __init__(self, services: Services) -> None:
        self.services = services

    def search(self, query: str, work: Work, session: Session, said: str = "") -> str:
        """Return the passages that hold the words."""
        try:
            found = self.services.evaluation.missed.search(*_where(work, session), query or "", session.settings)
        except PdfQAError as error:
            return error_html(error)
        cards = [(one, passage_parts(one.hit.passage.text, query, language=one.hit.passage.language)) for one in found]
        return said + render("missed", cards=cards, turn=work.turn_id)

    def clicked(self, query: str, work: Work, session: Session, event: gr.EventData) -> str:
        """Mark a passage as missed, or take that back."""
        data, said = clicked(event), ""
        try:
            if data["turn"] != work.turn_id:
                raise UsageError("Another item is open by now.", "Search for it once more.")
            where = _where(work, session)
            found = self.services.evaluation.missed.search(*where, query or "", session.settings)
            self.services.evaluation.missed.mark(*where, found, data["passage"], relevant=data["action"] == "missed")
        except PdfQAError as error:
            said = error_html(error)
        return self.search(query, work, session, said)


def _where(work: Work, session: Session) -> tuple[str, str, str, str]:
    return session.owner, work.study_id, work.annotator, work.turn_id


# ----------------------------------------------------------------------------------------------------
# The components of the Annotate tab, in their places, and what it remembers.

NO_STUDY = "There is no study yet. Open “New study” to make one: a set of answered questions that two people rate."
START = "Choose a study and sign in on the right. A study is a set of answered questions that two people rate."
FILES = {"csv": "Ratings as CSV", "jsonl": "Ratings as JSONL", "parquet": "Parquet", "latex": "LaTeX"}


class Parts:
    """The components of the tab, in their places."""

    def __init__(self, session: gr.State) -> None:
        self.session = session
        self.work, self.rater = gr.State(Work()), gr.Textbox(visible=False)
        switch("annotate-columns", "Item", "Form", chosen=2)
        with gr.Row(elem_classes=["pq-columns"], elem_id="annotate-columns"):
            with gr.Column():
                self.protocol = ProtocolParts()
                self.item = live_html(annotate_view.no_item_html(START), elem_id="annotate-item")
                with gr.Column(visible=False, elem_id="annotate-missing") as self.missing:
                    self.missed = MissedParts()
                self.page = live_html(elem_id="annotate-page")
                self.reports = ResultParts()
            with gr.Column():
                self.message = live_html(elem_id="annotate-message")
                with gr.Group(visible=False) as self.sign_in:  # until the tab is filled
                    self.study = gr.Dropdown([], label="Study", elem_id="annotate-study")
                    self.names = live_html(elem_id="annotate-names")
                    self.name = gr.Textbox(label="Your name", elem_id="annotate-name", max_length=80)
                    self.begin = gr.Button("Sign in and rate", variant="primary", elem_id="annotate-begin")
                    with gr.Accordion("This study", open=False, elem_id="annotate-manage", visible=False) as self.own:
                        self.manage = live_html(elem_id="annotate-setup", padding=True)
                    self.people = People()
                    self.spreadsheet = ImportParts()
                    self.new = NewStudyParts()
                    self.protocol.form()
                with gr.Group(visible=False) as self.rating:
                    self.form = live_html(elem_id="annotate-form", padding=True)
                    self.comment = gr.Textbox(
                        label="Comment (C)",
                        lines=2,
                        max_lines=4,
                        elem_id="annotate-comment",
                        placeholder="optional, saved with the answer",
                        elem_classes=["pq-field"],
                    )
                    self.bar = live_html(elem_id="annotate-bar", padding=True)
                self.dispute = live_html(elem_id="annotate-dispute")
                self.who = gr.Button("Sign out", size="sm", elem_id="annotate-sign-out", visible=False)
                self.results = live_html(elem_id="annotate-results")
                with gr.Row(visible=False) as self.ratings:
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
            self.session,
            self.work,
            self.item,
            self.page,
            self.message,
            self.sign_in,
            self.study,
            self.names,
            self.name,
            self.begin,
            self.own,
            self.spreadsheet.fold,
            self.manage,
            self.new.conversations,
            self.new.run,
            self.rating,
            self.form,
            self.comment,
            self.bar,
            self.dispute,
            self.who,
            self.results,
            self.ratings,
            self.missing,
            *self.reports.all(),
            *self.protocol.all(),
        ]


# ----------------------------------------------------------------------------------------------------
# What somebody who rates does on the Annotate tab. Every choice is saved before the page shows it.

ANEW = "Nobody is signed in any more: the program was started anew, so this choice is not saved."


class Rating:
    """Saves choices, goes from item to item, opens passages and pages; `show` returns the whole tab."""

    def __init__(self, services: Services, parts: Parts, show: Callable[[Work, Session], dict[Any, Any]]) -> None:
        self.services = services
        self.parts = parts
        self.show = show

    # ------------------------------------------------------------ showing

    def shown(self, work: Work, session: Session) -> RatingItem:
        """Return the item that the annotator has open."""
        return self.services.studies.item(session.owner, work.study_id, work.annotator, work.turn_id)

    def item(self, work: Work, shown: RatingItem) -> dict[Any, Any]:
        """Return what an open item fills."""
        return {
            self.parts.item: annotate_view.item_html(shown, shown.criteria, work.rank),
            self.parts.form: annotate_view.form_html(
                shown, shown.criteria, work.saved, study_id=work.study_id, by=work.annotator, alone=work.alone
            ),
            self.parts.bar: annotate_view.bar_html(shown, alone=work.alone, undo=bool(work.submitted)),
        }

    def results(self, work: Work, session: Session) -> str:
        """Return who is how far, and agreement where it may be seen."""
        if not work.study_id:
            return ""
        results = self.services.studies.reports.summary(session.owner, work.study_id, work.annotator)
        return render("annotate_results", results=results)

    def deciding(self, work: Work, session: Session) -> dict[Any, Any]:
        """Return an item that is adjudicated."""
        found = self.services.studies.reports.dispute(session.owner, work.study_id, work.annotator, work.turn_id)
        return {
            self.parts.item: annotate_view.read_item_html(found.item, work.rank),
            self.parts.dispute: render(
                "annotate_dispute",
                study_id=work.study_id,
                found=found,
                categories=ERROR_CATEGORIES,
                saved=work.saved,
                own=bool(work.annotator),
            ),
        }

    # ------------------------------------------------------------ rating

    def next(self, work: Work, session: Session) -> Work:
        """Return the work with the next item open that is not submitted."""
        turn_id = self.services.studies.next(session.owner, work.study_id, work.annotator, work.turn_id)
        return self.opened(work, turn_id)

    def _step(self, work: Work, session: Session, by: int) -> Work:
        turn_id = self.services.studies.neighbour(session.owner, work.study_id, work.annotator, work.turn_id, by)
        return self.opened(work, turn_id)

    @staticmethod
    def opened(work: Work, turn_id: str) -> Work:
        """Return the work with another item open, which nobody has looked at yet."""
        return Work(
            work.study_id, work.annotator, turn_id, time.monotonic(), submitted=work.submitted, alone=work.alone
        )

    def form_clicked(self, comment: str | None, work: Work, session: Session, event: gr.EventData) -> dict[Any, Any]:
        """Save a choice, or go to another item. Before anybody has signed in there is no comment."""
        data, comment = clicked(event), comment or ""
        try:
            if data.get("action") in ACTIONS:
                return self._dispute(data, work, session)
            if data.get("action") == "item":
                return self._to_item(data, comment, work, session)
            if not work.annotator:
                anew = error_html(UsageError(ANEW, "Sign in again: everything that was shown as saved is there."))
                return self.show(work, session) | {self.parts.message: anew}
            return self._act(data, comment, work, session)
        except ConflictError as error:
            shown = self.shown(work, session)
            work = replace(work, seen=shown.seen)
            return {**self.item(work, shown), self.parts.work: work, self.parts.message: error_html(error)}
        except PdfQAError as error:
            return {self.parts.message: error_html(error)}

    def _act(self, data: Click, comment: str, work: Work, session: Session) -> dict[Any, Any]:
        match data.get("action"):
            case "rate" | "rest" | "words":
                return self._save(data, comment, work, session)
            case "alone":
                work = replace(work, alone=not work.alone)
                return {**self.item(work, self.shown(work, session)), self.parts.work: work}
            case "next" | "skip" | "back" | "undo":
                self._check_comment(comment, work, session)
        match data.get("action"):
            case "next":
                return self._submit(data, work, session)
            case "skip":
                work = self._step(work, session, 1)
            case "back":
                work = self._step(work, session, -1)
            case "undo" if work.submitted:
                work = replace(self.opened(work, work.submitted), submitted="")
            case "cannot":
                seconds = self._seconds(data, work)
                self.services.studies.skip(*_where(work, session), data["reason"], seconds=seconds)
                work = replace(self.next(work, session), submitted=work.turn_id)
        return self.show(work, session)

    def _check_comment(self, comment: str, work: Work, session: Session) -> None:
        self.services.studies.check_comment(*_where(work, session), comment)

    def _submit(self, data: Click, work: Work, session: Session) -> dict[Any, Any]:
        """Submit the item if it is finished, and go on; a training item stays to be explained."""
        if not work.turn_id:
            return self.show(self.next(work, session), session)
        before = self.shown(work, session)
        done = self.services.studies.submit(*_where(work, session), seconds=self._seconds(data, work))
        training = before.item is not None and before.item.details.role is ItemRole.TRAINING
        if done and training and before.draft:
            return self.show(replace(work, submitted=work.turn_id), session)
        following = self.next(work, session)
        return self.show(replace(following, submitted=work.turn_id) if done else following, session)

    def _save(self, data: Click, comment: str, work: Work, session: Session) -> dict[Any, Any]:
        """Save a choice for the turn on the screen."""
        place = (session.owner, work.study_id, work.annotator, data["turn"])
        criterion, seconds = data["criterion"], self._seconds(data, work)
        before = self.services.studies.item(*place) if work.alone else None
        if data["action"] == "rest":
            saved = self.services.studies.save_rest(*place, criterion, seconds=seconds, draft=True)
        else:
            values = {(data["item"], criterion): data["value"]}
            saved = self.services.studies.save(
                *place, values, comment=comment, seconds=seconds, draft=True, seen=work.seen
            )
        work = replace(work, saved=saved)
        if before is not None and not annotate_view.finished(before):
            now = self.services.studies.item(*place)
            if annotate_view.finished(now) and not comment.strip():
                return self._submit(data, work, session)
        return self._saved(work, session)

    @staticmethod
    def _seconds(data: Click, work: Work) -> float:
        """Return how long the item was looked at: what the page counted, without pauses, if it can be true."""
        longest = time.monotonic() - work.opened
        try:
            counted = float(data.get("active", longest))
        except ValueError:
            counted = longest
        return round(min(max(counted, 0.0), longest), 1)

    def _saved(self, work: Work, session: Session) -> dict[Any, Any]:
        """Return what a save changes on the screen: all but the comment, which may be being typed."""
        shown = self.shown(work, session)
        work = replace(work, seen=shown.seen)
        return {
            **self.item(work, shown),
            self.parts.work: work,
            self.parts.results: self.results(work, session),
            self.parts.message: "",
        }

    def comment(self, comment: str | None, work: Work, session: Session) -> dict[Any, Any]:
        """Save the comment with the rating that keeps it, if there is one yet; else it is saved with it later."""
        try:
            saved = self.services.studies.save_comment(
                *_where(work, session), comment or "", seconds=self._seconds(Click(), work), draft=True
            )
        except PdfQAError as error:
            return {self.parts.message: error_html(error)}
        return self._saved(replace(work, saved=saved), session) if saved else {self.parts.message: ""}

    # ------------------------------------------------------------ disagreements

    def _to_item(self, data: Click, comment: str, work: Work, session: Session) -> dict[Any, Any]:
        """Open an item from the list of disagreements, to be adjudicated."""
        if work.annotator and not work.deciding:
            self._check_comment(comment, work, session)
        return self.show(replace(self.opened(work, data["turn"]), deciding=True), session)

    def _dispute(self, data: Click, work: Work, session: Session) -> dict[Any, Any]:
        if data["action"] == "decide":
            decide(self.services, session.owner, work.study_id, work.annotator, data)
            work = replace(work, saved=now(), deciding=True)
        elif data["action"] == "decide-next":
            turn = data.get("turn", "")
            work = replace(self.opened(work, turn), deciding=bool(turn))
        elif data["action"] == "own" and work.annotator:
            work = self.opened(work, work.turn_id)
        else:
            work = self.opened(work, "")
        return self.show(work, session)

    # ------------------------------------------------------------ passages and pages

    def item_clicked(self, work: Work, session: Session, event: gr.EventData) -> tuple[Any, ...]:
        """Open a passage and its page, or close it."""
        rank = clicked(event).number("rank")
        work = replace(work, rank=0 if rank == work.rank else rank)
        shown = self.deciding(work, session) if work.deciding else self.item(work, self.shown(work, session))
        return work, shown[self.parts.item], self._page(work, session) if work.rank else ""

    def page_clicked(self, work: Work, session: Session, event: gr.EventData) -> str:
        """Turn the page."""
        return self._page(work, session, clicked(event))

    def _page(self, work: Work, session: Session, request: Click | None = None) -> str:
        if work.deciding:
            place = (session.owner, work.study_id, work.annotator, work.turn_id)
            item = self.services.studies.reports.dispute(*place).item
        else:
            found = self.shown(work, session).item
            if found is None:
                return ""
            item = found
        if work.rank < 0:
            gold = item.details.gold[-work.rank - 1] if -work.rank <= len(item.details.gold) else None
            return self._gold_page(gold, work, session, request) if gold and gold.document_id else ""
        hit = next((one for one in item.turn.answer.hits if one.rank == work.rank), None)
        if hit is None:
            return ""
        return self._hit_page(hit, item.filenames.get(hit.passage.document_id, REMOVED), work, session, request)

    def _hit_page(self, hit: Hit, filename: str, work: Work, session: Session, request: Click | None) -> str:
        passage, number = hit.passage, main_page(hit.passage)
        owner = self.services.studies.page_owner(session.owner, work.study_id)
        if not self.services.documents.still_there(owner, (passage.document_id,)):
            kept = self._kept(work.study_id, passage.document_id, passage.id, number, filename)
            if kept:
                return kept
        return show_page(
            self.services,
            owner,
            passage.document_id,
            number,
            settings=session.settings,
            passage=passage,
            request=request,
            filename=filename,
        ).html

    def _gold_page(self, gold: GoldPassage, work: Work, session: Session, request: Click | None) -> str:
        number, owner = max(1, gold.page), self.services.studies.page_owner(session.owner, work.study_id)
        if not self.services.documents.still_there(owner, (gold.document_id,)):
            kept = self._kept(work.study_id, gold.document_id, "", number, gold.filename)
            if kept:
                return kept
        return show_page(
            self.services,
            owner,
            gold.document_id,
            number,
            settings=session.settings,
            request=request,
            filename=gold.filename,
        ).html

    def _kept(self, study_id: str, document_id: str, passage_id: str, number: int, filename: str) -> str:
        """Return the picture of a page that was kept when its document was removed; empty without one."""
        picture = self.services.studies.pages.picture(study_id, document_id, passage_id, number)
        if picture is None:
            return ""
        image = base64.b64encode(picture.image).decode()
        name = filename.removesuffix(" (removed)")
        return render("kept_page", image=image, mime=picture.mime, filename=name, number=picture.page)
