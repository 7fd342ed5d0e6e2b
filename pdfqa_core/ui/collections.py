"""Collections on the Documents tab: a bar above the table that filters it, and what can be done with chosen rows."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr

from pdfqa_core.errors import UsageError
from pdfqa_core.services import Collection, Services
from pdfqa_core.ui.components import AT_ONCE, Click, clicked, live_html, render
from pdfqa_core.ui.session import Session
from pdfqa_core.whole_files import DAMAGE, file_sha256

MOST_OFFERED = 12  # folders of an upload that are offered as collections
_log = logging.getLogger(__name__)


def shown_collection(services: Services, session: Session) -> Collection | None:
    """Return the collection that the table is narrowed to, if there is one."""
    known = services.documents.collections.kept.list(session.owner)
    return next((one for one in known if one.id == session.collection), None)


def names_by_document(services: Services, session: Session) -> dict[str, list[str]]:
    """Return the names of the collections that each document is in."""
    found: dict[str, list[str]] = {}
    for collection in services.documents.collections.kept.list(session.owner):
        for document_id in collection.document_ids:
            found.setdefault(document_id, []).append(collection.name)
    return found


class CollectionBar:
    """The bar and what a click on it does. `table` draws the table for a session and the open document."""

    def __init__(self, services: Services, table: Callable[[Session, str], str]) -> None:
        self.services = services
        self.table = table
        self.html = live_html(elem_id="documents-collections")
        self.folder = gr.Textbox(elem_id="documents-folder", elem_classes=["pq-offstage"], label="folder")

    def wire(self, session: gr.State, chosen: gr.State, table: gr.HTML) -> None:
        """Connect it; it is drawn anew whenever the table is."""
        self.html.click(self.clicked, [chosen, session], [session, self.html, table], **AT_ONCE)
        table.change(self.show, session, self.html, **AT_ONCE)
        self.folder.change(self.folder_chosen, [self.folder, session], self.html, **AT_ONCE)

    def show(self, session: Session) -> str:
        """Return the bar; nothing while there are no documents."""
        offer = self.services.documents.collections.offered(session.owner)
        collections = self.services.documents.collections.kept.list(session.owner)
        count = len(self.services.documents.kept.list(session.owner))
        if not count and not collections and offer is None:
            return ""
        return render(
            "documents_collections",
            collections=collections,
            shown=shown_collection(self.services, session),
            count=count,
            offer=offer,
            most=MOST_OFFERED,
        )

    def clicked(self, chosen: str, session: Session, event: gr.EventData) -> tuple[Session, str, str]:
        """Show a collection, make, rename or remove one, or put the chosen documents into it or take them out."""
        session = self._act(clicked(event), session)
        return session, self.show(session), self.table(session, chosen)

    def _act(self, data: Click, session: Session) -> Session:
        owner, collections = session.owner, self.services.documents.collections
        documents = data.get("documents", "").split()
        match data.get("action"):
            case "show":
                return replace(session, collection=data["collection"])
            case "make":
                made = collections.make(owner, data["text"], documents)
                return session if documents else replace(session, collection=made.id)
            case "rename":
                collections.kept.rename(owner, data["collection"], data["text"])
            case "drop":
                collections.kept.remove(owner, data["collection"])
            case "put":
                collections.kept.put(owner, data["collection"], documents)
            case "take-out":
                collections.kept.take_out(owner, data["collection"], documents)
            case "accept":
                self.services.documents.collections.accept_folder(owner, data["folder"])
            case "decline":
                self.services.documents.collections.decline_folder(owner)
        return session

    # ------------------------------------------------------------ folders

    def folder_chosen(self, said: str, session: Session) -> Any:
        """Tell of a folder without PDFs, of which nothing is uploaded. Raises UsageError where it could not be read."""
        paths, left_out = _folder(said)
        if paths or not left_out:
            return gr.skip()
        self.services.documents.collections.note_folder(session.owner, {}, left_out)
        return self.show(session)

    def note_folder(self, said: str, files: Sequence[Path], session: Session) -> None:
        """Keep which folder each uploaded file comes from, by what the browser said of it."""
        paths, left_out = _folder(said)
        if [Path(path).name for path in paths] != [file.name for file in files] and len(paths) != len(files):
            return
        try:
            found = {path: file_sha256(file) for path, file in zip(paths, files, strict=True)}
        except OSError as error:  # reading them says what is wrong with it
            _log.warning("a folder is not offered as collections: %s", error)
            return
        self.services.documents.collections.note_folder(session.owner, found, left_out)


def _folder(said: str) -> tuple[list[str], list[str]]:
    """Return the paths of the PDFs of a folder and those of its other files, as the browser said them.

    Raises UsageError where the browser could not read it.
    """
    try:
        row = json.loads(said or "{}")
        problem = str(row.get("problem", ""))
        paths, left_out = map(str, row.get("paths", ())), map(str, row.get("left_out", ()))
    except DAMAGE:
        return [], []
    if problem:
        raise UsageError(f"The browser could not read the folder ({problem[:200]}).", "Press “Add a folder” instead.")
    return list(paths), list(left_out)
