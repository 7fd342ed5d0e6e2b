"""Encoders and re-rankers by name, made once and shared by all."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Protocol

from pdfqa_core.errors import PdfQAError, StoppedError
from pdfqa_core.retrieval import CrossEncoderScorer, Encoder, LateEncoder, PairScorer, TextEncoder, TokenEncoder
from pdfqa_core.types import StopSignal

_log = logging.getLogger(__name__)


class PassageEncoder(TextEncoder, Protocol):
    """An encoder that also gives the places of its tokens."""

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Return (start, end) of each token in the text."""
        ...


class Encoders:
    """Makes each model once; `make` makes an encoder of a path or hub name. Loads nothing before it is used."""

    def __init__(self, make: Callable[[str], PassageEncoder] = Encoder) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._encoders: dict[str, PassageEncoder] = {}
        self._token_encoders: dict[str, TokenEncoder] = {}
        self._rerankers: dict[str, PairScorer] = {}

    def encoder(self, path_or_name: str = "") -> PassageEncoder:
        """Return the encoder at a path or of a hub name; "" is the bundled one."""
        with self._lock:
            if path_or_name not in self._encoders:
                self._encoders[path_or_name] = self._make(path_or_name)
            return self._encoders[path_or_name]

    def token_encoder(self, path_or_name: str = "") -> TokenEncoder:
        """Return the late interaction model at a path or of a hub name; "" is the bundled encoder."""
        with self._lock:
            return self._token_encoders.setdefault(path_or_name, LateEncoder(path_or_name))

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
