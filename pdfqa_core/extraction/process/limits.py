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
from pathlib import Path
from typing import Any

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
