"""What each open page is to show, so that what comes late for something else is not put on it."""

from __future__ import annotations

from collections import OrderedDict

MOST_PAGES = 1000  # pages that are remembered, the last ones


class Showing:
    """Which subject (a document, a conversation) each open page is to show; the last pages are remembered."""

    def __init__(self) -> None:
        self._subjects: OrderedDict[str, tuple[str, int]] = OrderedDict()

    def put(self, page: str, subject: str) -> None:
        """Note what a page is to show from now on; one without a name is not noted."""
        if not page:
            return
        self._subjects[page] = (subject, self.times(page) + 1)
        self._subjects.move_to_end(page)
        while len(self._subjects) > MOST_PAGES:
            self._subjects.popitem(last=False)

    def of(self, page: str) -> str:
        """Return what a page is to show, empty where that is not known."""
        return self._subjects.get(page, ("", 0))[0]

    def times(self, page: str) -> int:
        """Return how often something was opened on a page: it tells whether that was done again meanwhile."""
        return self._subjects.get(page, ("", 0))[1]

    def is_on(self, page: str, subject: str) -> bool:
        """Whether a page is to show this subject, as far as is known."""
        return page not in self._subjects or self.of(page) == subject
