"""One app and one browser for all tests of the page; a failure shows the app's log and a picture of the page."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright
from playwright.sync_api import Error as BrowserError

from pdfqa_core.services import LOCAL_OWNER, Services
from tests.llm.openai_server import FakeServer
from tests.services.helpers import BM25
from tests.serving_fakes import PDF, FakeModels
from tests.ui.serving import BROWSER_ARGUMENTS, App, chromium, open_page, running


class LocalApps:
    """One app for all modules that leave no document behind; after another one it is started anew."""

    def __init__(self, folders: pytest.TempPathFactory) -> None:
        self._folders = folders
        self._started = ExitStack()
        self._app: App | None = None

    def running(self) -> App:
        """Return the app, started where none runs."""
        if self._app is None:
            self._app = self._started.enter_context(running(self._folders.mktemp("app")))
        return self._app

    def stop_if_used(self) -> None:
        """End the app if there are documents, conversations or evaluations in its workspace."""
        assert self._app is not None
        with closing(sqlite3.connect(self._app.workspace / "pdfqa.sqlite")) as database:
            tables = ("documents", "conversations", "evaluations", "runs")
            if any(database.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() for table in tables):
                self.stop()

    def stop(self) -> None:
        """End the app."""
        self._started.close()
        self._app = None


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The installed browser; where there is none, the tests fail."""
    path = chromium()
    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=path, args=list(BROWSER_ARGUMENTS))
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalApps]:
    """The apps with a workspace for everybody, of which one runs at a time."""
    apps = LocalApps(tmp_path_factory)
    yield apps
    apps.stop()


@pytest.fixture(scope="module")
def app(local: LocalApps) -> Iterator[App]:
    """The app as a user starts it, without documents at the beginning of each module."""
    yield local.running()
    local.stop_if_used()


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """The app as a public demo: every visitor has documents of their own."""
    with running(tmp_path_factory.mktemp("demo"), environment={"PDFQA_DEMO": "1"}) as started:
        yield started


@pytest.fixture
def page(browser: Browser, app: App) -> Iterator[Page]:
    """A fresh page of the app; at the end nothing may have gone wrong in it."""
    with open_page(browser, app.url) as opened:
        yield opened


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):
    report = yield
    if report.failed and call.when == "call":
        for name, value in getattr(item, "funcargs", {}).items():
            if isinstance(value, App):
                report.sections.append((f"log of {name}", value.log_tail()))
            elif isinstance(value, Page):
                report.sections.append((f"picture of {name}", _picture(item, value)))
    return report


def _picture(item: pytest.Item, page: Page) -> str:
    folder = Path(item.config.rootpath) / "build" / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{item.name}.png"
    try:
        page.screenshot(path=path)
    except BrowserError as error:
        return f"none: {error}"
    return str(path)


@pytest.fixture
def slow_model() -> Iterator[FakeServer]:
    """A language model that writes for minutes."""
    server = FakeServer()
    server.say(*(f"All meters are read every {number} minutes [1]. " for number in range(10_000)))
    server.silence = 0.25
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    """The services of a workspace with the sample in it, for tests of handlers without a browser."""
    with Services.open(tmp_path, BM25, FakeModels()) as opened:
        list(opened.documents.ingest(LOCAL_OWNER, [PDF]))
        yield opened
