"""An owner and two annotators at once: a network drop, a reload and a kill -9, and nothing acknowledged is lost."""

from __future__ import annotations

import csv
import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from sklearn.metrics import cohen_kappa_score

from pdfqa_core.protocols.annotation import CRITERIA
from pdfqa_core.services.invitations import InvitationService
from pdfqa_core.storage import Store
from tests.storage.conftest import turn
from tests.ui.serving import App, Record, open_tab, running, until

pytestmark = pytest.mark.browser

ITEMS = 20
DROP, RELOAD, KILL = 5, 10, 15  # after so many items each
ANSWER = CRITERIA[1]


def key_of(name: str, question: str) -> str:
    """Return what somebody says of a question: Ada and Ben differ now and then."""
    number = int(question.rsplit(maxsplit=1)[-1])
    return "n" if number % (3 if name == "Ada" else 4) == 0 else "y"


class Rater:
    """Somebody at the keyboard, with what the page has acknowledged."""

    def __init__(self, name: str, page: Page) -> None:
        self.name, self.page, self.keys = name, page, 0
        self.submitted: dict[str, str] = {}

    @property
    def asked(self) -> Locator:
        """The question of the item that is open."""
        return self.page.locator("#annotate-item .question")

    def come_again(self) -> None:
        """Close the window and open its address in another one of the same browser."""
        address, context = self.page.url, self.page.context
        self.page.close()
        self.page = context.new_page()
        self.page.goto(address)

    def choose(self) -> None:
        """Press the key of the answer."""
        expect(self.asked).to_be_visible()
        self.page.keyboard.press(key_of(self.name, self.asked.inner_text()))
        self.keys += 1

    def expect_chosen(self) -> None:
        """Wait until the form shows the choice for the item that is open."""
        value = "1" if key_of(self.name, self.asked.inner_text()) == "y" else "0"
        expect(self.page.locator(f"#annotate-form [data-value='{value}'][aria-pressed='true']")).to_have_count(1)

    def expect_told_of_the_lost_connection(self) -> None:
        """Wait for our words, or for Gradio's where it noticed first: it takes no choice then until it is connected."""
        ours = self.page.locator("#pq-lost").get_by_text("Your last choice is not saved yet")
        expect(ours.or_(self.page.get_by_text("Connection to the server was lost")).first).to_be_visible()

    def choose_until_chosen(self) -> None:
        """Choose once more as long as the form does not show it."""
        key = key_of(self.name, self.asked.inner_text())
        shown = self.page.locator(f"#annotate-form [data-value='{int(key == 'y')}'][aria-pressed='true']")

        def chosen() -> bool:
            self.page.wait_for_timeout(5000)
            if not shown.count():
                self.page.keyboard.press(key)
            return shown.count() > 0

        until(chosen)

    def submit(self) -> str:
        """Press Enter and return the question."""
        question = self.asked.inner_text()
        self.page.keyboard.press("Enter")
        self.keys += 1
        return question

    def expect_submitted(self, question: str) -> None:
        """Wait for the next item, which is what acknowledges it."""
        expect(self.page.locator("#annotate-item")).not_to_contain_text(question)
        self.submitted[question] = "1" if key_of(self.name, question) == "y" else "0"


def kept(workspace: Path) -> dict[str, dict[str, str]]:
    """Return the ratings that count, by name and question."""
    with Store.open(workspace) as store:
        (study,) = store.studies.list("local")
        asked = {one.turn.id: one.turn.question for one in store.studies.turns("local", study.id)}
        found: dict[str, dict[str, str]] = {"Ada": {}, "Ben": {}}
        for one in store.studies.ratings(study.id):
            found[one.annotator][asked[one.turn_id]] = one.value
        return found


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


def kappa_of(file: Path) -> float:
    """Return scikit-learn's kappa of Ada's and Ben's values in an exported table."""
    with file.open(encoding="utf-8-sig", newline="") as opened:
        rows = list(csv.DictReader(opened))
    said = [{row["item"]: row["value"] for row in rows if row["annotator"] == name} for name in ("Ada", "Ben")]
    assert list(map(len, said)) == [ITEMS, ITEMS]
    return float(cohen_kappa_score(*([values[item] for item in sorted(values)] for values in said)))


def test_nothing_acknowledged_is_lost_and_kappa_is_that_of_the_file(browser: Browser, tmp_path: Path) -> None:
    links = invited(tmp_path)
    record = Record()

    def opened(address: str) -> Page:
        context = browser.new_context(viewport={"width": 1440, "height": 900}, accept_downloads=True)
        context.set_default_timeout(60_000)
        page = context.new_page()
        page.goto(address)
        return page

    with ExitStack() as stack:
        app: App = stack.enter_context(running(tmp_path))
        owner = opened(app.url)
        record.watch(owner.context)
        open_tab(owner, "Annotate")
        expect(owner.locator("#annotate-results")).to_contain_text("still rating: Ada, Ben")
        owner.locator("#annotate-csv").click()
        expect(owner.locator("#annotate-message")).to_contain_text("All ratings can be seen once")
        raters = [Rater(name, opened(f"{app.url}/{links[name]}")) for name in ("Ada", "Ben")]
        ada, ben = raters
        began = time.monotonic()
        for place in range(ITEMS):
            if place == DROP:
                ada.page.context.set_offline(True)
            for one in raters:
                one.choose()
            if place == DROP:
                ada.expect_told_of_the_lost_connection()
                ada.page.context.set_offline(False)
                ada.choose_until_chosen()
            for one in raters:
                one.expect_chosen()
            if place == RELOAD:
                ben.page.reload()
                ben.expect_chosen()  # a draft, acknowledged too
            if place == KILL:
                app.process.kill()
                app.process.wait()
                assert kept(app.workspace) == {one.name: one.submitted for one in raters}
                address = app.url
                app = stack.enter_context(running(tmp_path, "--port", address.rpartition(":")[2]))
                assert app.url == address
                for one in raters:
                    one.come_again()
                    one.expect_chosen()
            for one, question in [(one, one.submit()) for one in raters]:
                one.expect_submitted(question)
        seconds = (time.monotonic() - began) / (2 * ITEMS)
        keys = sum(one.keys for one in raters) / (2 * ITEMS)
        sys.stdout.write(f"\n{keys:.1f} keys and {seconds:.1f} s per item\n")
        assert keys == 2
        until(lambda: kept(app.workspace) == {one.name: one.submitted for one in raters})
        owner.goto(app.url)
        open_tab(owner, "Annotate")
        agreement = owner.locator("#annotate-results table.agreement")
        expect(agreement).to_be_visible()
        with owner.expect_download() as download:
            owner.locator("#annotate-csv").click()
        expect(agreement.locator("b")).to_have_text(f"{kappa_of(Path(download.value.path())):.2f}")
        for page in (owner, *(one.page for one in raters)):
            page.context.close()
    assert record.outside == []
