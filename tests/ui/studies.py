"""A study in the workspace of an app, and a page that shows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page

from pdfqa_core.storage import Store
from tests.storage.conftest import turn
from tests.ui.serving import App, open_page, open_tab, running


@contextmanager
def app_with_pilot(folder: Path, questions: Sequence[str], *passages: str, people: Sequence[str] = ()) -> Iterator[App]:
    """Start an app with the study "Pilot": a conversation "Heat pump" of these questions, each with these passages."""
    with Store.open(folder / "workspace") as store:
        talk = store.conversations.create("local", "Heat pump")
        for number, question in enumerate(questions, start=1):
            store.conversations.append_turn("local", talk.id, turn(f"t{number}", *passages, question=question))
        study = store.studies.create("local", "Pilot", [talk.id], 1)
        for name in people:
            store.studies.sign_in(study.id, name)
    with running(folder) as started:
        yield started


@contextmanager
def annotate_tab(browser: Browser, app: App) -> Iterator[Page]:
    """Open a page of the app on its Annotate tab."""
    with open_page(browser, app.url) as opened:
        open_tab(opened, "Chat")  # where a link at the top of the page leads
        open_tab(opened, "Annotate")
        yield opened
