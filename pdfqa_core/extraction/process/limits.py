"""What a child process may take: memory and CPU time, limited from inside it, and how much it took.

Linux refuses memory above a limit and ends a process that ran out of CPU time, macOS does only the second, Windows
neither. What the system does not do, a thread of the process does, and for memory one of the program too (`guard`).
"""

from __future__ import annotations

import importlib
import math
import os
import re
import sys
import threading
import time
from array import array
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from pdfqa_core.errors import UsageError

# ----------------------------------------------------------------------------------------------------
# What a file from outside may hold, counted while it is read: bytes and parts of a ZIP, values and depth of its
# texts.
#
# Nothing that a file says of itself is believed; what is counted is what came out of it.

FILE_MB = 1_000_000
_SEPARATORS = (b",", b";", b"\t")
_BOM = b"\xef\xbb\xbf"
_QUOTED = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\Z)', re.DOTALL)
_TO_QUOTE = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_OTHERS = bytes(set(range(256)) - set(b"[{]}"))


@dataclass(frozen=True, slots=True)
class FileLimits:
    """What one file from outside may hold, and what reading it may take.

    `unpacked` are bytes of all parts of a ZIP together, `text` those of one text, which is parsed as a whole. `values`
    counts what stands in JSON (objects, lists, texts, numbers) and, up to twice as many, cells and rows of tables.
    """

    unpacked: int
    text: int
    parts: int
    values: int
    depth: int
    memory_mb: int
    seconds: int
    hint: str


OWNERS = FileLimits(4000 * FILE_MB, 1000 * FILE_MB, 100_000, 20_000_000, 100, 1500, 600, "Split it.")
"""What they bring whose computer it is, or who have an account."""

SMALL = FileLimits(4 * FILE_MB, 4 * FILE_MB, 200, 100_000, 100, 0, 0, "")
"""What is harmless wherever it is read: some 20 MB of memory, a tenth of a second."""


