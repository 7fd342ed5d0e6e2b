"""Memory that was freed goes back to the system: glibc keeps it otherwise, some for every thread that ever worked."""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache
from typing import Any

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
