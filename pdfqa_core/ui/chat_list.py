"""What the list of conversations does: open one, begin a new one, rename, delete."""

from __future__ import annotations

from dataclasses import replace

from pdfqa_core.services import Services
from pdfqa_core.ui.components import Click
from pdfqa_core.ui.session import ChatState, Session, shown_first

OPENING = ("new", "open")  # what leads to another conversation
LONGEST_NAME = 200  # characters


def act(services: Services, data: Click, state: ChatState, session: Session) -> tuple[ChatState, Session]:
    """Do what a click on the list asks for; return what is open then, and what is asked about."""
    chosen = data.get("conversation", "")
    match data.get("action"):
        case "new":
            return ChatState(), replace(session, scope=())  # the choice belongs to the conversation that was left
        case "open":
            conversation = services.conversations.get(session.owner, chosen)
            state = shown_first(chosen, conversation.turns[-1]) if conversation.turns else ChatState(chosen)
            return state, replace(session, scope=conversation.document_ids)
        case "rename":
            services.conversations.rename(session.owner, chosen, data.get("text", "")[:LONGEST_NAME])
        case "delete":
            services.answering.stop(session.owner, chosen)
            services.conversations.delete(session.owner, chosen)
            if state.conversation_id == chosen:
                return ChatState(), session
    return state, session
