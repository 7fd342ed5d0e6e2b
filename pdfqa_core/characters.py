"""Text from outside as it can be stored and sent: no NUL and no lone surrogates, which databases and browsers refuse.

Programs that write JSON may send both, a server of language models also each half of a pair in a piece of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

REPLACEMENT = "\ufffd"


def clean(text: str) -> str:
    """Return the text with U+FFFD for NUL and lone surrogates; two halves that stand side by side become one."""
    if "\x00" in text:
        text = text.replace("\x00", REPLACEMENT)
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def clean_all(value: Any) -> Any:
    """Return a value with all texts in it clean: in lists, tuples and mappings, their keys too; others as they are."""
    if isinstance(value, str):
        return clean(value)
    if type(value) in (list, tuple):
        return type(value)(map(clean_all, value))
    if isinstance(value, Mapping) and type(value) is dict:
        return {clean_all(key): clean_all(item) for key, item in value.items()}
    return value


class Pieces:
    """Cleans a text that comes in pieces: the first half of a pair waits for the second."""

    def __init__(self) -> None:
        self._half = ""

    def take(self, piece: str) -> str:
        """Return what can be passed on with this piece."""
        piece, self._half = self._half + piece, ""
        if piece and "\ud800" <= piece[-1] <= "\udbff":
            piece, self._half = piece[:-1], piece[-1]
        return clean(piece)

    def rest(self) -> str:
        """Return what is left at the end."""
        half, self._half = self._half, ""
        return clean(half)
