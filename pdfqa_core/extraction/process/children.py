"""The child processes that touch PDFs, seen from the parent: started, asked, waited for and ended."""

from __future__ import annotations

import json
import os
import queue
import signal
import struct
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

from pdfqa_core.errors import DocumentError, PdfQAError
from pdfqa_core.extraction.process.limits import LINUX, MB, PROGRAM, RSS_UNIT, own_peak
from pdfqa_core.types import DocumentState

# ----------------------------------------------------------------------------------------------------
# Processes ended from outside, with all that they started, and their memory watched where the system sets no limit.
#
# psutil tells a process from a later one that was given the same number, on every system.

_POLL = 0.1  # seconds between two looks
_FAMILY_EVERY = 5  # looks after which processes that were started meanwhile are looked for


def family(process_id: int) -> list[Any]:
    """Return a process and all that it started (psutil.Process), itself first; none if it is gone."""
    import psutil

    try:
        first = psutil.Process(process_id)
        return [first, *first.children(recursive=True)]
    except psutil.Error:
        return []


def end_all(processes: list[Any]) -> None:
    """End processes, in this order; those that are gone already do no harm."""
    import psutil

    for process in processes:
        with suppress(psutil.Error):
            process.kill()


class Guard:
    """A thread that ends a process and all that it started as soon as one of them takes more than `megabytes`.

    It may be a little late: memory that is taken within a tenth of a second is had. `exceeded` says that it happened,
    `peak` is the largest size in bytes that it saw. Call `close` when the process has ended.
    """

    def __init__(self, process_id: int, megabytes: int) -> None:
        self.exceeded = False
        self.peak = 0
        self._process_id = process_id
        self._most = megabytes * MB
        self._family: list[Any] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="memory guard", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        looks = 0
        while not self._over.wait(_POLL if looks else 0):
            if looks % _FAMILY_EVERY == 0:
                self._family = list(dict.fromkeys([*family(self._process_id), *self._family]))
            looks += 1
            self.peak = max(self.peak, *map(_size, self._family), 0)
            if self.peak > self._most:
                self.exceeded = True
                end_all([*self._family, *family(self._process_id)])
                return

    def close(self) -> None:
        """End the thread, and what the process has left behind."""
        self._over.set()
        self._thread.join(timeout=2)
        end_all(self._family[1:])


def _size(process: Any) -> int:
    import psutil

    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0


# ----------------------------------------------------------------------------------------------------
# Messages between a parent and its child process: length-prefixed JSON, never pickle.
#
# A frame is one byte (its kind), four bytes (length of the body, big-endian) and the body.

_HEAD = struct.Struct(">cI")
MAX_BODY = 256 * 1024 * 1024
_LONGEST = 1000  # characters of an error's parts that are kept: the child may have been taken over
JSON, PAGE, BYTES = b"J", b"P", b"B"


class Frame(NamedTuple):
    """One message. The body of a PAGE is what `page_codec` writes, of BYTES anything."""

    kind: bytes
    body: bytes

    def json(self) -> dict[str, Any]:
        """Return the body of a JSON frame. Raises ValueError where it is no JSON object."""
        value = json.loads(self.body)
        if not isinstance(value, dict):
            raise ValueError("not a JSON object")  # noqa: TRY004 - the content is wrong, not the call
        return value

    def error(self) -> PdfQAError:
        """Return the error of which a JSON frame tells."""
        message = self.json()
        what, hint, state = (str(message.get(name, ""))[:_LONGEST] for name in ("what", "hint", "state"))
        known = state in set(DocumentState)
        return DocumentError(DocumentState(state), what, hint) if known else PdfQAError(what, hint)


def write_frame(stream: IO[bytes], kind: bytes, body: bytes) -> None:
    """Write one frame and flush."""
    stream.write(_HEAD.pack(kind, len(body)) + body)
    stream.flush()


def write_json(stream: IO[bytes], **values: Any) -> None:
    """Write a JSON frame."""
    write_frame(stream, JSON, json.dumps(values).encode("ascii"))


def write_error(stream: IO[bytes], error: PdfQAError) -> None:
    """Write a JSON frame from which `Frame.error` makes the error again."""
    state = error.state.value if isinstance(error, DocumentError) else ""
    write_json(stream, what=error.what, hint=error.hint, state=state)


def read_frame(stream: IO[bytes]) -> Frame | None:
    """Return the next frame; None at the end of the stream or where it breaks off."""
    head = stream.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    kind, length = _HEAD.unpack(head)
    if length > MAX_BODY:
        return None
    body = stream.read(length)
    return Frame(kind, body) if len(body) == length else None


def quiet_output() -> IO[bytes]:
    """Return a child's stream for frames, with standard output itself closed to whatever a library prints."""
    stream = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return stream


class FrameReader:
    """Reads a child's frames in a thread, so that the parent can wait with a time limit on every system."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._frames: queue.Queue[Frame | None] = queue.Queue(maxsize=64)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="frames", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        frame: Frame | None = Frame(JSON, b"")
        while frame is not None and not self._closed.is_set():
            try:
                frame = read_frame(self._stream)
            except (OSError, ValueError):
                frame = None
            while not self._closed.is_set():
                try:
                    self._frames.put(frame, timeout=0.2)
                    break
                except queue.Full:
                    continue

    def get(self, seconds: float) -> Frame | None:
        """Return the next frame, None after the last. Raises queue.Empty when none came within `seconds`."""
        return self._frames.get(timeout=max(0.0, seconds))

    def close(self) -> None:
        """End the thread; call it when the child is gone."""
        self._closed.set()
        self._thread.join(timeout=2)


# ----------------------------------------------------------------------------------------------------
# The child processes that touch PDFs, seen from the parent: started, asked, waited for and ended.

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
