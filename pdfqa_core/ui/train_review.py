"""Looking over questions on the Train tab: one after the other, by keys, each beside its passage on its page."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import gradio as gr

from pdfqa_core.errors import UsageError
from pdfqa_core.services import Outcome, Services, SyntheticQuestion
from pdfqa_core.synthesis import RULES
from pdfqa_core.types import Passage
from pdfqa_core.ui import downloads
from pdfqa_core.ui.components import Click, clicked, render
from pdfqa_core.ui.evaluate_setup import ACCEPTED_QUESTIONS
from pdfqa_core.ui.page_view import main_page, show_page
from pdfqa_core.ui.session import Session
from pdfqa_core.ui.train_parts import ACCEPTED, DROPPED, REJECTED, WAITING, Parts, TrainState
from pdfqa_core.ui.train_view import pages_of

OUTCOMES = {
    WAITING: Outcome.NEW, ACCEPTED: Outcome.ACCEPTED, REJECTED: Outcome.REJECTED, DROPPED: Outcome.DROPPED,
}  # fmt: skip
DECISIONS = {"accept": Outcome.ACCEPTED, "reject": Outcome.REJECTED, "edit-question": Outcome.ACCEPTED}
MOST_UNDO = 50
NAMES = {"jsonl": "questions.jsonl", "beir": "questions-beir.zip"}


class Review:
    """Decides about questions; each decision is stored before the next question is shown."""

    def __init__(self, services: Services, parts: Parts) -> None:
        self.services = services
        self.parts = parts

    # ------------------------------------------------------------ showing

    def shown(self, state: TrainState, session: Session) -> dict[Any, Any]:
        """Return the question in review with its passage and page, and what accepted ones are good for."""
        every = self.services.synthesis.list(session.owner)
        accepted = sum(one.outcome is Outcome.ACCEPTED for one in every)
        queue = self._queue(every, state)
        chosen = next((one for one in queue if one.id == state.question), queue[0] if queue else None)
        state = replace(state, question=chosen.id if chosen else "")
        return {
            self.parts.state: state,
            self.parts.card: self._card(chosen, queue, every, accepted, state, session),
            self.parts.page: self._page(chosen, session, Click()) if chosen else "",
            self.parts.sets: render("train_sets", accepted=accepted, name=ACCEPTED_QUESTIONS),
            self.parts.files: gr.Column(visible=accepted > 0),
            self.parts.only: gr.Radio(value=state.only),
        }

    @staticmethod
    def _queue(every: Sequence[SyntheticQuestion], state: TrainState) -> list[SyntheticQuestion]:
        """Return the questions of the filter in their order, the skipped ones last."""
        wanted = [one for one in every if one.outcome is OUTCOMES[state.only]]
        places = {name: place for place, name in enumerate(state.skipped, start=1)}
        return sorted(wanted, key=lambda one: places.get(one.id, 0))

    def _card(
        self, chosen: SyntheticQuestion | None, queue: Sequence[SyntheticQuestion], every: Sequence[SyntheticQuestion],
        accepted: int, state: TrainState, session: Session,
    ) -> str:  # fmt: skip
        living = [one for one in every if one.outcome is not Outcome.DROPPED]
        looked = sum(one.outcome is not Outcome.NEW for one in living)
        if chosen is None:
            return render(
                "train_review", question=None, made=len(living), only=state.only, accepted=accepted,
                undo=bool(state.undo),
            )  # fmt: skip
        name = self.services.documents.names(session.owner).get(chosen.document_id, "")
        return render(
            "train_review", question=chosen, position=queue.index(chosen) + 1, total=len(queue), only=state.only,
            accepted=accepted, looked=looked, of=len(living), undo=bool(state.undo),
            maker="rules" if chosen.kind == RULES else f"{chosen.model}, {chosen.kind}",
            place=f"{name}, {pages_of(chosen)}",
        )  # fmt: skip

    def _page(self, one: SyntheticQuestion, session: Session, request: Click) -> str:
        passage = Passage(one.passage_id, one.spans, one.passage)
        name = self.services.documents.names(session.owner).get(one.document_id, "the document")
        return show_page(
            self.services, session.owner, one.document_id, main_page(passage), settings=session.settings,
            passage=passage, request=request, filename=name,
        ).html  # fmt: skip

    # ------------------------------------------------------------ deciding

    def clicked(self, state: TrainState, session: Session, event: gr.EventData) -> TrainState:
        """Do what a button of the card says; returns the state after it."""
        data = clicked(event)
        match data.get("action"):
            case "accept" | "reject" | "edit-question":
                return self._decided(data, state, session)
            case "later":
                name = data["question"]
                return replace(state, question="", skipped=(*(one for one in state.skipped if one != name), name))
            case "back":
                queue = self._queue(self.services.synthesis.list(session.owner), state)
                place = next((n for n, one in enumerate(queue) if one.id == data["question"]), 0)
                return replace(state, question=queue[max(0, place - 1)].id if queue else "")
            case "undo" if state.undo:
                before = state.undo[-1]
                self.services.synthesis.restore(session.owner, before)
                only = next(name for name, outcome in OUTCOMES.items() if outcome is before.outcome)
                return replace(state, undo=state.undo[:-1], question=before.id, only=only)
            case "step":
                return replace(state, step=data["step"])
        return state

    def _decided(self, data: Click, state: TrainState, session: Session) -> TrainState:
        text = data.get("text", "")
        if data["action"] == "edit-question" and not text.strip():
            raise UsageError("The question has no words.", "Type some, or reject it.")
        every = self.services.synthesis.list(session.owner)
        before = next((one for one in every if one.id == data["question"]), None)
        if before is None:
            raise UsageError("There is no such question here.", "It may have been removed with its document.")
        queue = self._queue(every, state)
        place = next((n for n, one in enumerate(queue) if one.id == before.id), -1)
        self.services.synthesis.decide(session.owner, before.id, DECISIONS[data["action"]], text)
        following = queue[place + 1].id if 0 <= place < len(queue) - 1 else ""
        return replace(state, undo=(*state.undo, before)[-MOST_UNDO:], question=following)

    def page_clicked(self, state: TrainState, session: Session, event: gr.EventData) -> Any:
        """Turn the page beside the question."""
        found = [one for one in self.services.synthesis.list(session.owner) if one.id == state.question]
        return self._page(found[0], session, clicked(event)) if found else gr.skip()

    # ------------------------------------------------------------ files

    def download(self, kind: str, session: Session) -> str:
        """Return the path of the accepted questions as a file; `kind` is one of NAMES."""
        chosen, owner = (Outcome.ACCEPTED,), session.owner
        if kind == "beir":
            files, _ = self.services.synthesis.beir_files(owner, chosen, session.settings)
            packed = io.BytesIO()
            with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
                for name, data in files.items():
                    archive.writestr(name, data)
            return downloads.write(NAMES[kind], packed.getvalue())
        data, _ = self.services.synthesis.questions_file(owner, chosen)
        return downloads.write(NAMES[kind], data)
