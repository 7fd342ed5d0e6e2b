"""The Documents tab: add PDFs, see how reading each of them ended, look at their pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import gradio as gr

from pdfqa_core.errors import PdfQAError
from pdfqa_core.ingest import Source
from pdfqa_core.services import Services
from pdfqa_core.types import Document, DocumentState, Progress
from pdfqa_core.ui.components import AT_ONCE, QUIET, clicked, error_html, guarded, live_html, plural, render, switch
from pdfqa_core.ui.page_view import empty_page, page_html
from pdfqa_core.ui.session import Session, Shown

NO_PAGE = "Choose a document to see its pages here."
_TONES = {
    DocumentState.READY: "ok",
    DocumentState.PARTIAL: "warn",
    DocumentState.ENCRYPTED: "warn",
    DocumentState.NO_TEXT: "warn",
}


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table."""

    id: str
    title: str
    filename: str
    pages: int
    passages: int
    words: str
    tone: str
    reason: str
    size: int
    added_at: datetime


@dataclass(frozen=True, slots=True)
class WorkItem:
    """A piece of work under way, as `work.html` shows it."""

    words: str
    done: int = 0
    total: int = 0

    @property
    def percent(self) -> float:
        """How far it is."""
        return 100 * self.done / self.total if self.total else 0


def state_words(document: Document) -> str:
    """Return a document's state in the words of the screen."""
    match document.state:
        case DocumentState.PARTIAL:
            return f"ready, {plural(len(document.pages_without_text), 'page')} without text"
        case DocumentState.ENCRYPTED:
            return "needs a password"
        case _:
            return str(document.state)


def work_html(*steps: Progress) -> str:
    """Return progress bars, one per step."""
    return render("work", items=[WorkItem(step.phase, step.done, step.total) for step in steps])


class Handlers:
    """What the tab does."""

    def __init__(self, services: Services) -> None:
        self.services = services

    def table(self, session: Session, chosen: str = "") -> str:
        """Return the table of the owner's documents."""
        counts = self.services.passage_counts(session.owner, session.settings)
        documents = self.services.store.documents.list(session.owner)
        rows = [
            Row(
                d.id, d.title or d.filename, d.filename, d.page_count, counts.get(d.id, 0), state_words(d),
                _TONES.get(d.state, "bad"), d.reason, d.size, d.added_at,
            )
            for d in documents
        ]  # fmt: skip
        has_sample = self.services.has_sample(session.owner)
        return render("documents", documents=rows, chosen=chosen, has_sample=has_sample)

    def show(self, session: Session, chosen: str) -> tuple[Any, ...]:
        """Return table, page and password field for the chosen document."""
        document = self._find(session, chosen)
        if document is None:
            return self.table(session), empty_page(NO_PAGE), gr.Group(visible=False)
        locked = document.state is DocumentState.ENCRYPTED
        return self.table(session, chosen), self._page(session, document, 1), gr.Group(visible=locked)

    def _find(self, session: Session, document_id: str) -> Document | None:
        return next((d for d in self.services.store.documents.list(session.owner) if d.id == document_id), None)

    def _page(self, session: Session, document: Document, number: int) -> str:
        if not document.page_count or document.state is DocumentState.ENCRYPTED:
            return empty_page(f"{document.filename} has no pages to show: {document.reason or state_words(document)}")
        try:
            return page_html(self.services, session.owner, document.id, number, regions=True, with_text=True)
        except PdfQAError as error:
            return error_html(error)

    def add(self, files: Sequence[str] | None, session: Session, request: gr.Request) -> Iterator[tuple[Any, ...]]:
        """Read the uploaded files one after the other; Gradio's copies are deleted."""
        paths = [Path(file) for file in files or ()]
        try:
            yield from self._ingest(paths, session, request)
        finally:
            for path in paths:
                path.unlink(missing_ok=True)

    def unlock(self, password: str, chosen: str, session: Session, request: gr.Request) -> Iterator[tuple[Any, ...]]:
        """Read an encrypted document again with its password, which is not stored."""
        source = self.services.original(session.owner, chosen)
        yield from self._ingest([source], session, request, password=password, again=True)

    def _ingest(
        self,
        files: Sequence[Path | Source],
        session: Session,
        request: gr.Request,
        *,
        password: str | None = None,
        again: bool = False,
    ) -> Iterator[tuple[Any, ...]]:
        key, chosen, message = f"ingest-{request.session_hash}", "", ""
        finished = 0
        notes: list[str] = []
        upload: Any = None  # emptied once, at the start: what is dropped meanwhile is read afterwards
        try:
            for event in self.services.ingest(session.owner, files, password=password, again=again, run=key):
                table: Any = gr.skip()
                steps = [Progress("all files", finished, len(files))] if len(files) > 1 else []
                if isinstance(event, Document):
                    finished += 1
                    notes += self._not_stored(session, event)
                    chosen = event.id if event.state.usable or not chosen else chosen
                    table = self.table(session, chosen)
                else:
                    steps.append(event)
                yield work_html(*steps), gr.Button(visible=True), table, gr.skip(), gr.skip(), chosen, upload, ""
                upload = gr.skip()
        except PdfQAError as error:
            message = error_html(error)
        message += render("notes", lines=notes) if notes else ""
        table, page, group = self.show(session, chosen)
        yield message, gr.Button(visible=False), table, page, group, chosen, upload, ""

    def _not_stored(self, session: Session, read: Document) -> list[str]:
        """Return what the table does not say about a file: that it was there already."""
        stored = self._find(session, read.id)
        return [read.reason] if stored is not None and stored.reason != read.reason else []

    def sample(self, session: Session, request: gr.Request) -> Iterator[tuple[Any, ...]]:
        """Add the sample document."""
        chosen = ""
        for event in self.services.add_sample(session.owner):
            if isinstance(event, Document):
                chosen = event.id
            else:
                yield work_html(event), gr.skip(), gr.skip(), gr.skip(), gr.skip(), chosen, None, ""
        table, page, group = self.show(session, chosen)
        yield "", gr.Button(visible=False), table, page, group, chosen, None, ""

    def stop(self, request: gr.Request) -> None:
        """Stop reading; files that were finished stay."""
        self.services.stop(run=f"ingest-{request.session_hash}")

    def table_clicked(
        self, chosen: str, session: Session, request: gr.Request, event: gr.EventData
    ) -> Iterator[tuple[Any, ...]]:
        """Open or remove a document, or add the sample."""
        data = clicked(event)
        match data.get("action"):
            case "sample":
                yield from self.sample(session, request)
                return
            case "remove":
                self.services.remove_document(session.owner, data["document"])
                chosen = "" if chosen == data["document"] else chosen
            case "open":
                chosen = data["document"]
        table, page, group = self.show(session, chosen)
        yield "", gr.Button(visible=False), table, page, group, chosen, None, ""

    def page_clicked(self, session: Session, event: gr.EventData) -> str:
        """Turn the page."""
        data = clicked(event)
        document = self._find(session, data.get("document", ""))
        if document is None:
            return empty_page(NO_PAGE)
        return self._page(session, document, min(max(1, int(data.get("number", 1))), document.page_count))


