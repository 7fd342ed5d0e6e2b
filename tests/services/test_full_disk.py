"""A full disk is told in one sentence, with what was kept, wherever something is written; nothing confirmed is lost."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest
from starlette.testclient import TestClient

from pdfqa_core.cli.options import write_file
from pdfqa_core.errors import PdfQAError
from pdfqa_core.ingest import Source
from pdfqa_core.models import ModelFiles
from pdfqa_core.services import LOCAL_OWNER, RunRequest
from pdfqa_core.storage import DATABASE_FILE
from pdfqa_core.ui.guard import Unforeseen
from pdfqa_core.whole_files import is_full
from tests.full_disk import fill, small_disk
from tests.services.helpers import LITERAL, METERS, asked, built, documents, stored_of
from tests.serving_fakes import PDF
from tests.storage.conftest import rating, rating_history

QUESTIONS = [{"id": "a", "question": METERS, "answer": "Every 15 minutes.", "document": "harbour-heat.pdf", "page": 2}]


@pytest.fixture
def disk(tmp_path):
    with small_disk(tmp_path / "workspace") as place:
        yield place


@pytest.fixture
def on_disk(disk, open_services):
    """Services whose workspace is the small disk, with one answer, a study of it and a rating."""
    services = open_services(LITERAL, empty=True, files=ModelFiles(disk))
    documents(services.documents.ingest(LOCAL_OWNER, [PDF]))
    built(services, LITERAL)
    stored = stored_of(asked(services, METERS))
    study = services._store.studies.create(LOCAL_OWNER, "Study", [stored.conversation_id])
    services._store.studies.sign_in(study.id, "Anna")
    services._store.studies.save_ratings([rating(study.id, stored.turn.id)])
    return services


@pytest.fixture
def other_pdf(make_pdf):
    return make_pdf(["The quarry at Oldham sells granite by the tonne. " * 20] * 8, name="letter.pdf")


def rate(services, given):
    study = services._store.studies.list(LOCAL_OWNER)[0]
    services._store.studies.save_ratings([rating(study.id, study.turn_ids[0])])


def answer(services, given):
    list(services.answers.ask(LOCAL_OWNER, METERS, LITERAL))


def ingest(services, given):
    list(services.documents.ingest(LOCAL_OWNER, [given.pdf]))


def upload(services, given):
    services.documents.jobs.begin(
        LOCAL_OWNER, [Source(given.pdf, "letter.pdf")], keep=True, extraction=LITERAL.extraction
    )


def begin_run(services, given):
    services.evaluation.begin(LOCAL_OWNER, RunRequest("answers", given.questions, {"literal": LITERAL}))


def go_on_with_run(services, given):
    list(services.evaluation.go(LOCAL_OWNER, given.run.id))


def remember(services, given):
    services.people.owners.set_preference(LOCAL_OWNER, "theme", "x" * 20_000)


def export(services, given):
    write_file(given.disk / "exports" / "ratings.csv", b"x" * 20_000)


def find(services, given):
    services.index.finding._texts.put(
        (services.documents.kept.list(LOCAL_OWNER)[0].id, "direct", "another"), [(1, "words " * 5000)]
    )


def train(services, given):
    import torch

    from pdfqa_core.training.checkpoint import Checkpoint, State

    Checkpoint(given.disk / "training").write(State("run"), {"w": torch.zeros(9000)}, None, {})


ACTIONS = {
    rate: "change is not", answer: "conversation is kept", ingest: "finished before are kept",
    upload: "there before are kept", begin_run: "Nothing was begun",
    go_on_with_run: "answers that were stored are kept",
    remember: "change is not", export: "as it was before", find: "as they were", train: "learnt",
}  # fmt: skip


class Given:
    """What actions work on."""


@pytest.mark.linux
def test_it_says_that_the_disk_is_full_and_what_was_kept(on_disk, disk, tmp_path, other_pdf):
    services, given = on_disk, Given()
    given.disk, given.pdf, given.questions = disk, other_pdf, tmp_path / "questions.json"
    given.questions.write_text(json.dumps([*QUESTIONS, {**QUESTIONS[0], "id": "b"}]))
    wanted = RunRequest("answers", given.questions, {"other": LITERAL.changed("retrieval", k=3)})
    given.run = services.evaluation.begin(LOCAL_OWNER, wanted)
    given.questions.write_text(json.dumps(QUESTIONS))
    for folder in ("training", "exports"):
        (disk / folder).mkdir()
    study = services._store.studies.list(LOCAL_OWNER)[0]
    services.index.finding.find(LOCAL_OWNER, "meters")
    for act, kept in ACTIONS.items():
        services.index.finding.tidy()
        assert services._store.database.empty_log()
        before = len(rating_history(services._store, study.id))
        filler = fill(disk)
        with pytest.raises(PdfQAError, match="The disk is full: ") as caught:
            act(services, given)
        assert kept in caught.value.hint, act
        assert "Free some space" in caught.value.hint, act
        filler.unlink()
        act(services, given)
        assert len(rating_history(services._store, study.id)) == before + (act is rate)
        with closing(sqlite3.connect(disk / DATABASE_FILE)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok", act


@pytest.mark.linux
def test_an_index_that_finds_no_room_works_and_says_so(on_disk, disk):
    settings = LITERAL.changed("chunking", size=40, step=20)
    filler = fill(disk)
    built(on_disk, settings)
    index = on_disk.index._opened_index(LOCAL_OWNER, settings)
    assert index.notes[0].startswith("The disk is full: the index in")
    assert on_disk.index.search(LOCAL_OWNER, METERS, settings)
    filler.unlink()


def test_it_is_known_by_number_by_words_and_by_what_it_came_of():
    full = OSError(28, "No space left on device")
    assert is_full(full)
    assert is_full(OSError(122, "Disk quota exceeded"))
    assert is_full(RuntimeError("I/O error: No space left on device (os error 28)"))
    assert not is_full(OSError(13, "Permission denied"))
    assert not is_full(None)
    passed_on = ValueError("of a library")
    passed_on.__cause__ = full
    assert is_full(passed_on)


def test_an_upload_that_finds_no_room_is_answered_so():
    async def full(scope, receive, send):
        raise OSError(28, "No space left on device")

    answered = TestClient(Unforeseen(full)).post("/gradio_api/upload", content=b"x")
    assert answered.status_code == 507
    assert answered.text.startswith("The disk is full: ")
