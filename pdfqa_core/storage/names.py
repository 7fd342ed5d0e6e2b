"""Names of people as they are kept and compared."""

from __future__ import annotations

import unicodedata

LONGEST_NAME = 80  # characters


def one_line(name: str) -> str:
    """Return a name without line ends, invisible characters and doubled spaces."""
    visible = "".join(c if c.isprintable() else " " for c in unicodedata.normalize("NFC", name))
    return " ".join(visible.split())


def name_key(name: str) -> str:
    """Return what a name is known by: case and width of letters make no difference."""
    return unicodedata.normalize("NFKC", one_line(name)).casefold()