def build(services: Services, session: gr.State) -> Shown:
    """Build the tab."""
    handlers = Handlers(services)
    chosen = gr.State("")
    switch("documents-columns", "Documents", "Page")
    with gr.Row(elem_classes=["pq-columns"], elem_id="documents-columns"):
        with gr.Column():
            upload = gr.File(
                label="Drop PDFs here, or click to choose",
                file_count="multiple",
                elem_id="documents-upload",
                height=112,
            )
            work = live_html(elem_id="documents-work")
            stop = gr.Button("Stop", visible=False, size="sm", elem_classes=["pq-stop"], elem_id="documents-stop")
            table = live_html(elem_id="documents-table")
            with gr.Group(visible=False) as locked:
                password = gr.Textbox(label="Password", type="password", info="Used to read the document, never stored")
                unlock = gr.Button("Open with this password", size="sm", elem_id="documents-unlock")
        with gr.Column():
            page = live_html(empty_page(NO_PAGE), elem_id="documents-page")
    outputs = [work, stop, table, page, locked, chosen, upload, password]
    upload.upload(
        guarded(handlers.add), [upload, session], outputs, concurrency_limit=None, trigger_mode="always_last", **QUIET
    )
    unlock.click(guarded(handlers.unlock), [password, chosen, session], outputs, concurrency_limit=None, **QUIET)
    password.submit(guarded(handlers.unlock), [password, chosen, session], outputs, concurrency_limit=None, **QUIET)
    stop.click(handlers.stop, None, None, **AT_ONCE)
    table.click(guarded(handlers.table_clicked), [chosen, session], outputs, concurrency_limit=None, **QUIET)
    page.click(guarded(handlers.page_clicked), [session], page, **AT_ONCE)
    return Shown(handlers.show, [session, chosen], [table, page, locked])
