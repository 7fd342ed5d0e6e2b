"""Rating in a browser: by the keyboard alone, without a loss, without seeing the other; and what is decided after."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.services.helpers import store_of, until
from tests.ui.prepared import Prepared
from tests.ui.studies import annotate_tab, app_with_pilot, question, rate_item, sign_in, sign_out
from tests.ui.test_axe import findings

pytestmark = pytest.mark.browser

QUESTIONS = ("Question 1?", "Question 2?", "Question 3?")
PASSAGES = ("One.", "Two.", "Three.")
SECRET = "zzadazz"


def kept(app: Prepared, name: str) -> list[tuple[str, str, bool]]:
    """Return item, value and draft of what somebody said last of each thing."""
    with store_of(app.services) as store:
        (study,) = store.studies.list("local")
        return [(one.item_id, one.value, one.draft) for one in store.studies.own_ratings(study.id, name)]


def pressed(page: Page, value: str) -> Locator:
    return page.locator(f"#annotate-form [data-value='{value}'][aria-pressed='true']")


def test_a_study_is_rated_by_the_keyboard_alone(browser: Browser, tmp_path: Path) -> None:
    with app_with_pilot(tmp_path, QUESTIONS, *PASSAGES) as app, annotate_tab(browser, app.url) as page:
        press, item, form = page.keyboard.press, page.locator("#annotate-item"), page.locator("#annotate-form")
        sign_in(page, "Ada")
        rate_item(page, "1yx")  # four keys with Enter, and one more for each passage that is relevant
        press("Backspace")  # opens again what was submitted last
        expect(form).to_contain_text("Submitted.")
        expect(pressed(page, "0")).to_have_count(3)
        rate_item(page, "qn")
        assert sorted(value for _, value, _ in kept(app, "Ada")) == ["0", "0", "0", "1", "extractive"]

        second = question(page)
        press("Shift+w")
        expect(item.locator(".passage.chosen")).to_contain_text("Two.")
        press("Shift+w")
        expect(item.locator(".passage.chosen")).to_have_count(0)
        press("0")
        expect(page.locator("dialog.why")).to_be_visible()
        press("Escape")
        expect(page.locator("dialog.why")).to_be_hidden()
        press("0")
        press("1")
        expect(item.locator(".question")).not_to_have_text(second)
        press("b")
        expect(item.locator(".question")).to_have_text(second)
        expect(form).to_contain_text("Skipped: The question is not clear")
        press("Enter")
        expect(item.locator(".question")).not_to_have_text(second)

        press("-")
        expect(page.locator("[data-action=alone]")).to_have_attribute("aria-pressed", "true")
        for key in "1yqx":  # without Enter
            press(key)
        expect(item).to_contain_text("All 3 items are rated")
        page.reload()
        expect(item).to_contain_text("Done, thank you")  # she is signed in as before
        said = kept(app, "Ada")
        assert len(said) == 2 * (2 + len(PASSAGES))
        assert not any(draft for _, _, draft in said)


# While `lost` is true, what somebody chose does not get through, and nothing else: without answers to its timers the
# page would load itself anew. By Playwright's routes a choice once came through.
BROKEN = """
const through = window.fetch.bind(window);
window.fetch = async (resource, options) => {
  if (window.lost && String(options?.body).includes('"action":"rate"')) throw new TypeError("Failed to fetch");
  return through(resource, options);
};
"""


def test_no_choice_is_lost_on_a_broken_connection_or_overwritten_by_another_window(
    browser: Browser, tmp_path: Path
) -> None:
    with app_with_pilot(tmp_path, QUESTIONS, *PASSAGES) as app, annotate_tab(browser, app.url, before=BROKEN) as page:
        lost = page.locator("#pq-lost")
        sign_in(page, "Ben")
        expect(page.locator(".annotate-bar")).to_be_visible()  # the item is there, and with it its keys
        page.evaluate("window.lost = true")
        page.keyboard.press("y")
        expect(lost).to_contain_text("Your last choice is not saved yet")
        assert kept(app, "Ben") == []
        page.evaluate("window.lost = false")  # it is sent again by itself
        expect(lost).to_be_hidden()
        expect(pressed(page, "1")).to_have_count(1)
        before = kept(app, "Ben")
        assert [value for _, value, _ in before] == ["1"]

        page.evaluate("window.lost = true")
        page.keyboard.press("n")
        expect(lost).to_contain_text("Your last choice is not saved yet")
        page.evaluate("sessionStorage.removeItem('pdfqa-rater')")  # he would be signed in again
        page.reload()  # nothing is lost any more
        page.get_by_role("tab", name="Annotate", exact=True).click()
        sign_in(page, "Ada")  # at the same window: Ben's choice is not sent as hers
        expect(page.locator(".annotate-bar")).to_be_visible()
        expect(pressed(page, "0")).to_have_count(0)
        sign_out(page)
        assert kept(app, "Ada") == []
        assert kept(app, "Ben") == before
        sign_in(page, "Ben")
        expect(lost).to_contain_text("It is sent now")
        expect(pressed(page, "0")).to_have_count(1)
        until(lambda: [value for _, value, _ in kept(app, "Ben")] == ["0"])
        assert page.evaluate("sessionStorage.getItem('pdfqa-unsaved')") == "[]"
        page.reload()
        expect(page.locator("#annotate-sign-out")).to_have_text("Ben: sign out")
        expect(pressed(page, "0")).to_have_count(1)

        with annotate_tab(browser, app.url) as other:
            sign_in(other, "Ben")
            expect(pressed(other, "0")).to_have_count(1)
            page.keyboard.press("y")
            expect(pressed(page, "1")).to_have_count(1)
            other.keyboard.press("n")
            expect(other.locator("#annotate-message .error")).to_contain_text("in another window")
            expect(pressed(other, "1")).to_have_count(1)  # what was said there


def test_nobody_sees_what_the_other_says_and_where_they_differ_it_is_decided_without_names(
    browser: Browser, tmp_path: Path
) -> None:
    with app_with_pilot(tmp_path, QUESTIONS, *PASSAGES) as app, annotate_tab(browser, app.url) as page:
        studies = app.services.studies
        (study,) = studies.list("local")
        studies.sign_in("local", study.id, "Ada")
        for key in study.turn_ids:
            said = {(key, "intent"): "extractive", (key, "answer"): "1"}
            said |= {(f"{key}#{rank}", "passage"): "0" for rank in range(1, 1 + len(PASSAGES))}
            studies.save("local", study.id, "Ada", key, said, comment=SECRET)
        results, tab = page.locator("#annotate-results"), page.locator("#pq-annotate")
        sign_in(page, "Ben")
        for _ in QUESTIONS:
            expect(page.locator("#annotate-form [aria-pressed='true']")).to_have_count(0)
            expect(results).to_contain_text("still rating: Ben")
            expect(results.locator("table")).to_have_count(0)
            assert not re.search(f"{SECRET}|fake|bm25|confidence|supported", tab.inner_html())
            rate_item(page, "1nx")
        expect(results.locator("table.agreement")).to_be_visible()
        expect(tab).to_contain_text(SECRET)
        sign_out(page)
        with page.expect_download() as download:
            page.locator("#annotate-csv").click()
        with Path(download.value.path()).open(encoding="utf-8-sig", newline="") as file:
            assert len(list(csv.DictReader(file))) == 2 * len(QUESTIONS) * (2 + len(PASSAGES))
        page.evaluate("document.querySelectorAll('#pq-annotate details').forEach((one) => { one.open = true; })")
        assert findings(page) == []

        results.locator(".passage").first.click()
        dispute = page.locator("#annotate-dispute")
        expect(dispute).to_contain_text("1 said correct")
        for place in (dispute, results):
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
