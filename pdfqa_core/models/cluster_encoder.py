"""Passages encoded by the workers of a cluster, with the model and the vectors of this computer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from pdfqa_core.cluster import Cluster
from pdfqa_core.errors import ModelError, StoppedError
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.retrieval import Encoder
from pdfqa_core.retrieval.encoder import BATCH, OnProgress, Vectors
from pdfqa_core.retrieval.onnx_graph import INT8
from pdfqa_core.types import Progress

PER_TASK = 8 * BATCH  # texts; whole batches, so that each text is encoded beside the same ones as on this computer
TASKS_EACH = 2  # tasks of one call for each worker


@dataclass(frozen=True)
class Texts:
    """A task: texts to encode as passages, and with which model. Paths are those of this computer."""

    model: str
    model_hash: str
    precision: str
    graphs: Path | None
    texts: tuple[str, ...]


@cache
def _encoder(model: str, precision: str, graphs: Path | None) -> Encoder:
    return Encoder(model, graphs=graphs, precision=precision)


def encode_texts(task: Texts) -> Vectors:
    """Return one vector per text, on a worker. Raises ModelError where it does not have the same model."""
    encoder = _encoder(task.model, task.precision, task.graphs)
    if encoder.model_hash != task.model_hash:
        raise ModelError(
            f"A worker of the cluster has another embedding model than this computer: {encoder.name}.",
            "Put the same files at the same path on every computer of the cluster.",
        )
    return encoder.encode(task.texts)


class ClusterEncoder(Encoder):
    """An encoder whose passages are encoded on a cluster; questions, and a few passages, on this computer."""

    def __init__(self, cluster: Cluster, path_or_name: str, *, graphs: Path | None, precision: str) -> None:
        super().__init__(path_or_name, graphs=graphs, precision=precision)
        self._cluster = cluster
        self._named = path_or_name
        self._graphs_folder = graphs

    @property
    def texts_per_call(self) -> int:
        """How many texts keep the cluster busy. Raises ClusterError."""
        return PER_TASK * TASKS_EACH * self._cluster.workers

    def encode(
        self, texts: Sequence[str], *, question: bool = False, on_progress: OnProgress | None = None,
        stop: StopSignal | None = None,
    ) -> Vectors:  # fmt: skip
        """Return an (n, dimension) array of vectors of length 1, as `Encoder.encode`. Raises ClusterError too."""
        if question or len(texts) <= PER_TASK:
            return super().encode(texts, question=question, on_progress=on_progress, stop=stop)
        order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
        parts = [order[first : first + PER_TASK] for first in range(0, len(order), PER_TASK)]
        precision = INT8 if self.form == INT8 else "exact"
        tasks = [
            Texts(self._named, self.model_hash, precision, self._graphs_folder, tuple(texts[row] for row in part))
            for part in parts
        ]
        found: dict[int, Vectors] = {}
        done = 0
        try:
            for index, vectors in self._cluster.map(encode_texts, tasks, stop):
                found.update(zip(parts[index], vectors, strict=True))
                done += len(parts[index])
                if on_progress is not None:
                    on_progress(Progress(self.phase, done, len(texts)))
        except StoppedError:
            raise StoppedError("Encoding was stopped.") from None
        return np.stack([found[row] for row in range(len(texts))])
