"""The search over everything: one field above all tabs, and what is found with a place for each."""

from __future__ import annotations

from urllib.parse import urlencode

import gradio as gr

from pdfqa_core.services import Services
from pdfqa_core.services.found_words import LONGEST_QUERY
from pdfqa_core.ui.components import AT_ONCE, live_html, render
from pdfqa_core.ui.session import Session

SHORTEST = 2  # characters from which on it is searched while one types


def build_find(services: Services, session: gr.State) -> None:
    """Build the field, which is hidden until it is asked for (`assets/search.js`)."""

    def find(query: str, now: Session) -> str:
        return found_html(services, query, now)

    with gr.Column(elem_id="pq-find"):
        field = gr.Textbox(
            label="Search titles, pages and conversations", show_label=False, container=False, lines=1, max_lines=1,
            max_length=LONGEST_QUERY, placeholder="Search titles, pages and conversations", elem_id="pq-find-field",
        )  # fmt: skip
        found = live_html(render("found", query="", found=None, place=place), elem_id="pq-found")
    field.change(find, [field, session], found, trigger_mode="always_last", **AT_ONCE)


def found_html(services: Services, query: str, now: Session) -> str:
    """Return what is found for a query, each with the place that it opens."""
    query = (query or "").strip()
    found = services.finding.find(now.owner, query) if len(query) >= SHORTEST else None
    return render("found", query=query, found=found, place=place)


def place(**parts: str | int) -> str:
    """Return the address of a place on the page."""
    return f"?{urlencode({name: value for name, value in parts.items() if value})}"
