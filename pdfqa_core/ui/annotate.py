"""The Annotate tab: two people rate the same answers without seeing each other's ratings; agreement appears after."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import gradio as gr

from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.exports.ratings import rating_rows, ratings_csv, ratings_jsonl
from pdfqa_core.protocols import annotation
from pdfqa_core.services import Services
from pdfqa_core.storage import StudyTurn
from pdfqa_core.types import Rating, Study, Turn
from pdfqa_core.ui import annotate_view, downloads
from pdfqa_core.ui.components import AT_ONCE, clicked, error_html, guarded, live_html, switch
from pdfqa_core.ui.page_view import main_page, show_page
from pdfqa_core.ui.session import Session, Shown

START = "Choose a study and sign in on the right. A study is a set of answered questions that two people rate."
NO_TURNS = "Ask some questions in the Chat tab first; then make a study of those conversations here."

# The page sends one choice after the other (`app.js`); should it not wait, none may be dropped.
NEVER_DROPPED: dict[str, Any] = {**AT_ONCE, "trigger_mode": "multiple"}


@dataclass(frozen=True, slots=True)
class Work:
    """The open study, who is rating, the turn on screen, when it was opened (seconds of a clock), the last save."""

    study_id: str = ""
    annotator: str = ""
    turn_id: str = ""
    opened: float = 0.0
    saved: datetime | None = None
    rank: int = 0


@dataclass(frozen=True, slots=True)
class Parts:
    """The components that handlers fill."""

    session: gr.State
    work: gr.State
    item: gr.HTML
    page: gr.HTML
    sign_in: gr.Group
    study: gr.Dropdown
    name: gr.Textbox
    conversations: gr.Dropdown
    rating: gr.Group
    who: gr.Button
    form: gr.HTML
    comment: gr.Textbox
    bar: gr.HTML
    results: gr.HTML
    message: gr.HTML

    def everything(self) -> list[Any]:
        """Return all of them."""
        return [getattr(self, name) for name in self.__slots__]


def build(services: Services, session: gr.State) -> Shown:
    """Build the tab."""
    work = gr.State(Work())
    switch("annotate-columns", "Item", "Form", chosen=2)
    with gr.Row(elem_classes=["pq-columns"], elem_id="annotate-columns"):
        with gr.Column():
            item = live_html(annotate_view.no_item_html(START), elem_id="annotate-item")
            page = live_html(elem_id="annotate-page")
        with gr.Column():
            message = live_html(elem_id="annotate-message")
            with gr.Group() as sign_in:
                study = gr.Dropdown([], label="Study", elem_id="annotate-study")
                name = gr.Textbox(label="Your name", elem_id="annotate-name", max_length=80)
                begin = gr.Button("Sign in and rate", variant="primary", elem_id="annotate-begin")
                with gr.Accordion("New study", open=False, elem_id="annotate-new"):
                    conversations = gr.Dropdown([], multiselect=True, label="Conversations")
                    study_name = gr.Textbox(label="Name of the study", max_length=120, elem_id="annotate-study-name")
                    create = gr.Button("Make study", elem_id="annotate-create")
            with gr.Group(visible=False) as rating:
                form = live_html(elem_id="annotate-form", padding=True)
                comment = gr.Textbox(
                    label="Comment (C)", lines=2, max_lines=4, elem_id="annotate-comment",
                    placeholder="optional, saved with the answer", elem_classes=["pq-field"],
                )  # fmt: skip
                bar = live_html(elem_id="annotate-bar", padding=True)
                who = gr.Button("Sign out", size="sm", elem_id="annotate-sign-out")
            results = live_html(elem_id="annotate-results")
            with gr.Row():
                csv = gr.Button("Ratings as CSV", size="sm", elem_id="annotate-csv")
                jsonl = gr.Button("Ratings as JSONL", size="sm", elem_id="annotate-jsonl")
            file = gr.DownloadButton("download", elem_id="annotate-file", elem_classes=["pq-offstage"])
    parts = Parts(
        session, work, item, page, sign_in, study, name, conversations, rating, who, form, comment, bar, results,
        message,
    )  # fmt: skip
    handlers = Handlers(services, parts)
    outputs = parts.everything()
    begin.click(handlers.begin, [study, name, work, session], outputs, **AT_ONCE)
    name.submit(handlers.begin, [study, name, work, session], outputs, **AT_ONCE)
    study.input(handlers.choose, [study, work, session], outputs, **AT_ONCE)
    create.click(handlers.create, [study_name, conversations, work, session], outputs, **AT_ONCE)
    who.click(handlers.sign_out, [work, session], outputs, **AT_ONCE)
    for clickable in (form, bar, results):
        clickable.click(handlers.form_clicked, [comment, work, session], outputs, **NEVER_DROPPED)
    comment.blur(handlers.comment, [comment, work, session], outputs, **AT_ONCE)
    item.click(guarded(handlers.item_clicked), [work, session], [work, item, page], **AT_ONCE)
    page.click(guarded(handlers.page_clicked), [work, session], page, **AT_ONCE)
    fetch = "() => setTimeout(() => document.querySelector('#annotate-file').click(), 300)"
    for button, kind in ((csv, "csv"), (jsonl, "jsonl")):
        made = button.click(guarded(_exporting(handlers, kind)), [work, session], file, **AT_ONCE)
        made.success(None, None, None, js=fetch)
    return Shown(handlers.arrive, [work, session], outputs)


def _exporting(handlers: Handlers, kind: str) -> Any:
    def export(work: Work, session: Session) -> str:
        return handlers.export(kind, work, session)

    return export


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

    def show(self, work: Work, session: Session, message: str = "", study: Study | None = None) -> dict[Any, Any]:
        """Return the whole tab."""
        store, parts = self.services.store, self.parts
        studies = store.studies.list(session.owner)
        if work.study_id not in {one.id for one in studies}:
            work = Work(studies[0].id if studies else "")
        conversations = [c for c in store.conversations.list(session.owner) if c.turn_count]
        update: dict[Any, Any] = {
            parts.study: gr.Dropdown(choices=[(s.name, s.id) for s in studies], value=work.study_id or None),
            parts.conversations: gr.Dropdown(
                choices=[(f"{c.title} ({c.turn_count})", c.id) for c in conversations],
            ),
            parts.message: message,
            parts.page: "",
            parts.name: gr.Textbox(value=""),
        }
        signed_in = bool(work.study_id and work.annotator)
        update[parts.sign_in] = gr.Group(visible=not signed_in)
        update[parts.rating] = gr.Group(visible=signed_in)
        update[parts.who] = gr.Button(f"{work.annotator}: sign out")
        update[parts.results] = self._results(work, session)
        if not signed_in:
            hint = START if studies or conversations else NO_TURNS
            update.update({parts.work: work, parts.item: annotate_view.no_item_html(hint)})
            return update
        update.update(self._item(work, session))
        return update

    def _turns(self, work: Work, session: Session) -> tuple[StudyTurn, ...]:
        return self.services.studies.turns(session.owner, work.study_id)

    def _item(self, work: Work, session: Session) -> dict[Any, Any]:
        parts, store = self.parts, self.services.store
        study = store.studies.get(session.owner, work.study_id)
        turns = self._turns(work, session)
        ratings = store.studies.ratings(work.study_id, work.annotator)
        queue = annotation.order(study, work.annotator)
        progress = annotation.progress([one.turn for one in turns], ratings, work.annotator)
        one = next((one for one in turns if one.turn.id == work.turn_id), None)
        if one is None:
            return {
                parts.work: work,
                parts.item: annotate_view.no_item_html("", finished=True, total=progress.total),
                parts.form: "",
                parts.bar: annotate_view.bar_html(progress.done, progress),
                parts.comment: gr.Textbox(value="", interactive=False),
            }
        own = annotate_view.own_values(one.turn, ratings, work.annotator)
        answer = own.get((one.turn.id, "answer"))
        return {
            parts.work: work,
            parts.item: annotate_view.item_html(one, own, work.rank),
            parts.form: annotate_view.form_html(one.turn, own, work.saved),
            parts.bar: annotate_view.bar_html(queue.index(one.turn.id) + 1, progress),
            parts.comment: gr.Textbox(value=answer.comment if answer else "", interactive=True),
        }

    def _results(self, work: Work, session: Session) -> str:
        """Return progress, and agreement once nobody's open items could be influenced by it."""
        if not work.study_id:
            return ""
        store = self.services.studies
        turns = [one.turn for one in self._turns(work, session)]
        ratings, names = store.ratings(work.study_id), store.annotators(work.study_id)
        steps = {name: annotation.progress(turns, ratings, name) for name in names}
        progress = [(name, step.done, step.total) for name, step in steps.items()]
        waiting = self._waiting(work, turns, ratings, names)
        names = tuple(name for name, step in steps.items() if step.done == step.total)
        if len(names) < 2 and not waiting:
            return annotate_view.results_html(progress, "Agreement appears here when two people have rated.")
        if waiting:
            words = f"Agreement appears when everybody has finished; still rating: {', '.join(waiting)}."
            return annotate_view.results_html(progress, words)
        pair = (work.annotator, next(n for n in names if n != work.annotator)) if work.annotator else names[:2]
        pair = tuple(sorted(pair, key=names.index))
        return annotate_view.results_html(
            progress,
            "",
            annotation.agreement_table(ratings, (pair[0], pair[1])),
            annotation.disagreements(turns, ratings, (pair[0], pair[1]), store.adjudications(work.study_id)),
            {turn.id: turn.question for turn in turns},
        )

    @staticmethod
    def _waiting(work: Work, turns: Sequence[Turn], ratings: Sequence[Rating], names: Sequence[str]) -> list[str]:
        """Return who is still rating: those who have begun, and whoever is signed in here."""
        begun = {rating.annotator for rating in ratings} | {work.annotator}
        steps = {name: annotation.progress(turns, ratings, name) for name in names if name in begun}
        return [name for name, step in steps.items() if step.done < step.total]

    # ------------------------------------------------------------ studies and annotators

    def choose(self, study_id: str, work: Work, session: Session) -> dict[Any, Any]:
        """Show another study."""
        return self.show(Work(study_id or ""), session)

    def create(self, name: str, conversations: list[str], work: Work, session: Session) -> dict[Any, Any]:
        """Make a study of the chosen conversations."""
        try:
            seed = int(time.time())
            study = self.services.studies.create(session.owner, name, conversations, seed)
        except PdfQAError as error:
            return {self.parts.message: error_html(error)}
        return self.show(Work(study.id), session)

    def begin(self, study_id: str, name: str, work: Work, session: Session) -> dict[Any, Any]:
        """Sign in by name and open the first unrated item."""
        store = self.services.studies
        try:
            if not study_id:
                raise UsageError("There is no study to rate yet.", "Make one below under “New study”.")
            store.get(session.owner, study_id)
            annotator = store.sign_in(study_id, name)
        except PdfQAError as error:
            return {self.parts.message: error_html(error)}
        return self.show(self._next(Work(study_id, annotator), session), session)

    def sign_out(self, work: Work, session: Session) -> dict[Any, Any]:
        """Leave the form to the next annotator."""
        return self.show(Work(work.study_id), session)

    # ------------------------------------------------------------ rating

    def _next(self, work: Work, session: Session) -> Work:
        study = self.services.studies.get(session.owner, work.study_id)
        turns = [one.turn for one in self._turns(work, session)]
        ratings = self.services.studies.ratings(work.study_id, work.annotator)
        queue = annotation.order(study, work.annotator)
        turn_id = annotation.next_unrated(turns, ratings, work.annotator, queue, work.turn_id or None)
        return self._opened(work, turn_id or "")

    @staticmethod
    def _opened(work: Work, turn_id: str) -> Work:
        return Work(work.study_id, work.annotator, turn_id, time.monotonic())

    def form_clicked(self, comment: str, work: Work, session: Session, event: gr.EventData) -> dict[Any, Any]:
        """Save a choice, or go to another item."""
        data = clicked(event)
        try:
            match data.get("action"):
                case "intent" | "answer" | "passage" | "rest":
                    return self._save(data, comment, work, session)
                case "next" | "skip" | "back" | "item":
                    self._check_comment(comment, work, session)
            match data.get("action"):
                case "next":
                    work = self._next(work, session)
                case "skip":
                    work = self._step(work, session, 1)
                case "back":
                    work = self._step(work, session, -1)
                case "item" if work.annotator:
                    work = self._opened(work, data["turn"])
            return self.show(work, session)
        except PdfQAError as error:
            return {self.parts.message: error_html(error)}

    def _check_comment(self, comment: str, work: Work, session: Session) -> None:
        """Raise UsageError if leaving the item would lose a comment: it is stored with the answer's rating."""
        if not comment.strip() or not work.turn_id or not work.annotator:
            return
        ratings = self.services.studies.ratings(work.study_id, work.annotator)
        if not any(r.item_id == work.turn_id and r.criterion == "answer" for r in ratings):
            raise UsageError(
                "The comment is not saved yet, because it is kept with the answer's rating.",
                "Choose correct or incorrect first, or empty the comment.",
            )

    def _step(self, work: Work, session: Session, by: int) -> Work:
        study = self.services.studies.get(session.owner, work.study_id)
        queue = annotation.order(study, work.annotator)
        if work.turn_id not in queue:
            return self._opened(work, queue[-1])
        return self._opened(work, queue[(queue.index(work.turn_id) + by) % len(queue)])

    def _turn(self, work: Work, session: Session) -> Turn:
        turn = next((one.turn for one in self._turns(work, session) if one.turn.id == work.turn_id), None)
        if turn is None or not work.annotator:
            raise UsageError("No item is open.", "Sign in, then press “next unrated”.")
        return turn

    def _save(self, data: dict[str, str], comment: str, work: Work, session: Session) -> dict[Any, Any]:
        turn = self._turn(replace(work, turn_id=data.get("turn", work.turn_id)), session)  # the one on the screen
        store = self.services.studies
        values, intent = {}, ""
        match data["action"]:
            case "intent":
                intent = data["value"]
            case "answer":
                values[turn.id] = data["value"]
            case "passage":
                values[data["item"]] = data["value"]
            case "rest":
                own = annotate_view.own_values(turn, store.ratings(work.study_id, work.annotator), work.annotator)
                rated = {item for item, criterion in own if criterion == "passage"}
                ids = [f"{turn.id}#{hit.rank}" for hit in turn.answer.hits]
                values = {item: "0" for item in ids if item not in rated}
        comment = comment.strip() if turn.id in values else ""
        return self._store(turn, values, intent, comment, work, session)

    def _store(
        self, turn: Turn, values: dict[str, str], intent: str, comment: str, work: Work, session: Session
    ) -> dict[Any, Any]:
        now = datetime.now(UTC)
        ratings: Sequence[Rating] = annotation.form_ratings(
            work.study_id, turn, work.annotator, values, rated_at=now, intent=intent, comment=comment,
            seconds=round(time.monotonic() - work.opened, 1),
        )  # fmt: skip
        self.services.studies.save_ratings(ratings)
        work = replace(work, saved=now)
        update = self._item(work, session)
        update.pop(self.parts.comment, None)
        return {**update, self.parts.results: self._results(work, session), self.parts.message: ""}

    def comment(self, comment: str, work: Work, session: Session) -> dict[Any, Any]:
        """Save the comment with the answer's rating, if there is one yet; else it is saved with it later."""
        try:
            turn = self._turn(work, session)
            ratings = self.services.studies.ratings(work.study_id, work.annotator)
            own = annotate_view.own_values(turn, ratings, work.annotator).get((turn.id, "answer"))
            if own is None or own.comment == comment.strip():
                return {self.parts.message: ""}
            return self._store(turn, {turn.id: own.value}, "", comment.strip(), work, session)
        except PdfQAError as error:
            return {self.parts.message: error_html(error)}

    # ------------------------------------------------------------ pages and files

    def item_clicked(self, work: Work, session: Session, event: gr.EventData) -> tuple[Any, ...]:
        """Show the page of a passage."""
        rank = int(clicked(event).get("rank", 0))
        work = replace(work, rank=0 if rank == work.rank else rank)
        shown = self._item(work, session)
        return work, shown[self.parts.item], self._page(work, session) if work.rank else ""

    def page_clicked(self, work: Work, session: Session, event: gr.EventData) -> str:
        """Turn the page."""
        return self._page(work, session, clicked(event))

    def _page(self, work: Work, session: Session, request: Mapping[str, str] | None = None) -> str:
        hit = next((h for h in self._turn(work, session).answer.hits if h.rank == work.rank), None)
        if hit is None:
            return ""
        passage = hit.passage
        return show_page(
            self.services, session.owner, passage.document_id, main_page(passage), settings=session.settings,
            passage=passage, request=request,
        ).html  # fmt: skip

    def export(self, kind: str, work: Work, session: Session) -> str:
        """Write the ratings that may be seen into a file for the browser: one's own, all once everybody is done."""
        store = self.services.studies
        study = store.get(session.owner, work.study_id)
        turns = self._turns(work, session)
        ratings = store.ratings(work.study_id)
        plain = [one.turn for one in turns]
        if self._waiting(work, plain, ratings, store.annotators(work.study_id)):
            if not work.annotator:
                raise UsageError(
                    "Somebody is still rating, so all ratings cannot be shown yet.",
                    "Sign in to download your own, or use: pdfqa export ratings",
                )
            ratings = tuple(rating for rating in ratings if rating.annotator == work.annotator)
        rows = rating_rows(study, turns, ratings, store.adjudications(work.study_id))
        data = ratings_csv(rows) if kind == "csv" else ratings_jsonl(rows)
        name = "".join(c if c.isalnum() else "-" for c in study.name).strip("-") or "study"
        return downloads.write(f"ratings-{name}.{kind}", data)
