"""An HNSW graph for approximate search in large indexes, kept on disk beside the segments and brought up to date."""

from __future__ import annotations

import hashlib
import io
import json
import logging
import os
import threading
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pdfqa_core.errors import ModelError, StoppedError
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.retrieval.bm25 import Ints, top
from pdfqa_core.retrieval.encoder import OnProgress, Vectors
from pdfqa_core.streaming import is_set
from pdfqa_core.types import Progress
from pdfqa_core.whole_files import DAMAGE, file_sha256, sha256, unfinished, write_atomically

NEIGHBOURS = 16
EF_CONSTRUCTION = 200
EF = 200
BATCH = 1000
MOST_DELETED = 0.3  # share of removed vectors above which the graph is rebuilt: searches still walk through them
RECALL_AT = 10
RECALL_SAMPLE = 100
NARROW = os.name == "nt"  # hnswlib takes paths in an old code page there: files in other folders are not found again
_REMOVED = b"\0" * 16
_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Graph:
    """A hierarchical navigable small world graph by inner product. Source: Malkov and Yashunin 2018.

    Its labels are numbers that vectors keep while others come and go: `rows` holds the row of each label, -1 for a
    vector that was removed. `recall` is the share of the 10 nearest passages that a search finds, exact search being 1:
    measured with 100 of the passages as questions, when the graph was last changed.
    """

    index: Any
    lock: threading.Lock
    rows: Ints
    recall: float

    @classmethod
    def open_or_build(
        cls,
        folder: Path | None,
        embeddings: Vectors,
        *,
        on_progress: OnProgress | None = None,
        stop: StopSignal | None = None,
    ) -> Graph:
        """Load the graph in `folder`, remove and add the vectors by which `embeddings` differ, and try to keep it.

        The file is loaded only if its hash, number and dimension are as noted beside it (hnswlib itself checks none of
        these); a graph of which more than 30 % was removed is built anew. Raises ModelError without hnswlib; raises
        StoppedError, with what was added kept.
        """
        keys = [hashlib.blake2b(row.tobytes(), digest_size=16).digest() for row in embeddings]
        kept = _load(folder, embeddings.shape[1]) if folder is not None else None
        plan = _Plan.of(kept.keys if kept else (), keys)
        if kept is None or plan.removed > MOST_DELETED * len(plan.keys):
            kept, plan = None, _Plan.of((), keys)
        if kept is not None and not plan.changes:
            return cls(kept.index, threading.Lock(), plan.rows, kept.recall)
        index = kept.index if kept else _empty(embeddings.shape[1], len(keys))
        for label in plan.to_remove:
            index.mark_deleted(label)
        added = _add(index, embeddings, plan, on_progress, stop)
        if added < len(plan.keys):
            if folder is not None:
                _save(index, folder, plan.keys[:added], embeddings.shape[1], 0.0)
            raise StoppedError("Building the search graph was stopped; what was done is kept.")
        graph = cls(index, threading.Lock(), plan.rows, 0.0)
        graph = replace(graph, recall=graph.measured_recall(embeddings))
        if folder is not None:
            _save(index, folder, plan.keys, embeddings.shape[1], graph.recall)
        return graph

    def candidates(self, vector: Vectors, k: int) -> Ints:
        """Return the rows of about the max(200, 2 k) nearest vectors, in no particular order.

        More than k, as many as the graph visits anyway: the caller compares them exactly, so that equal cosines at
        the k-th place are told apart by the order of the passages and not by the graph. All rows where the graph does
        not reach that many (hnswlib gives up then, as among very many equal vectors).
        """
        wide = max(EF, 2 * k)
        there = self.rows[self.rows >= 0]
        with self.lock:
            self.index.set_ef(wide)
            try:
                labels, _ = self.index.knn_query(vector[np.newaxis, :], k=min(wide, len(there)))
            except RuntimeError:
                return np.sort(there)
        return np.asarray(self.rows[labels[0].astype(np.int64)])

    def measured_recall(self, embeddings: Vectors) -> float:
        """Return the recall of the 10 nearest, over 100 evenly spaced vectors as questions (themselves left out)."""
        count = len(embeddings)
        k = min(RECALL_AT, count - 1)
        if k < 1:
            return 1.0
        sample = np.unique(np.linspace(0, count - 1, RECALL_SAMPLE).astype(np.int64))
        shares = []
        for row in sample:
            cosines = embeddings @ embeddings[row]
            cosines[row] = -np.inf
            edge = cosines[top(cosines, k)[-1]]
            found = np.setdiff1d(self.candidates(embeddings[row], k), [row])
            shares.append(min(k, int((cosines[found] >= edge).sum())) / k)
        return float(np.mean(shares))


