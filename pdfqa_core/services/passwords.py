"""Passwords of encrypted documents that were opened, for as long as the program runs: in memory only."""

from __future__ import annotations

import threading
from collections.abc import Collection


class Passwords:
    """The password of each (owner, document). Never written anywhere; the representation shows none."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], str] = {}
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<{len(self._known)} passwords>"

    def keep(self, owner: str, document_id: str, password: str) -> None:
        """Remember the password that opens a document."""
        with self._lock:
            self._known[owner, document_id] = password

    def get(self, owner: str, document_id: str) -> str | None:
        """Return the password of a document, None where it is not known."""
        return self._known.get((owner, document_id))

    def forget(self, owner: str, document_id: str) -> None:
        """Forget the password of a document."""
        with self._lock:
            self._known.pop((owner, document_id), None)

    def forget_owners(self, owners: Collection[str]) -> None:
        """Forget all passwords of these owners."""
        with self._lock:
            self._known = {key: password for key, password in self._known.items() if key[0] not in owners}
