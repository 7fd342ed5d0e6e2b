"""Every upload ends in one state that a person can read, and a good file is not held up by bad ones."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import FilePayload, Locator, Page, expect
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfgen.canvas import Canvas

from tests.ui.serving import App, until

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


@pytest.fixture
def emptied(page: Page) -> Iterator[Page]:
    """The page; the documents that the test added are removed at the end."""
    yield page
    remove = page.get_by_role("button", name="remove", exact=True)
    while left := remove.count():
        remove.first.click()
        expect(remove).to_have_count(left - 1)
    expect(page.locator("#documents-table")).to_contain_text("No documents yet")


def test_bad_files_say_what_is_wrong_and_the_good_one_among_them_is_ready(emptied: Page, app: App):
    good = pdf(title="Gannet Point")
    add(
        emptied,
        upload("letter.pdf", b"Dear Sir or Madam, this is not a PDF."),
        upload("nothing.pdf", b""),
        upload("half.pdf", good[: len(good) // 2]),
        upload("locked.pdf", pdf(password=PASSWORD)),
        upload("lighthouse.pdf", good),
    )
    expect(state(emptied, "lighthouse.pdf")).to_have_text("ready")
    expect(row(emptied, "lighthouse.pdf").locator("td.number")).to_have_text(["1", "1"])
    for filename, words, reason in (
        ("letter.pdf", "broken", "is not a PDF"),
        ("nothing.pdf", "broken", "is empty (0 bytes)"),
        ("half.pdf", "broken", "is damaged"),
        ("locked.pdf", "needs a password", "Enter its password"),
    ):
        expect(state(emptied, filename)).to_have_text(words)
        expect(row(emptied, filename)).to_contain_text(reason)
        expect(row(emptied, filename).locator("td.number")).to_have_text(["–", "–"])
    expect(emptied.locator("#documents-work .work")).to_have_count(0)
    expect(emptied.locator("#documents-page img")).to_be_visible()
    assert (app.temporary / "gradio").is_dir()  # where the uploads arrive
    until(lambda: not uploads(app))


def test_a_wrong_password_is_refused_in_words_and_the_right_one_opens_the_file(emptied: Page):
    add(emptied, upload("locked.pdf", pdf(password=PASSWORD)))
    expect(state(emptied, "locked.pdf")).to_have_text("needs a password")
    field, unlock = emptied.get_by_label("Password"), emptied.locator("#documents-unlock")
    field.fill("low water")
    unlock.click()
    expect(row(emptied, "locked.pdf")).to_contain_text("The password does not open locked.pdf.")
    expect(state(emptied, "locked.pdf")).to_have_text("needs a password")
    expect(field).to_have_value("")
    field.fill(PASSWORD)
    field.press("Enter")
    expect(state(emptied, "locked.pdf")).to_have_text("ready")
    expect(row(emptied, "locked.pdf").locator("td.number")).to_have_text(["1", "1"])
    expect(unlock).to_be_hidden()
    kept = emptied.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    assert PASSWORD not in kept
    assert "low water" not in kept


def test_the_row_of_a_locked_document_leads_to_the_field_of_its_password(emptied: Page):
    add(emptied, upload("locked.pdf", pdf(password=PASSWORD)))
    expect(state(emptied, "locked.pdf")).to_have_text("needs a password")
    emptied.reload()  # nothing is open
    field = emptied.get_by_label("Password")
    row(emptied, "locked.pdf").get_by_role("button", name="Enter its password.").click()
    expect(field).to_be_focused()
    field.fill("low water")
    field.press("Enter")
    expect(row(emptied, "locked.pdf").get_by_role("button", name="Check it and enter it again.")).to_be_visible()


def test_ocr_asks_before_it_replaces_text(emptied: Page):
    add(emptied, upload("lighthouse.pdf", pdf(title="Gannet Point")))
    expect(state(emptied, "lighthouse.pdf")).to_have_text("ready")
    emptied.evaluate("() => { window.asked = []; window.confirm = (words) => { asked.push(words); return false; }; }")
    row(emptied, "lighthouse.pdf").get_by_role("button", name="read again with OCR").click()
    assert emptied.evaluate("asked.map((words) => words.split('?')[0])") == [
        "“Gannet Point” has text already. Read its pages as pictures instead"
    ]
    emptied.evaluate("() => { window.confirm = () => true; }")
    expect(emptied.locator("#documents-stop")).to_be_hidden()
    expect(row(emptied, "lighthouse.pdf").locator(".wide-only").first).to_have_text("text")


def test_a_file_that_is_there_already_is_recognised_and_one_that_was_removed_is_gone(emptied: Page, app: App):
    good = pdf(title="Gannet Point")
    add(emptied, upload("lighthouse.pdf", good))
    expect(state(emptied, "lighthouse.pdf")).to_have_text("ready")
    add(emptied, upload("copy of it.pdf", good))
    expect(emptied.locator("#documents-work")).to_have_text("copy of it.pdf is already there as lighthouse.pdf.")
    expect(emptied.locator("#documents-table tbody tr")).to_have_count(1)
    assert len(stored(app)) == 1
    row(emptied, "lighthouse.pdf").get_by_role("button", name="remove").click()
    expect(emptied.locator("#documents-table")).to_contain_text("No documents yet")
    expect(emptied.locator("#documents-page img")).to_have_count(0)
    assert stored(app) == []


def test_a_file_dropped_while_another_is_read_gets_its_turn(emptied: Page, app: App):
    add(emptied, upload("logbook.pdf", pdf(title="Logbook", pages=400)))
    expect(emptied.locator("#documents-work .work")).to_be_visible()
    add(emptied, upload("lighthouse.pdf", pdf(title="Gannet Point")))
    expect(state(emptied, "logbook.pdf")).to_have_text("ready")
    expect(row(emptied, "logbook.pdf").locator("td.number").first).to_have_text("400")
    expect(state(emptied, "lighthouse.pdf")).to_have_text("ready")
    until(lambda: not uploads(app))


def uploads(app: App) -> list[Path]:
    """Return the PDFs that lie outside the workspace: Gradio keeps uploads in a folder for temporary files.

    The figure that the Evaluate tab offers as a PDF is none of them.
    """
    found = [path for path in app.temporary.rglob("*") if path.is_file() and path.suffix.lower() == ".pdf"]
    return [path for path in found if path.name != "retrieval.pdf"]


def stored(app: App) -> list[Path]:
    """Return the PDFs that the workspace keeps."""
    return [path for path in (app.workspace / "pdfs").rglob("*") if path.is_file()]
