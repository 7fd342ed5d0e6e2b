"""A German PDF in a browser: its language, what the page says of the encoder, and encoders to fetch and use."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from pdfqa_core.models.encoder_files import encoder_entry, read_encoders
from tests.llm.hub import Hub, serving
from tests.services.test_languages import LEASE
from tests.ui.serving import App, open_page, open_tab, running

pytestmark = pytest.mark.browser
SMALL = encoder_entry("multilingual-e5-small")


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    """A hub whose weights are others than those that the catalogue knows."""
    with serving() as server:
        for path in SMALL.files:
            server.files[f"{SMALL.repo}/resolve/{SMALL.revision}/{path}"] = os.urandom(200_000)
        server.etags = {f"{SMALL.repo}/resolve/{SMALL.revision}/{path}": sha for path, sha in SMALL.sha256.items()}
        yield server


@pytest.fixture(scope="module")
def fetching(hub: Hub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    with running(tmp_path_factory.mktemp("languages"), environment={"HF_ENDPOINT": hub.url}) as started:
        yield started


@pytest.fixture
def opened(browser: Browser, fetching: App) -> Iterator[Page]:
    with open_page(browser, fetching.url) as page:
        yield page


def test_a_german_pdf_shows_its_language_and_leads_to_an_encoder_that_knows_it(opened: Page, hub: Hub, make_pdf):
    lease = make_pdf(*LEASE, name="mietvertrag.pdf", title="Mietvertrag")
    opened.locator("#documents-upload input[type=file]").set_input_files(str(lease))
    table = opened.locator("#documents-table")
    expect(table.locator("tr[data-document] .language")).to_have_text("German")
    expect(table.locator(".encoder-hint")).to_contain_text("German is found by its words")
    open_tab(opened, "Retrieval")
    expect(opened.locator("#retrieval-preview .encoder-hint")).to_contain_text("The encoder knows English only")
    open_tab(opened, "Documents")
    table.get_by_role("button", name="Get a multilingual encoder").click()
    cards = opened.locator("#models-encoders")
    expect(cards.locator(".model-card")).to_have_count(1 + len(read_encoders()))
    expect(cards.locator('[data-encoder=""]')).to_contain_text("in use")
    e5 = cards.locator(f'[data-encoder="{SMALL.name}"]')
    expect(e5).to_contain_text("about 100 languages")
    e5.get_by_role("button", name="Download").click()
    expect(e5.locator(".error")).to_contain_text("wrong checksum and was thrown away")
    expect(e5.get_by_role("button", name="Use")).to_have_count(0)
    e5.get_by_role("button", name="Remove").click()
    expect(e5.get_by_role("button", name="Download")).to_be_visible()
    open_tab(opened, "Chat")
    quotes = opened.get_by_role("radio", name="quotes")
    quotes.click()
    expect(quotes).to_be_checked()
    opened.locator("#chat-question textarea").fill("Wie hoch ist die Kaution der Wohnung?")
    opened.keyboard.press("Enter")
    expect(opened.locator("#chat-transcript .turn")).to_contain_text("Kaution der Wohnung beträgt drei Monatsmieten")
    expect(opened.locator("#chat-transcript .turn .cite").first).to_be_visible()


def test_an_encoder_that_is_here_is_used_and_given_up(opened: Page):
    folder = Path(os.environ["PDFQA_MODELS"]) / "text-encoders" / "bge-small-en"
    for path in encoder_entry("bge-small-en").files:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("{}")
    (folder / "config_sentence_transformers.json").write_text("{}")
    open_tab(opened, "Models")
    cards = opened.locator("#models-encoders")
    bge = cards.locator('[data-encoder="bge-small-en"]')
    bge.get_by_role("button", name="Use").click()
    expect(bge).to_contain_text("in use")
    expect(opened.locator("#models-encoders-message")).to_contain_text("BGE small 1.5 is used now")
    expect(bge.get_by_role("button", name="Remove")).to_have_count(0)
    opened.reload()
    open_tab(opened, "Retrieval")
    expect(opened.locator("#retrieval-preview")).to_contain_text("embedding model bge-small-en")
    open_tab(opened, "Models")
    expect(bge).to_contain_text("in use")
    cards.locator('[data-encoder=""]').get_by_role("button", name="Use").click()
    expect(cards.locator('[data-encoder=""]')).to_contain_text("in use")
    bge.get_by_role("button", name="Remove").click()
    expect(bge.get_by_role("button", name="Download")).to_be_visible()
    assert not folder.exists()


def test_visitors_of_a_demo_see_encoders_and_no_buttons(browser: Browser, demo: App):
    with open_page(browser, demo.url) as page:
        open_tab(page, "Models")
        expect(page.locator("#models-encoders .model-card")).to_have_count(1 + len(read_encoders()))
        expect(page.locator("#models-encoders button")).to_have_count(0)
        expect(page.locator("#models-encoders")).to_contain_text(re.compile("50 languages"))
