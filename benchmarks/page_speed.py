"""How long the page takes to answer a hand while the processor is busy: a key, another tab, another document.

In headless Chromium with the app as a user starts it. First with nothing to do, the baseline of the ratios; then while
the meaning of a document of 3,000 pages is read in the background; then while the model writes an answer as well. A key
and a tab count to the frame that shows them, a document to its title in the overview. Needs chromium.

    python benchmarks/page_speed.py [--quick] [--times 30]
"""

from __future__ import annotations

import re
import statistics
import tempfile
from pathlib import Path

from common import options
from common import row as line
from playwright.sync_api import Page, expect, sync_playwright

from tests.ui.serving import BROWSER_ARGUMENTS, WAIT, chromium, open_page, open_tab, running
from tests.ui.test_states import add, pdf, row, state, upload

PAUSE = 300  # milliseconds between what a person does
SMALL = ("harbour.pdf", "island.pdf")
QUESTION = "Summarise what is said about the lighthouse, its lamp and its keeper, and tell every number that is given."

# Milliseconds from a key or a click to the frame after the next: by then what it changed is on the screen.
KEY = """async () => {
  const box = document.querySelector("#chat-question textarea");
  const began = performance.now();
  box.value += "x";
  box.dispatchEvent(new Event("input", { bubbles: true }));
  await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  return performance.now() - began;
}"""
TAB = """async (name) => {
  const tab = [...document.querySelectorAll("[role=tab]")].find((one) => one.textContent.trim() === name);
  const began = performance.now();
  tab.click();
  while (tab.getAttribute("aria-selected") !== "true") await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  return performance.now() - began;
}"""
DOCUMENT = """async ([name, title]) => {
  const rows = [...document.querySelectorAll("#documents-table tbody tr")];
  const began = performance.now();
  rows.find((row) => row.textContent.includes(name)).querySelector("td").click();
  while (!document.querySelector("#documents-overview").textContent.includes(title)) {
    await new Promise(requestAnimationFrame);
  }
  return performance.now() - began;
}"""


def measured(page: Page, times: int) -> dict[str, list[float]]:
    """Return milliseconds of each kind of action, all of them in turn."""
    found: dict[str, list[float]] = {"key": [], "tab": [], "document": []}
    for number in range(times):
        page.wait_for_timeout(PAUSE)
        found["tab"].append(page.evaluate(TAB, "Chat"))
        page.wait_for_timeout(PAUSE)  # the tab has been drawn
        found["key"].append(page.evaluate(KEY))
        page.wait_for_timeout(PAUSE)
        found["tab"].append(page.evaluate(TAB, "Documents"))
        page.wait_for_timeout(PAUSE)
        name = SMALL[number % 2]
        found["document"].append(page.evaluate(DOCUMENT, [name, name.removesuffix(".pdf").title()]))
    return found


def show(name: str, found: dict[str, list[float]], before: dict[str, list[float]]) -> None:
    """Print the median, the 95th percentile and the ratio of the medians."""
    for kind, values in found.items():
        median, most = statistics.median(values), statistics.quantiles(values, n=20)[-1]
        ratio = median / statistics.median(before[kind])
        line(f"{name}: {kind}", len(values), f"{median:.0f}", f"{most:.0f}", f"{ratio:.1f}", width=9)


def main() -> None:
    parser = options(__doc__, quick="few times, a shorter document, SmolLM2")
    parser.add_argument("--times", type=int, default=30, help="of each action in each state")
    chosen = parser.parse_args()
    times, pages = (4, 200) if chosen.quick else (chosen.times, 3000)
    model = ("--model", "smollm2-135m") if chosen.quick else ()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(BROWSER_ARGUMENTS))
        with running(Path(folder), *model) as app, open_page(browser, app.url, left=True) as page:
            for name in SMALL:
                add(page, upload(name, pdf(title=name.removesuffix(".pdf").title(), pages=2 if "h" in name else 3)))
                expect(state(page, name)).to_have_text("ready")
            expect(page.locator("#documents-table .preparing")).to_have_count(0, timeout=4 * WAIT)
            line("milliseconds", "n", "median", "95 %", "ratio", width=9)
            measured(page, 2)
            idle = measured(page, times)
            show("nothing to do", idle, idle)
            add(page, upload("logbook.pdf", pdf(title="Logbook", pages=pages)))
            expect(state(page, "logbook.pdf")).to_have_text("ready", timeout=4 * WAIT)
            expect(row(page, "logbook.pdf").locator(".preparing")).to_have_text(re.compile("by meaning: about"))
            show("meaning is read", measured(page, times), idle)
            assert row(page, "logbook.pdf").locator(".preparing").count(), "it was read before the end"
            open_tab(page, "Chat")
            page.locator("#chat-question textarea").fill(QUESTION)
            page.keyboard.press("Enter")
            expect(page.locator("#chat-stop")).to_be_visible()
            show("an answer is written", measured(page, 3 if chosen.quick else 5), idle)
        browser.close()


if __name__ == "__main__":
    main()
