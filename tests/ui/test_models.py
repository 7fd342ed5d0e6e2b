"""The Models tab: a model fetched from a stand-in hub, a file by its path, settings, and layers on a GPU."""

from __future__ import annotations

import os
import re

import pytest
from playwright.sync_api import Browser, expect

from pdfqa_core.llm import catalogue
from pdfqa_core.llm.hardware import Gpu, Offload
from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.ui import models
from pdfqa_core.ui.session import Session
from tests.llm import hub
from tests.llm.gguf_files import write
from tests.services.helpers import until
from tests.serving_fakes import FakeEngine
from tests.ui.inside import WORD_FOR_WORD, opened, serving
from tests.ui.serving import open_page, open_tab

SMALL = catalogue.entry("smollm2-360m")
GPU, LAYERS = Gpu("Metal", 16_000_000_000, 12_000_000_000), 28


class OnGpu(FakeEngine):
    """An engine that puts as many layers on the GPU as it is told, and all of them for -1."""

    def load(self, stop):
        wanted = self.given["gpu_layers"]
        self.offload = Offload(LAYERS if wanted < 0 else wanted, LAYERS, GPU.name)
        yield 100


@pytest.mark.browser
def test_a_model_is_fetched_and_a_file_is_added_used_and_taken_off_the_list(
    browser: Browser, tmp_path, monkeypatch
) -> None:
    mine = write(tmp_path / "mine.gguf")
    with hub.serving() as offers, opened(tmp_path) as services, serving(services) as url:
        monkeypatch.setenv("HF_ENDPOINT", offers.url)
        offers.files[f"{SMALL.repo}/resolve/{SMALL.revision}/{SMALL.file}"] = b"GGUF" + os.urandom(3_000_000)
        offers.etag = SMALL.sha256  # it announces the right checksum, and has other bytes
        offers.slow = 0.3
        with open_page(browser, url) as page:
            open_tab(page, "Models")
            header, message = page.locator("#pq-header"), page.locator("#models-message")
            small, packaged, own = (
                page.locator(f'[data-model="{name}"]') for name in (SMALL.name, "smollm2-135m", mine)
            )
            expect(packaged).to_contain_text("in use")
            small.get_by_role("button", name="Download").click()
            expect(small.locator("[data-say]")).to_contain_text(re.compile(r"MB of 3 MB, [\d.]+ MB/s, about \d+ s"))
            expect(header).to_contain_text(re.compile(r"downloading SmolLM2 360M Instruct, \d+ %"))
            small.get_by_role("button", name="Stop").click()
            expect(small).to_contain_text(re.compile(r"Stopped; \d+ MB are kept"))
            offers.slow = 0
            small.get_by_role("button", name="Go on downloading").click()
            expect(small.locator(".error")).to_contain_text("wrong checksum and was thrown away")
            assert offers.ranges()[-1].startswith("bytes=")
            assert not (services.models.files.folder / SMALL.file).exists()
            expect(small.get_by_role("button", name="Use")).to_have_count(0)
            path = page.locator("#models-path :is(input, textarea)")
            path.fill("/no/such/file.gguf")
            page.locator("#models-add").click()
            expect(message).to_contain_text("cannot be read")
            path.fill(str(mine))
            page.locator("#models-add").click()
            own.get_by_role("button", name="Use").click()
            expect(own).to_contain_text("in use")
            expect(header).to_contain_text("mine ready")
            expect(own.get_by_role("button", name="Remove")).to_have_count(0)
            context = page.locator("#models-context-size input")
            for size, said in (("100", "context_size"), ("2048", "Settings are kept")):
                context.fill(size)
                page.locator("#models-apply").click()
                expect(message).to_contain_text(said)
            expect(page.locator("#models-active")).to_contain_text("context 2,048 tokens")
            packaged.get_by_role("button", name="Use").click()
            expect(packaged).to_contain_text("in use")
            own.get_by_role("button", name="Remove").click()
            expect(own).to_have_count(0)
    assert mine.exists()


def test_visitors_of_a_demo_see_the_models_and_no_buttons(tmp_path) -> None:
    with opened(tmp_path, WORD_FOR_WORD.changed("server", demo=True)) as services:
        cards = models.cards_html(services)
        assert cards.count('data-model="') == len(catalogue.read_catalogue())
        assert "<button" not in cards + models.active_html(services)
        assert "Visitors of this demo cannot change the model" in models.active_html(services)


def test_layers_on_the_gpu_are_shown_and_changed(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(models, "find_gpu", lambda: GPU)
    with opened(tmp_path, engine=OnGpu) as services:
        handlers, session = models.Handlers(services), Session(LOCAL_OWNER, services.settings)
        services.models.warm_up()
        until(lambda: "28 of 28 layers on the GPU (Metal)" in models.active_html(services))
        assert "a GPU (Metal) with 16.0 GB of memory, 12.0 GB of it free" in models.active_html(services)
        values = dict(zip(models.NUMBERS, models.form_values(services), strict=True))
        assert values["gpu_layers"] == -1
        *_, message, _, _ = handlers.apply(session, *(values | {"gpu_layers": None}).values())
        assert "“GPU layers” has no number" in message
        handlers.apply(session, *(values | {"gpu_layers": 12}).values())
        until(lambda: "12 of 28 layers on the GPU (Metal)" in models.active_html(services))
