"""Cosines over an index in LanceDB: its vector index finds candidates, their vectors are compared exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pdfqa_core.errors import StoppedError
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.retrieval.encoder import OnProgress, TextEncoder, Vectors
from pdfqa_core.retrieval.lance.tables import Columns, Tables
from pdfqa_core.retrieval.postings import Ints, top
from pdfqa_core.retrieval.semantic import query_vector
from pdfqa_core.streaming import is_set
from pdfqa_core.types import Progress, Query

FEW = 4096  # passages whose vectors are read and compared here rather than there
LEAST, TIMES = 100, 2  # candidates: at least so many, and so many times what is asked for
PROBES = 40  # cells of the index that are searched


@dataclass(frozen=True, eq=False)
class LanceVectors:
    """Cosines of an index with vectors; all are compared below `exact_below` passages and where only some are meant."""

    tables: Tables
    columns: Columns
    encoder: TextEncoder
    exact_below: int
    where: Callable[[Ints], str]

    @property
    def approximate(self) -> bool:
        """Whether the index is so large that only some cells of it are searched."""
        return len(self.columns.ids) >= self.exact_below

    def prepare(self, on_progress: OnProgress | None, stop: StopSignal | None) -> None:
        """Build the index of the vectors where one is used. Raises StoppedError before, not while it is built."""
        if not self.approximate or self.tables.vectors_indexed:
            return
        if is_set(stop):
            raise StoppedError("Indexing was stopped; what was finished is kept.")
        if on_progress is not None:
            on_progress(Progress("Building the search index", 0, 1))
        self.tables.index_vectors()

    def vector(self, query: Query) -> Vectors:
        """Return the query's vector, of length 1. Raises ModelError if the index is of another dimension."""
        return query_vector(self.encoder, query, self.tables.dimension)

    def cosines(self, vector: Vectors, rows: Ints) -> Vectors:
        """Return the cosines of the passages `rows`."""
        return (
            np.asarray(self.tables.vectors(self.columns.ids[rows]) @ vector) if len(rows) else np.zeros(0, np.float32)
        )

    def nearest(self, vector: Vectors, k: int, rows: Ints) -> tuple[Ints, Vectors]:
        """Return the k nearest of the passages `rows`, best first, and their cosines.

        Exact unless the index is large and searched as a whole.
        """
        whole = len(rows) == len(self.columns.ids)
        if len(rows) > FEW:
            probes = PROBES if whole and self.approximate and self.tables.vectors_indexed else 0
            ids = self.tables.by_vector(vector, max(LEAST, TIMES * k), probes, "" if whole else self.where(rows))
            rows = np.sort(self.columns.rows_of(ids))
        cosines = self.cosines(vector, rows)
        best = top(cosines, k)
        return rows[best], cosines[best]
