"""Two annotators at once: a lost connection, a reload and a kill -9, and nothing acknowledged is lost."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, Response, Route, expect

from pdfqa_core.protocols.annotation import CRITERIA
from pdfqa_core.services.accounts import InvitationService
from pdfqa_core.storage import Store
from tests.storage.conftest import turn
from tests.ui.calling import handlers
from tests.ui.serving import SENT, App, running

ITEMS = 8
DROP, RELOAD, KILL = 2, 4, 6  # after so many items each
ANSWER = CRITERIA[1]


def key_of(name: str, number: int) -> str:
    """Return what somebody says of an item: Ada and Ben differ now and then."""
    return "n" if number % (3 if name == "Ada" else 4) == 0 else "y"


def without_ratings(route: Route) -> None:
    """Let nothing through that saves a choice."""
    if '"rate"' in (route.request.post_data or ""):
        route.abort("internetdisconnected")
    else:
        route.continue_()


class Rater:
    """Somebody at the keyboard, with what the page has acknowledged."""

    def __init__(self, name: str, page: Page) -> None:
        self.name, self.page = name, page
        self.submitted: dict[str, str] = {}

    def arrive(self, address: str, fill: int) -> None:
        """Open an address and wait until the page has filled the tab, which it does twice: the second is `fill`."""

        def sent(part: str) -> Callable[[Response], bool]:
            return lambda one: bool(SENT.search(one.url)) and part in (one.request.post_data or "")

        page = self.page
        with page.expect_response(sent('"value":"Annotate"')), page.expect_response(sent(f'"fn_index":{fill},')):
            page.goto(address)

    @property
    def open(self) -> int:
        """The number of the item whose question is shown."""
        asked = self.page.locator("#annotate-item .question")
        expect(asked).to_be_visible()
        return int(asked.inner_text().rsplit(maxsplit=1)[-1])

    @property
    def form(self) -> Locator:
        """The form of the item that is open."""
        return self.page.locator(f"#annotate-form [data-item-of='t{self.open}']")

    def choose(self) -> None:
        """Press the key of the answer."""
        expect(self.form).to_be_visible()
        self.page.keyboard.press(key_of(self.name, self.open))

    def expect_chosen(self) -> None:
        """Wait until the form shows the choice."""
        value = int(key_of(self.name, self.open) == "y")
        expect(self.form.locator(f"[data-value='{value}'][aria-pressed='true']")).to_have_count(1)

    def submit(self) -> None:
        """Press Enter and wait for the next item, which is what acknowledges this one."""
        number, form = self.open, self.form
        self.page.keyboard.press("Enter")
        expect(form).to_have_count(0)
        self.submitted[f"t{number}"] = str(int(key_of(self.name, number) == "y"))


def kept(workspace: Path) -> list[dict[str, str]]:
    """Return the ratings that count, of Ada and of Ben."""
    with Store.open(workspace) as store:
        (study,) = store.studies.list("local")
        ratings = store.studies.ratings(study.id)
    return [{one.turn_id: one.value for one in ratings if one.annotator == name} for name in ("Ada", "Ben")]


def invited(folder: Path) -> dict[str, str]:
    """Make a study in a workspace and return the links of those who rate it."""
    with Store.open(folder / "workspace") as store:
        talk = store.conversations.create("local", "Heat pump")
        for number in range(ITEMS):
            asked = turn(f"t{number}", "A passage.", question=f"Question {number:02}")
            store.conversations.append_turn("local", talk.id, replace(asked, answer=replace(asked.answer, text="Yes.")))
        study = store.studies.create("local", "Pilot", [talk.id], 1)
        store.study_changes.change("local", study.id, criteria=(ANSWER,))
        people = InvitationService(store.invitations, store.studies)
        return {name: people.invite("local", study.id, name) for name in ("Ada", "Ben")}


@pytest.mark.browser
def test_nothing_acknowledged_is_lost(browser: Browser, tmp_path: Path) -> None:
    links = invited(tmp_path)
    with ExitStack() as stack:
        app: App = stack.enter_context(running(tmp_path))
        config = httpx.get(f"{app.url}/config", timeout=60).json()
        (fill,) = [one.number for one in handlers(config) if one.causes == (("pq-annotate-fill", "click"),)]
        contexts = [stack.enter_context(browser.new_context()) for _ in links]
        ada, ben = raters = [Rater(name, one.new_page()) for name, one in zip(links, contexts, strict=True)]
        for one in raters:
            one.arrive(f"{app.url}/{links[one.name]}", fill)
        for place in range(ITEMS):
            if place == DROP:
                ada.page.route(SENT, without_ratings)
                ada.choose()
                expect(ada.page.locator("#pq-lost")).to_contain_text("Your last choice is not saved yet")
                ada.page.unroute(SENT)
                ben.choose()
            else:
                for one in raters:
                    one.choose()
            for one in raters:
                one.expect_chosen()
            if place == RELOAD:
                ben.arrive(ben.page.url, fill)
                ben.expect_chosen()  # a draft, acknowledged too
            if place == KILL:
                app.process.kill()
                app.process.wait()
                assert kept(app.workspace) == [one.submitted for one in raters]
                app = stack.enter_context(running(tmp_path, "--port", app.url.rpartition(":")[2]))
                for one in raters:
                    one.arrive(one.page.url, fill)
                    one.expect_chosen()
            for one in raters:
                one.submit()
        assert kept(app.workspace) == [one.submitted for one in raters]
