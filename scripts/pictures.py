"""Take the pictures in docs/ anew: start the app in an empty workspace, do the job with the sample, photograph it.

.venv/bin/python scripts/pictures.py
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
QUESTIONS = ("Which refrigerant does the heat pump use, and how much of it?", "Where is the ammonia kept?")
UNSURE = "How many seabirds were counted in the wildlife survey?"  # the report does not say
UNANSWERABLE = "Which actor plays Hamlet?"


def browser_path() -> str:
    """Return where Chromium is."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not found:
        sys.exit("Chromium is missing: apt install chromium")
    return found


def tab(page: Page, name: str) -> None:
    page.get_by_role("tab", name=name, exact=True).click()
    page.wait_for_timeout(1500)


def ask(page: Page, question: str) -> None:
    answered = page.locator(".turn .meta").count()
    page.fill("#chat-question textarea", question)
    page.press("#chat-question textarea", "Enter")
    page.wait_for_function(f"document.querySelectorAll('.turn .meta').length > {answered}", timeout=120_000)


def rate(page: Page, name: str, keys: str) -> None:
    page.locator("#annotate-name").get_by_role("textbox").fill(name)
    page.click("#annotate-begin")
    page.wait_for_selector(".annotate-bar")
    page.wait_for_timeout(700)
    for key in keys.split():
        page.keyboard.press(key)
        page.wait_for_timeout(700)


def shoot(page: Page, name: str) -> None:
    page.wait_for_timeout(1500)
    page.screenshot(path=str(DOCS / f"{name}.png"))
    print(f"docs/{name}.png")


def job(page: Page) -> None:
    page.locator("#documents-table button[data-action=sample]").click()
    page.wait_for_selector("#documents-page img", timeout=60_000)
    for _ in range(4):
        page.locator("#documents-page button[aria-label='next page']").click()
        page.wait_for_timeout(1200)
    page.get_by_label("Show blocks").check()
    shoot(page, "documents")
    page.get_by_label("Show blocks").uncheck()
    tab(page, "Retrieval")
    page.fill("#retrieval-question :is(input, textarea)", "Which refrigerant does the heat pump use?")
    page.click("#retrieval-search")
    page.wait_for_selector("#retrieval-hits .passage img", timeout=120_000)
    shoot(page, "retrieval")
    tab(page, "Chat")
    for question in (*QUESTIONS, UNSURE, UNANSWERABLE):
        ask(page, question)
    shoot(page, "refusal")
    page.locator("button.cite").first.click()
    page.wait_for_selector("#chat-page i.mark", timeout=60_000)
    page.locator("#chat-scroll").evaluate("box => box.scrollTop = 0")
    shoot(page, "chat")
    turn = page.locator("#chat-transcript .turn").first
    turn.get_by_role("button", name="add to study…").click()
    turn.get_by_role("button", name="a new study of the whole conversation").click()
    page.locator("#chat-transcript").get_by_role("button", name="open it").click()
    page.wait_for_selector("#annotate-begin")
    page.wait_for_timeout(1500)
    rate(page, "Ada", "1 y q x Enter 3 n x Enter 1 y x Enter 1 y x Enter")
    page.click("#annotate-sign-out")
    page.wait_for_selector("#annotate-begin")
    rate(page, "Ben", "1 y q x Enter")
    shoot(page, "annotate")
    for key in "3 n q x Enter 2 y x Enter 1 y x Enter".split():
        page.keyboard.press(key)
        page.wait_for_timeout(700)
    page.click("#annotate-sign-out")
    page.wait_for_selector("table.agreement")
    shoot(page, "agreement")
    tab(page, "Evaluate")
    page.click("button#evaluate-go")
    page.wait_for_selector("#evaluate-results table", timeout=120_000)
    page.wait_for_timeout(1500)
    page.locator("#evaluate-items tr[data-action]").nth(6).click()
    page.wait_for_selector("#evaluate-page img", timeout=60_000)
    for column in (0, 1):
        page.locator("#evaluate-columns > .column").nth(column).evaluate("box => box.scrollTop = 0")
    shoot(page, "evaluate")
    review(page)
    tab(page, "Models")
    shoot(page, "models")


def review(page: Page) -> None:
    """Make questions on the Train tab and accept some."""
    tab(page, "Train")
    page.fill("#train-passages input", "0")
    page.click("button#train-make")
    page.locator("#train-made button[data-step=review]").click(timeout=120_000)
    page.wait_for_selector("#train-page img", timeout=60_000)
    for _ in range(4):
        page.keyboard.press("a")
        page.wait_for_timeout(1000)
    shoot(page, "train")


def main() -> None:
    """Start the app, do the job once in each view, stop the app."""
    with tempfile.TemporaryDirectory(prefix="pdfqa-pictures-") as folder:
        workspace = Path(folder) / "workspace"
        command = [sys.executable, "-m", "pdfqa_core", "serve", "--workspace", str(workspace), "--port", "7869"]
        app = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        try:
            assert app.stdout is not None
            found = re.search(r"http://\S+", app.stdout.readline())
            assert found, "the app did not start"
            address = found.group()
            with sync_playwright() as playwright:
                chromium = playwright.chromium.launch(
                    executable_path=browser_path(), args=["--no-sandbox"], ignore_default_args=["--hide-scrollbars"]
                )
                page = chromium.new_page(viewport={"width": 1440, "height": 900}, color_scheme="light")
                page.goto(address)
                page.wait_for_selector(".dot.ready", timeout=120_000)
                job(page)
                dark = chromium.new_page(viewport={"width": 1440, "height": 900}, color_scheme="dark")
                dark.goto(f"{address}?__theme=dark")
                phone = chromium.new_page(viewport={"width": 390, "height": 844}, color_scheme="light")
                phone.goto(address)
                for view, name in ((dark, "chat-dark"), (phone, "chat-phone")):
                    view.wait_for_selector("#pq-tabs")
                    view.wait_for_timeout(2000)
                    tab(view, "Chat")
                    if name == "chat-phone":
                        view.locator(".views button", has_text="Conversations").click()
                    view.locator(".conversations .open").first.click()
                    view.wait_for_timeout(1500)
                    if name == "chat-phone":
                        view.locator(".views button", has_text="Chat").first.click()
                    else:
                        view.locator("button.cite").first.click()
                    shoot(view, name)
                chromium.close()
        finally:
            app.terminate()
            app.wait(timeout=30)


if __name__ == "__main__":
    main()
