"""The app in the tests' own process with a workspace that is prepared before it starts, and its page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page

from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.settings import Settings
from tests.conftest import FakeLLM
from tests.services.helpers import LITERAL
from tests.serving_fakes import FakeModels
from tests.ui.inside import serving
from tests.ui.serving import open_page


@dataclass(frozen=True)
class Prepared:
    """A running app and the services below it."""

    url: str
    services: Services

    def ids(self) -> dict[str, str]:
        """Return the ids of the documents by their file names."""
        return {one.filename: one.id for one in self.services.documents.kept.list(LOCAL_OWNER)}


@contextmanager
def prepared(
    folder: Path, *files: Path, settings: Settings = LITERAL, llm: FakeLLM | None = None, ask: tuple[str, ...] = ()
) -> Iterator[Prepared]:
    """Serve the workspace in `folder` with these files and a conversation for each of these questions."""
    with Services.open(folder / "workspace", settings, FakeModels(llm)) as services:
        list(services.documents.ingest(LOCAL_OWNER, files))
        for question in ask:
            list(services.answers.ask(LOCAL_OWNER, question, settings))
        with serving(services) as url:
            yield Prepared(url, services)


@contextmanager
def looking(browser: Browser, folder: Path, *files: Path) -> Iterator[tuple[Page, Prepared]]:
    """Serve the workspace in `folder` with these files and open its page."""
    with prepared(folder, *files) as app, open_page(browser, app.url) as page:
        yield page, app
