"""Images of pages, drawn by a child process that starts again by itself after a crash."""

from __future__ import annotations

import hashlib
import queue
import threading
import time
from collections import OrderedDict
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from pdfqa_core.errors import PdfQAError
from pdfqa_core.extraction.process.children import BYTES, Child, Frame
from pdfqa_core.extraction.process.limits import RENDER_MB
from pdfqa_core.types import Box

_CACHE_BYTES = 48 * 1024 * 1024
_REMEMBERED = 300.0  # seconds for which a page that hung or crashed the child is not tried again
_MANY = 1000  # such pages


class _DeadlyPageError(PdfQAError):
    """A page hung or crashed the child."""


class PageRenderer:
    """Draws pages, one at a time, for any thread. Call `close` at the end; a renderer is no use after that.

    `seconds` is the wall-clock limit for a page; images are WebP (a text page 1400 pixels wide: 100 to 250 KB). A page
    that could not be drawn in time is not tried again for some minutes, since all wait for it.
    """

    mime = "image/webp"

    def __init__(self, *, seconds: float = 10.0) -> None:
        self.seconds = seconds
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._cache: OrderedDict[tuple[Any, ...], bytes] = OrderedDict()
        self._failed: OrderedDict[tuple[Any, ...], tuple[float, PdfQAError]] = OrderedDict()
        self._closed = False
        self._held: Path | None = None  # the file that the child has open

    @property
    def process_id(self) -> int | None:
        """The child's process id, None while there is none."""
        return self._child.process_id if self._child is not None else None

    def render(
        self,
        path: Path,
        number: int,
        *,
        width_px: int | None = None,
        scale: float | None = None,
        password: str | None = None,
        filename: str = "",
        marks: Sequence[Box] = (),
        jpeg: bool = False,
    ) -> bytes:
        """Return page `number` (from 1) as an image `width_px` pixels wide, or of `scale` pixels per point.

        The `marks` are coloured in it; `jpeg` makes a JPEG, which every word processor reads, instead of a WebP image.
        Very large pages come out smaller than asked. Raises PdfQAError if the page cannot be drawn (in time), a
        DocumentError if the file cannot be opened (ENCRYPTED: with this password).
        """
        name = filename or path.name
        try:
            status = path.stat()
        except OSError as error:
            raise PdfQAError(f"{name} cannot be opened ({error.strerror}).", "Add the file again.") from error
        width = None if scale else max(16, min(width_px or 1000, 8000))
        secret = hashlib.sha256((password or "").encode()).hexdigest()
        place = (path, status.st_mtime_ns, status.st_size, number)
        boxes, kind = tuple(map(tuple, marks)), "JPEG" if jpeg else "WEBP"
        key = (*place, width, scale, secret, boxes, kind)
        with self._lock:
            if key in self._cache:
                self._cache.move_to_end(key)
                return self._cache[key]
            until, failure = self._failed.get(place, (0.0, PdfQAError("")))
            if time.monotonic() < until:
                raise PdfQAError(failure.what, failure.hint)
            job = {
                "path": str(path.resolve()),
                "filename": name,
                "number": number,
                "width_px": width,
                "scale": scale,
                "password": password,
                "marks": boxes,
                "format": kind,
            }
            try:
                image = self._ask(name, number, job)
            except _DeadlyPageError as error:
                self._failed[place] = (time.monotonic() + _REMEMBERED, error)
                while len(self._failed) > _MANY:
                    self._failed.popitem(last=False)
                raise
            finally:
                self._held = path if self._child is not None else None
            self._cache[key] = image
            while sum(map(len, self._cache.values())) > _CACHE_BYTES:
                self._cache.popitem(last=False)
        return image

    def release(self, path: Path) -> None:
        """Let go of a file, since Windows does not delete one that is open, and forget its images."""
        with self._lock:
            self._forget({path})
            if self._held == path:
                self._end()

    def forget_gone(self) -> None:
        """Forget the images of files that are gone."""
        with self._lock:
            self._forget({path for path in {key[0] for key in self._cache} if not path.exists()})

    def _forget(self, paths: Collection[Path]) -> None:
        for key in [key for key in self._cache if key[0] in paths]:
            del self._cache[key]

    def close(self) -> None:
        """End the child and forget the images."""
        with self._lock:
            self._closed = True
            self._cache.clear()
            self._end()

    def _end(self) -> None:
        child, self._child, self._held = self._child, None, None
        if child is not None:
            child.end()

    def _ask(self, name: str, number: int, job: dict[str, Any]) -> bytes:
        """Return the image the child draws; a child that had died is replaced once."""
        if self._closed:
            raise PdfQAError("The page images are closed.", "Start the program again.")
        reused = self._child is not None
        frame = self._exchange(name, number, job)
        if frame is None and reused:
            frame = self._exchange(name, number, job)
        if frame is None:
            raise _DeadlyPageError(f"Page {number} of {name} cannot be drawn.", "Its text can still be read.")
        if frame.kind == BYTES:
            return frame.body
        raise frame.error()

    def _exchange(self, name: str, number: int, job: dict[str, Any]) -> Frame | None:
        """Return the child's answer, None where the child died. Raises PdfQAError when it takes too long."""
        if self._child is None:
            self._child = Child("pdfqa_core.extraction.process.render_child", RENDER_MB)
        try:
            self._child.send(**job)
            frame = self._child.receive(self.seconds)
        except OSError:
            frame = None
        except queue.Empty as error:
            self._end()
            raise _DeadlyPageError(
                f"Page {number} of {name} takes longer than {self.seconds:g} seconds to draw.",
                "Its text can still be read.",
            ) from error
        if frame is None:
            self._end()
        return frame