@dataclass(frozen=True)
class _Plan:
    """How a graph's labels become those of other vectors: `rows` and `keys` by label, the first `before` are there."""

    rows: Ints
    keys: tuple[bytes, ...]
    before: int
    to_remove: tuple[int, ...]

    @classmethod
    def of(cls, old: Sequence[bytes], new: Sequence[bytes]) -> _Plan:
        wanted: dict[bytes, list[int]] = defaultdict(list)
        for row in range(len(new) - 1, -1, -1):
            wanted[new[row]].append(row)
        rows, keys, gone = [], [], []
        for label, key in enumerate(old):
            row = wanted[key].pop() if key != _REMOVED and wanted.get(key) else -1
            rows.append(row)
            keys.append(key if row >= 0 else _REMOVED)
            if row < 0 and key != _REMOVED:
                gone.append(label)
        added = sorted(row for left in wanted.values() for row in left)
        return cls(
            np.asarray(rows + added, dtype=np.int64),
            (*keys, *(new[row] for row in added)),
            len(old),
            tuple(gone),
        )

    @property
    def removed(self) -> int:
        return int((self.rows < 0).sum())

    @property
    def changes(self) -> bool:
        return bool(self.to_remove) or self.before < len(self.keys)


class _Kept(NamedTuple):
    index: Any
    keys: tuple[bytes, ...]
    recall: float


def _library() -> Any:
    try:
        import hnswlib
    except ImportError as error:
        raise ModelError(
            "The hnswlib library is not installed.",
            "Install it with: pip install hnswlib - or raise exact_below above the number of passages.",
        ) from error
    return hnswlib


def _empty(dimension: int, count: int) -> Any:
    index = _library().Index(space="ip", dim=dimension)
    index.init_index(max_elements=count, ef_construction=EF_CONSTRUCTION, M=NEIGHBOURS, random_seed=0)
    return index


def _add(index: Any, embeddings: Vectors, plan: _Plan, on_progress: OnProgress | None, stop: StopSignal | None) -> int:
    """Add the vectors of the plan's new labels; return how many labels there are, fewer than planned after a stop."""
    total = len(plan.keys)
    if index.get_max_elements() < total:
        index.resize_index(total)
    for first in range(plan.before, total, BATCH):
        if is_set(stop):
            return first
        labels = np.arange(first, min(total, first + BATCH))
        index.add_items(embeddings[plan.rows[labels]], labels)
        if on_progress is not None:
            on_progress(Progress("Building the search graph", int(labels[-1]) + 1 - plan.before, total - plan.before))
    return total


def _names(folder: Path) -> tuple[Path, Path, Path]:
    return folder / "graph.bin", folder / "graph.labels.npy", folder / "graph.json"


def _load(folder: Path, dimension: int) -> _Kept | None:
    file, labels, note = _names(folder)
    try:
        facts = json.loads(note.read_text("utf-8"))
        content = labels.read_bytes()
        if (
            facts["dimension"] != dimension
            or facts["sha256"] != file_sha256(file)
            or facts["labels"] != sha256(content)
        ):
            return None
        keys = np.load(io.BytesIO(content), allow_pickle=False)
        recall = float(facts["recall"])
        if keys.dtype != np.uint8 or keys.shape != (facts["count"], 16) or not 0 <= recall <= 1:
            return None
        index = _library().Index(space="ip", dim=dimension)
        index.load_index(str(file), max_elements=len(keys))
        if index.get_current_count() != len(keys):
            return None
    except DAMAGE:
        return None
    return _Kept(index, tuple(key.tobytes() for key in keys), recall)


def _save(index: Any, folder: Path, keys: Sequence[bytes], dimension: int, recall: float) -> None:
    if NARROW and not str(folder).isascii():
        return  # built again when it is needed
    file, labels, note = _names(folder)
    buffer = io.BytesIO()
    np.save(buffer, np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(len(keys), 16), allow_pickle=False)
    try:
        with unfinished(file) as temporary:
            index.save_index(str(temporary))
            hashed = file_sha256(temporary)
        facts = {
            "dimension": dimension,
            "count": len(keys),
            "sha256": hashed,
            "labels": sha256(buffer.getvalue()),
            "recall": recall,
        }
        write_atomically(labels, buffer.getvalue())
        write_atomically(note, json.dumps(facts).encode())
    except (OSError, RuntimeError) as error:
        _log.warning("the search graph is not kept in %s: %s", folder, error)


def forget_graph(folder: Path) -> None:
    """Remove the graph of an index. Raises OSError."""
    for file in _names(folder):
        file.unlink(missing_ok=True)
