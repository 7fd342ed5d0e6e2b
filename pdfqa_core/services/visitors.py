"""Who visits: what the page remembers of them, and the removal of what visitors of a demo left."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from pdfqa_core.services.finding import FindService
from pdfqa_core.services.index_files import LOCAL_OWNER
from pdfqa_core.services.indexes import IndexService
from pdfqa_core.services.passwords import Passwords
from pdfqa_core.services.preparation import Preparation
from pdfqa_core.services.room import Room
from pdfqa_core.services.runs import RunService
from pdfqa_core.settings import ServerSettings
from pdfqa_core.storage.owners import Owners, Preference


class VisitorService:
    """The owners of documents and conversations: the person at this computer, or each visitor of a demo."""

    def __init__(
        self, owners: Owners, indexes: IndexService, preparation: Preparation, finding: FindService,
        runs: RunService, passwords: Passwords, room: Room, server: ServerSettings,
        forgetting: Sequence[Callable[[Collection[str]], None]],
    ) -> None:  # fmt: skip
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
