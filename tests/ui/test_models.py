"""The Models tab in a browser, with a stand-in hub: fetching, stopping, errors, a file by path, settings, speed."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from pdfqa_core.llm import catalogue
from tests.llm.hub import Hub, serving
from tests.ui.serving import App, open_page, open_tab, running

pytestmark = pytest.mark.browser
SMALL = catalogue.entry("smollm2-360m")


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    """A hub that announces the right checksum of a model and has other bytes."""
    with serving() as server:
        server.files[f"{SMALL.repo}/resolve/{SMALL.revision}/{SMALL.file}"] = b"GGUF" + os.urandom(3_000_000)
        server.etag = SMALL.sha256
        yield server


@pytest.fixture(scope="module")
def fetching(hub: Hub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    with running(tmp_path_factory.mktemp("models"), environment={"HF_ENDPOINT": hub.url}) as started:
        yield started


@pytest.fixture
def tab(browser: Browser, fetching: App) -> Iterator[Page]:
    with open_page(browser, fetching.url) as opened:
        open_tab(opened, "Models")
        yield opened


def card(page: Page, name: str) -> Locator:
    return page.locator(f'[data-model="{name}"]')


def test_the_list_and_the_model_in_use_are_shown(tab: Page):
    expect(tab.locator("#models .model-card")).to_have_count(len(catalogue.read_catalogue()))
    expect(card(tab, "smollm2-135m")).to_contain_text("in use")
    expect(card(tab, "llama-3.1-8b").get_by_role("link")).to_have_attribute("href", re.compile("^https://"))
    expect(tab.locator("#models-active")).to_contain_text("often wrong")


def test_a_download_shows_how_far_it_is_stops_and_goes_on_and_wrong_bytes_are_thrown_away(tab: Page, hub: Hub):
    hub.slow = 0.3
    small = card(tab, SMALL.name)
    small.get_by_role("button", name="Download").click()
    expect(small.locator("[data-say]")).to_contain_text(re.compile(r"MB of 3 MB, [\d.]+ MB/s, about \d+ s left"))
    expect(tab.locator("#pq-header")).to_contain_text(re.compile(r"downloading SmolLM2 360M Instruct, \d+ %"))
    small.get_by_role("button", name="Stop").click()
    expect(small).to_contain_text(re.compile(r"Stopped; \d+ MB are kept"))
    hub.slow = 0
    small.get_by_role("button", name="Go on downloading").click()
    expect(small.locator(".error")).to_contain_text("wrong checksum and was thrown away")
    assert hub.ranges()[-1].startswith("bytes=")
    assert not (Path(os.environ["PDFQA_MODELS"]) / SMALL.file).exists()
    expect(small.get_by_role("button", name="Use")).to_have_count(0)


def test_what_the_hub_refuses_stands_on_the_card(tab: Page, hub: Hub):
    hub.status, hub.code = 401, "GatedRepo"
    granite = card(tab, "granite-3.3-2b")
    granite.get_by_role("button", name="Download").click()
    expect(granite.locator(".error")).to_contain_text("accept a licence")
    hub.status = 0


def test_a_file_is_added_by_its_path_used_and_removed(tab: Page, fetching: App):
    packaged = catalogue.packaged_file(catalogue.read_catalogue()[0])
    assert packaged is not None
    path = fetching.workspace / "mine.gguf"
    shutil.copy(packaged, path)
    tab.locator("#models-path :is(input, textarea)").fill("/no/such/file.gguf")
    tab.locator("#models-add").click()
    expect(tab.locator("#models-message")).to_contain_text("cannot be read")
    tab.locator("#models-path :is(input, textarea)").fill(str(path))
    tab.locator("#models-add").click()
    expect(tab.locator("#pq-header")).to_contain_text("SmolLM2 135M Instruct ready", timeout=180_000)
    mine = card(tab, str(path))
    mine.get_by_role("button", name="Use").click()
    expect(mine).to_contain_text("in use")
    expect(tab.locator("#pq-header")).to_contain_text("mine ready")
    expect(mine.get_by_role("button", name="Remove")).to_have_count(0)
    tab.reload()
    open_tab(tab, "Models")
    expect(card(tab, str(path))).to_contain_text("in use")
    card(tab, "smollm2-135m").get_by_role("button", name="Use").click()
    expect(card(tab, "smollm2-135m")).to_contain_text("in use")
    expect(tab.locator("#models-active")).to_contain_text("ready")
    card(tab, str(path)).get_by_role("button", name="Remove").click()
    expect(card(tab, str(path))).to_have_count(0)
    assert path.exists()


def test_settings_are_applied_and_a_wrong_one_is_told(tab: Page):
    context = tab.locator("#models-context-size input")
    context.fill("100")
    tab.locator("#models-apply").click()
    expect(tab.locator("#models-message .error")).to_contain_text("context_size")
    context.fill("2048")
    tab.locator("#models-apply").click()
    expect(tab.locator("#models-message")).to_contain_text("Settings are kept")
    expect(tab.locator("#models-active")).to_contain_text("context 2,048 tokens")
    expect(tab.locator("#models-active .state")).to_have_text("ready")


def test_the_speed_test_shows_rates_beside_what_memory_allows(tab: Page):
    tab.locator("#models-measure").click()
    expect(tab.locator("#models-speed .work")).to_be_visible()
    tab.locator("#models-stop").click()
    expect(tab.locator("#models-speed")).to_contain_text(re.compile("[Ss]topped"))
    tab.locator("#models-measure").click()
    expect(tab.locator("#models-speed table")).to_contain_text("What this memory allows", timeout=120_000)
    expect(card(tab, "qwen2.5-0.5b")).to_contain_text("tokens/s")


def test_a_server_that_is_not_there_is_told(tab: Page):
    tab.locator("#models-url :is(input, textarea)").fill("ftp://nowhere")
    tab.locator("#models-list").click()
    expect(tab.locator("#models-server-message .error")).to_contain_text("is not the address of a server")


def test_visitors_of_a_demo_see_the_models_and_no_buttons(browser: Browser, demo: App):
    with open_page(browser, demo.url) as page:
        open_tab(page, "Models")
        expect(page.locator("#models .model-card")).to_have_count(len(catalogue.read_catalogue()))
        expect(page.locator("#models button, #models-active button")).to_have_count(0)
        expect(page.locator("#models-settings")).to_be_hidden()
        expect(page.locator("#models-more")).to_be_hidden()
        expect(page.locator("#models-active")).to_contain_text("Visitors of this demo cannot change the model")


def test_the_default_is_fetched_at_the_start_and_what_fails_is_offered_in_the_header(
    browser: Browser, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
):
    nowhere = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path), "PIP_CONFIG_FILE": os.devnull}
    environment = {"HF_ENDPOINT": "http://127.0.0.1:9", "PDFQA_MODEL": "auto", **nowhere}
    environment["PDFQA_MODELS"] = str(tmp_path / "models")
    default = catalogue.entry(catalogue.AUTO)
    with (
        running(tmp_path_factory.mktemp("default"), environment=environment) as app,
        open_page(browser, app.url) as page,
    ):
        header = page.locator("#pq-header")
        expect(header).to_contain_text(f"ready · {default.title} is not here", timeout=180_000)
        header.get_by_role("button", name="Get it").click()
        active = page.locator("#models-active")
        expect(active).to_contain_text("SmolLM2 135M Instruct answers instead")
        expect(page.locator("#models .model-card").nth(1)).to_have_attribute("data-model", default.name)
        expect(card(page, default.name).locator(".error")).to_contain_text(
            "the Python package index does not give part 1"
        )
        active.get_by_role("button", name=f"Download {default.title}").click()
        expect(card(page, default.name).locator(".error")).to_contain_text("Check the network and try again")
        expect(active).to_contain_text("SmolLM2 135M Instruct answers instead")
