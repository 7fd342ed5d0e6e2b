"""The GPU that llama.cpp runs models on, and how many layers of a model its memory holds."""

from __future__ import annotations

import ctypes
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from pdfqa_core.errors import ModelError
from pdfqa_core.llm.hardware import BESIDE, BYTES_PER_VALUE, Dimensions
from pdfqa_core.llm.native import library

AS_MANY = -1  # the number of layers that stands for as many as fit
SHARE = 0.9  # of the free memory that is used: drivers and the screen take some as well
_GPU_KINDS = (1, 2)  # ggml_backend_dev_type: a card with memory of its own, one that shares the computer's
_NAMES = {"MTL": "Metal"}  # of ggml's backends, where people say something else
T = TypeVar("T")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU: what llama.cpp drives it with ("Metal", "CUDA", …), and its memory in bytes; `total` 0: unknown."""

    name: str
    total: int
    free: int

    def holds(self, size: int) -> bool:
        """Whether a file of this size would fit with nothing else there."""
        return not self.total or size <= SHARE * self.total


@dataclass(frozen=True, slots=True)
class Offload:
    """How much of a loaded model is on a GPU."""

    layers: int
    of: int
    gpu: str

    @property
    def words(self) -> str:
        """As a person reads it: "28 of 28 layers on the GPU (Metal)"."""
        return f"{self.layers} of {self.of} layers on the GPU ({self.gpu})"


class Devices(Protocol):
    """What ggml says of the devices it was built for."""

    def count(self) -> int:
        """Return how many there are."""
        ...

    def kind(self, number: int) -> int:
        """Return the kind of one, as ggml_backend_dev_type has it."""
        ...

    def backend(self, number: int) -> str:
        """Return the name of what drives it."""
        ...

    def memory(self, number: int) -> tuple[int, int]:
        """Return its free and its whole memory in bytes."""
        ...


class _Ggml:
    """ggml's own list of devices."""

    def __init__(self) -> None:
        from llama_cpp._ctypes_extensions import load_shared_library
        from llama_cpp._ggml import libggml, libggml_base_path

        base = load_shared_library("ggml-base", libggml_base_path)
        self._memory = base.ggml_backend_dev_memory
        self._memory.argtypes = [ctypes.c_void_p, *[ctypes.POINTER(ctypes.c_size_t)] * 2]
        self._memory.restype = None
        self._kind = self._typed(base.ggml_backend_dev_type, ctypes.c_int, ctypes.c_void_p)
        self._driver = self._typed(base.ggml_backend_dev_backend_reg, ctypes.c_void_p, ctypes.c_void_p)
        self._name = self._typed(base.ggml_backend_reg_name, ctypes.c_char_p, ctypes.c_void_p)
        self._count = self._typed(libggml.ggml_backend_dev_count, ctypes.c_size_t)
        self._get = self._typed(libggml.ggml_backend_dev_get, ctypes.c_void_p, ctypes.c_size_t)

    @staticmethod
    def _typed(function: Any, result: Any, *arguments: Any) -> Any:
        function.restype, function.argtypes = result, list(arguments)
        return function

    def count(self) -> int:
        return int(self._count())

    def kind(self, number: int) -> int:
        return int(self._kind(self._get(number)))

    def backend(self, number: int) -> str:
        return str(self._name(self._driver(self._get(number))).decode("utf-8", "replace"))

    def memory(self, number: int) -> tuple[int, int]:
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self._memory(self._get(number), ctypes.byref(free), ctypes.byref(total))
        return free.value, total.value


def gpu_of(devices: Devices) -> Gpu | None:
    """Return the GPUs of a list of devices as one, since llama.cpp spreads layers over all; None without any."""
    numbers = [number for number in range(devices.count()) if devices.kind(number) in _GPU_KINDS]
    if not numbers:
        return None
    name = devices.backend(numbers[0])
    memory = [devices.memory(number) for number in numbers]
    return Gpu(_NAMES.get(name, name), sum(total for _, total in memory), sum(free for free, _ in memory))


def find_gpu() -> Gpu | None:
    """Return the GPU that llama.cpp was built for and finds here; None without llama.cpp or a GPU."""
    try:
        if not library().llama_supports_gpu_offload():
            return None
        return gpu_of(_Ggml())
    except ModelError:
        return None
    except (ImportError, OSError, AttributeError) as error:  # another build of llama.cpp, which names things otherwise
        _log.warning("llama.cpp can use a GPU, but does not tell of its memory: %s", error)
        return Gpu("GPU", 0, 0)


def layers_that_fit(
    gpu: Gpu | None, size: int, layers: int, dimensions: Dimensions | None, context_size: int, batch_size: int
) -> int:
    """Return how many layers of a file of `size` bytes the GPU's free memory holds, with their part of the context.

    One more than `layers` is all of the model: llama.cpp counts its output as a layer. Where the GPU does not tell its
    memory, or the file its dimensions, it is all.
    """
    if gpu is None:
        return 0
    if not (gpu.total and layers and dimensions):
        return layers + 1
    context = min(context_size, dimensions.context or context_size)
    cache = 2 * BYTES_PER_VALUE * dimensions.kv_width * context
    buffer = 4 * min(batch_size, context) * dimensions.vocabulary + BESIDE
    room = SHARE * gpu.free - buffer
    return max(0, min(layers + 1, int(room * (layers + 1) / (size + cache))))


def with_layers(load: Callable[[int], T], planned: int, wanted: int) -> tuple[T, int]:
    """Return what `load` makes with so many layers on the GPU, and how many they were.

    Where `planned` were not asked for but chosen, a model that does not load with them is loaded without.
    """
    try:
        return load(planned), planned
    except ModelError as error:
        if not planned or wanted != AS_MANY:
            raise
        _log.warning("with %d layers on the GPU: %s The processor takes all of them.", planned, error)
        return load(0), 0
