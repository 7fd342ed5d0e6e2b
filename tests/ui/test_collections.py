"""Folders that are added and collections on the Documents tab: made, filled, renamed, removed, and named meanwhile."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.ui.prepared import looking
from tests.ui.test_states import add, pdf, row, state, upload

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


def folder_of_pdfs(root: Path) -> Path:
    """Make a folder with PDFs of the same name in its sub-folders, and files that are none."""
    for name, title in (("2023/log.pdf", "Gannet Point"), ("2024/log.pdf", "Tern Rock"), ("map.pdf", "Map")):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(pdf(title=title))
    (root / "notes.txt").write_text("notes")
    (root / ".hidden.pdf").write_bytes(b"hidden")
    return root


def bar(page: Page) -> Locator:
    return page.locator("#documents-collections")


def chip(page: Page, words: str) -> Locator:
    return bar(page).locator("button.chip").filter(has_text=re.compile(rf"^{words}$"))


def tick(page: Page, *titles: str) -> None:
    for title in titles:
        row(page, title).get_by_role("checkbox").click()
        expect(row(page, title).get_by_role("checkbox")).to_have_attribute("aria-checked", "true")


def press(page: Page, name: str) -> None:
    bar(page).get_by_role("button", name=name).click()


def test_folders_are_read_and_their_pdfs_put_into_collections(browser: Browser, tmp_path: Path):
    with looking(browser, tmp_path) as (page, _):
        rows = page.locator("#documents-table tbody tr")
        with page.expect_file_chooser() as chooser:
            page.get_by_role("button", name="Add a folder").click()
        chooser.value.set_files(folder_of_pdfs(tmp_path / "station"))
        for title in ("Gannet Point", "Tern Rock", "Map"):
            expect(state(page, title)).to_have_text("ready")
        expect(bar(page)).to_contain_text("3 PDFs of the folder “station” are here.")
        bar(page).get_by_text("2 other files were left aside").click()
        expect(bar(page)).to_contain_text("station/notes.txt")
        press(page, "station/2024 1")
        expect(row(page, "Tern Rock")).to_contain_text("in station/2024")
        press(page, "no, thanks")
        expect(bar(page).locator(".folder-offer")).to_have_count(0)
        page.evaluate(DROP, base64.b64encode(pdf(title="Dropped")).decode())
        expect(state(page, "a.pdf")).to_have_text("ready")
        expect(bar(page).get_by_role("button", name="dropped/sub 1")).to_be_visible()
        expect(bar(page)).to_contain_text("1 other file was left aside")
        press(page, "no, thanks")

        tick(page, "Gannet Point", "Tern Rock")
        press(page, "New collection")
        page.keyboard.type("Light")
        add(page, upload("skua.pdf", pdf(title="Skua Rock")))
        expect(chip(page, "All 5")).to_be_visible()  # the bar is drawn anew
        expect(state(page, "skua.pdf")).to_have_text("ready")
        page.keyboard.type("houses")
        page.keyboard.press("Enter")
        chip(page, "Lighthouses 2").click()
        expect(rows).to_have_count(2)
        press(page, "choose none")
        tick(page, "Tern Rock")
        press(page, "take out of Lighthouses")
        expect(rows).to_have_count(1)
        chip(page, "All 5").click()
        expect(rows).to_have_count(5)
        tick(page, "Map")
        press(page, "+ Lighthouses")
        expect(row(page, "Map")).to_contain_text("in Lighthouses")
        chip(page, "Lighthouses 2").click()
        press(page, "rename the collection Lighthouses")
        page.keyboard.type("station/2024")
        page.keyboard.press("Enter")
        expect(page.locator("#documents-columns .pq-problem .error").first).to_contain_text("There is a collection")
        press(page, "remove the collection Lighthouses")
        expect(chip(page, "Lighthouses 2")).to_have_count(0)

        expect(rows).to_have_count(5)
        expect(bar(page).locator(".with-chosen")).to_be_hidden()
        assert (bar(page).bounding_box() or {"height": 99})["height"] < 90  # what is hidden has no line of its own
        wide = page.viewport_size
        page.set_viewport_size({"width": 390, "height": 844})
        empty = (bar(page).bounding_box() or {"height": 99})["height"]
        tick(page, "Map", "Skua Rock")
        expect(bar(page).locator(".with-chosen")).to_be_visible()
        assert (
            (bar(page).bounding_box() or {"height": 0})["height"] == empty < 70
        )  # nor does it move the rows on a phone
        page.set_viewport_size(wide or {"width": 1440, "height": 900})
        asked: list[str] = []
        page.once("dialog", lambda dialog: asked.append(dialog.message))
        bar(page).get_by_role("button", name="remove", exact=True).click()
        expect(rows).to_have_count(3)
        assert asked == ["Remove the 2 chosen documents from the workspace? Conversations keep their text."]
