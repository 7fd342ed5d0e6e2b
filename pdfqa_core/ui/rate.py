"""What is said of an answer in the Chat tab: a thumb, and which study it goes into. The tab stays where it is."""

from __future__ import annotations

from dataclasses import replace

from pdfqa_core.services import Services
from pdfqa_core.types import Thumb
from pdfqa_core.ui.chat_view import Studying
from pdfqa_core.ui.components import Click
from pdfqa_core.ui.session import Added, ChatState, Session

ACTIONS = ("thumb", "studies", "study", "new-study", "undo-study")


def studying(services: Services, state: ChatState, session: Session) -> Studying:
    """Return what the transcript shows of studies: those to choose from, or what was done."""
    choices = services.studies.open_studies(session.owner) if state.adding else ()
    full = len(services.studies.list(session.owner)) - len(choices) if state.adding else 0
    return Studying(state.adding, tuple((study.id, study.name) for study in choices), state.added, full)


def act(services: Services, data: Click, state: ChatState, session: Session) -> ChatState:
    """Do what a button below an answer says and return the new state of the tab."""
    owner, turn_id = session.owner, data["turn"]
    done, state = state.added, replace(state, adding="", added=None)
    match data["action"]:
        case "thumb":
            services.conversations.set_thumb(owner, turn_id, Thumb(data["thumb"]))
        case "studies":
            return replace(state, adding=turn_id)
        case "study":
            return replace(state, added=_add(services, owner, data["study"], turn_id))
        case "new-study":
            study = services.studies.create_of(owner, state.conversation_id, turn_id if data["what"] == "turn" else "")
            return replace(state, added=Added(turn_id, study.id, study.name, study.turn_ids))
        case "undo-study" if done is not None:
            services.studies.take_out(owner, done.study_id, done.turn_ids)
    return state


def _add(services: Services, owner: str, study_id: str, turn_id: str) -> Added:
    known = next((study for study in services.studies.list(owner) if study.id == study_id), None)
    if known is not None and turn_id in known.turn_ids:
        return Added(turn_id, known.id, known.name)
    study = services.studies.add(owner, study_id, turn_id)
    return Added(turn_id, study.id, study.name, (turn_id,))
