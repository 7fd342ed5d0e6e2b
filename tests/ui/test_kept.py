"""What somebody opened or typed stays when the page is drawn anew, and does not go over to another thing."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from pdfqa_core.storage import Store
from tests.ui.serving import SENT, App, open_tab
from tests.ui.studies import annotate_tab, app_with_pilot

pytestmark = pytest.mark.browser

PEOPLE = ("Ada", "Ben")
REASON = "page 3 says so"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    questions = [f"Question {number}?" for number in (1, 2, 3)]
    with app_with_pilot(tmp_path_factory.mktemp("kept"), questions, "One.", "Two.", "Three.", people=PEOPLE) as started:
        yield started


@pytest.fixture
def page(browser: Browser, app: App) -> Iterator[Page]:
    with annotate_tab(browser, app) as opened:
        yield opened


@pytest.fixture
def setup(page: Page) -> Locator:
    page.get_by_role("button", name="This study").click()
    section = page.locator("#annotate-setup")
    expect(section.locator("[name=guideline]")).to_be_visible()
    return section


def slowly(route: Route) -> None:
    """Let an answer come late."""
    time.sleep(1)
    route.continue_()


def sign_in(page: Page, name: str) -> None:
    if page.locator("#annotate-sign-out").is_visible():
        page.locator("#annotate-sign-out").click()
        expect(page.locator("#annotate-sign-out")).to_be_hidden()
    page.locator("#annotate-name").get_by_role("textbox").fill(name)
    page.locator("#annotate-begin").click()
    expect(page.locator("#annotate-sign-out")).to_have_text(f"{name}: sign out")


def test_a_reason_is_that_of_its_own_item(page: Page) -> None:
    item = page.locator("#annotate-item")
    for name, keys in (("Ada", "1yx"), ("Ben", "1nx")):
        sign_in(page, name)
        for _ in range(3):
            asked = item.locator(".question").last.inner_text()
            for key in keys:
                page.keyboard.press(key)
            expect(page.locator("#annotate-form")).to_contain_text("Enter submits it")
            page.keyboard.press("Enter")
            expect(item.locator(".question", has_text=asked).last).to_be_hidden()
    page.locator("#annotate-sign-out").click()
    expect(page.locator("#annotate-sign-out")).to_be_hidden()
    page.locator("#annotate-results .passage").first.click()
    dispute = page.locator("#annotate-dispute")
    reason, category = dispute.locator("[name=reason]").first, dispute.locator("[name=category]").first
    reason.fill(REASON)
    category.select_option("reading")
    dispute.locator("[data-criterion=answer][data-value='0']").click()
    expect(dispute).to_contain_text("✓ saved")
    expect(reason).to_have_value(REASON)
    dispute.get_by_role("button", name="next undecided").click()
    expect(dispute.locator("[data-criterion=answer][aria-pressed=true]")).to_have_count(0)
    expect(reason).to_have_value("")
    expect(category).to_have_value("")


def test_what_is_open_beside_an_item_stays_open_while_it_is_rated(page: Page) -> None:
    sign_in(page, "Cem")
    item = page.locator("#annotate-item")
    earlier = item.locator("details", has_text="before this one")
    if item.locator(".question").last.inner_text() == "Question 1?":
        page.keyboard.press("Enter")
    expect(earlier).to_be_visible()
    page.keyboard.press(",")
    expect(earlier.locator(".earlier").first).to_be_visible()
    page.keyboard.press("q")
    expect(item.locator(".passage").first).to_contain_text("relevant")  # drawn anew
    page.keyboard.press("Shift+w")
    expect(item.locator(".passage.chosen")).to_contain_text("Two.")
    expect(earlier.locator(".earlier").first).to_be_visible()


def test_the_question_why_an_item_cannot_be_judged_outlives_a_late_answer(page: Page) -> None:
    sign_in(page, "Dan")
    dialog, bar = page.locator("dialog.why"), page.locator("#annotate-bar")
    for key in "1y":
        page.keyboard.press(key)
    expect(page.locator("#annotate-form [aria-pressed=true]")).to_have_count(2)
    page.route(SENT, slowly)
    page.keyboard.press("x")
    page.keyboard.press("0")
    dialog.locator("[name=reason]").fill("two languages")
    expect(bar).to_contain_text("1 rated")  # the answer to the key before has come
    page.unroute(SENT)
    expect(dialog).to_be_visible()
    expect(dialog.locator("[name=reason]")).to_have_value("two languages")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.get_by_role("button", name="skip").click()  # the page is not inert
    expect(bar).not_to_contain_text("1 of 3")


def test_a_double_click_goes_on_by_one_item(page: Page) -> None:
    sign_in(page, "Eve")
    expect(page.locator("#annotate-bar")).to_contain_text("1 of 3")
    page.get_by_role("button", name="next unrated").dblclick()
    expect(page.locator("#annotate-bar")).to_contain_text("2 of 3")
    page.wait_for_timeout(1000)  # a second one would have come by then
    expect(page.locator("#annotate-bar")).to_contain_text("2 of 3")


def test_a_question_that_is_refused_can_be_put_right(setup: Locator) -> None:
    setup.locator("summary", has_text="Add a question").click()
    form = setup.locator("details", has_text="Add a question")
    form.locator("[name=name]").fill("Stil & Ton")
    form.locator("[name=title]").fill("How is it written?")
    form.locator("[name=kind]").select_option("ordinal")
    form.locator("[name=labels]").fill("muddled\nclear")
    form.get_by_role("button", name="Add").click()
    expect(setup.locator(".error")).to_be_visible()
    expect(form.locator("[name=title]")).to_be_visible()
    expect(form.locator("[name=title]")).to_have_value("How is it written?")
    expect(form.locator("[name=kind]")).to_have_value("ordinal")
    form.locator("[name=name]").fill("style")
    form.get_by_role("button", name="Add").click()
    expect(setup.locator(".said")).to_contain_text("“How is it written?” is saved.")
    for field in ("name", "title", "labels"):
        expect(form.locator(f"[name={field}]")).to_have_value("")


def test_a_text_that_is_not_saved_stays_with_its_question(page: Page, setup: Locator) -> None:
    first, second = setup.locator("details [name=name][readonly]").evaluate_all(
        "some => some.slice(0, 2).map((one) => one.value)"
    )

    def of(name: str) -> Locator:
        return setup.locator(f"[data-about$=' question {name}']")

    setup.locator("[name=guideline]").fill("Read twice.")
    setup.locator("details", has=page.locator(f"[data-about$=' question {second}']")).locator("summary").click()
    of(second).locator("[name=help]").fill("of the second")
    of(second).get_by_role("button", name="Move up").click()
    expect(setup.locator(".said")).to_contain_text("order of the questions is changed")
    expect(of(second).locator("[name=help]")).to_be_visible()
    expect(of(second).locator("[name=help]")).to_have_value("of the second")
    expect(of(first).locator("[name=help]")).not_to_have_value("of the second")
    expect(of(first).locator("[name=help]")).to_be_hidden()
    expect(setup.locator("[name=guideline]")).to_have_value("Read twice.")
    of(second).get_by_role("button", name="Save").click()
    expect(setup.locator(".said")).to_contain_text("is saved")
    expect(of(second).locator("[name=help]")).to_have_value("of the second")


def test_a_remark_is_that_of_its_own_item(page: Page, app: App) -> None:
    name = f"Remarks {uuid.uuid4().hex[:6]}"
    with Store.open(app.workspace) as store:
        (talk,) = store.conversations.list("local")
        store.studies.create("local", name, [talk.id], 1)
    page.reload()
    open_tab(page, "Documents")
    open_tab(page, "Annotate")
    expect(page.locator("#annotate-study input")).to_have_value(name)  # the newest
    page.get_by_role("button", name="This study").click()
    setup = page.locator("#annotate-setup")
    setup.locator("[name=preset]").select_option("rag")
    setup.get_by_role("button", name="Use its questions").click()
    expect(setup.locator(".said")).to_contain_text("RAG quality")
    sign_in(page, "Dora")
    item, remark = page.locator("#annotate-item .question").last, page.locator("#annotate-form .words textarea")
    first = item.inner_text()
    remark.fill("of the first")
    remark.blur()
    expect(page.locator("#annotate-form .saved")).to_contain_text("✓ saved")
    page.keyboard.press("s")
    expect(item).not_to_have_text(first)
    expect(remark).to_have_value("")
    page.keyboard.press("b")
    expect(item).to_have_text(first)
    expect(remark).to_have_value("of the first")
