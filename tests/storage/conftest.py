"""A store in a temporary folder, on SQLite and on PostgreSQL, and small values to put into it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import select

from pdfqa_core.storage import Store
from pdfqa_core.storage.database import record
from pdfqa_core.storage.tables import annotators, ratings
from pdfqa_core.study_types import Rating
from pdfqa_core.types import Answer, Document, Hit, Page, Passage, Span, Turn

NOW = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path, database_url: str) -> Iterator[Store]:
    with Store.open(tmp_path / "workspace", database_url, busy_seconds=0.2) as opened:
        yield opened


def document(content: bytes, owner: str = "me", filename: str = "file.pdf") -> Document:
    return Document(hashlib.sha256(content).hexdigest(), "A title", filename, 2, NOW, owner, size=len(content))


def pages_of(document_id: str, *texts: str) -> tuple[Page, ...]:
    return tuple(Page(document_id, i, str(i), 595.0, 842.0, text) for i, text in enumerate(texts, start=1))


def turn(turn_id: str, *passages: str, document_id: str = "d" * 64, question: str = "What is it?") -> Turn:
    hits = tuple(
        Hit(Passage(f"p{i}", (Span(document_id, i, 0, len(text)),), text), 1 / i, i, "bm25", {"bm25": 1 / i})
        for i, text in enumerate(passages, start=1)
    )
    return Turn(turn_id, 0, question, f"{question} (standalone)", Answer("It is [1].", hits=hits, model="fake"))


def rating(study_id: str, item_id: str, annotator: str = "Anna", criterion: str = "answer", value: str = "1") -> Rating:
    return Rating(study_id, item_id, annotator, criterion, value, "", 4.5, NOW)


def rating_history(store: Store, study_id: str) -> tuple[Rating, ...]:
    """Return every rating ever saved, the oldest first, also those that count no more."""
    query = select(ratings, annotators.c.name.label("annotator")).join(annotators)
    with store.database.read() as connection:
        rows = connection.execute(query.where(ratings.c.study_id == study_id).order_by(ratings.c.id))
        return tuple(record(Rating, row) for row in rows)


@pytest.fixture
def study_with_turn(store: Store) -> Callable[[], tuple[str, str]]:
    """Make a study of one turn "t1" with two passages and sign Anna and Ben in; returns (study id, conversation id)."""

    def build() -> tuple[str, str]:
        conversation = store.conversations.create("me", "Talk")
        store.conversations.append_turn("me", conversation.id, turn("t1", "first", "second"))
        study = store.studies.create("me", "Pilot", [conversation.id], seed=7)
        store.studies.sign_in(study.id, "Anna")
        store.studies.sign_in(study.id, "Ben")
        return study.id, conversation.id

    return build
