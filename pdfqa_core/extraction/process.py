"""Starting, limiting and ending the child processes that touch PDFs.

A child leads a process group of its own: what it starts itself ends with it.
"""

from __future__ import annotations

import math
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO

_ROOT = Path(__file__).resolve().parents[2]
_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "LD_LIBRARY_PATH", "VIRTUAL_ENV")
MB = 1024 * 1024
_NEAR_LIMIT = 0.5  # of the memory limit: a failure with more than this in use was a refused allocation
_NEAR_ABORT = 0.3  # the same for an abort, PDFium's answer to a refusal; the peak is looked at only now and then

_RSS_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes in which ru_maxrss counts

EXIT_MEMORY = 86
"""Exit status of a child that ran out of memory."""

EXIT_SLOW = 87
"""Exit status of a child of which a process ran out of CPU time."""

SIGABRT = 6
SIGXCPU = 24
"""The signal that ends a process which ran out of CPU time (POSIX; Windows has no such limit)."""


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
        start_new_session=True,
    )


def kill(child: subprocess.Popen[bytes]) -> None:
    """End the child and all that it started at once, and close its pipes."""
    if child.returncode is None:
        _kill_group(child)
        child.wait()
        _reap_orphans(child.pid)
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except OSError:  # what was still buffered for a child that is gone
                continue


def _kill_group(child: subprocess.Popen[bytes]) -> None:
    if not hasattr(os, "killpg"):
        child.kill()
        return
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # macOS: the group holds nothing but a child that has ended
        child.kill()


def _reap_orphans(group: int, seconds: float = 1.0) -> None:
    """Wait for killed processes of a child that is gone: where this program is process 1, they are its own now."""
    if not hasattr(os, "waitpid") or sys.platform == "win32":
        return
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if os.waitpid(-group, os.WNOHANG)[0] == 0:
                time.sleep(0.005)
        except ChildProcessError:
            return


def wait(child: subprocess.Popen[bytes], seconds: float) -> tuple[int | None, int]:
    """Return the exit status of a child that should end by itself and its peak memory in bytes (0: unknown).

    Linux begins the child's peak with this process's own, so a lower one of the child stays unknown. The status is
    None when it did not end within `seconds`; negative, when a signal ended it.
    """
    if not hasattr(os, "wait4") or not hasattr(os, "waitid"):
        try:
            return child.wait(seconds), 0
        except subprocess.TimeoutExpired:
            return None, 0
    deadline = time.monotonic() + seconds
    while os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        if time.monotonic() > deadline:
            return None, 0
        time.sleep(0.01)
    _kill_group(child)  # while the process table still holds the child, its number is nobody else's
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    _reap_orphans(child.pid)
    peak = usage.ru_maxrss * _RSS_UNIT
    return child.returncode, peak if sys.platform != "linux" or peak > _largest() else 0


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


def peak_memory_of_ended() -> int:
    """Return the largest resident size in bytes of the processes that this one started and waited for; 0: unknown."""
    try:
        import resource
    except ImportError:
        return 0
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * _RSS_UNIT


def near_limit(peak: int, megabytes: int, status: int | None = None) -> bool:
    """Return whether a process that reached `peak` bytes of a limit failed for want of memory, whatever it said.

    A refused allocation surfaces as almost any error in the libraries it passes through. `status` is the exit status.
    """
    return peak > (_NEAR_ABORT if status == -SIGABRT else _NEAR_LIMIT) * megabytes * MB


def _largest() -> int:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT


def limit_memory(megabytes: int) -> None:
    """Limit what this process, and each one that it starts, may take beyond what it has now; call it in the child.

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
    try:
        import resource
    except ImportError:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    wanted = seconds if hard == resource.RLIM_INFINITY else min(seconds, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (wanted, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def more_cpu(seconds: float) -> None:
    """Raise the CPU limit of this process, where it has one."""
    try:
        import resource
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    if soft != resource.RLIM_INFINITY:
        wanted = soft + math.ceil(seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def quiet_output() -> IO[bytes]:
    """Return the stream for frames, with standard output itself closed to whatever a library prints."""
    stream = os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    return stream
