"""Which programs on one database serve the page now, and where each is reached by the others."""

from __future__ import annotations

import ipaddress
import json
import secrets
import socket
import threading
import time
from contextlib import suppress

from pdfqa_core.errors import PdfQAError
from pdfqa_core.services.workers import Workers
from pdfqa_core.storage.work import Piece

KIND = "serving"
FRESH = 1.0  # seconds for which the list is not asked for again
_PREFIX = f"{KIND} "


class Processes:
    """The serving programs, by names that say nothing about them. Safe to use from several threads.

    One that serves holds a piece of work until it ends; of one that was killed the others know as with all work.
    """

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self.name = ""  # of this program, once it serves
        self._where = ""
        self._known: dict[str, str] = {}
        self._asked = float("-inf")
        self._lock = threading.Lock()

    def announce(self, host: str, port: int) -> None:
        """Tell the others that this program serves at an address of this computer. Raises StorageError."""
        self.name = secrets.token_hex(8)
        self._where = json.dumps({"computer": socket.gethostname(), "host": host.strip("[]"), "port": port})
        self._workers.register(KIND, lambda piece: self._workers.finish(piece.id), self._lost, lambda: True)
        self._begin()

    def _begin(self) -> None:
        self._workers.begin(Piece(f"{_PREFIX}{self.name}", KIND, "", self._where))

    def _lost(self, piece_id: str) -> None:
        """Announce this program again where others thought that it had died."""
        if piece_id == f"{_PREFIX}{self.name}":
            self._begin()

    def close(self) -> None:
        """Tell the others that this program serves no more; if the database does not answer, its claim ends anyway."""
        if self.name:
            with suppress(PdfQAError):
                self._workers.finish(f"{_PREFIX}{self.name}")

    def addresses(self, wanted: str = "") -> dict[str, str]:
        """Return the URL of each program that serves and is reached from here, by name; this one has none ("").

        The list is as old as `FRESH` at most, and new where it lacks the `wanted` name. Raises StorageError.
        """
        with self._lock:
            if time.monotonic() - self._asked > FRESH or (wanted and wanted not in self._known):
                found = self._workers.under_way(KIND)
                self._known = {
                    name: url
                    for piece, content in found.items()
                    if (url := _url(content)) and (name := piece.removeprefix(_PREFIX)) != self.name
                }
                self._asked = time.monotonic()
            return {self.name: "", **self._known}

    def forget(self, name: str) -> None:
        """Take a program for gone that does not answer, until the list is asked for again."""
        with self._lock:
            self._known.pop(name, None)


def _url(content: str) -> str:
    """Return how a program is reached from this computer; empty where it listens on another one for itself alone."""
    where = json.loads(content)
    host, here = where["host"], where["computer"] == socket.gethostname()
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return f"http://{host}:{where['port']}" if here or host != "localhost" else ""
    if address.is_unspecified:
        host = "127.0.0.1" if here else where["computer"]
    elif address.is_loopback and not here:
        return ""
    return f"http://{f'[{host}]' if ':' in host else host}:{where['port']}"
