"""What can be asked about or searched in: collections, then documents."""

from __future__ import annotations

import gradio as gr

from pdfqa_core.services import Collection, Services
from pdfqa_core.types import Document
from pdfqa_core.ui.components import plural
from pdfqa_core.ui.session import Session


def scope_label(document: Document) -> str:
    """Return what a document is called where it is chosen: twins differ in their file name only."""
    different = document.title and document.title != document.filename
    return f"{document.title} · {document.filename}" if different else document.filename


def collection_label(collection: Collection) -> str:
    """Return what a collection is called where it is chosen: "Contracts · collection of 3 documents"."""
    count = len(collection.document_ids)
    return f"{collection.name} · collection, {plural(count, 'document') if count else 'empty'}"


def scope_choice(services: Services, session: Session) -> gr.Dropdown:
    """Return the field with all that can be chosen, and what of the session's scope is still there."""
    choices = [(collection_label(one), one.id) for one in services.collections.list(session.owner)]
    choices += [(scope_label(d), d.id) for d in services.documents.list(session.owner) if d.state.usable]
    known = {key for _, key in choices}
    there = services.collections.still_there(session.owner, session.scope)
    return gr.Dropdown(choices=choices, value=[one for one in there if one in known])
