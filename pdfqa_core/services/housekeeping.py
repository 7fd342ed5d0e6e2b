"""What is done by a clock while the program serves: visitors who left, temporary files."""

from __future__ import annotations

import ctypes
import logging
import os
import sys
import threading
from collections.abc import Callable, Collection, Sequence
from functools import cache
from typing import Any

from pdfqa_core.services.finding import FindService
from pdfqa_core.services.indexes import LOCAL_OWNER, IndexService
from pdfqa_core.services.preparation import Preparation
from pdfqa_core.services.room import Room
from pdfqa_core.services.runs import RunService
from pdfqa_core.services.secret_words import Passwords
from pdfqa_core.settings import ServerSettings
from pdfqa_core.storage.owners import Owners, Preference

# ----------------------------------------------------------------------------------------------------
# Memory that was freed goes back to the system: glibc keeps it otherwise, some for every thread that ever worked.

_ARENA_MAX = -8  # M_ARENA_MAX of malloc.h
ARROW = "ARROW_DEFAULT_MEMORY_POOL"
ARENAS = 2  # pools that all threads share; without a limit there are up to eight for each core


@cache
def _c_library() -> Any:
    """Return the C library; None on another system than Linux. musl has neither of the functions below."""
    return ctypes.CDLL(None) if sys.platform == "linux" else None


def share_pools() -> bool:
    """Have all threads from now on take memory from ARENAS pools, and return whether that can be asked for.

    Each pool keeps what lies between pieces that are still in use. To be called before pandas is imported: Arrow, which
    keeps its strings, would have another pool for each thread beside.
    """
    os.environ.setdefault(ARROW, "system")
    limit = getattr(_c_library(), "mallopt", None)
    return bool(limit(_ARENA_MAX, ARENAS)) if limit is not None else False


def give_back() -> bool:
    """Give freed memory back, and return whether there was any to give; False too where that cannot be asked for."""
    trim = getattr(_c_library(), "malloc_trim", None)
    return bool(trim(0)) if trim is not None else False


# ----------------------------------------------------------------------------------------------------
# Who visits: what the page remembers of them, and the removal of what visitors of a demo left.


class VisitorService:
    """The owners of documents and conversations: the person at this computer, or each visitor of a demo."""

    def __init__(
        self,
        owners: Owners,
        indexes: IndexService,
        preparation: Preparation,
        finding: FindService,
        runs: RunService,
        passwords: Passwords,
        room: Room,
        server: ServerSettings,
        forgetting: Sequence[Callable[[Collection[str]], None]],
    ) -> None:
        """`forgetting` are called with the visitors who are gone: each forgets what memory keeps of them."""
        self._owners = owners
        self._preparation = preparation
        self._finding = finding
        self._indexes = indexes
        self._runs = runs
        self._passwords = passwords
        self._room = room
        self._server = server
        self._forgetting = forgetting

    def preference(self, owner: str, name: str, default: Preference = None) -> Preference:
        """Return what the page remembers under this name."""
        return self._owners.preference(owner, name, default)

    def set_preference(self, owner: str, name: str, value: Preference) -> None:
        """Have the page remember a value. Raises UsageError if it is no text, number, boolean or None.

        Nothing is remembered for an empty owner: a page of a demo that has not said who is visiting.
        """
        if owner:
            self._owners.set_preference(owner, name, value)

    def purge(self) -> tuple[str, ...]:
        """Remove the data of demo visitors who were not seen for the time the settings give; return who went."""
        if not self._server.demo:
            return ()
        with self._runs.removing():
            gone = self._owners.purge(self._server.visitor_hours, keep=(LOCAL_OWNER,))
        self._passwords.forget_owners(gone)
        self._room.forget(gone)
        for owner in gone:
            self._preparation.forget_owner(owner)
            self._indexes.remove_owner(owner)
        if gone:
            self._finding.tidy()
            for forget in self._forgetting:
                forget(gone)
        return gone


# ----------------------------------------------------------------------------------------------------
# What is done by a clock while the program serves: visitors who left, temporary files.

EVERY = 300.0  # seconds
_log = logging.getLogger(__name__)


class Housekeeping:
    """Calls its chores every few minutes in a thread of its own, from `start` to `close`; one that fails is logged.

    `last` comes after all others.
    """

    def __init__(self, *chores: Callable[[], object], last: Callable[[], object], every: float = EVERY) -> None:
        self._chores, self._last = list(chores), last
        self._every = every
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="housekeeping", daemon=True)

    def start(self, *more: Callable[[], object]) -> None:
        """Begin, at once with the first round."""
        self._chores += more
        self._thread.start()

    def close(self) -> None:
        """End it; a chore under way ends by itself."""
        self._closing.set()

    def _run(self) -> None:
        while not self._closing.is_set():
            for chore in (*self._chores, self._last):
                try:
                    chore()
                except Exception as error:  # noqa: BLE001 - the next round tries again
                    _log.warning("what is done by the clock failed: %s", error)
            self._closing.wait(self._every)
