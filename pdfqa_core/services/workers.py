"""One of several programs on one database: it holds its pieces of work, and takes up what others left.

A program that ends lets its pieces go. Of one that was killed the others know at once on the same computer, and on
another one when its claims run out.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from pdfqa_core.errors import PdfQAError
from pdfqa_core.programs import this_program
from pdfqa_core.storage.work import LEASE, MOST_TRIES, Piece, Work

EVERY = LEASE / 6  # seconds between two renewals
_log = logging.getLogger(__name__)


class Workers:
    """Renews the claims of this program and claims what is free, in a thread of its own.

    For each kind of work somebody registers how it is taken up, how it is stopped when another program has it, and
    whether there is room for more at this moment.
    """

    def __init__(self, work: Work, name: str = "", every: float = EVERY) -> None:
        self.name = name or this_program()
        self._work = work
        self.every = every
        self._kinds: dict[str, tuple[Callable[[Piece], None], Callable[[str], None], Callable[[], bool]]] = {}
        self._mine: set[str] = set()
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._takes = False

    def register(
        self, kind: str, take: Callable[[Piece], None], lost: Callable[[str], None], room: Callable[[], bool]
    ) -> None:
        """Say who does work of a kind. `lost` is told the id of a piece that is not this program's any more."""
        self._kinds[kind] = (take, lost, room)

    # ------------------------------------------------------------ pieces of this program

    def begin(self, piece: Piece) -> None:
        """Note that this program begins with a piece. Raises ConflictError if it is under way, and StorageError."""
        self._work.add(piece, self.name)
        self._hold(piece.id)

    def change(self, piece_id: str, content: str) -> bool:
        """Note what is left of a piece; False if another program has it."""
        return self._work.change(piece_id, self.name, content)

    def finish(self, piece_id: str) -> None:
        """Note that a piece is done."""
        self._let_go(piece_id)
        self._work.finish(piece_id, self.name)

    def release(self, piece_id: str) -> None:
        """Leave a piece to another program."""
        self._let_go(piece_id)
        self._work.release(piece_id, self.name)

    def drop(self, piece_id: str) -> None:
        """End a piece whichever program works on it."""
        self._let_go(piece_id)
        self._work.drop(piece_id)

    def elsewhere(self, kind: str) -> frozenset[str]:
        """Return the ids of the pieces of a kind that other programs work on."""
        with self._lock:
            return self._work.claimed(kind) - self._mine

    def under_way(self, kind: str) -> dict[str, str]:
        """Return the contents of the pieces of a kind that any program works on, by id."""
        return self._work.under_way(kind)

    # ------------------------------------------------------------ the clock

    def take_up(self) -> None:
        """Take up what is free now, and from now on whatever becomes free."""
        self._takes = True
        self._claim_free()
        self._start()

    def close(self) -> None:
        """End the clock; the pieces of this program are not renewed any more."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join(self.every + 1)

    def _hold(self, piece_id: str) -> None:
        with self._lock:
            self._mine.add(piece_id)
        self._start()

    def _let_go(self, piece_id: str) -> None:
        with self._lock:
            self._mine.discard(piece_id)

    def _start(self) -> None:
        with self._lock:
            if self._thread is None and not self._closing.is_set():
                self._thread = threading.Thread(target=self._run, name="workers", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while not self._closing.wait(self.every):
            try:
                self._renew()
                if self._takes:
                    self._claim_free()
            except PdfQAError as error:
                _log.warning("claims on work were not renewed: %s", error)

    def _renew(self) -> None:
        with self._lock:
            before = set(self._mine)
        if not before:
            return
        held = self._work.renew(self.name)
        for piece_id in before - held:
            with self._lock:
                if piece_id not in self._mine:  # finished meanwhile
                    continue
                self._mine.discard(piece_id)
            for _, lost, _ in self._kinds.values():
                lost(piece_id)

    def _claim_free(self) -> None:
        while not self._closing.is_set():
            kinds = [kind for kind, (_, _, room) in self._kinds.items() if room()]
            piece = self._work.claim(kinds, self.name) if kinds else None
            if piece is None:
                return
            if piece.tries > MOST_TRIES:
                _log.warning("work of the kind %s ended %d programs and is given up", piece.kind, MOST_TRIES)
                self._work.finish(piece.id, self.name)
                continue
            self._hold(piece.id)
            self._kinds[piece.kind][0](piece)
