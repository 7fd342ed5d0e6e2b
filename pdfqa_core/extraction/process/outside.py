"""Files from outside: the one way in which they are unpacked and read.

Each is looked through under the limits of those whom this process serves before anything is made of it, in a child
process with limits on memory and time; small ones of an owner in this one, under limits at which they do no harm. What
comes back is a folder with the parts of a ZIP, or a text of which is known how much it can become.
"""

from __future__ import annotations

import queue
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from pdfqa_core.errors import UsageError
from pdfqa_core.extraction.process.children import Child
from pdfqa_core.extraction.process.file_contents import PARQUET, DamagedError, unpack, weigh
from pdfqa_core.extraction.process.limits import (
    EXIT_MEMORY,
    EXIT_SLOW,
    FILE_MB,
    OWNERS,
    SIGXCPU,
    SMALL,
    FileLimits,
    TooMuchError,
)
from pdfqa_core.whole_files import cannot_write, is_full, temporary_folder

AT_A_TIME = 3  # child processes
_HERE = FILE_MB  # bytes of a file that is looked through in this process
_GRACE = 2.0  # seconds that a child may take to end by itself
_REMEMBERED = 1000  # files
_places = threading.BoundedSemaphore(AT_A_TIME)


class _Held:
    """The limits that files are held to, and which were looked through. Safe to use from several threads."""

    def __init__(self) -> None:
        self.limits = OWNERS
        self._seen: OrderedDict[tuple[str, int, int, FileLimits], None] = OrderedDict()
        self._lock = threading.Lock()

    def seen(self, path: Path) -> bool:
        """Return whether a file was looked through as it is now."""
        with self._lock:
            return self._key(path) in self._seen

    def see(self, path: Path) -> None:
        """Remember that a file was looked through."""
        with self._lock:
            self._seen[self._key(path)] = None
            while len(self._seen) > _REMEMBERED:
                self._seen.popitem(last=False)

    def _key(self, path: Path) -> tuple[str, int, int, FileLimits]:
        stat = path.stat()
        return str(path), stat.st_mtime_ns, stat.st_size, self.limits


_held = _Held()


def hold_to(limits: FileLimits) -> None:
    """Hold all files that this process takes in from now on to these limits; a process serves one kind of people."""
    _held.limits = limits


def read_file(path: Path) -> bytes:
    """Return a file's bytes, looked through. Raises UsageError: not there, not readable, more than the limits allow."""
    try:
        size, most = path.stat().st_size, _held.limits.text
        if size > most:
            raise UsageError(
                f"{path.name} has {size / FILE_MB:.0f} MB; the limit is {most // FILE_MB} MB.", _held.limits.hint
            )
        if not _held.seen(path):
            _look_through(path, path.name, size)
            _held.see(path)
        return path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from error


def begins(path: Path, with_: bytes) -> bool:
    """Return whether a file begins with these bytes. Raises UsageError if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(len(with_)) == with_
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> UsageError:
    return UsageError(f"{path} cannot be read: {error.strerror}.", "Check the path.")


def _look_through(path: Path, name: str, size: int) -> None:
    if _held.limits is OWNERS and size <= _HERE and not begins(path, PARQUET):
        try:
            weigh(path, SMALL, name)
        except TooMuchError:
            pass
        else:
            return
    _in_child(path, name, None)


@contextmanager
def unpacked(source: Path | bytes, name: str, *, of: str, hint: str) -> Iterator[Path]:
    """Give a folder with the parts of a ZIP, looked through; `name` and `of`, what it holds, are for error messages.

    It is there as long as the context is. Raises UsageError: no ZIP, damaged, more than the limits allow.
    """
    with temporary_folder() as made:
        folder = made / "parts"
        try:
            folder.mkdir()
            path = source if isinstance(source, Path) else made / "file.zip"
            if isinstance(source, bytes):
                path.write_bytes(source)
            for text in _unpacked(path, folder, name):
                _held.see(folder / text)
        except DamagedError as error:
            raise UsageError(f"{name} holds no {of}: it is another file, or damaged.", hint) from error
        except OSError as error:
            if is_full(error):
                raise cannot_write(f"the files of {name}", error, "Nothing of it was taken in.") from error
            raise UsageError(f"{name} cannot be unpacked: {error.strerror}.", "Check the path.") from error
        yield folder


def _unpacked(path: Path, folder: Path, name: str) -> list[str]:
    if _held.limits is OWNERS and path.stat().st_size <= _HERE:
        draft = folder.with_name("draft")
        draft.mkdir()
        try:
            texts = unpack(path, draft, SMALL, name, known=True)
        except TooMuchError:
            pass
        else:
            folder.rmdir()
            draft.rename(folder)
            return texts
    return _in_child(path, name, folder)


def _in_child(path: Path, name: str, folder: Path | None) -> list[str]:
    """Look through a file in a child process; return the parts that are texts. Raises UsageError."""
    limits = _held.limits
    with _places:
        child = Child("pdfqa_core.extraction.process.outside_child", limits.memory_mb)
        try:
            child.send(
                path=str(path.resolve()), name=name, folder="" if folder is None else str(folder), limits=asdict(limits)
            )
            frame = child.receive(limits.seconds)
            if frame is None or child.exceeded:
                raise _ended(name, limits, child.wait(_GRACE)[0], exceeded=child.exceeded)
            message = frame.json()
            if "what" in message:
                error = frame.error()
                kind = DamagedError if message.get("kind") == DamagedError.__name__ else UsageError
                raise kind(error.what, error.hint)
            return [str(one) for one in message["texts"]]
        except queue.Empty as error:
            raise _slow(name, limits) from error
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DamagedError(f"{name} is damaged: reading it failed.", "Fetch or export it again.") from error
        finally:
            child.end()


def _ended(name: str, limits: FileLimits, status: int | None, *, exceeded: bool) -> UsageError:
    """Return what the end of a child means that gave no answer."""
    if exceeded or status == EXIT_MEMORY:
        return UsageError(f"{name} needs more than {limits.memory_mb:,} MB of memory to unpack.", limits.hint)
    if status in (EXIT_SLOW, -SIGXCPU):
        return _slow(name, limits)
    return DamagedError(f"{name} is damaged: reading it failed.", "Fetch or export it again.")


def _slow(name: str, limits: FileLimits) -> UsageError:
    return UsageError(f"{name} could not be read within {limits.seconds} seconds.", limits.hint)
