"""Shared fixtures: fakes that sit at the protocols of `types.py`, and PDFs made by the tests."""

from __future__ import annotations

import gc
import io
import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import argon2
import hypothesis
import pytest

from pdfqa_core.errors import StoppedError
from pdfqa_core.extraction.process.limits import OWNERS
from pdfqa_core.extraction.process.outside import hold_to
from pdfqa_core.interfaces import GREEDY, Message, Sampling, StopSignal, Stream, Usage
from pdfqa_core.llm.hardware import Offload
from pdfqa_core.services import secret_words
from pdfqa_core.settings import LLMSettings, models_path
from pdfqa_core.storage.database import Database
from pdfqa_core.streaming import is_set
from pdfqa_core.types import Block, Box, Line, Page, Progress
from tests.postgres import Postgres, serving

SQLITE, POSTGRESQL = "sqlite", "postgresql"
LONGEST = frozenset({  # files of tests that take over half a minute each
    "test_axe", "test_blinding", "test_default", "test_every_endpoint", "test_guard", "test_model", "test_models",
    "test_offline", "test_onnx_graph", "test_places", "test_proxies", "test_repository", "test_rounds",
    "test_serving_safely", "test_states", "test_study", "test_train", "test_two_processes", "test_visual",
    "test_whole_job",
})  # fmt: skip
SHARED_DATA = Path(__file__).resolve().parent.parent.parent / "shared" / "data"


@pytest.fixture(autouse=True)
def limits_of_owners() -> None:
    """Hold files to the limits of an owner again, where services of a demo were opened before."""
    hold_to(OWNERS)


# A busy machine makes no test fail, and few examples are enough of each run.
hypothesis.settings.register_profile("short", deadline=None, max_examples=30)
hypothesis.settings.load_profile("short")


def pytest_configure() -> None:
    """Let Ctrl-C interrupt the tests also where a shell runs them in the background, which ignores it.

    Of processes side by side there is one for each core, so that torch has one thread in each.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.disable()  # what is imported stays
    if "PYTEST_XDIST_WORKER" in os.environ:
        os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest: a file that is begun last would keep one process alone busy."""
    items.sort(key=lambda item: item.path.stem not in LONGEST)


def pytest_collection_finish() -> None:
    """Have the garbage collector pass over what stays to the end: it took a tenth of all tests."""
    gc.freeze()
    gc.enable()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests of storage, and what is marked as `both_databases`, on both databases, all others on SQLite."""
    if "database_kind" in metafunc.fixturenames:
        marks = {mark.name for mark in metafunc.definition.iter_markers()}
        stores = "storage" in metafunc.definition.path.parts and "sqlite_only" not in marks
        both = stores or "both_databases" in marks
        metafunc.parametrize("database_kind", [SQLITE, POSTGRESQL] if both else [SQLITE], indirect=True)


@pytest.fixture
def database_kind(request: pytest.FixtureRequest) -> str:
    """On which of the databases a test runs: SQLITE or POSTGRESQL."""
    return str(request.param)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server, one for each process of the tests."""
    with serving() as server:
        yield server


@pytest.fixture(scope="session")
def newest_tables(postgres: Postgres) -> str:
    """The name of a database with the tables of the newest migration and nothing in them, to be copied."""
    postgres.run("CREATE DATABASE newest")
    Database(postgres.url("newest")).close()
    return "newest"


@pytest.fixture(scope="session", autouse=True)
def every_migration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Database], None]]:
    """Have a new SQLite database begin as a copy of one with the newest tables; return what goes through all steps."""
    made = tmp_path_factory.mktemp("newest") / "newest.sqlite"
    Database(f"sqlite:///{made}").close()
    upgrade, at_a_time = Database._upgrade, threading.Lock()

    def copied_first(database: Database) -> None:
        file = Path(database.where)
        with at_a_time:
            empty = not file.exists() or (file.is_file() and not file.stat().st_size)
            if database.is_sqlite and empty and file.is_absolute() and file.parent.is_dir():  # no other kind of URI
                shutil.copyfile(made, file)
        upgrade(database)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Database, "_upgrade", copied_first)
        yield upgrade


