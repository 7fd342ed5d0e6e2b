from __future__ import annotations

import threading

import pytest

from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.settings import Settings
from pdfqa_core.types import Stored
from tests.services.helpers import stored_pages, until
from tests.serving_fakes import FakeModels, WordEncoder

SETTINGS = Settings().changed("reading", reader="extractive", refusal="none")


class GatedEncoder(WordEncoder):
    """Encodes a batch of passages for each permit; questions at once."""

    def __init__(self):
        super().__init__()
        self.permits = threading.Semaphore(0)
        self.batches = []
        self.asked = 0  # batches, with the one that waits for its permit

    def encode(self, texts, *, question=False, on_progress=None, stop=None):
        if on_progress is not None:  # passages of an index
            self.asked += 1
            while not self.permits.acquire(timeout=0.01):
                if stop is not None and stop.is_set():
                    break
            self.batches.append(list(texts))
        return super().encode(texts, question=question, on_progress=on_progress, stop=stop)


@pytest.fixture
def encoder():
    return GatedEncoder()


@pytest.fixture
def opened(tmp_path, encoder):
    """Services over a workspace with two documents, whose encoder waits for permits."""
    made = []

    def open_again():
        models = FakeModels()
        models.encoders.encoder = lambda *_: encoder
        services = Services.open(tmp_path / "workspace", SETTINGS, models)
        services.index.rate = 0.1  # a slow machine: no question waits for what is missing
        made.append(services)
        return services

    services = open_again()
    for name in ("one", "two"):
        pages = [f"The {name} ferry number {page} leaves at {page} o'clock. " * 4 for page in range(1, 41)]
        stored_pages(services, f"{name}.pdf", *pages)
    yield open_again
    for services in made:
        services.close()


def ids(services):
    return {document.filename: document.id for document in services.documents.kept.list(LOCAL_OWNER)}


def answered(services, **options):
    events = list(services.answers.ask(LOCAL_OWNER, "When does ferry number 7 leave?", SETTINGS, **options))
    return next(event.turn.answer for event in events if isinstance(event, Stored))


def test_a_question_meanwhile_is_answered_by_words_and_says_so(opened, encoder):
    services = opened()
    services.index.preparation.want(LOCAL_OWNER, SETTINGS)
    until(lambda: len(services.index.preparation.states(LOCAL_OWNER)) == 2)
    answer = answered(services)
    assert "found by their words alone" in " ".join(answer.notes)
    assert "number 7 leaves" in answer.text
    assert not services.index.ready(LOCAL_OWNER, SETTINGS)
    encoder.permits.release(1000)
    until(lambda: services.index.ready(LOCAL_OWNER, SETTINGS))
    assert "words alone" not in " ".join(answered(services).notes)


def test_what_was_encoded_counts_already(opened, encoder):
    services, known = opened(), []
    encoder.permits.release(1000)
    one, two = ids(services)["one.pdf"], ids(services)["two.pdf"]
    services.index.encode(LOCAL_OWNER, SETTINGS, one, known.append, threading.Event())
    services.index.rate = 0.1
    waiting = services.index.waiting(LOCAL_OWNER, SETTINGS)
    assert set(waiting) == {two}
    missing, passages = waiting[two]
    assert missing == passages == known[-1].done
    assert f"{missing} of {2 * passages} passages" in " ".join(answered(services).notes)


def test_the_document_that_is_asked_about_comes_first(opened, encoder):
    services = opened()
    services.index.preparation.want(LOCAL_OWNER, SETTINGS, [ids(services)["two.pdf"]])
    encoder.permits.release(1)
    until(lambda: encoder.batches)
    assert "two ferry" in encoder.batches[0][0]
    answered(services, document_ids=[ids(services)["one.pdf"]])
    seen = len(encoder.batches)
    encoder.permits.release(2)
    until(lambda: len(encoder.batches) >= seen + 2)
    assert "one ferry" in encoder.batches[-1][0]


def test_a_stopped_document_waits_until_it_goes_on(opened, encoder):
    services = opened()
    one, two = ids(services)["one.pdf"], ids(services)["two.pdf"]
    services.index.preparation.stop(LOCAL_OWNER, one)
    services.index.preparation.want(LOCAL_OWNER, SETTINGS)
    encoder.permits.release(1000)
    until(lambda: set(services.index.waiting(LOCAL_OWNER, SETTINGS)) == {one})
    until(lambda: set(services.index.preparation.states(LOCAL_OWNER)) == {one})
    assert services.index.preparation.states(LOCAL_OWNER)[one].stopped
    assert two not in services.index.preparation.states(LOCAL_OWNER)
    services.index.preparation.go_on(LOCAL_OWNER, one, SETTINGS)
    until(lambda: services.index.ready(LOCAL_OWNER, SETTINGS))


def test_work_for_a_removed_visitor_ends_and_leaves_nothing(opened, encoder):
    services = opened()
    stored_pages(services, "visitors.pdf", *(f"The visitor's ferry {n}. " * 20 for n in range(40)), owner="visitor")
    services.index.preparation.want("visitor", SETTINGS)
    until(lambda: encoder.asked)
    services.index.preparation.stop("visitor", "another document")
    services.index.preparation.forget_owner("visitor")
    assert services.index.preparation.states("visitor") == {}
    assert not any("visitor" in str(kept) for kept in (*vars(services.index.preparation).values(),))
    encoder.permits.release(1000)
    services.index.preparation.want(LOCAL_OWNER, SETTINGS)  # the work goes on for others
    until(lambda: services.index.ready(LOCAL_OWNER, SETTINGS))
    assert services.index.preparation.states("visitor") == {}


def test_it_goes_on_after_the_program_ended(opened, encoder):
    services = opened()
    services.index.preparation.want(LOCAL_OWNER, SETTINGS)
    encoder.permits.release(2)
    until(lambda: encoder.asked >= 3)  # the second is kept by then
    services.close()
    done = {text for batch in encoder.batches[:2] for text in batch}
    encoder.batches.clear()
    encoder.permits.release(1000)
    again = opened()
    again.index.preparation.want(LOCAL_OWNER, SETTINGS)
    until(lambda: again.index.ready(LOCAL_OWNER, SETTINGS))
    assert encoder.batches
    assert done.isdisjoint(text for batch in encoder.batches for text in batch)


def test_nothing_is_encoded_while_an_answer_is_written(opened, encoder, monkeypatch):
    services, waits = opened(), threading.Event()
    wait = services.index.preparation._wait_for_answers
    monkeypatch.setattr(services.index.preparation, "_wait_for_answers", lambda stop: (waits.set(), wait(stop)))
    services.index.preparation.want(LOCAL_OWNER, SETTINGS)
    with services.index.preparation.answering(LOCAL_OWNER):
        encoder.permits.release(3)
        until(waits.is_set)
        assert len(encoder.batches) == 1  # the one that was begun
    until(lambda: len(encoder.batches) == 3)


def test_an_encoder_that_fails_is_logged_and_the_question_says_why(opened, encoder, caplog):
    services = opened()

    def broken(*_, **__):
        raise RuntimeError("no weights")

    encoder.encode = broken
    services.index.preparation.want(LOCAL_OWNER, SETTINGS)
    until(lambda: "no weights" in caplog.text)
    until(lambda: services.index.preparation.states(LOCAL_OWNER) == {})
    assert [record.levelname for record in caplog.records if "no weights" in str(record.exc_info)] == ["ERROR"]
    with pytest.raises(RuntimeError, match="no weights"):
        answered(services)
