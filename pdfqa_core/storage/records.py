"""What the store returns where the program's own types do not hold everything a screen shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from pdfqa_core.types import Turn


@dataclass(frozen=True, slots=True)
class ConversationSummary:
    """A conversation in the list: `changed_at` is when it was begun, renamed or last asked a question."""

    id: str
    title: str
    created_at: datetime
    changed_at: datetime
    document_ids: tuple[str, ...]
    turn_count: int


@dataclass(frozen=True, slots=True)
class StudyTurn:
    """A turn that is rated, with what an annotator and an export need to show it after its documents are gone.

    `filenames` gives the name of each document that the answer's passages come from.
    """

    turn: Turn
    conversation_id: str
    conversation_title: str
    filenames: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class OwnerUse:
    """How much an owner keeps: documents, bytes of PDFs, and when something of theirs was last added or changed."""

    owner: str
    documents: int
    pdf_bytes: int
    last_change: datetime
