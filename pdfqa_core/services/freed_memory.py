"""Memory that was freed goes back to the system: glibc keeps it otherwise, some for every thread that ever worked."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache


@cache
def _malloc_trim() -> Callable[[int], int] | None:
    """Return glibc's `malloc_trim`; None where the C library has none (musl, macOS, Windows)."""
    if sys.platform != "linux":
        return None
    return getattr(ctypes.CDLL(None), "malloc_trim", None)


def give_back() -> bool:
    """Give freed memory back, and return whether there was any to give; False too where that cannot be asked for."""
    trim = _malloc_trim()
    return bool(trim(0)) if trim is not None else False
