"""Starting, limiting and ending the child processes that touch PDFs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO

_ROOT = Path(__file__).resolve().parents[2]
_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "LD_LIBRARY_PATH", "VIRTUAL_ENV")
MB = 1024 * 1024

_RSS_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes in which ru_maxrss counts

EXIT_MEMORY = 86
"""Exit status of a child that ran out of memory."""


def start(module: str) -> subprocess.Popen[bytes]:
    """Start `python -m module` with pipes for frames, a bare environment and no safe way to reach the terminal."""
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    inherited = [entry for entry in sys.path if entry and Path(entry).is_dir()]
    environment |= {
        "PYTHONPATH": os.pathsep.join([str(_ROOT), *inherited]),
        "OPENBLAS_NUM_THREADS": "1",  # numpy is not used for algebra; its threads cost address space
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "PYTHONIOENCODING": "utf-8",
        "MALLOC_ARENA_MAX": "2",
    }
    return subprocess.Popen(  # noqa: S603 - our own interpreter and module
        [sys.executable, "-P", "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        close_fds=True,
    )


def kill(child: subprocess.Popen[bytes]) -> None:
    """End the child at once and close its pipes."""
    child.kill()
    child.wait()
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except OSError:  # what was still buffered for a child that is gone
                continue


def wait(child: subprocess.Popen[bytes], seconds: float) -> tuple[int | None, int]:
    """Return the exit status of a child that should end by itself and its peak memory in bytes (0: unknown).

    Linux begins the child's peak with this process's own, so a lower one of the child stays unknown. The status is
    None when it did not end within `seconds`; negative, when a signal ended it.
    """
    if not hasattr(os, "wait4"):
        try:
            return child.wait(seconds), 0
        except subprocess.TimeoutExpired:
            return None, 0
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid:
            child.returncode = os.waitstatus_to_exitcode(status)
            peak = usage.ru_maxrss * _RSS_UNIT
            return child.returncode, peak if sys.platform != "linux" or peak > _largest() else 0
        time.sleep(0.01)
    return None, 0


def peak_memory(process_id: int | None = None) -> int:
    """Return the largest resident size in bytes of this process or, on Linux, of another one; 0: unknown.

    On Linux getrusage begins with the peak of the process that started this one, however large; /proc does not.
    """
    if sys.platform != "linux":
        return _largest() if process_id is None else 0
    try:
        status = Path(f"/proc/{process_id or 'self'}/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    found = re.search(r"^VmHWM:\s*(\d+) kB", status, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def _largest() -> int:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT


def limit_memory(megabytes: int) -> None:
    """Limit what this process may take beyond what it has now; call it in the child.

    The operating system refuses more where it can (RLIMIT_AS, RLIMIT_DATA); besides, a thread ends the process with
    EXIT_MEMORY when its resident size gets near the limit, so that the parent can tell memory from a crash.
    """
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    if sys.platform == "linux":
        fields = Path("/proc/self/statm").read_text(encoding="ascii").split()
        base = int(fields[0]) * os.sysconf("SC_PAGE_SIZE")
        for kind, size in ((resource.RLIMIT_AS, base + megabytes * MB), (resource.RLIMIT_DATA, megabytes * MB)):
            _, hard = resource.getrlimit(kind)
            wanted = size if hard == resource.RLIM_INFINITY else min(size, hard)
            resource.setrlimit(kind, (wanted, hard))
    threading.Thread(target=_watch, args=(megabytes,), name="memory", daemon=True).start()


def limit_cpu(seconds: int) -> None:
    """Let the operating system end this process after `seconds` of CPU time; call it in the child."""
    try:
        import resource
    except ImportError:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    wanted = seconds if hard == resource.RLIM_INFINITY else min(seconds, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (wanted, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _watch(megabytes: int) -> None:
    while peak_memory() < 0.9 * megabytes * MB:
        time.sleep(0.05)
    os._exit(EXIT_MEMORY)


def quiet_output() -> IO[bytes]:
    """Return the stream for frames, with standard output itself closed to whatever a library prints."""
    stream = os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    return stream
