"""The file of a download while it grows: what has arrived, its SHA-256, and how far it is. Knows no source."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

from pdfqa_core.errors import ModelError
from pdfqa_core.types import Progress

PARTIAL = "partial"  # the folder of unfinished files, where nothing looks for models
SPARE = 200_000_000  # bytes of disk that stay free
PACE = 5.0  # seconds over which the speed is taken
SHORTEST = 0.1  # seconds that a speed must have been measured over before the time left is shown
CHUNK = 1 << 20  # bytes that are read at once
GIT_ID = 40  # hex digits of a git object id


class SourceError(ModelError):
    """One source does not give the file; another one may."""


class Pace:
    """Bytes a second over the last seconds."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def left(self, done: int, total: int) -> float | None:
        """Return the seconds that the rest takes; None while that is unknown."""
        now = time.monotonic()
        self._seen.append((now, done))
        while now - self._seen[0][0] > PACE:
            self._seen.popleft()
        (then, before) = self._seen[0]
        return (total - done) * (now - then) / (done - before) if done > before and now - then > SHORTEST else None


class Partial:
    """`done` of `size` bytes of the file `name`, which gets its place in `folder` when it is complete and right.

    The bytes are those of whichever source gave them: one goes on where another ended. `cancelled` ends the download.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder
        self.cancelled = threading.Event()
        self.progress = Progress("asking")
        self.size = self.done = 0
        self._sha256 = ""
        self._digest = hashlib.sha256()
        self._pace = Pace()

    @property
    def path(self) -> Path:
        """Where the bytes lie, named for the file that they are to become."""
        return self.folder / PARTIAL / f"{self.name}.{self._sha256[:16]}.partial"

    def begin(self, sha256: str, size: int, room: int = 0) -> None:
        """Take up what is here of the file with this checksum and size; remove what is here of another one.

        A checksum of 40 digits is a git object id: the SHA-1 of the word "blob", the length and the content.
        `room`: bytes of disk that the source needs besides. Raises ModelError if there is too little, OSError.
        """
        if self._sha256 != sha256:
            self._sha256, self.size = sha256, size
            for other in leftovers(self.folder, self.name):
                if other != self.path:
                    other.unlink()
            self._take_up()
        free = shutil.disk_usage(self.folder).free
        missing = size - self.done + room
        if free < missing + SPARE:
            raise ModelError(
                f"{self.name} needs {missing / 1e6:,.0f} MB and {SPARE / 1e6:.0f} MB to spare; "
                f"{free / 1e6:,.0f} MB are free in {self.folder}.",
                "Free some space, or choose a smaller model.",
            )

    def _take_up(self) -> None:
        have = self.path.stat().st_size if self.path.exists() else 0
        self.anew(keep=have <= self.size)
        if have <= self.size:
            for chunk in read(self.path if have else None, self.cancelled):
                self._digest.update(chunk)
                self.done += len(chunk)
                self.progress = Progress("checking", self.done, self.size)

    def anew(self, *, keep: bool = False) -> None:
        """Begin with no bytes; those that are there are removed unless they are to be read again."""
        if not keep:
            self.path.unlink(missing_ok=True)
        self._digest, self.done = hashlib.sha256(), 0
        if len(self._sha256) == GIT_ID:
            self._digest = hashlib.sha1(f"blob {self.size}\0".encode(), usedforsecurity=False)

    @contextlib.contextmanager
    def writing(self) -> Iterator[Callable[[bytes], None]]:
        """Give what appends bytes; they are on the disk when the block ends. Raises OSError."""
        with self.path.open("ab") as file:

            def write(chunk: bytes) -> None:
                file.write(chunk)
                self._digest.update(chunk)
                self.done += len(chunk)
                self.show()

            yield write
            file.flush()
            os.fsync(file.fileno())

    def show(self, more: int = 0) -> None:
        """Say how far it is, with `more` bytes that have arrived elsewhere."""
        done = self.done + more
        self.progress = Progress("downloading", done, self.size, self._pace.left(done, self.size))

    def finish(self) -> Path:
        """Give the complete file its name. Raises SourceError if its checksum is wrong: it is removed then."""
        if self._digest.hexdigest() != self._sha256:
            self.anew()
            raise SourceError(
                "what arrived has a wrong checksum and was thrown away",
                "Download it again; if that does not help, choose another model.",
            )
        target = self.folder / self.name
        self.path.replace(target)
        remember(target, self._sha256)
        self.progress = Progress("downloading", self.done, self.size, 0.0)
        return target


def read(path: Path | None, cancelled: threading.Event) -> Iterator[bytes]:
    """Yield the bytes of a file until `cancelled` is set."""
    if path is not None:
        with path.open("rb") as file:
            while (chunk := file.read(CHUNK)) and not cancelled.is_set():
                yield chunk


def leftovers(folder: Path, name: str) -> list[Path]:
    """Return the unfinished files of a name."""
    return [path for path in (folder / PARTIAL).glob("*.partial") if path.name.startswith(f"{name}.")]


# ------------------------------------------------------------ what was checked


def _note(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _state(path: Path, sha256: str) -> str:
    found = path.stat()
    return f"{sha256} {found.st_size} {found.st_mtime_ns}\n"


def remember(path: Path, sha256: str) -> None:
    """Note beside a file that it has this checksum, so that it need not be read again as long as it is unchanged."""
    _note(path).write_text(_state(path, sha256), encoding="ascii")


def noted_sha256(path: Path) -> str:
    """Return the hash that was noted of a file when it was right; empty where none was."""
    try:
        return _note(path).read_text(encoding="ascii").partition(" ")[0]
    except (OSError, ValueError):
        return ""


def known_right(path: Path, sha256: str) -> bool:
    """Whether a file is noted to have this checksum and has not changed since."""
    try:
        return _note(path).read_text(encoding="ascii") == _state(path, sha256)
    except (OSError, UnicodeDecodeError):
        return False


def forget(path: Path) -> None:
    """Remove a file and the note beside it. Raises OSError."""
    _note(path).unlink(missing_ok=True)
    path.unlink(missing_ok=True)
