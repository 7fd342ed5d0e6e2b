"""What one open page remembers: ids and frozen values only. The database holds the truth."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import gradio as gr

from pdfqa_core import languages
from pdfqa_core.errors import UsageError
from pdfqa_core.models.files import knows
from pdfqa_core.services import Collection, Reading, Services
from pdfqa_core.settings import Settings
from pdfqa_core.types import Citation, Document, Turn
from pdfqa_core.ui.components import CLICK_AGAIN, plural

# ----------------------------------------------------------------------------------------------------
# What each open page is to show, so that what comes late for something else is not put on it.

MOST_PAGES = 1000  # pages that are remembered, the last ones


class Showing:
    """Which subject (a document, a conversation) each open page is to show; the last pages are remembered."""

    def __init__(self) -> None:
        self._subjects: OrderedDict[str, tuple[str, int]] = OrderedDict()

    def put(self, page: str, subject: str) -> None:
        """Note what a page is to show from now on; one without a name is not noted."""
        if not page:
            return
        self._subjects[page] = (subject, self.times(page) + 1)
        self._subjects.move_to_end(page)
        while len(self._subjects) > MOST_PAGES:
            self._subjects.popitem(last=False)

    def of(self, page: str) -> str:
        """Return what a page is to show, empty where that is not known."""
        return self._subjects.get(page, ("", 0))[0]

    def times(self, page: str) -> int:
        """Return how often something was opened on a page: it tells whether that was done again meanwhile."""
        return self._subjects.get(page, ("", 0))[1]

    def is_on(self, page: str, subject: str) -> bool:
        """Whether a page is to show this subject, as far as is known."""
        return page not in self._subjects or self.of(page) == subject


# ----------------------------------------------------------------------------------------------------
# What one open page remembers: ids and frozen values only. The database holds the truth.


@dataclass(frozen=True, slots=True)
class Session:
    """Who is looking and with which settings. `scope` are the documents and collections asked about; empty: all.

    `to_rate` is the study and the turn that the Annotate tab opens next, `to_ask` the question that the Chat tab asks
    next, in a new conversation, `collection` the one that the table of documents is narrowed to. `arrived`: the browser
    has told what it remembers, so that owner and settings are final.
    """

    owner: str = "local"
    settings: Settings = field(default_factory=Settings)
    scope: tuple[str, ...] = ()
    to_rate: tuple[str, str] = ("", "")
    to_ask: str = ""
    collection: str = ""
    arrived: bool = False


@dataclass(frozen=True, slots=True)
class Added:
    """What was just put into a study: where that was asked for, and the turns that an undo takes out, if any."""

    turn_id: str
    study_id: str
    name: str
    turn_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChatState:
    """The open conversation, the turn whose evidence is shown, the chosen hit and citation of it.

    `selected` is the sentence that fits a selection in the answer and goes before the citation. `adding` is the turn
    for which a study is being chosen, `added` what came of it.
    """

    conversation_id: str = ""
    turn_id: str = ""
    rank: int = 0
    citation: int = -1
    editing: str = ""
    selected: Citation | None = None
    adding: str = ""
    added: Added | None = None


def first_citation(turn: Turn, rank: int) -> int:
    """Return the place of the first citation of a hit, -1 if it is not cited."""
    return next((n for n, citation in enumerate(turn.answer.citations) if citation.number == rank), -1)


def shown_first(conversation_id: str, turn: Turn) -> ChatState:
    """Return the state after an answer: the lines before it, else the first passage it cites, else the best one."""
    if turn.answer.perhaps and (lines := turn.answer.nearest):
        return ChatState(conversation_id, turn.id, lines.number, selected=lines)
    if turn.answer.citations:
        return ChatState(conversation_id, turn.id, turn.answer.citations[0].number, 0)
    return ChatState(conversation_id, turn.id, turn.answer.hits[0].rank if turn.answer.hits else 0)


def quote_of(turn: Turn, state: ChatState) -> Citation | None:
    """Return what is marked in the chosen hit and on its page: what fits the selection, else the chosen citation."""
    citations = turn.answer.citations
    return state.selected or (citations[state.citation] if 0 <= state.citation < len(citations) else None)


def cited(turn: Turn, citation: int, state: ChatState) -> ChatState:
    """Return the state in which a citation of the answer is chosen. Raises UsageError if there is no such one."""
    if not 0 <= citation < len(turn.answer.citations):
        raise UsageError("This answer has no such marker.", CLICK_AGAIN)
    return replace(state, rank=turn.answer.citations[citation].number, citation=citation)


@dataclass(frozen=True, slots=True)
class OpenPage:
    """The page that is shown of a document; of any other document it is the first. Words to `find` are marked on it."""

    document_id: str = ""
    number: int = 1
    find: str = ""

    def of(self, document_id: str) -> int:
        """Return the number of the page that is shown of a document."""
        return self.number if document_id == self.document_id else 1


@dataclass(frozen=True, slots=True)
class EvaluateState:
    """The shown evaluation (its id), its baseline, which questions, and the opened one."""

    evaluation: str = ""
    baseline: str = ""
    only: str = "all"
    item: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """What fills a tab when it is opened: a handler, what it reads and what it fills.

    `on_arrival` fills, once the page knows whose it is, what other tabs need of this one before it is opened.
    `states` are what a place in the address sets (`places.py`). `js` is what the browser makes of what is read, the
    session before it.
    """

    handler: Callable[..., Any]
    inputs: list[Any]
    outputs: list[Any]
    on_arrival: Shown | None = None
    states: list[Any] = field(default_factory=list)
    js: str | None = None


# ----------------------------------------------------------------------------------------------------
# What can be asked about or searched in: collections, then documents.


def scope_label(document: Document) -> str:
    """Return what a document is called where it is chosen: twins differ in their file name only."""
    different = document.title and document.title != document.filename
    return f"{document.title} · {document.filename}" if different else document.filename


def collection_label(collection: Collection) -> str:
    """Return what a collection is called where it is chosen: "Contracts · collection of 3 documents"."""
    count = len(collection.document_ids)
    return f"{collection.name} · collection, {plural(count, 'document') if count else 'empty'}"


def scope_choice(services: Services, owner: str, scope: Sequence[str], **more: Any) -> gr.Dropdown:
    """Return the field with all that can be chosen, and what of a scope is still there; `more` is what else changes."""
    choices = [(collection_label(one), one.id) for one in services.documents.collections.kept.list(owner)]
    choices += [(scope_label(d), d.id) for d in services.documents.kept.list(owner) if d.state.usable]
    known = {key for _, key in choices}
    there = services.documents.collections.resolve(owner, scope).chosen
    return gr.Dropdown(choices=choices, value=[one for one in there if one in known], **more)


# ----------------------------------------------------------------------------------------------------
# What the page says of the languages of documents, and of an encoder that does not know them.


@dataclass(frozen=True, slots=True)
class EncoderHint:
    """What is to be said of the encoder; `offered`: another one can be had on the Models tab."""

    words: str
    offered: bool


def language_words(reading: Reading | None) -> str:
    """Return the language of a reading as it stands in a document's row; "" where it is not known."""
    return languages.title(reading.language) if reading is not None else ""


def encoder_hint(services: Services, session: Session) -> EncoderHint | None:
    """Return what to say where documents are in languages that the recipe's encoder does not know; None for nothing."""
    settings = session.settings
    if not services.index.needs_embeddings(settings):
        return None
    found = services.documents.readable(session.owner, settings)
    encoder = settings.retrieval.embedding_model
    foreign = sorted({languages.title(r.language) for _, r in found if not knows(encoder, r.language)})
    if not foreign:
        return None
    named = foreign[0] if len(foreign) == 1 else f"{', '.join(foreign[:-1])} and {foreign[-1]}"
    are, their = ("is", "its") if len(foreign) == 1 else ("are", "their")
    words = f"The encoder knows English only: {named} {are} found by {their} words, hardly by meaning."
    return EncoderHint(words, not services.models.demo)
