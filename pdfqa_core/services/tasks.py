"""Work that can be stopped from elsewhere by the name it runs under."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from pdfqa_core.errors import PdfQAError


class Tasks:
    """The tasks under way. Safe to use from several threads and from a signal handler."""

    def __init__(self) -> None:
        self._stops: dict[str, threading.Event] = {}
        self._lock = threading.RLock()  # a signal handler may interrupt its own thread inside it

    @contextmanager
    def start(self, name: str = "") -> Iterator[threading.Event]:
        """Give the stop signal of a task; it is set at the end too, so that nothing goes on which the task left behind.

        Raises PdfQAError if a task of this name is under way; tasks without a name never meet.
        """
        stop, key = threading.Event(), name or uuid.uuid4().hex
        with self._lock:
            if key in self._stops:
                raise PdfQAError("This page is still busy with the last request.", "Wait for it, or press Stop.")
            self._stops[key] = stop
        try:
            yield stop
        finally:
            stop.set()
            with self._lock:
                self._stops.pop(key, None)

    def stop(self, name: str) -> None:
        """Stop the task with this name, none where there is no such task."""
        with self._lock:
            if stop := self._stops.get(name):
                stop.set()

    def running(self, name: str) -> bool:
        """Whether a task with this name is under way."""
        with self._lock:
            return name in self._stops

    def stop_all(self) -> None:
        """Stop every task."""
        with self._lock:
            for stop in self._stops.values():
                stop.set()
