"""Every upload ends in one state that a person can read, and a good file is not held up by bad ones."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from playwright.sync_api import Browser, FilePayload, Locator, Page, expect
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfgen.canvas import Canvas

from pdfqa_core.ui import downloads
from tests.services.helpers import until
from tests.ui.prepared import looking

pytestmark = pytest.mark.browser

PASSWORD = "tide tables"
TEXT = (
    "The lighthouse on Gannet Point was lit for the first time in 1871.",
    "Its lamp turns once in twenty seconds and is seen for eighteen nautical miles.",
    "The keeper's cottage was sold in 1990 and is a bird observatory today.",
)


def pdf(*, password: str = "", title: str = "", pages: int = 1) -> bytes:
    """Return a PDF with a few sentences on each page."""
    buffer = io.BytesIO()
    lock = StandardEncryption(password, strength=128) if password else None
    canvas = Canvas(buffer, encrypt=lock, invariant=1)
    canvas.setTitle(title)
    for page in range(1, pages + 1):
        for number, line in enumerate((*TEXT, f"This is page {page}.")):
            canvas.drawString(72, 760 - 18 * number, line)
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()


def upload(name: str, content: bytes) -> FilePayload:
    return {"name": name, "mimeType": "application/pdf", "buffer": content}


def add(page: Page, *files: FilePayload) -> None:
    page.set_input_files("#documents-upload input[type=file]", list(files))


def row(page: Page, filename: str) -> Locator:
    return page.locator("#documents-table tbody tr").filter(has_text=filename)


def state(page: Page, filename: str) -> Locator:
    return row(page, filename).locator(".state")


def test_each_file_ends_in_a_state_that_is_said_and_a_locked_one_opens_with_its_password(
    browser: Browser, tmp_path: Path
):
    with looking(browser, tmp_path) as (page, app):
        good = pdf(title="Gannet Point")
        bad = {"letter.pdf": b"Dear Sir or Madam, this is not a PDF.", "nothing.pdf": b"", "half.pdf": good[:900]}
        locked = upload("locked.pdf", pdf(password=PASSWORD))
        add(page, *(upload(*one) for one in bad.items()), locked, upload("lighthouse.pdf", good))
        expect(state(page, "lighthouse.pdf")).to_have_text("ready")
        expect(row(page, "lighthouse.pdf").locator("td.number")).to_have_text(["1", "1"])
        for name, reason in zip(bad, ("is not a PDF", "is empty (0 bytes)", "is damaged"), strict=True):
            expect(state(page, name)).to_have_text("broken")
            expect(row(page, name)).to_contain_text(reason)
        expect(state(page, "locked.pdf")).to_have_text("needs a password")
        expect(page.locator("#documents-work .work")).to_have_count(0)
        uploaded = (*bad, "locked.pdf", "lighthouse.pdf")
        assert downloads.uploads().is_dir()
        until(lambda: not [one for one in downloads.uploads().rglob("*.pdf") if one.name in uploaded])

        page.reload()  # nothing is open
        field = page.get_by_label("Password")
        row(page, "locked.pdf").get_by_role("button", name="Enter its password.").click()
        expect(field).to_be_focused()
        field.fill("low water")
        page.locator("#documents-unlock").click()
        expect(row(page, "locked.pdf")).to_contain_text("The password does not open locked.pdf.")
        expect(field).to_have_value("")
        field.fill(PASSWORD)
        field.press("Enter")
        expect(state(page, "locked.pdf")).to_have_text("ready")
        expect(field).to_be_hidden()
        kept = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
        assert not [word for word in (PASSWORD, "low water") if word in kept]

        add(page, upload("copy.pdf", good))
        expect(page.locator("#documents-work")).to_have_text("copy.pdf is already there as lighthouse.pdf.")
        page.evaluate("() => { window.asked = []; window.confirm = (words) => { asked.push(words); return false; }; }")
        row(page, "lighthouse.pdf").get_by_role("button", name="read again with OCR").click()
        assert page.evaluate("asked.map((words) => words.split('?')[0])") == [
            "“Gannet Point” has text already. Read its pages as pictures instead"
        ]
        expect(page.locator("#documents-stop")).to_be_hidden()
        page.evaluate("() => { window.confirm = () => true; }")
        row(page, "lighthouse.pdf").get_by_role("button", name="remove", exact=True).click()
        expect(page.locator("#documents-table tbody tr")).to_have_count(1 + len(bad))
        assert "lighthouse.pdf" not in app.ids()
