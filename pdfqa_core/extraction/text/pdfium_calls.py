"""Hundreds of thousands of calls to PDFium without a step in Python for each. Knows nothing about pages.

A ctypes call spends most of its time on converting arguments. Here they are converted once and used again, the calls
run inside `map`, and what they write is copied from one small buffer.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Any

import numpy as np

_AT_ONCE = 1 << 16  # calls between two chances for other threads


def quick(function: Any, result: Any = None) -> Any:
    """Return `function` for many quick calls, with the interpreter's lock held.

    Arguments are not converted: they must be C integers, pointers made by `byref`, or addresses made by `argument`.
    """
    return ctypes.cast(function, ctypes.PYFUNCTYPE(result))


argument = ctypes.c_void_p.from_param
"""Returns the address of something in PDFium (int or c_void_p) as an argument for a `quick` function."""


class Cells:
    """A small buffer that C functions fill again and again; `collect` keeps what each call wrote."""

    def __init__(self, kind: Any, count: int) -> None:
        buffer = (kind * count)()
        step = ctypes.sizeof(kind)
        self.pointers = tuple(ctypes.byref(buffer, step * i) for i in range(count))
        self._bytes = memoryview(buffer).cast("B")
        self._dtype = np.dtype(kind)
        self._count = count

    def collect(self, calls: Iterator[Any]) -> Any:
        """Return what `calls`, which return None, write: one row of an array for each."""
        # tobytes takes the None for the order of bytes: a whole page is read without a step in Python
        written = bytearray()
        while part := b"".join(map(self._bytes.tobytes, islice(calls, _AT_ONCE))):
            written += part
        return np.frombuffer(written, dtype=self._dtype).reshape(-1, self._count)


@cache
def cells(kind: Any, count: int) -> Cells:
    """Return `count` cells of a ctypes kind; always the same ones, as PDFium is called by one thread only."""
    return Cells(kind, count)
