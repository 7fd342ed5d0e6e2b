"""The columns of a table without a grid: strips that stay free in its rows."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from pdfqa_core.extraction.tables.cell_texts import CellText, PrintedRow
from pdfqa_core.extraction.tables.thresholds import TableThresholds


def _separators(rows: Sequence[PrintedRow], thresholds: TableThresholds) -> list[float]:
    """Return the middles of the strips that are free in the rows, ascending (a few rows may cross them)."""
    left = min(c.x0 for row in rows for c in row.cells)
    right = max(c.x1 for row in rows for c in row.cells)
    scale = 4  # bins per point
    cover = np.zeros(max(1, int((right - left) * scale) + 2), dtype=np.int64)
    for row in rows:
        for cell in row.cells:
            cover[int((cell.x0 - left) * scale) : int((cell.x1 - left) * scale) + 1] += 1
    free = cover <= int(thresholds.crossing * len(rows))
    edges = np.flatnonzero(np.diff(np.concatenate([[False], free, [False]]).astype(np.int8)))
    strips = [
        (a, b)
        for a, b in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
        if b - a >= thresholds.strip * scale
    ]
    return [left + (a + b) / 2 / scale for a, b in strips if a > 0 and b < len(cover)]


@dataclass(slots=True)
class Columns:
    """The columns of a table: places between them, ascending, and from where to where the cells of each reach."""

    separators: list[float]
    extents: list[tuple[float, float]]

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.separators) + 1

    def of(self, cell: CellText) -> int:
        """Return the column that holds most of a cell."""
        first, last = bisect(self.separators, cell.x0), bisect(self.separators, cell.x1)
        if first == last:
            return first
        edges = [float("-inf"), *self.separators, float("inf")]
        shared = [min(cell.x1, b) - max(cell.x0, a) for a, b in pairwise(edges)]
        return shared.index(max(shared))

    def parted(self, rows: Sequence[PrintedRow]) -> list[list[CellText]]:
        """Return the cells of each column."""
        found: list[list[CellText]] = [[] for _ in range(self.count)]
        for row in rows:
            for cell in row.cells:
                found[self.of(cell)].append(cell)
        return found

    def mid(self, first: int, last: int) -> float:
        """Return the centre of the columns `first` to `last`."""
        return (self.extents[first][0] + self.extents[last][1]) / 2


def find_columns(rows: Sequence[PrintedRow], thresholds: TableThresholds) -> Columns:
    """Return the columns that rows with cells have in common."""
    columns = Columns(_separators(rows, thresholds), [])
    columns.extents = [
        (min((c.x0 for c in entries), default=0.0), max((c.x1 for c in entries), default=0.0))
        for entries in columns.parted(rows)
    ]
    return columns
