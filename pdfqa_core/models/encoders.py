"""Encoders and re-rankers by name, made once and shared by all."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from pdfqa_core.cluster import Cluster
from pdfqa_core.errors import PdfQAError, StoppedError
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.models.cluster_encoder import ClusterEncoder
from pdfqa_core.retrieval import AUTO, CrossEncoderScorer, Encoder, LateEncoder, PairScorer, TextEncoder, TokenEncoder
from pdfqa_core.retrieval.paired_encoder import PairedEncoder, parts_of
from pdfqa_core.settings import LLMSettings
from pdfqa_core.settings_sources import models_path

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

    def __init__(
        self, make: Callable[[str, str], PassageEncoder], find_late: Callable[[str], str] = str
    ) -> None:  # fmt: skip
        self._make = make
        self._find_late = find_late
        self._lock = threading.Lock()
        self._encoders: dict[tuple[str, str], PassageEncoder] = {}
        self._token_encoders: dict[str, TokenEncoder] = {}
        self._rerankers: dict[str, PairScorer] = {}

    PREPARING = "Making the encoder fast on this computer (once, about 20 s)"

    @classmethod
    def with_graphs(
        cls, folder: Path, find: Callable[[str], str] = str, find_late: Callable[[str], str] = str,
        cluster: Cluster | None = None,
    ) -> Encoders:  # fmt: skip
        """Return encoders whose ONNX graphs lie below `folder`; `find` gives the folder of a name known here.

        With a `cluster` passages are encoded there.
        """

        def one(model: str, precision: str) -> Encoder:
            if cluster is not None:
                return ClusterEncoder(cluster, model, graphs=folder, precision=precision)
            return Encoder(model, graphs=folder, precision=precision)

        def make(path_or_name: str, precision: str) -> PassageEncoder:
            found = [one(find(part), precision) for part in parts_of(path_or_name)]
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
