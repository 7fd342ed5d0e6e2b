"""The child processes that touch PDFs, seen from the parent: started, asked, waited for and ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from pdfqa_core.extraction.process.frames import Frame, FrameReader, write_json
from pdfqa_core.extraction.process.guard import Guard, end_all, family
from pdfqa_core.extraction.process.limits import LINUX, PROGRAM, RSS_UNIT, own_peak

_ROOT = Path(__file__).resolve().parents[3]
_PASSED_ON = (
    "PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TEMP", "TMP", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "VIRTUAL_ENV",
    "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROCESSOR_ARCHITECTURE",
)  # fmt: skip
# On Windows: out of reach of Ctrl-C in the program's console, and without a window of its own.
_FLAGS = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) | getattr(subprocess, "CREATE_NO_WINDOW", 0)


class Child:
    """A process that runs `python -m module` and talks in frames, in a bare environment, away from the terminal.

    It leads a process group of its own: what it starts itself ends with it. Where the system does not limit the memory
    of processes, it is ended above `memory_mb`. Call `end` when it is not needed any more.
    """

    def __init__(self, module: str, memory_mb: int) -> None:
        self._process = _start(module)
        assert self._process.stdout is not None
        self._frames = FrameReader(self._process.stdout)
        self._guard = None if LINUX else Guard(self._process.pid, memory_mb)

    @property
    def process_id(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def exceeded(self) -> bool:
        """Whether it was ended from outside because it took too much memory."""
        return self._guard is not None and self._guard.exceeded

    def send(self, **values: Any) -> None:
        """Send a JSON frame. Raises OSError if the child is gone."""
        assert self._process.stdin is not None
        write_json(self._process.stdin, **values)

    def receive(self, seconds: float) -> Frame | None:
        """Return the next frame, None after the last. Raises queue.Empty when none came within `seconds`."""
        return self._frames.get(seconds)

    def end(self) -> None:
        """End the child and all that it started at once, and close its pipes."""
        child = self._process
        if child.returncode is None:
            _kill_group(child)
            child.wait()
            _reap_orphans(child.pid)
        if self._guard is not None:
            self._guard.close()
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                with suppress(OSError):  # what was still buffered for a child that is gone
                    pipe.close()
        self._frames.close()

    def wait(self, seconds: float) -> tuple[int | None, int]:
        """Return the exit status of a child that should end by itself and its peak memory in bytes (0: unknown).

        Linux begins the child's peak with this process's own, so a lower one of the child stays unknown. The status is
        None when it did not end within `seconds`; negative, when a signal ended it.
        """
        child = self._process
        if not hasattr(os, "wait4") or not hasattr(os, "waitid"):
            seen = self._guard.peak if self._guard is not None else 0
            try:
                return child.wait(seconds), seen
            except subprocess.TimeoutExpired:
                return None, seen
        deadline = time.monotonic() + seconds
        while os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            if time.monotonic() > deadline:
                return None, 0
            time.sleep(0.01)
        _kill_group(child)  # while the process table still holds the child, its number is nobody else's
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        _reap_orphans(child.pid)
        peak = usage.ru_maxrss * RSS_UNIT
        return child.returncode, peak if not LINUX or peak > own_peak() else 0


def _start(module: str) -> subprocess.Popen[bytes]:
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    inherited = [entry for entry in sys.path if entry and Path(entry).is_dir()]
    environment |= {
        "PYTHONPATH": os.pathsep.join([str(_ROOT), *inherited]),
        "OPENBLAS_NUM_THREADS": "1",  # numpy is not used for algebra; its threads cost address space
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "PYTHONIOENCODING": "utf-8",
        "MALLOC_ARENA_MAX": "2",
        PROGRAM: str(os.getpid()),
    }
    return subprocess.Popen(  # noqa: S603 - our own interpreter and module
        [sys.executable, "-P", "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        close_fds=True,
        start_new_session=True,
        creationflags=_FLAGS,
    )


def _kill_group(child: subprocess.Popen[bytes]) -> None:
    if not hasattr(os, "killpg"):
        end_all(family(child.pid))
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
