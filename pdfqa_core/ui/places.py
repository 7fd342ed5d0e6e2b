"""Places of the page in its address: tab, conversation, evidence, document with its page, evaluation.

The browser writes them there (`assets/places.js`); here they are read. What an address names that is not there, or not
of this person, is left out without a word.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self
from urllib.parse import parse_qs, urlencode

import gradio as gr

from pdfqa_core.services import Services
from pdfqa_core.services.finding import LONGEST_QUERY
from pdfqa_core.ui.components import AT_ONCE, live_html, render
from pdfqa_core.ui.session import ChatState, EvaluateState, OpenPage, Session, first_citation, shown_first

# ----------------------------------------------------------------------------------------------------
# The search over everything: one field above all tabs, and what is found with a place for each.

SHORTEST = 2  # characters from which on it is searched while one types


def build_find(services: Services, session: gr.State) -> None:
    """Build the field, which is hidden until it is asked for (`assets/search.js`)."""

    def find(query: str, now: Session) -> str:
        query = (query or "").strip()
        found = services.index.finding.find(now.owner, query) if len(query) >= SHORTEST else None
        return render("found", query=query, found=found, place=place)

    with gr.Column(elem_id="pq-find"):
        field = gr.Textbox(
            label="Search titles, pages and conversations",
            show_label=False,
            container=False,
            lines=1,
            max_lines=1,
            max_length=LONGEST_QUERY,
            placeholder="Search titles, pages and conversations",
            elem_id="pq-find-field",
        )
        found = live_html(render("found", query="", found=None, place=place), elem_id="pq-found")
    field.change(find, [field, session], found, trigger_mode="always_last", **AT_ONCE)


def place(**parts: str | int) -> str:
    """Return the address of a place on the page."""
    return f"?{urlencode({name: value for name, value in parts.items() if value})}"


# ----------------------------------------------------------------------------------------------------
# Places of the page in its address: tab, conversation, evidence, document with its page, evaluation.

_NUMBER = re.compile(r"[1-9][0-9]{0,6}")


@dataclass(frozen=True, slots=True)
class Place:
    """Where one is; empty or 0: the address does not say. `find` are the words that are marked on a page."""

    tab: str = ""
    conversation: str = ""
    turn: str = ""
    passage: int = 0
    document: str = ""
    page: int = 0
    evaluation: str = ""
    find: str = ""

    @classmethod
    def read(cls, address: str) -> Self:
        """Return the place of a query such as "?tab=chat&conversation=…&turn=…&passage=2"."""
        said = {name: values[0] for name, values in parse_qs(address.removeprefix("?")[:2000]).items()}

        def number(name: str) -> int:
            return int(said[name]) if _NUMBER.fullmatch(said.get(name, "")) else 0

        return cls(
            said.get("tab", ""),
            said.get("conversation", ""),
            said.get("turn", ""),
            number("passage"),
            said.get("document", ""),
            number("page"),
            said.get("evaluation", ""),
            said.get("find", "")[:LONGEST_QUERY],
        )


def conversation_at(services: Services, owner: str, place: Place) -> tuple[ChatState, tuple[str, ...]]:
    """Return the state in which a conversation is open at a passage, and its documents; nothing of an unknown one."""
    known = {one.id: one.document_ids for one in services.answers.conversations.list(owner)}
    if place.conversation not in known:
        return ChatState(), ()
    state = ChatState(place.conversation)
    turns = services.answers.conversations.get(owner, place.conversation).turns
    if turns:
        turn = next((one for one in turns if one.id == place.turn), turns[-1])
        state = shown_first(place.conversation, turn)
        if turn.id == place.turn and any(hit.rank == place.passage for hit in turn.answer.hits):
            citation = state.citation if state.rank == place.passage else first_citation(turn, place.passage)
            state = ChatState(place.conversation, turn.id, place.passage, citation)
    return state, known[place.conversation]


def document_at(services: Services, owner: str, place: Place) -> tuple[str, OpenPage]:
    """Return the open document and its open page; nothing for an unknown one."""
    document = next((one for one in services.documents.kept.list(owner) if one.id == place.document), None)
    if document is None:
        return "", OpenPage()
    return document.id, OpenPage(document.id, min(max(1, place.page), max(1, document.page_count)), place.find)


def evaluation_at(services: Services, owner: str, place: Place) -> EvaluateState:
    """Return the state in which an evaluation is open; the newest where the place names none that is known."""
    known = any(one.id == place.evaluation for one in services.evaluation.kept.list(owner))
    return EvaluateState(place.evaluation) if known else EvaluateState()
