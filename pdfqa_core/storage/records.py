"""What the storage returns in addition to the program's own types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from pdfqa_core.types import Adjudication, DocumentState, Rating, Study, Turn


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
class Reading:
    """How one way of reading a document ended for its owner.

    `extractor` names it: the extractor, with what was asked of it beyond the default ("visual, all pages"). `ocr_pages`
    counts the pages that were read by OCR, `confidence` is their mean confidence in 0..1. `version` changes when the
    text does; it is empty for what version 0.1 of the program read.
    """

    document_id: str
    extractor: str
    state: DocumentState
    reason: str
    page_count: int
    pages_without_text: tuple[int, ...]
    ocr_pages: int
    confidence: float | None
    read_at: datetime
    version: str


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
class Annotator:
    """Somebody who rates, by the name that they first signed in with."""

    name: str
    joined_at: datetime


@dataclass(frozen=True, slots=True)
class StudyCopy:
    """A study with everything in it, as it goes from one workspace to another; of ratings those that count."""

    study: Study
    turns: tuple[StudyTurn, ...]
    annotators: tuple[Annotator, ...]
    ratings: tuple[Rating, ...]
    adjudications: tuple[Adjudication, ...] = ()
