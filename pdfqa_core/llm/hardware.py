"""What this machine has for language models: cores, memory, and which models fit."""

from __future__ import annotations

import ctypes
import logging
import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pdfqa_core.errors import ModelError
from pdfqa_core.llm.native import library

if TYPE_CHECKING:
    import psutil


CGROUP_CORES = Path("/sys/fs/cgroup/cpu.max")
TOPOLOGY = Path("/sys/devices/system/cpu")
CGROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
CGROUP_USED = (Path("/sys/fs/cgroup/memory.current"), Path("/sys/fs/cgroup/memory/memory.usage_in_bytes"))
BYTES_PER_VALUE = 2  # keys and values are kept as 16-bit floats
BESIDE = 50_000_000  # bytes of tokenizer, graph and buffers that do not grow with context or vocabulary
COMFORTABLE, MOST = 0.7, 0.95  # shares of the memory
BUSY = 0.7  # cores that other programs use before one is left to them
WATCHED = 0.25  # seconds over which the use of the processor is measured


@dataclass(frozen=True, slots=True)
class Dimensions:
    """What decides the memory of a running model beside its file.

    `kv_width` is the number of values that one token leaves in the keys, and again in the values, over all layers;
    `vocabulary` the number of tokens it knows; `context` the longest context it was trained on, 0 if unknown.
    """

    kv_width: int
    vocabulary: int
    context: int


@dataclass(frozen=True, slots=True)
class Memory:
    """Main memory that this process may use, in bytes."""

    total: int
    free: int


@dataclass(frozen=True, slots=True)
class Machine:
    """What this computer has for language models."""

    memory: Memory
    cores: int


class Fit(StrEnum):
    """How a model goes with the memory of a machine."""

    FITS = "fits"
    TIGHT = "tight"
    TOO_LARGE = "too large"


def repacking_pays() -> bool:
    """Return whether llama.cpp's kernels for weights that it lays out anew read prompts faster on this processor.

    On x86 with AVX-512 they are the slower ones (benchmarks/model_speed.py); those for ARM processors are what makes
    prompts fast there (ggml-org/llama.cpp, pull request 18096).
    """
    return platform.machine().lower() not in ("x86_64", "amd64")


def needed_memory(file_size: int, dimensions: Dimensions, context_size: int, batch_size: int) -> int:
    """Return the bytes that running a model takes: its file, the keys and values of the context, and a work buffer.

    The buffer holds a score for each token of the vocabulary and each token of a batch, 4 bytes each.
    """
    context = min(context_size, dimensions.context or context_size)
    cache = 2 * BYTES_PER_VALUE * dimensions.kv_width * context
    buffer = 4 * min(batch_size, context) * dimensions.vocabulary
    return file_size + cache + buffer + BESIDE


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):  # no such group, or "max"
        return None


def memory(limits: tuple[Path, ...] = CGROUP_LIMITS, used: tuple[Path, ...] = CGROUP_USED) -> Memory:
    """Return this machine's memory, or what a container (Linux control groups) leaves of it."""
    import psutil

    machine = psutil.virtual_memory()
    total, free = int(machine.total), int(machine.available)
    for limit_file, used_file in zip(limits, used, strict=True):
        limit = _number(limit_file)
        if limit is not None and limit < total:
            total, free = limit, max(0, min(free, limit - (_number(used_file) or 0)))
    return Memory(total, free)


def cgroup_cores(file: Path = CGROUP_CORES) -> float | None:
    """Return the cores that a container may use (Linux control groups, version 2), None without a limit."""
    try:
        quota, period = file.read_text(encoding="ascii").split()
        return None if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError):
        return None


def physical_cores(topology: Path = TOPOLOGY) -> int:
    """Return the physical cores this process may use: hyper-threads of one core count once, container limits hold."""
    if not topology.is_dir():  # Windows, macOS
        import psutil

        return psutil.cpu_count(logical=False) or os.cpu_count() or 1
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))
    cores = set()
    for number in allowed:
        folder = topology / f"cpu{number}" / "topology"
        try:
            package, core = (folder / name for name in ("physical_package_id", "core_id"))
            cores.add((package.read_text(encoding="ascii"), core.read_text(encoding="ascii")))
        except OSError:
            cores.add((str(number), ""))
    limit = cgroup_cores()
    return max(1, min(len(cores), round(limit) if limit else len(cores)))


def default_threads() -> int:
    """Return how many threads compute best now: one per physical core, less one if other programs keep one busy.

    The threads of llama.cpp wait for each other after every operation, so that one on a busy core slows all. What this
    program and the processes it has started use (reading, OCR) ends soon and does not count. Watches the processor for
    a quarter of a second.
    """
    import psutil

    cores = physical_cores()
    if cores == 1:
        return 1
    process = psutil.Process()
    own = [process, *process.children(recursive=True)]
    psutil.cpu_percent()
    for one in own:
        _used(one)
    time.sleep(WATCHED)
    others = psutil.cpu_percent() / 100 * (psutil.cpu_count() or cores) - sum(map(_used, own))
    return cores - 1 if others > BUSY else cores


def _used(process: psutil.Process) -> float:
    """Return how many cores a process has used since the last call, 0 for one that has ended."""
    import psutil

    try:
        used: float = process.cpu_percent() / 100
    except psutil.Error:
        return 0.0
    return used


def machine() -> Machine:
    """Return what this computer has for language models."""
    return Machine(memory(), physical_cores())


def fit(needed: int, of: Memory) -> Fit:
    """Return whether a model that needs `needed` bytes fits, comfortably or tightly."""
    if needed <= COMFORTABLE * of.total:
        return Fit.FITS
    return Fit.TIGHT if needed <= MOST * of.total else Fit.TOO_LARGE


# ----------------------------------------------------------------------------------------------------
# The GPU that llama.cpp runs models on, and how many layers of a model its memory holds.

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
