"""The components of the Annotate tab, in their places, and what it remembers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import gradio as gr

from pdfqa_core.ui import annotate_view
from pdfqa_core.ui.annotate_import import ImportParts
from pdfqa_core.ui.annotate_new import NewStudyParts
from pdfqa_core.ui.annotate_results import ResultParts
from pdfqa_core.ui.components import live_html, switch
from pdfqa_core.ui.invite import People
from pdfqa_core.ui.mahueval import ProtocolParts
from pdfqa_core.ui.missed import MissedParts

NO_STUDY = "There is no study yet. Open “New study” to make one: a set of answered questions that two people rate."
START = "Choose a study and sign in on the right. A study is a set of answered questions that two people rate."
FILES = {"csv": "Ratings as CSV", "jsonl": "Ratings as JSONL", "parquet": "Parquet", "latex": "LaTeX"}


@dataclass(frozen=True, slots=True)
class Work:
    """The open study, who is rating, the turn on screen, when it was opened (seconds of a clock), the last save.

    `rank` is the open passage (below 0: of the gold answer), `seen` what the form showed last (see RatingItem),
    `submitted` the turn that was submitted last, `alone`: a finished item is submitted without Enter, `deciding`: the
    turn is open to be adjudicated.
    """

    study_id: str = ""
    annotator: str = ""
    turn_id: str = ""
    opened: float = 0.0
    saved: datetime | None = None
    rank: int = 0
    seen: int = 0
    submitted: str = ""
    alone: bool = False
    deciding: bool = False


class Parts:
    """The components of the tab, in their places."""

    def __init__(self, session: gr.State) -> None:
        self.session = session
        self.work = gr.State(Work())
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
                        label="Comment (C)", lines=2, max_lines=4, elem_id="annotate-comment",
                        placeholder="optional, saved with the answer", elem_classes=["pq-field"],
                    )  # fmt: skip
                    self.bar = live_html(elem_id="annotate-bar", padding=True)
                self.dispute = live_html(elem_id="annotate-dispute")
                self.who = gr.Button("Sign out", size="sm", elem_id="annotate-sign-out", visible=False)
                self.results = live_html(elem_id="annotate-results")
                with gr.Row():
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
            self.session, self.work, self.item, self.page, self.message, self.sign_in, self.study, self.names,
            self.name, self.begin, self.own, self.spreadsheet.fold, self.manage, self.new.conversations,
            self.new.run, self.rating, self.form, self.comment, self.bar, self.dispute, self.who,
            self.results, self.missing, *self.reports.all(), *self.protocol.all(),
        ]  # fmt: skip
