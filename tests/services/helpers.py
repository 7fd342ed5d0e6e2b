"""What the tests of the services share: settings without a model, and short ways to the results."""

from __future__ import annotations

import hashlib
import os
import time
from datetime import UTC, datetime

from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.services.documents import DocumentService
from pdfqa_core.services.readings import name_of
from pdfqa_core.services.studies import StudyService
from pdfqa_core.services.tasks import Tasks
from pdfqa_core.settings import Settings
from pdfqa_core.storage import Store
from pdfqa_core.types import Block, Document, Page, Stored
from tests.conftest import FakeLLM
from tests.serving_fakes import QUESTIONS

BM25 = Settings().changed("retrieval", retriever="bm25").changed("reading", confidence_threshold=0, reader="generative")
LITERAL = BM25.changed("reading", reader="extractive")
METERS = QUESTIONS["q03"]["question"]
SCREEN, FOLLOW_UP = QUESTIONS["q05"]["question"], "Who cleaned it before?"
WORDS = "All meters are read every 15 minutes and never at night."
SECRET = "granite-and-tide-1871"  # opens locked.pdf
HYBRID = BM25.changed("retrieval", retriever="hybrid")


def until(condition, seconds=300):
    """Wait until `condition()` holds; nothing that works takes so many seconds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def studies_of(store, *more):
    """Return the service of a store's studies."""
    return StudyService(store, DocumentService(store, Settings(), Tasks(store)), *more)


def documents(events):
    return [event for event in events if isinstance(event, Document)]


def only(services, owner=LOCAL_OWNER):
    (document,) = services.documents.kept.list(owner)
    return document


def store_of(services):
    """Open the storage below the services once more, to look into it."""
    return Store.open(services.workspace, os.environ.get("PDFQA_DATABASE_URL", ""))


def built(services, settings=BM25, owner=LOCAL_OWNER):
    return list(services.index.build(owner, settings))


def asked(services, question, settings=None, owner=LOCAL_OWNER, **options):
    """Return all events of an answer."""
    return list(services.answers.ask(owner, question, settings or services.settings, **options))


def stored_of(events):
    assert isinstance(events[-1], Stored)
    return events[-1]


def stored_pages(services, name, *texts, owner=LOCAL_OWNER, title=""):
    """Store a document of these pages as if a PDF of that name had been read."""
    key = hashlib.sha256("\n".join((name, *texts)).encode()).hexdigest()
    pages = [Page(key, n, str(n), 595, 842, text, (), (Block(0, len(text)),)) for n, text in enumerate(texts, 1)]
    document = Document(key, title or name, name, len(pages), datetime.now(UTC), owner)
    with store_of(services) as store:
        store.documents.add(document, name_of(services.settings.extraction), pages)
    return document


def only_id(services, filename):
    (document_id,) = services.documents.document_ids(LOCAL_OWNER, [filename])
    return document_id


class StoppingLLM(FakeLLM):
    """Calls `act` after so many words."""

    def __init__(self, act, after=3):
        super().__init__()
        self.act, self.after, self.closed = act, after, False

    def write(self, schema, stop):
        for number, word in enumerate(super().write(schema, stop)):
            if number == self.after:
                self.act()
            yield word

    def stream(self, messages, **options):
        try:
            yield from super().stream(messages, **options)
        finally:
            self.closed = True
