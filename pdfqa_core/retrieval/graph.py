"""An HNSW graph for approximate search in large indexes, kept on disk beside the segments."""

from __future__ import annotations

import hashlib
import json
import threading
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pdfqa_core.errors import ModelError, StoppedError
from pdfqa_core.retrieval.encoder import OnProgress, Vectors
from pdfqa_core.retrieval.files import DAMAGE, file_sha256, write_atomically
from pdfqa_core.retrieval.postings import Ints
from pdfqa_core.types import Progress, StopSignal

NEIGHBOURS = 16
EF_CONSTRUCTION = 200
EF = 200
BATCH = 1000


@dataclass(frozen=True, eq=False)
class Graph:
    """A hierarchical navigable small world graph over vectors of length 1. Source: Malkov and Yashunin 2018."""

    index: Any
    lock: threading.Lock

    @classmethod
    def open_or_build(
        cls,
        folder: Path | None,
        embeddings: Vectors,
        *,
        on_progress: OnProgress | None = None,
        stop: StopSignal | None = None,
    ) -> Graph:
        """Load the graph of exactly these vectors from `folder`, or build it and try to keep it there.

        The file is loaded only if its hash, the vectors' hash, their number and dimension are as noted beside it
        (hnswlib itself checks none of these). Raises ModelError without hnswlib, StoppedError.
        """
        try:
            import hnswlib
        except ImportError as error:
            raise ModelError(
                "The hnswlib library is not installed.",
                "Install it with: pip install hnswlib - or raise exact_below above the number of passages.",
            ) from error

        key = hashlib.sha256(np.ascontiguousarray(embeddings).data).hexdigest()
        graph = hnswlib.Index(space="ip", dim=embeddings.shape[1])
        if folder is None or not _load(graph, folder, key, embeddings):
            _build(graph, embeddings, on_progress, stop)
            if folder is not None:
                _save(graph, folder, key, embeddings)
        return cls(graph, threading.Lock())

    def candidates(self, vector: Vectors, k: int) -> Ints:
        """Return the rows of about the max(200, 2 k) nearest vectors, in no particular order.

        More than k, as many as the graph visits anyway: the caller compares them exactly, so that equal cosines at
        the k-th place are told apart by the order of the passages and not by the graph. All rows where the graph does
        not reach that many (hnswlib gives up then, as among very many equal vectors).
        """
        wide = max(EF, 2 * k)
        with self.lock:
            count = min(wide, int(self.index.get_current_count()))
            self.index.set_ef(wide)
            try:
                rows, _ = self.index.knn_query(vector[np.newaxis, :], k=count)
            except RuntimeError:
                return np.arange(self.index.get_current_count())
        return np.asarray(rows[0], dtype=np.int64)


def _build(graph: Any, embeddings: Vectors, on_progress: OnProgress | None, stop: StopSignal | None) -> None:
    count = len(embeddings)
    graph.init_index(max_elements=count, ef_construction=EF_CONSTRUCTION, M=NEIGHBOURS, random_seed=0)
    for first in range(0, count, BATCH):
        if stop is not None and stop.is_set():
            raise StoppedError("Building the search graph was stopped.")
        rows = np.arange(first, min(count, first + BATCH))
        graph.add_items(embeddings[rows], rows)
        if on_progress is not None:
            on_progress(Progress("Building the search graph", int(rows[-1]) + 1, count))


def _names(folder: Path) -> tuple[Path, Path]:
    return folder / "graph.bin", folder / "graph.json"


def _facts(file: Path, key: str, embeddings: Vectors) -> dict[str, object]:
    count, dimension = embeddings.shape
    return {"vectors": key, "count": count, "dimension": dimension, "sha256": file_sha256(file)}


def _load(graph: Any, folder: Path, key: str, embeddings: Vectors) -> bool:
    file, note = _names(folder)
    try:
        if json.loads(note.read_text("utf-8")) != _facts(file, key, embeddings):
            return False
        graph.load_index(str(file), max_elements=len(embeddings))
    except DAMAGE:
        return False
    return True


def _save(graph: Any, folder: Path, key: str, embeddings: Vectors) -> None:
    file, note = _names(folder)
    temporary = folder / f".{uuid.uuid4().hex}.tmp"
    try:
        graph.save_index(str(temporary))
        facts = _facts(temporary, key, embeddings)
        temporary.replace(file)
        write_atomically(note, json.dumps(facts).encode())
    except (OSError, RuntimeError):
        temporary.unlink(missing_ok=True)
