"""A study from its making to a decision: what the owner sets up, keys, drafts, two windows, a lost connection."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from pdfqa_core.storage import Store
from tests.ui.serving import SENT, WAIT, App, open_fold, open_page, open_tab, until
from tests.ui.studies import annotate_tab, app_with_pilot
from tests.ui.test_axe import findings

pytestmark = pytest.mark.browser

TABLE = "question,answer,gold_answer,gold_passage,kind,gold:answer,explanation\n" + "".join(
    f"How loud is pump {n}?,About {n} dB.,{n} dB,The pump makes {n} dB.,,,\n" for n in range(50, 53)
)
TRAINING = "How warm?,Cold.,Warm,It is warm.,training,0,The passage says warm.\n"
KEYS = 4  # for a turn with three passages, and one more for each that is relevant


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    questions = [f"Question {number}?" for number in (1, 2, 3)]
    with app_with_pilot(tmp_path_factory.mktemp("study"), questions, "One.", "Two.", "Three.") as started:
        yield started


@pytest.fixture(scope="module")
def page(browser: Browser, app: App) -> Iterator[Page]:
    with annotate_tab(browser, app) as opened:
        yield opened


def kept(app: App, name: str) -> list[tuple[str, str, bool]]:
    """Return item, value and draft of what somebody said last of each thing in the newest study."""
    with Store.open(app.workspace) as store:
        study = store.studies.list("local")[0]
        return [(one.item_id, one.value, one.draft) for one in store.studies.own_ratings(study.id, name)]


def choose_study(page: Page, name: str) -> None:
    page.locator("#annotate-study input").click()
    page.get_by_role("option", name=name).click()
    expect(page.locator("#annotate-study input")).to_have_value(name)


def sign_in(page: Page, name: str) -> None:
    page.locator("#annotate-names").get_by_role("button", name=name, exact=True).click()
    expect(page.locator("#annotate-sign-out")).to_have_text(f"{name}: sign out")


def sign_out(page: Page) -> None:
    """Sign out who is in: nobody is where a test before ended early."""
    if page.locator("#annotate-sign-out").is_visible():
        page.locator("#annotate-sign-out").click()
    expect(page.locator("#annotate-names")).to_be_visible()


def lose_choices(route: Route) -> None:
    """Lose what somebody chose and nothing else: without answers to its timers the page would load itself anew."""
    if '"action":"rate"' in (route.request.post_data or ""):
        route.abort("internetdisconnected")
    else:
        route.continue_()


def pressed(page: Page, value: str) -> Locator:
    return page.locator(f"#annotate-form [data-value='{value}'][aria-pressed='true']")


def test_a_study_of_a_table_is_made_with_the_people_who_rate_it(page: Page, tmp_path: Path) -> None:
    table = tmp_path / "items.csv"
    table.write_text(TABLE + TRAINING)
    if not page.locator("#annotate-study-name").is_visible():  # a try before ended early
        open_fold(page, "New study")
    page.locator("#annotate-study-name").get_by_role("textbox").fill("Hundred")
    page.get_by_label("a table (CSV)").click()
    page.locator("#annotate-table input[type=file]").set_input_files(table)
    expect(page.locator("#annotate-table")).to_contain_text("items")
    page.locator("#annotate-people").get_by_role("textbox").fill("Ada, Ben")
    page.locator("#annotate-create").click()
    expect(page.locator("#annotate-message .said")).to_contain_text("“Hundred” is made, with 4 items")
    expect(page.locator("#annotate-name")).to_be_hidden()  # nobody else signs in
    expect(page.locator("#annotate-names button")).to_have_text(["Ada", "Ben"])


def test_the_owner_changes_what_is_asked_and_is_told_what_was_done(page: Page) -> None:
    page.get_by_role("button", name="This study").click()
    setup = page.locator("#annotate-setup")
    setup.locator("summary", has_text="Add a question").click()
    form = setup.locator("details[open]")
    form.locator("[name=name]").fill("style")
    form.locator("[name=title]").fill("How is it written?")
    form.locator("[name=help]").fill("for a reader in a hurry")
    form.locator("[name=kind]").select_option("ordinal")
    form.locator("[name=about]").select_option("answer")
    form.locator("[name=labels]").fill("muddled\nclear")
    form.get_by_role("button", name="Add").click()
    expect(setup.locator(".said")).to_contain_text("“How is it written?” is saved.")
    setup.locator("[name=guideline]").fill("Read twice.")
    setup.get_by_role("button", name="Save guideline").click()
    expect(setup.locator(".said")).to_contain_text("The guideline is saved")
    setup.get_by_role("button", name="Close: no more ratings").click()
    expect(setup.locator(".said")).to_contain_text("“Hundred” is closed")
    setup.get_by_role("button", name="Open again").click()
    expect(setup.locator(".said")).to_contain_text("is open: annotators can rate")
    setup.locator("[name=names]").fill("Ada, Adda")
    setup.locator("[data-action=invite]").click()
    expect(setup.locator(".said")).to_contain_text("Added: Adda.")
    setup.locator("[data-action=remove-person][data-person=Adda]").click()
    expect(setup.locator(".said")).to_contain_text("Adda is out of this study.")
    page.evaluate("document.querySelectorAll('#annotate-setup details').forEach((one) => { one.open = true; })")
    assert findings(page) == []


def test_a_training_item_comes_first_and_is_explained(page: Page) -> None:
    sign_in(page, "Ada")
    item, form = page.locator("#annotate-item"), page.locator("#annotate-form")
    expect(item).to_contain_text("How warm?")
    for words in ("Gold answer", "Warm", "Generated answer", "Cold.", "It is warm."):
        expect(item).to_contain_text(words)
    expect(form).to_contain_text("for a reader in a hurry")
    item.locator("summary", has_text="Guideline").wait_for()
    page.keyboard.press(".")
    expect(item.locator("[data-kept^=guideline]")).to_contain_text("Read twice.")
    page.keyboard.press("y")
    page.keyboard.press("2")
    expect(form).to_contain_text("Enter submits it")
    page.keyboard.press("Enter")
    expect(form.locator(".explained")).to_contain_text("The passage says warm.")
    expect(form).to_contain_text("right is: incorrect")
    page.keyboard.press("Enter")
    expect(item).not_to_contain_text("How warm?")


def test_a_finished_item_goes_on_by_itself_and_undo_opens_it_again(page: Page, app: App) -> None:
    item = page.locator("#annotate-item .question")
    first = item.inner_text()
    page.keyboard.press("-")
    expect(page.locator("[data-action=alone]")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("y")
    page.keyboard.press("1")
    expect(item).not_to_have_text(first)
    page.keyboard.press("Backspace")
    expect(item).to_have_text(first)
    page.keyboard.press("n")
    expect(page.locator("#annotate-form")).to_contain_text("Changed since it was submitted")
    page.keyboard.press("Enter")
    expect(item).not_to_have_text(first)
    assert not any(draft for _, _, draft in kept(app, "Ada"))
    page.keyboard.press("-")
    expect(page.locator("[data-action=alone]")).to_have_attribute("aria-pressed", "false")


def test_an_item_that_cannot_be_judged_is_skipped_with_a_reason(page: Page) -> None:
    first = page.locator("#annotate-item .question").inner_text()
    page.keyboard.press("0")
    expect(page.locator("dialog.why")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("dialog.why")).to_be_hidden()
    page.keyboard.press("0")
    page.keyboard.press("1")
    expect(page.locator("#annotate-item .question")).not_to_have_text(first)
    page.keyboard.press("b")
    expect(page.locator("#annotate-form")).to_contain_text("Skipped: The question is not clear")
    page.keyboard.press("Enter")
    expect(page.locator("#annotate-item .question")).not_to_have_text(first)


def test_a_second_window_overwrites_nothing(page: Page, browser: Browser, app: App) -> None:
    asked = page.locator("#annotate-item .question").inner_text()
    with open_page(browser, app.url) as other:
        open_tab(other, "Annotate")
        sign_in(other, "Ada")
        expect(other.locator("#annotate-item .question")).to_have_text(asked)
        page.keyboard.press("y")
        expect(pressed(page, "1")).to_have_count(1)
        other.keyboard.press("n")
        expect(other.locator("#annotate-message .error")).to_contain_text("in another window")
        expect(pressed(other, "1")).to_have_count(1)  # what was said there


def test_a_lost_connection_is_told_and_the_choice_is_saved_after_it(browser: Browser, app: App) -> None:
    context = browser.new_context()
    context.set_default_timeout(WAIT)
    page = context.new_page()
    page.goto(app.url)
    open_tab(page, "Annotate")
    sign_in(page, "Ben")
    expect(page.locator(".annotate-bar")).to_be_visible()
    context.route(SENT, lose_choices)
    page.keyboard.press("y")
    expect(page.locator("#pq-lost")).to_contain_text("Your last choice is not saved yet")
    assert kept(app, "Ben") == []
    context.unroute(SENT)
    until(lambda: len(kept(app, "Ben")) == 1)
    expect(page.locator("#pq-lost")).to_be_hidden()
    expect(pressed(page, "1")).to_have_count(1)
    context.close()


def test_a_choice_that_was_not_saved_outlives_the_page(browser: Browser, app: App) -> None:
    context = browser.new_context()
    context.set_default_timeout(WAIT)
    page = context.new_page()
    page.goto(app.url)
    open_tab(page, "Annotate")
    sign_in(page, "Ben")
    page.keyboard.press("y")
    expect(pressed(page, "1")).to_have_count(1)
    before = kept(app, "Ben")
    context.route(SENT, lose_choices)
    page.keyboard.press("n")
    expect(page.locator("#pq-lost")).to_contain_text("Your last choice is not saved yet")
    assert kept(app, "Ben") == before
    page.reload(wait_until="commit")
    context.unroute(SENT)
    open_tab(page, "Annotate")
    sign_in(page, "Ada")  # at the same window: Ben's choice is not sent as hers
    expect(page.locator(".annotate-bar")).to_be_visible()
    expect(pressed(page, "0")).to_have_count(0)
    page.locator("#annotate-sign-out").click()
    sign_in(page, "Ben")
    expect(page.locator("#pq-lost")).to_contain_text("It is sent now")
    expect(pressed(page, "0")).to_have_count(1)
    until(lambda: kept(app, "Ben") != before)
    assert page.evaluate("sessionStorage.getItem('pdfqa-unsaved')") == "[]"
    context.close()


def test_a_turn_takes_four_keys_and_one_for_each_relevant_passage(page: Page) -> None:
    sign_out(page)
    choose_study(page, "Pilot")
    page.locator("#annotate-name").get_by_role("textbox").fill("Ada")
    page.locator("#annotate-begin").click()
    expect(page.locator(".annotate-bar")).to_contain_text("1 of 3")
    item = page.locator("#annotate-item")
    for relevant in ("", "q", "qe"):
        asked = item.locator(".question").last.inner_text()
        keys = ["1", "y", *relevant, "x", "Enter"]
        for key in keys:
            page.keyboard.press(key)
        assert len(keys) == KEYS + len(relevant)
        expect(item.locator(".question", has_text=asked).last).to_be_hidden()
    expect(item).to_contain_text("All 3 items are rated")
    page.keyboard.press("b")
    expect(pressed(page, "1")).to_have_count(1 + len(relevant))


def test_a_passage_opens_by_its_key_and_nothing_of_the_machine_shows(page: Page) -> None:
    item = page.locator("#annotate-item")
    page.keyboard.press("Shift+w")
    expect(item.locator(".passage.chosen")).to_contain_text("Two.")
    page.keyboard.press("Shift+w")
    expect(item.locator(".passage.chosen")).to_have_count(0)
    assert not re.search("fake|bm25|confidence|supported", item.inner_text())
    assert item.locator(".weak, .badge, .refused").count() == 0
    assert findings(page) == []


def test_where_people_differ_it_is_decided_without_names(page: Page) -> None:
    sign_out(page)
    page.locator("#annotate-name").get_by_role("textbox").fill("Ben")
    page.locator("#annotate-begin").click()
    expect(page.locator(".annotate-bar")).to_contain_text("1 of 3")
    item = page.locator("#annotate-item")
    for _ in range(3):
        asked = item.locator(".question").last.inner_text()
        for key in "1nx":
            page.keyboard.press(key)
        expect(page.locator("#annotate-form")).to_contain_text("Enter submits it")
        page.keyboard.press("Enter")
        expect(item.locator(".question", has_text=asked).last).to_be_hidden()
    page.locator("#annotate-sign-out").click()
    expect(page.locator("#annotate-sign-out")).to_be_hidden()  # the agreement is there before
    expect(page.locator("#annotate-results table.agreement")).to_be_visible()
    page.locator("#annotate-results .passage").first.click()
    dispute = page.locator("#annotate-dispute")
    expect(dispute).to_contain_text("1 said correct")
    for place in (dispute, page.locator("#annotate-results")):
        expect(place).not_to_contain_text(re.compile("Ada|Ben"))
    dispute.locator("[name=reason]").first.fill("page 3 says so")
    dispute.locator("[name=category]").first.select_option("reading")
    dispute.locator("[data-criterion=answer][data-value='0']").click()
    expect(dispute).to_contain_text("✓ saved")
    expect(dispute.locator("[data-criterion=answer][data-value='0']")).to_have_attribute("aria-pressed", "true")
    expect(dispute.locator("[name=reason]").first).to_have_value("page 3 says so")
    dispute.locator("[data-action=close]").click()
    overall = page.locator("#annotate-tables details[data-group=overall] tbody tr", has_text="adjudicated")
    expect(overall).to_have_count(1)
