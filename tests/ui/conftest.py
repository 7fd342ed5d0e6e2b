"""One browser for all tests of the page; a failure shows the app's log and a picture of the page."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright
from playwright.sync_api import Error as BrowserError

from pdfqa_core.services import LOCAL_OWNER, Services
from tests.llm.openai_server import FakeServer
from tests.services.helpers import BM25
from tests.serving_fakes import PDF, FakeModels
from tests.ui.serving import BROWSER_ARGUMENTS, App, chromium


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The installed browser; where there is none, the tests fail."""
    path = chromium()
    with sync_playwright() as driver:
        opened = driver.chromium.launch(
            executable_path=path, args=list(BROWSER_ARGUMENTS), ignore_default_args=["--hide-scrollbars"]
        )
        yield opened
        opened.close()


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
