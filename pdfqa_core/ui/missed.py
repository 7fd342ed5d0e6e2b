"""Search all passages while one judges an answer, and mark the relevant ones that it was not shown."""

from __future__ import annotations

from typing import Protocol

import gradio as gr

from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.services import Services
from pdfqa_core.ui.components import QUIET, clicked, error_html, live_html, render
from pdfqa_core.ui.passage_text import passage_parts
from pdfqa_core.ui.session import Session


class AtWork(Protocol):
    """What the tab knows of who is rating what."""

    @property
    def study_id(self) -> str:
        """The open study."""

    @property
    def annotator(self) -> str:
        """Who is signed in."""

    @property
    def turn_id(self) -> str:
        """The turn on the screen."""


class MissedParts:
    """The components, below the item."""

    def __init__(self) -> None:
        with gr.Accordion("Search all passages for one that was missed", open=False, elem_id="annotate-missed"):
            self.query = gr.Textbox(
                label="Words of the passage", show_label=False, placeholder="words of the passage", lines=1,
                max_length=500, elem_id="annotate-missed-query", elem_classes=["pq-field"],
            )  # fmt: skip
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

    def search(self, query: str, work: AtWork, session: Session, said: str = "") -> str:
        """Return the passages that hold the words."""
        try:
            found = self.services.missed.search(*_where(work, session), query or "", session.settings)
        except PdfQAError as error:
            return error_html(error)
        cards = [(one, passage_parts(one.hit.passage.text, query, language=one.hit.passage.language)) for one in found]
        return said + render("missed", cards=cards, turn=work.turn_id)

    def clicked(self, query: str, work: AtWork, session: Session, event: gr.EventData) -> str:
        """Mark a passage as missed, or take that back."""
        data, said = clicked(event), ""
        try:
            if data["turn"] != work.turn_id:
                raise UsageError("Another item is open by now.", "Search for it once more.")
            where = _where(work, session)
            found = self.services.missed.search(*where, query or "", session.settings)
            self.services.missed.mark(*where, found, data["passage"], relevant=data["action"] == "missed")
        except PdfQAError as error:
            said = error_html(error)
        return self.search(query, work, session, said)


def _where(work: AtWork, session: Session) -> tuple[str, str, str, str]:
    return session.owner, work.study_id, work.annotator, work.turn_id
