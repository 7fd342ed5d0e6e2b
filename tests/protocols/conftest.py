"""A store with one study of three turns and two annotators who have signed in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pdfqa_core.storage import Store
from pdfqa_core.study_types import Study
from tests.storage.conftest import document, turn


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "workspace") as opened:
        yield opened


@pytest.fixture
def study(store: Store) -> Study:
    source = document(b"x", filename="report.pdf")
    store.documents.add(source)
    conversation = store.conversations.create("me", "Talk")
    for turn_id, passages in (("t1", ("first", "second")), ("t2", ()), ("t3", ("third",))):
        store.conversations.append_turn("me", conversation.id, turn(turn_id, *passages, document_id=source.id))
    made = store.studies.create("me", "Pilot", [conversation.id], seed=7)
    for name in ("Anna", "Ben"):
        store.studies.sign_in(made.id, name)
    return made
