"""How much visitors of a demo may keep and have read: megabytes, pages and seconds, for each and for all together."""

from __future__ import annotations

import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from pdfqa_core.errors import DocumentError, PdfQAError
from pdfqa_core.ingest import Source
from pdfqa_core.settings import ExtractionSettings, ServerSettings
from pdfqa_core.storage import Store
from pdfqa_core.types import DocumentState
from pdfqa_core.whole_files import file_sha256

HOUR = 3600.0  # seconds, in which `visitor_seconds` of reading may be used
LEAST = 5.0  # seconds of reading; with less left nothing is begun
OWN_COMPUTER = "Remove a document first, or run the app on your own computer."


class Room:
    """The room of a demo, without limits elsewhere. What is being read has its place reserved. Safe to use in threads.

    A PDF counts once for a visitor, and once among all, however often it is added or being read.
    """

    def __init__(self, store: Store, server: ServerSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._server = server
        self._clock = clock
        self._reserved: dict[str, tuple[str, dict[str, int]]] = {}  # owner, and bytes by hash, of each reservation
        self._read: dict[str, deque[tuple[float, float]]] = defaultdict(deque)  # when, and for how many seconds
        self._lock = threading.Lock()

    # ------------------------------------------------------------ megabytes

    def reserve(self, name: str, owner: str, sources: Sequence[Source]) -> None:
        """Set room aside for files under a name until `release`. Raises PdfQAError where there is none."""
        if not self._server.demo:
            return
        files = {file_sha256(one.path): one.path.stat().st_size for one in sources if one.path.is_file()}
        with self._lock:
            mine, all_of_them = dict(self._store.documents.sizes(owner)), dict(self._store.documents.sizes())
            new = {key: size for key, size in files.items() if key not in mine}
            for other, reserved in self._reserved.values():
                all_of_them |= reserved
                mine |= reserved if other == owner else {}
            self._check(sum((mine | new).values()), sum((all_of_them | new).values()), bool(new))
            self._reserved[name] = (owner, files)

    def _check(self, mine: int, all_of_them: int, new: bool) -> None:
        server = self._server
        if new and mine > server.visitor_mb * 1_000_000:
            raise PdfQAError(
                f"This would be {mine / 1e6:.1f} MB of PDFs; a visitor of this demo may keep {server.visitor_mb} MB.",
                OWN_COMPUTER,
            )
        if new and all_of_them > server.total_mb * 1_000_000:
            raise PdfQAError(
                "This demo is full: its visitors keep as many PDFs as it has room for.",
                "Try again later, with smaller files, or run the app on your own computer.",
            )

    def release(self, name: str) -> None:
        """Give back what is reserved under a name."""
        with self._lock:
            self._reserved.pop(name, None)

    # ------------------------------------------------------------ pages and seconds

    def allowed(self, owner: str, document_id: str, chosen: ExtractionSettings) -> ExtractionSettings:
        """Return how a file may be read for an owner: within the pages that are left (see `seconds_left`).

        Raises DocumentError where nothing is left.
        """
        server = self._server
        if not server.demo:
            return chosen
        kept = sum(one.page_count for one in self._store.documents.list(owner) if one.id != document_id)
        if kept >= server.visitor_pages:
            raise DocumentError(
                DocumentState.TOO_LARGE,
                f"Your documents have {kept:,} pages; a visitor of this demo may keep {server.visitor_pages:,}.",
                OWN_COMPUTER,
            )
        left = self._seconds_left(owner)
        if left < LEAST:
            raise DocumentError(
                DocumentState.TOO_SLOW,
                f"You have used the {server.visitor_seconds / 60:.0f} minutes of reading that a visitor of this demo "
                "has in an hour.",
                "Go on later, or run the app on your own computer.",
            )
        return chosen.model_copy(update={"max_pages": min(chosen.max_pages, server.visitor_pages - kept)})

    def seconds_left(self, owner: str) -> float | None:
        """Return for how many seconds may still be read for an owner now; None: there is no limit."""
        return self._seconds_left(owner) if self._server.demo else None

    def _seconds_left(self, owner: str) -> float:
        limit = self._clock() - HOUR
        with self._lock:
            used = self._read[owner]
            while used and used[0][0] < limit:
                used.popleft()
            return self._server.visitor_seconds - sum(seconds for _, seconds in used)

    @contextmanager
    def reading(self, owner: str) -> Iterator[None]:
        """Count the seconds that the block takes as those of an owner."""
        began = self._clock()
        try:
            yield
        finally:
            if self._server.demo:
                with self._lock:
                    self._read[owner].append((self._clock(), self._clock() - began))

    def forget(self, owners: Sequence[str]) -> None:
        """Forget what these owners have read."""
        with self._lock:
            for owner in owners:
                self._read.pop(owner, None)