@pytest.fixture
def database_url(database_kind: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of an empty database; empty for SQLite in the workspace."""
    if database_kind == SQLITE:
        yield ""
        return
    template = request.getfixturevalue("newest_tables")
    with request.getfixturevalue("postgres").database(template) as url:
        yield url


@pytest.fixture(scope="session", autouse=True)
def users_models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep tests from loading or fetching the default model and from the user's cache, whose folder is returned."""
    folder = models_path(LLMSettings())
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PDFQA_MODEL", "smollm2-135m")
        environment.setenv("PDFQA_MODELS", str(tmp_path_factory.mktemp("models")))
        environment.setenv("PDFQA_ENCODERS", str(folder / "encoders"))  # graphs are made once per computer
        yield folder


@pytest.fixture(scope="session", autouse=True)
def quick_hashes() -> Iterator[None]:
    """Have passwords hashed in little time; a program of its own takes the time that guessing has to take."""
    quick = argon2.PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(secret_words, "_hasher", lambda: quick)
        yield


class FakeLLM:
    """A scripted language model whose tokens are words: `enqueue` replies, read what it was asked from `history`.

    `decide` enqueues the probabilities of choices; without any, all choices are equally likely. Replace `write` for
    replies that do more than say words.
    """

    name = "fake"
    context_size = 2048
    parallel = 1
    loaded = True
    threads = 2
    offload: Offload | None = None

    def __init__(self) -> None:
        self.replies: list[str] = []
        self.decisions: list[Mapping[str, float]] = []
        self.history: list[list[Message]] = []

    def enqueue(self, replies: Sequence[str]) -> None:
        self.replies.extend(replies)

    def decide(self, *decisions: Mapping[str, float]) -> None:
        self.decisions.extend(decisions)

    def write(self, schema: Mapping[str, Any] | None, stop: StopSignal | None) -> Iterator[str | Progress]:
        """Yield the words of one reply, and Progress."""
        if not self.replies:
            raise AssertionError("FakeLLM was asked more often than replies were enqueued")
        yield from (word + " " for word in self.replies.pop(0).split(" "))

    def prepare(self, stop: StopSignal | None = None) -> Iterator[Progress]:
        yield from ()

    def stream(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        stop: StopSignal | None = None,
        schema: Mapping[str, Any] | None = None,
        sampling: Sampling = GREEDY,
    ) -> Stream:
        self.history.append(list(messages))
        written, reason = 0, "stop"
        for piece in self.write(schema, stop):
            if is_set(stop) or written == max_tokens:
                reason = "length"
                break
            written += isinstance(piece, str)
            yield piece
        prompt = self.count_tokens(messages)
        yield Usage(prompt, written, "stopped" if is_set(stop) else reason, prompt)

    def choose(
        self, messages: Sequence[Message], choices: Sequence[str], *, stop: StopSignal | None = None
    ) -> Mapping[str, float]:
        self.history.append(list(messages))
        if is_set(stop):
            raise StoppedError("Choosing was stopped.")
        scripted = self.decisions.pop(0) if self.decisions else dict.fromkeys(choices, 1 / len(choices))
        return {choice: scripted.get(choice, 0.0) for choice in choices}

    def count_tokens(self, messages: Sequence[Message]) -> int:
        return sum(len(m.content.split()) + 4 for m in messages)

    def unload(self) -> None:
        self.loaded = False


@pytest.fixture
def fake_llm() -> FakeLLM:
    return FakeLLM()


@pytest.fixture
def make_page() -> Callable[..., Page]:
    """Build a Page from paragraphs of plain text, one line each, with boxes down the page."""

    def build(*paragraphs: str, number: int = 1, document_id: str = "doc") -> Page:
        text, lines, blocks = "", [], []
        for position, paragraph in enumerate(paragraphs):
            start = len(text)
            text += paragraph
            top = 50 + 20 * position
            lines.append(Line(start, len(text), Box(50, top, 50 + 5 * len(paragraph), top + 12)))
            blocks.append(Block(start, len(text)))
            text += "\n\n"
        return Page(document_id, number, str(number), 595, 842, text.removesuffix("\n\n"), tuple(lines), tuple(blocks))

    return build


@pytest.fixture
def make_pdf(tmp_path: Path) -> Callable[..., Path]:
    """Write a PDF with one page per argument; every argument is a list of paragraphs."""

    def build(*pages: Sequence[str], name: str = "made.pdf", title: str = "") -> Path:
        from reportlab.lib.styles import getSampleStyleSheet
        from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Spacer

        style = getSampleStyleSheet()["BodyText"]
        story: list[Any] = []
        for page in pages:
            for paragraph in page:
                story += [Paragraph(paragraph, style), Spacer(1, 10)]
            story.append(PageBreak())
        buffer = io.BytesIO()
        SimpleDocTemplate(buffer, title=title or None).build(story or [Spacer(1, 1)])
        path = tmp_path / name
        path.write_bytes(buffer.getvalue())
        return path

    return build


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real PDFs beside the project; tests that need it skip where it is absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"no real PDFs at {SHARED_DATA}")
    return SHARED_DATA
