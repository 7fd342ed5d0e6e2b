"""Names of people in studies: written in one line, and known however they are spelled."""

from __future__ import annotations

import unicodedata

from pdfqa_core.errors import UsageError

_LONGEST_NAME = 80


def one_line(name: str) -> str:
    """Return a name with single spaces and without what cannot be seen."""
    visible = "".join(c if c.isprintable() else " " for c in unicodedata.normalize("NFC", name))
    return " ".join(visible.split())


def checked_name(name: str) -> str:
    """Return a name in one line. Raises UsageError if it is empty or too long."""
    name = one_line(name)
    if not 0 < len(name) <= _LONGEST_NAME:
        raise UsageError(f"A name has 1 to {_LONGEST_NAME} characters, this one has {len(name)}.")
    return name


def name_key(name: str) -> str:
    """Return what a name is known by, however it is spelled."""
    return unicodedata.normalize("NFKC", one_line(name)).casefold()