def of_visitors(megabytes: int) -> FileLimits:
    """Return what a visitor of a demo may bring who may keep so many MB."""
    hint = "Take a smaller file, or use the program on your own computer."
    return FileLimits(megabytes * FILE_MB, megabytes * FILE_MB * 2 // 5, 2000, 500_000, 100, 400, 30, hint)


class TooMuchError(UsageError):
    """A file holds more than its limits allow."""


class Count:
    """Counts what comes out of one file, and raises TooMuchError as soon as it is too much."""

    def __init__(self, limits: FileLimits, name: str) -> None:
        self._limits = limits
        self._name = name
        self._unpacked = self._parts = self._values = self._cells = 0

    def part(self) -> None:
        """Count a part of a ZIP."""
        self._parts += 1
        self._check(self._parts, self._limits.parts, "{:,} parts")

    def bytes(self, size: int) -> None:
        """Count unpacked bytes."""
        self._unpacked += size
        self._check(self._unpacked, self._limits.unpacked, "{:,.0f} MB unpacked", FILE_MB)

    def text(self, size: int, part: str) -> None:
        """Look at the bytes that a text has so far; `part` is what it is called inside a ZIP, else empty."""
        self._check(size, self._limits.text, f"{{:,.0f}} MB of text{f' in {part}' if part else ''}", FILE_MB)

    def values(self, count: int) -> None:
        """Count values of JSON."""
        self._values += count
        self._check(self._values, self._limits.values, "{:,} values")

    def cells(self, count: int) -> None:
        """Count cells and rows of tables."""
        self._cells += count
        self._check(self._cells, 2 * self._limits.values, "{:,} cells")

    def depth(self, depth: int) -> None:
        """Look at how deep a list or object lies in others."""
        if depth > self._limits.depth:
            raise TooMuchError(
                f"{self._name} is nested too deeply: over {self._limits.depth} lists or objects in each other.",
                "Write plain lists and objects.",
            )

    def _check(self, count: int, most: int, words: str, unit: int = 1) -> None:
        if count > most:
            raise TooMuchError(
                f"{self._name} holds too much: over {words.format(most if unit == 1 else most / unit)}.",
                self._limits.hint,
            )


class TextCount:
    """Counts values and depth, or cells and rows, in a text that comes block by block.

    It need not be valid: what lies outside of quotes is counted as it stands, so that no reader makes more of it.
    """

    def __init__(self, count: Count, part: str = "") -> None:
        self._count = count
        self._part = part
        self._size = self._depth = 0
        self._json: bool | None = None  # not known before the first letter
        self._quoted = False
        self._left = b""

    def take(self, block: bytes) -> None:
        """Count a block. Raises TooMuchError."""
        self._size += len(block)
        self._count.text(self._size, self._part)
        self._count.cells(max(map(block.count, _SEPARATORS)) + block.count(b"\n") + block.count(b"\r"))
        if self._json is None and (begun := block.removeprefix(_BOM).lstrip()):
            self._json = begun[:1] in (b"{", b"[")
        if self._json:
            self._structure(block)

    def _structure(self, block: bytes) -> None:
        block, self._left = self._left + block, b""
        if (len(block) - len(block.rstrip(b"\\"))) % 2:  # what it escapes comes with the next block
            block, self._left = block[:-1], b"\\"
        if self._quoted:
            end = _TO_QUOTE.match(block)
            if end is None:
                return
            block = block[end.end() :]
        self._quoted = bool(block.replace(b"\\\\", b"").replace(b'\\"', b"").count(b'"') % 2)
        block = _QUOTED.sub(b"", block)
        self._count.values(block.count(b",") + block.count(b"[") + block.count(b"{"))
        heights = list(accumulate(array("b", block.translate(_STEPS, _OTHERS)), initial=self._depth))
        self._count.depth(max(heights))
        self._depth = heights[-1]


# ----------------------------------------------------------------------------------------------------
# What a child process may take: memory and CPU time, limited from inside it, and how much it took.

LINUX = sys.platform == "linux"


def _limits_of_the_system() -> Any:
    try:
        return importlib.import_module("resource")
    except ImportError:  # Windows
        return None


resource = _limits_of_the_system()

MB = 1024 * 1024
RENDER_MB = 1000  # what the process that draws pages may take
_NEAR_LIMIT = 0.5  # of the memory limit: a failure with more than this in use was a refused allocation
_NEAR_ABORT = 0.3  # the same for an abort, PDFium's answer to a refusal; the peak is looked at only now and then

RSS_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes in which ru_maxrss counts

EXIT_MEMORY = 86
"""Exit status of a child that ran out of memory."""

EXIT_SLOW = 87
"""Exit status of a child of which a process ran out of CPU time."""

PROGRAM = "PDFQA_PROGRAM"
"""Environment variable of a child: the process id of the program that it works for.

That need not be its parent: on Windows the interpreter of a virtual environment starts another one and waits.
"""

_POLL = 0.05  # seconds between two looks of a watching thread

SIGABRT = 6
SIGXCPU = 24
"""The signal that ends a process which ran out of CPU time (POSIX; Windows has no such limit)."""


def peak_memory(process_id: int | None = None) -> int:
    """Return the largest resident size in bytes of this process or of another one; 0: unknown.

    On Linux getrusage begins with the peak of the process that started this one, however large; /proc does not. On
    macOS it is the present size of another process.
    """
    if LINUX:
        try:
            status = Path(f"/proc/{process_id or 'self'}/status").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return 0
        found = re.search(r"^VmHWM:\s*(\d+) kB", status, re.MULTILINE)
        return int(found[1]) * 1024 if found else 0
    if process_id is None and resource is not None:
        return own_peak()
    import psutil

    try:
        now = psutil.Process(process_id).memory_info()
    except psutil.Error:
        return 0
    return int(getattr(now, "peak_wset", now.rss))


def peak_memory_of_ended() -> int:
    """Return the largest resident size in bytes of the processes that this one started and waited for; 0: unknown."""
    if resource is None:
        return 0
    return int(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) * RSS_UNIT


def near_limit(peak: int, megabytes: int, status: int | None = None) -> bool:
    """Return whether a process that reached `peak` bytes of a limit failed for want of memory, whatever it said.

    A refused allocation surfaces as almost any error in the libraries it passes through. `status` is the exit status.
    """
    return peak > (_NEAR_ABORT if status == -SIGABRT else _NEAR_LIMIT) * megabytes * MB


def own_peak() -> int:
    """Return the largest resident size in bytes of this process, 0: unknown; on Linux it begins with its parent's."""
    if resource is None:
        return 0
    return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * RSS_UNIT


def _limit(kind: int, wanted: int) -> None:
    _, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def limit_memory(megabytes: int) -> None:
    """Limit what this process, and each one that it starts, may take beyond what it has now; call it in the child.

    The operating system refuses more where it can (RLIMIT_AS, RLIMIT_DATA); besides, a thread ends the process with
    EXIT_MEMORY when its resident size gets near the limit, so that the parent can tell memory from a crash.
    """
    if LINUX:
        fields = Path("/proc/self/statm").read_text(encoding="ascii").split()
        base = int(fields[0]) * os.sysconf("SC_PAGE_SIZE")
        _limit(resource.RLIMIT_AS, base + megabytes * MB)
        _limit(resource.RLIMIT_DATA, megabytes * MB)
    watch(megabytes)


def watch(megabytes: int) -> None:
    """Let a thread end this process near that size (EXIT_MEMORY), or when one that it works for is gone.

    Limits are inherited, threads are not: call it in each process that a child starts.
    """
    threading.Thread(target=_watch, args=(megabytes, _Masters()), name="watch", daemon=True).start()


def _watch(megabytes: int, masters: _Masters) -> None:
    while peak_memory() < 0.9 * megabytes * MB:
        if masters.gone():
            os._exit(1)
        if _cpu.spent():
            os._exit(EXIT_SLOW)
        time.sleep(_POLL)
    os._exit(EXIT_MEMORY)


class _Masters:
    """The process that started this one, and the program that it works for where that is another one.

    The number of a parent tells on POSIX whether it is gone; on Windows it stays the same, and is given to others.
    """

    def __init__(self) -> None:
        self._parent = os.getppid()
        self._watched: list[Any] = []
        if resource is None:
            import psutil

            numbers = {self._parent, int(os.environ.get(PROGRAM) or self._parent)}
            self._watched = [psutil.Process(number) for number in numbers if psutil.pid_exists(number)]

    def gone(self) -> bool:
        """Whether one of them has ended."""
        return os.getppid() != self._parent or not all(one.is_running() for one in self._watched)


class _CpuTime:
    """A limit of this process's CPU time where the operating system knows none: the watching thread looks at it."""

    def __init__(self) -> None:
        self._most = math.inf

    def limit(self, seconds: float) -> None:
        self._most = seconds

    def raise_by(self, seconds: float) -> None:
        self._most += seconds

    def spent(self) -> bool:
        return time.process_time() > self._most


_cpu = _CpuTime()


def limit_cpu(seconds: int) -> None:
    """End this process, and each one it starts, after `seconds` of CPU time of its own.

    Where the operating system does not do it, it takes `watch`, and a process that this one starts is not limited.
    """
    if resource is None:
        _cpu.limit(seconds)
        return
    _limit(resource.RLIMIT_CPU, seconds)
    _limit(resource.RLIMIT_CORE, 0)


def more_cpu(seconds: float) -> None:
    """Raise the CPU limit of this process, where it has one."""
    if resource is None:
        _cpu.raise_by(seconds)
        return
    soft, _ = resource.getrlimit(resource.RLIMIT_CPU)
    if soft != resource.RLIM_INFINITY:
        _limit(resource.RLIMIT_CPU, soft + math.ceil(seconds))


def in_words() -> str:
    """Return who keeps the limits of processes that read PDFs on this system, and what is missing."""
    if LINUX:
        return "memory and processor time are limited by the system"
    missing = "the system does not refuse memory: a process that takes more than it may is seen and ended by PDFQA"
    if resource is not None:
        return f"processor time is limited by the system; {missing}"
    return f"{missing}, which watches processor time too"
