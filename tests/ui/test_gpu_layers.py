"""The Models tab where there is a GPU: how much of the model is on it, and another number of layers."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from pdfqa_core.llm.gpu import Gpu, Offload
from pdfqa_core.models import LanguageModel, ModelFiles, Models
from pdfqa_core.registry import Registry
from pdfqa_core.services import Services
from pdfqa_core.settings import Settings
from pdfqa_core.ui import build_page, launch, models, temporary
from tests.llm.gguf_files import write
from tests.serving_fakes import FakeEncoders, FakeEngine
from tests.ui.serving import open_fold, open_page, open_tab

pytestmark = pytest.mark.browser

GPU, LAYERS = Gpu("Metal", 16_000_000_000, 12_000_000_000), 28


class OnGpu(FakeEngine):
    """An engine that puts as many layers on the GPU as it is told, and all of them for -1."""

    def load(self, stop):
        wanted = self.given["gpu_layers"]
        self.offload = Offload(LAYERS if wanted < 0 else wanted, LAYERS, GPU.name)
        yield 100


def test_layers_on_the_gpu_are_shown_and_changed(browser: Browser, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(models, "find_gpu", lambda: GPU)
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(temporary.uploads()))
    engines = Registry("engine")
    engines.register("llama_cpp")(OnGpu)
    write(tmp_path / "tiny.gguf")
    settings = Settings().changed("llm", model=str(tmp_path / "tiny.gguf"))
    files = ModelFiles(tmp_path)
    language = LanguageModel(settings.llm, files, available=engines)
    with Services.open(tmp_path / "workspace", settings, Models(FakeEncoders(), language, files)) as services:
        built = build_page(services)
        url = launch(built, services, port=0)
        services.models.warm_up()
        try:
            with open_page(browser, url) as page:
                open_tab(page, "Models")
                active = page.locator("#models-active")
                expect(active).to_contain_text("28 of 28 layers on the GPU (Metal)")
                expect(active).to_contain_text("a GPU (Metal) with 16.0 GB of memory, 12.0 GB of it free")
                open_fold(page, "More")
                layers = page.locator("#models-gpu-layers input")
                expect(layers).to_have_value("-1")
                layers.fill("12")
                page.locator("#models-apply").click()
                expect(page.locator("#models-message")).to_contain_text("Settings are kept")
                expect(active).to_contain_text("12 of 28 layers on the GPU (Metal)")
                layers.fill("")
                page.locator("#models-apply").click()
                expect(page.locator("#models-message .error")).to_contain_text("“GPU layers” has no number")
        finally:
            built.close(verbose=False)
    assert language.settings.gpu_layers == 12
