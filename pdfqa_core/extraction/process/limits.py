"""What a child process may take: memory and CPU time, limited from inside it, and how much it took."""

from __future__ import annotations

import math
import os
import re
import sys
import threading
import time
from pathlib import Path

if sys.platform != "win32":  # which has no such limits
    import resource

MB = 1024 * 1024
_NEAR_LIMIT = 0.5  # of the memory limit: a failure with more than this in use was a refused allocation
_NEAR_ABORT = 0.3  # the same for an abort, PDFium's answer to a refusal; the peak is looked at only now and then

RSS_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes in which ru_maxrss counts

EXIT_MEMORY = 86
"""Exit status of a child that ran out of memory."""

EXIT_SLOW = 87
"""Exit status of a child of which a process ran out of CPU time."""

SIGABRT = 6
SIGXCPU = 24
"""The signal that ends a process which ran out of CPU time (POSIX; Windows has no such limit)."""


def peak_memory(process_id: int | None = None) -> int:
    """Return the largest resident size in bytes of this process or, on Linux, of another one; 0: unknown.

    On Linux getrusage begins with the peak of the process that started this one, however large; /proc does not.
    """
    if sys.platform != "linux":
        return own_peak() if process_id is None else 0
    try:
        status = Path(f"/proc/{process_id or 'self'}/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    found = re.search(r"^VmHWM:\s*(\d+) kB", status, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def peak_memory_of_ended() -> int:
    """Return the largest resident size in bytes of the processes that this one started and waited for; 0: unknown."""
    if sys.platform == "win32":
        return 0
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * RSS_UNIT


def near_limit(peak: int, megabytes: int, status: int | None = None) -> bool:
    """Return whether a process that reached `peak` bytes of a limit failed for want of memory, whatever it said.

    A refused allocation surfaces as almost any error in the libraries it passes through. `status` is the exit status.
    """
    return peak > (_NEAR_ABORT if status == -SIGABRT else _NEAR_LIMIT) * megabytes * MB


def own_peak() -> int:
    """Return the largest resident size in bytes of this process; on Linux it begins with its parent's."""
    if sys.platform == "win32":
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * RSS_UNIT


def _limit(kind: int, wanted: int) -> None:
    _, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def limit_memory(megabytes: int) -> None:
    """Limit what this process, and each one that it starts, may take beyond what it has now; call it in the child.

    The operating system refuses more where it can (RLIMIT_AS, RLIMIT_DATA); besides, a thread ends the process with
    EXIT_MEMORY when its resident size gets near the limit, so that the parent can tell memory from a crash.
    """
    if sys.platform == "win32":
        return
    if sys.platform == "linux":
        fields = Path("/proc/self/statm").read_text(encoding="ascii").split()
        base = int(fields[0]) * os.sysconf("SC_PAGE_SIZE")
        _limit(resource.RLIMIT_AS, base + megabytes * MB)
        _limit(resource.RLIMIT_DATA, megabytes * MB)
    watch(megabytes)


def watch(megabytes: int) -> None:
    """Let a thread end this process near that size (EXIT_MEMORY), or when the process that started it is gone.

    Limits are inherited, threads are not: call it in each process that a child starts.
    """
    threading.Thread(target=_watch, args=(megabytes, os.getppid()), name="watch", daemon=True).start()


def _watch(megabytes: int, parent: int) -> None:
    while peak_memory() < 0.9 * megabytes * MB:
        if os.getppid() != parent:
            os._exit(1)
        time.sleep(0.05)
    os._exit(EXIT_MEMORY)


def limit_cpu(seconds: int) -> None:
    """Let the operating system end this process, and each one it starts, after `seconds` of CPU time of its own."""
    if sys.platform == "win32":
        return
    _limit(resource.RLIMIT_CPU, seconds)
    _limit(resource.RLIMIT_CORE, 0)


def more_cpu(seconds: float) -> None:
    """Raise the CPU limit of this process, where it has one."""
    if sys.platform == "win32":
        return
    soft, _ = resource.getrlimit(resource.RLIMIT_CPU)
    if soft != resource.RLIM_INFINITY:
        _limit(resource.RLIMIT_CPU, soft + math.ceil(seconds))
