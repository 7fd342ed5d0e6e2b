"""Neighbours put together: things that follow each other, and stretches that overlap. Knows nothing about pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")
N = TypeVar("N", int, float)


def grouped(items: Iterable[T], joins: Callable[[list[T], T], bool]) -> list[list[T]]:
    """Return the items in their order, parted into groups: each `joins` the group before it or begins the next one."""
    groups: list[list[T]] = []
    for item in items:
        if groups and joins(groups[-1], item):
            groups[-1].append(item)
        else:
            groups.append([item])
    return groups


def merged(stretches: Iterable[tuple[N, N]], gap: float = 0.0) -> list[tuple[N, N]]:
    """Return what stretches (first, last) cover, ascending; those no more than `gap` apart are one."""
    found: list[tuple[N, N]] = []
    for first, last in sorted(stretches):
        if found and first <= found[-1][1] + gap:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return found
