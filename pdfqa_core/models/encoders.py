"""Encoders and re-rankers by name, made once and shared by all."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

import numpy as np

from pdfqa_core.cluster import Cluster
from pdfqa_core.errors import ModelError, PdfQAError, StoppedError
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.retrieval import AUTO, CrossEncoderScorer, Encoder, LateEncoder, PairScorer, TextEncoder, TokenEncoder
from pdfqa_core.retrieval.encoder import BATCH, OnProgress, PairedEncoder, Vectors, parts_of
from pdfqa_core.retrieval.onnx_graph import INT8
from pdfqa_core.settings import LLMSettings, models_path
from pdfqa_core.types import Progress

# ----------------------------------------------------------------------------------------------------
# Passages encoded by the workers of a cluster, with the model and the vectors of this computer.

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
        self,
        texts: Sequence[str],
        *,
        question: bool = False,
        on_progress: OnProgress | None = None,
        stop: StopSignal | None = None,
    ) -> Vectors:
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


# ----------------------------------------------------------------------------------------------------
# Encoders and re-rankers by name, made once and shared by all.

_log = logging.getLogger(__name__)


class PassageEncoder(TextEncoder, Protocol):
    """An encoder that also gives the places of its tokens."""

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Return (start, end) of each token in the text."""
        ...


def graphs_path(llm: LLMSettings) -> Path:
    """Return the folder of the encoders' ONNX graphs: PDFQA_ENCODERS, else beside the model files of the user."""
    named = os.environ.get("PDFQA_ENCODERS")
    return Path(named).expanduser().absolute() if named else models_path(llm) / "encoders"


class Encoders:
    """Makes each model once. Loads nothing before it is used. Two names with " + " between them are a pair.

    `make` makes an encoder of a path or hub name and a precision; `find_late` gives the folder of a late interaction
    model that goes by a name here.
    """

    def __init__(self, make: Callable[[str, str], PassageEncoder], find_late: Callable[[str], str] = str) -> None:
        self._make = make
        self._find_late = find_late
        self._lock = threading.Lock()
        self._encoders: dict[tuple[str, str], PassageEncoder] = {}
        self._token_encoders: dict[str, TokenEncoder] = {}
        self._rerankers: dict[str, PairScorer] = {}

    PREPARING = "Making the encoder fast on this computer (once, about 20 s)"

    @classmethod
    def with_graphs(
        cls,
        folder: Path,
        folders: Callable[[str], Sequence[str]] = parts_of,
        find_late: Callable[[str], str] = str,
        cluster: Cluster | None = None,
    ) -> Encoders:
        """Return encoders whose ONNX graphs lie below `folder`; `folders` gives that of a name, or the two of a pair.

        With a `cluster` passages are encoded there.
        """

        def one(model: str, precision: str) -> Encoder:
            if cluster is not None:
                return ClusterEncoder(cluster, model, graphs=folder, precision=precision)
            return Encoder(model, graphs=folder, precision=precision)

        def make(path_or_name: str, precision: str) -> PassageEncoder:
            found = [one(place, precision) for place in folders(path_or_name)]
            return PairedEncoder(*found) if len(found) > 1 else found[0]

        return cls(make, find_late)

    def encoder(self, path_or_name: str = "", precision: str = AUTO) -> PassageEncoder:
        """Return the encoder at a path or of a hub name ("" is the bundled one), with weights of this precision."""
        key = (path_or_name, precision)
        with self._lock:
            if key not in self._encoders:
                self._encoders[key] = self._make(path_or_name, precision)
            return self._encoders[key]

    def token_encoder(self, path_or_name: str = "") -> TokenEncoder:
        """Return the late interaction model at a path or of a hub name; "" is the bundled encoder."""
        with self._lock:
            if path_or_name not in self._token_encoders:
                self._token_encoders[path_or_name] = LateEncoder(self._find_late(path_or_name))
            return self._token_encoders[path_or_name]

    def forget(self, path_or_name: str) -> None:
        """Load a model anew when it is asked for next: its files have changed."""
        with self._lock:
            self._token_encoders.pop(path_or_name, None)
            for key in [key for key in self._encoders if key[0] == path_or_name]:
                del self._encoders[key]

    def reranker(self, path_or_name: str) -> PairScorer:
        """Return the cross-encoder at a path or of a hub name."""
        with self._lock:
            return self._rerankers.setdefault(path_or_name, CrossEncoderScorer(path_or_name))

    def warm_up(self, stop: StopSignal) -> None:
        """Load the bundled encoder. If it does not load, its first use says so. Raises StoppedError."""
        try:
            self.encoder().encode(["warm up"], stop=stop)
        except StoppedError:
            raise
        except PdfQAError as error:
            _log.warning("%s", error)
