"""Files for the browser. Gradio copies one into its own cache when a handler returns its path."""

from __future__ import annotations

import atexit
import io
import math
import secrets
import shutil
import tempfile
import threading
import time
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from pdfqa_core.llm.downloads import DownloadState
from pdfqa_core.services.secret_words import HOUR, Rate
from pdfqa_core.ui.components import gigabytes, time_left
from pdfqa_core.whole_files import remove_left_over, safe_name, sha256, temporary_prefix

# ----------------------------------------------------------------------------------------------------
# Downloads of models as the page shows them.

BUSY, CALM = 1.0, 15.0  # seconds between two looks at what goes on in the background


def download_words(state: DownloadState) -> str:
    """Return how far a download is: "120 MB of 386 MB, 3.2 MB/s, 2 min left"."""
    progress = state.progress
    if not progress.total:
        return progress.phase
    words = f"{gigabytes(progress.done)} of {gigabytes(progress.total)}"
    if progress.phase != "downloading":
        return f"{progress.phase}: {words}"
    speed = f", {state.speed / 1e6:.1f} MB/s" if state.speed else ""
    left = time_left(progress.seconds_left)
    return f"{words}{speed}{', ' + left if left else ''}"


# ----------------------------------------------------------------------------------------------------
# Files for and from the browser: in one folder of this process, which nobody else may read and which ends with it.
#
# Gradio keeps uploads and copies of downloads in `uploads()`. A program that was killed leaves its folder; the next
# one removes it, see `whole_files`.

KEPT = 3600.0  # seconds for which a file is kept


@cache
def folder() -> Path:
    """Return the folder; it is made with the first call."""
    remove_left_over()
    atexit.register(remove)
    return Path(tempfile.mkdtemp(prefix=temporary_prefix()))


def uploads() -> Path:
    """Return where uploads arrive and lie until they are read."""
    return folder() / "gradio"


def downloads() -> Path:
    """Return where files for the browser lie."""
    return folder() / "downloads"


def tidy(older_than: float = KEPT) -> None:
    """Remove files that nobody has changed for so many seconds, and folders that are empty then."""
    limit = time.time() - older_than
    found = [(path, _changed(path)) for path in sorted(folder().rglob("*"), reverse=True)]
    for path, changed in found:  # what is in a folder comes before it
        if changed < limit:
            with suppress(OSError):  # in use, gone already, or not empty
                path.rmdir() if path.is_dir() else path.unlink()


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # gone meanwhile
        return math.inf


def remove() -> None:
    """Remove the folder with all that is in it."""
    if folder.cache_info().currsize:
        shutil.rmtree(folder(), ignore_errors=True)
        folder.cache_clear()


# ----------------------------------------------------------------------------------------------------
# Whose an upload to a demo is: a visitor's, who has a ticket from their page, and only so many bytes in an hour.

HEADER = "x-pdfqa-ticket"
MOST = 20_000  # tickets that are remembered at once
VISITORS_SHARE, ADDRESS_SHARE = 4, 20  # times what a visitor may keep, in an hour


class Tickets:
    """A random word for each visitor, which their page sends with every upload. Safe to use from several threads."""

    def __init__(self) -> None:
        self._owners: OrderedDict[str, str] = OrderedDict()
        self._tickets: dict[str, str] = {}
        self._lock = threading.Lock()

    def of(self, owner: str) -> str:
        """Return the ticket of a visitor; empty where nobody is named."""
        if not owner:
            return ""
        with self._lock:
            ticket = self._tickets.setdefault(owner, secrets.token_urlsafe(32))
            self._owners[ticket] = owner
            self._owners.move_to_end(ticket)
            while len(self._owners) > MOST:
                _, gone = self._owners.popitem(last=False)
                self._tickets.pop(gone, None)
            return ticket

    def owner(self, ticket: str) -> str:
        """Return whose ticket this is; empty for one that was not given out."""
        with self._lock:
            return self._owners.get(ticket, "")


class Budget:
    """At most so many bytes in an hour for each visitor, and for each address. Safe to use from several threads."""

    def __init__(self, visitor_bytes: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._visitors = Rate(VISITORS_SHARE * visitor_bytes, HOUR, clock)
        self._addresses = Rate(ADDRESS_SHARE * visitor_bytes, HOUR, clock)
        self._lock = threading.Lock()

    def take(self, owner: str, address: str, size: int) -> bool:
        """Count an upload of so many bytes; False, and nothing is counted, if it is too much for either."""
        with self._lock:
            return self._addresses.left(address) >= size and (
                self._visitors.take(owner, size) and self._addresses.take(address, size)
            )


# ----------------------------------------------------------------------------------------------------
# Files for the browser. Gradio copies one into its own cache when a handler returns its path.


def write(name: str, data: bytes) -> str:
    """Write a file that the browser saves under `safe_name(name)`; return its path.

    The same content is written to the same place again, so that a page which is loaded often leaves one file.
    """
    path = downloads() / sha256(data)[:32] / safe_name(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return str(path)


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Return a ZIP of files by their names."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return packed.getvalue()
