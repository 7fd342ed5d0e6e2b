"""Layers on a GPU. No GPU is needed: lists of devices are made up, and llama.cpp without one ignores the number."""

from __future__ import annotations

import importlib.util

import pytest

from pdfqa_core.errors import ModelError
from pdfqa_core.interfaces import Message
from pdfqa_core.llm import LlamaCpp
from pdfqa_core.llm.catalogue import DEFAULT, entry, packaged_file, profile
from pdfqa_core.llm.hardware import AS_MANY, Dimensions, Gpu, gpu_of, layers_that_fit, with_layers

GB = 10**9
CPU, CARD, SHARED, HELPER = range(4)
METAL = Gpu("Metal", 12 * GB, 11 * GB)


class Devices:
    """Devices of ggml: kind, backend, free and whole memory."""

    def __init__(self, *rows):
        self.rows = rows

    def count(self):
        return len(self.rows)

    def kind(self, number):
        return self.rows[number][0]

    def backend(self, number):
        return self.rows[number][1]

    def memory(self, number):
        return self.rows[number][2:]


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([(CPU, "CPU", 8, 16)], None),
        ([(HELPER, "BLAS", 0, 0), (CPU, "CPU", 8, 16)], None),
        ([(CARD, "MTL", 11, 12), (HELPER, "BLAS", 0, 0), (CPU, "CPU", 8, 16)], Gpu("Metal", 12, 11)),
        ([(CARD, "CUDA", 5, 8), (CARD, "CUDA", 7, 8), (CPU, "CPU", 8, 16)], Gpu("CUDA", 16, 12)),
        ([(SHARED, "Vulkan", 3, 4), (CPU, "CPU", 8, 16)], Gpu("Vulkan", 4, 3)),
    ],
)
def test_the_gpu_is_all_cards_that_llama_cpp_finds(rows, found):
    assert gpu_of(Devices(*rows)) == found


def fitting(free: float, size: float = 4 * GB, layers: int = 28, context: int = 4096) -> int:
    dimensions = Dimensions(kv_width=28 * 1024, vocabulary=150_000, context=32768)
    return layers_that_fit(Gpu("CUDA", 24 * GB, int(free)), int(size), layers, dimensions, context, 512)


def test_as_many_layers_as_the_memory_holds_are_put_there():
    assert fitting(20 * GB) == 29  # with the output
    assert fitting(0.3 * GB) == 0
    assert 0 < fitting(3 * GB) < fitting(4 * GB) < 29
    assert fitting(5.2 * GB, context=512) > fitting(5.2 * GB, context=32768)


def test_what_is_put_there_fits():
    for free in (1, 2, 3, 4, 5):
        layers = fitting(free * GB)
        cache = 4 * 28 * 1024 * 4096
        assert layers * (4 * GB + cache) / 29 + 4 * 512 * 150_000 <= 0.9 * free * GB


def test_without_knowing_better_all_layers_are_tried_and_without_a_gpu_none():
    dimensions = Dimensions(1000, 1000, 1000)
    assert layers_that_fit(None, GB, 28, dimensions, 512, 512) == 0
    assert layers_that_fit(Gpu("GPU", 0, 0), GB, 28, dimensions, 512, 512) == 29
    assert layers_that_fit(METAL, GB, 28, None, 512, 512) == 29


def test_a_model_that_does_not_load_on_the_gpu_is_loaded_without_unless_it_was_asked_for():
    tried = []

    def load(layers):
        tried.append(layers)
        if layers:
            raise ModelError("There is not enough memory.")
        return "model"

    assert with_layers(load, 20, AS_MANY) == ("model", 0)
    assert tried == [20, 0]
    with pytest.raises(ModelError, match="not enough memory"):
        with_layers(load, 20, 20)
    with pytest.raises(ModelError):
        with_layers(lambda layers: load(1), 0, AS_MANY)


def test_whole_passages_are_read_where_a_gpu_holds_the_model():
    size = entry(DEFAULT).size
    slow = profile("llama_cpp", DEFAULT, 2, AS_MANY, gpu=lambda: None)
    assert slow == profile("llama_cpp", DEFAULT, 2, 0, gpu=lambda: METAL)
    assert slow == profile("llama_cpp", DEFAULT, 2, AS_MANY, gpu=lambda: Gpu("CUDA", size, size))
    assert slow.tokens > 0
    assert profile("llama_cpp", DEFAULT, 2, AS_MANY, gpu=lambda: METAL).tokens == 0
    assert profile("llama_cpp", "/no/such.gguf", 2, AS_MANY, gpu=lambda: METAL).tokens == 0


@pytest.mark.model
@pytest.mark.parametrize(
    ("wanted", "gpu", "words"),
    [
        (AS_MANY, METAL, "30 of 30 layers on the GPU (Metal)"),
        (7, METAL, "7 of 30 layers on the GPU (Metal)"),
        (AS_MANY, None, ""),
    ],
)
def test_the_engine_says_how_much_is_on_the_gpu(wanted, gpu, words):
    path = packaged_file(entry("smollm2-135m"))
    if path is None or importlib.util.find_spec("llama_cpp") is None:
        pytest.skip("the embedded model or llama-cpp-python is not installed")
    model = LlamaCpp(path, context_size=512, gpu_layers=wanted, gpu=lambda: gpu)
    assert model.offload is None
    assert model.count_tokens([Message("user", "Hello")]) > 5
    assert (model.offload.words if model.offload else "") == words
    model.unload()
    assert model.offload is None
