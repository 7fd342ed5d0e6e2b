"""The components of the chat tab, in their places."""

from __future__ import annotations

from typing import Any

import gradio as gr

from pdfqa_core.ui.components import live_html, render, switch
from pdfqa_core.ui.page_view import empty_page
from pdfqa_core.ui.session import ChatState

NO_PAGE = "Choose a passage above, or a marker in an answer, to see it on its page."


class Parts:
    """The components of the tab, in their places."""

    def __init__(self, session: gr.State) -> None:
        self.session = session
        self.state = gr.State(ChatState())
        switch("chat-columns", "Conversations", "Chat", "Evidence", chosen=2)
        with gr.Row(elem_classes=["pq-columns"], elem_id="chat-columns"):
            with gr.Column():
                self.conversations = live_html(elem_id="chat-conversations")
                self.scope = gr.Dropdown(
                    [], multiselect=True, label="Ask about", info="Documents or collections; empty: all",
                    elem_id="chat-scope", elem_classes=["pq-field"],
                )  # fmt: skip
            with gr.Column():
                with gr.Column(elem_id="chat-scroll"):
                    self.transcript = live_html(elem_id="chat-transcript")
                    self.live = live_html(elem_id="chat-live")
                    self.follow_ups = live_html(elem_id="chat-follow-ups")
                live_html(render("chat_waits"), elem_id="chat-waits")
                with gr.Row(elem_id="chat-compose"):
                    self.question = gr.Textbox(
                        lines=1, max_lines=8, label="Question", show_label=False, container=False, scale=8,
                        placeholder="Ask…", elem_id="chat-question",
                    )  # fmt: skip
                    self.send = gr.Button("Send", variant="primary", scale=0, elem_id="chat-send")
                    self.reader = live_html(elem_id="chat-reader")
                    self.stop = gr.Button(
                        "Stop", variant="stop", scale=0, visible=False, elem_id="chat-stop", elem_classes=["pq-stop"]
                    )
            with gr.Column():
                self.evidence = live_html(elem_id="chat-evidence")
                self.page = live_html(empty_page(NO_PAGE), elem_id="chat-page")
        self.file = gr.DownloadButton("download", elem_id="chat-file", elem_classes=["pq-offstage"])
        self.download = live_html(elem_id="chat-download", classes="pq-offstage")
        self.asked = gr.Button("ask", elem_id="chat-asked", elem_classes=["pq-offstage"])
        self.follow = gr.Button("follow", elem_id="chat-follow", elem_classes=["pq-offstage"])

    def everything(self) -> list[Any]:
        """Return all of them, for events that may change any."""
        return list(vars(self).values())
