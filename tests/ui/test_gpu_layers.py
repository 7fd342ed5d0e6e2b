"""The Models tab where there is a GPU: how much of the model is on it, and another number of layers."""

from __future__ import annotations

from pdfqa_core.llm.gpu import Gpu, Offload
from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.ui import models
from pdfqa_core.ui.session import Session
from tests.serving_fakes import FakeEngine
from tests.ui.inside import opened
from tests.ui.serving import until

GPU, LAYERS = Gpu("Metal", 16_000_000_000, 12_000_000_000), 28


class OnGpu(FakeEngine):
    """An engine that puts as many layers on the GPU as it is told, and all of them for -1."""

    def load(self, stop):
        wanted = self.given["gpu_layers"]
        self.offload = Offload(LAYERS if wanted < 0 else wanted, LAYERS, GPU.name)
        yield 100


def test_layers_on_the_gpu_are_shown_and_changed(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(models, "find_gpu", lambda: GPU)
    with opened(tmp_path, engine=OnGpu) as services:
        handlers, session = models.Handlers(services), Session(LOCAL_OWNER, services.settings)
        services.models.warm_up()
        until(lambda: "28 of 28 layers on the GPU (Metal)" in models.active_html(services))
        assert "a GPU (Metal) with 16.0 GB of memory, 12.0 GB of it free" in models.active_html(services)
        values = dict(zip((*models.NUMBERS, "weights", "template"), models.form_values(services), strict=True))
        assert values["gpu_layers"] == -1
        *_, message, _, _ = handlers.apply(session, *(values | {"gpu_layers": None}).values())
        assert "“GPU layers” has no number" in message
        handlers.apply(session, *(values | {"gpu_layers": 12}).values())
        until(lambda: "12 of 28 layers on the GPU (Metal)" in models.active_html(services))
