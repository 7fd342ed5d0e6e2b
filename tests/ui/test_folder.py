"""A folder is chosen or dropped: its PDFs are read, the rest is said, and sub-folders become collections."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.ui.serving import App, open_page
from tests.ui.test_collections import bar, chip
from tests.ui.test_states import pdf, row, state

pytestmark = pytest.mark.browser

# What a browser hands out when a folder is dropped, which a test cannot drop by itself.
DROP = """
async (base64) => {
  const answer = await fetch(`data:application/pdf;base64,${base64}`), content = await answer.blob();
  const entry = (path, file) => ({
    isDirectory: false, name: path.split("/").at(-1), fullPath: path, file: (done) => done(file),
  });
  const folder = (path, inside) => ({
    isDirectory: true, name: path.split("/").at(-1), fullPath: path,
    createReader: () => {
      let left = inside;
      return { readEntries: (done) => { const some = left; left = []; done(some); } };
    },
  });
  const root = folder("/dropped", [
    folder("/dropped/sub", [entry("/dropped/sub/a.pdf", new File([content], "a.pdf"))]),
    entry("/dropped/b.txt", new File(["text"], "b.txt")),
  ]);
  const event = new Event("drop", { bubbles: true, cancelable: true });
  event.dataTransfer = { items: [{ webkitGetAsEntry: () => root }] };
  document.querySelector("#documents-upload button").dispatchEvent(event);
}
"""


@pytest.fixture
def view(browser: Browser, demo: App) -> Iterator[Page]:
    with open_page(browser, demo.url) as page:
        yield page


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with PDFs of the same name in its sub-folders, and files that are none."""
    root = tmp_path / "station"
    for name, title in (("2023/log.pdf", "Gannet Point"), ("2024/log.pdf", "Tern Rock"), ("map.pdf", "Map")):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(pdf(title=title))
    (root / "notes.txt").write_text("notes")
    (root / ".hidden.pdf").write_bytes(b"hidden")
    return root


def choose(page: Page, folder: Path) -> None:
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Add a folder").click()
    chooser.value.set_files(folder)


def test_a_folder_is_read_and_its_sub_folders_become_collections(view: Page, folder: Path):
    choose(view, folder)
    expect(view.locator("#documents-table tbody tr")).to_have_count(3)
    for name in ("Gannet Point", "Tern Rock", "Map"):
        expect(state(view, name)).to_have_text("ready")
    expect(bar(view)).to_contain_text("3 PDFs of the folder “station” are here.")
    bar(view).get_by_text("2 other files were left aside").click()
    expect(bar(view)).to_contain_text("station/notes.txt")
    bar(view).get_by_role("button", name="station/2024 1").click()
    expect(chip(view, "station/2024 1")).to_be_visible()
    expect(row(view, "Tern Rock")).to_contain_text("in station/2024")
    assert "in station" not in row(view, "Gannet Point").inner_text()
    view.reload()
    expect(bar(view).get_by_role("button", name="station 3")).to_be_visible()  # still offered
    bar(view).get_by_role("button", name="no, thanks").click()
    expect(bar(view).locator(".folder-offer")).to_have_count(0)


def test_a_folder_without_pdfs_says_so(view: Page, tmp_path: Path):
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "notes.txt").write_text("notes")
    choose(view, tmp_path / "papers")
    expect(bar(view)).to_contain_text("1 other file was left aside: not PDFs, or hidden")
    expect(view.locator("#documents-table")).to_contain_text("No documents yet")
    bar(view).get_by_role("button", name="close").click()
    expect(bar(view).locator(".folder-offer")).to_have_count(0)


def test_a_dropped_folder_goes_the_same_way(view: Page):
    view.evaluate(DROP, base64.b64encode(pdf(title="Dropped")).decode())
    expect(state(view, "a.pdf")).to_have_text(re.compile("ready"))
    expect(bar(view).get_by_role("button", name="dropped/sub 1")).to_be_visible()
    expect(bar(view)).to_contain_text("1 other file was left aside")
