"""Texts to one vector per token, for late interaction; any checkpoint of sentence-transformers' MultiVectorEncoder."""

from __future__ import annotations

import hashlib
import string
import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from pdfqa_core.errors import StoppedError
from pdfqa_core.retrieval.encoder import BATCH, OnProgress, Vectors
from pdfqa_core.retrieval.model_files import ModelFiles, encodable
from pdfqa_core.types import Progress, StopSignal

PROJECTED = 128  # dimensions
UNTRAINED = "untrained for late interaction"
LATE_TYPES = ("MultiVectorEncoder", "ColBERT")
PHASE = "Encoding the tokens of passages"


class TokenEncoder(Protocol):
    """What late interaction needs of an encoder."""

    @property
    def name(self) -> str:
        """The model's name, for people."""
        ...

    @property
    def model_hash(self) -> str:
        """What tells this model from any other."""
        ...

    def encode_tokens(
        self,
        texts: Sequence[str],
        *,
        question: bool = False,
        on_progress: OnProgress | None = None,
        stop: StopSignal | None = None,
    ) -> list[Vectors]:
        """Return one (tokens, dimension) array of vectors of length 1 per text."""
        ...


class LateEncoder:
    """A ColBERT-like model by folder or hub name; empty: the bundled encoder. Nothing is loaded before first use.

    A model that was not made for late interaction, such as the bundled one, gives the vectors of its tokens as its last
    layer has them, without those of punctuation, and turned into 128 dimensions by one fixed orthogonal projection (a
    third of the room and time; no worse on the Northwind questions). Its name says that it is untrained. Every method
    raises ModelError if the library or the model is missing or broken. Source: Khattab and Zaharia 2020, "ColBERT".
    """

    def __init__(self, path_or_name: str | Path = "", *, device: str | None = None) -> None:
        self._files = ModelFiles(
            str(path_or_name), "late interaction model", "leave late_model empty for the bundled encoder"
        )
        self._device = device
        self._lock = threading.RLock()

    @cached_property
    def trained(self) -> bool:
        """Whether the model was made for late interaction."""
        if self._files.json("config_sentence_transformers.json").get("model_type") in LATE_TYPES:
            return True
        architectures = self._files.json("config.json").get("architectures") or []
        return any(name == "HF_ColBERT" or name.endswith("ForRetrieval") for name in architectures)

    @property
    def name(self) -> str:
        """The hub name, or the last part of the path."""
        return self._files.name if self.trained else f"{self._files.name} ({UNTRAINED})"

    @property
    def model_hash(self) -> str:
        """16 hex digits over the names and contents of the model's configuration, vocabulary and weights."""
        found = self._files.model_hash
        return found if self.trained else hashlib.sha256(f"{found} {PROJECTED}".encode()).hexdigest()[:16]

    def encode_tokens(
        self,
        texts: Sequence[str],
        *,
        question: bool = False,
        on_progress: OnProgress | None = None,
        stop: StopSignal | None = None,
    ) -> list[Vectors]:
        """Return one (tokens, dimension) array of vectors of length 1 per text, in the order of the texts.

        In batches of 8, longest first. Raises StoppedError as soon as `stop` is set, at most one batch later.
        """
        order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
        found: list[Vectors] = [np.zeros((0, 0), dtype=np.float32)] * len(texts)
        for first in range(0, len(order), BATCH):
            if stop is not None and stop.is_set():
                raise StoppedError("Encoding was stopped.")
            rows = order[first : first + BATCH]
            for row, vectors in zip(rows, self._batch([encodable(texts[row]) for row in rows], question), strict=True):
                found[row] = np.asarray(vectors, dtype=np.float32)
            if on_progress is not None:
                on_progress(Progress(PHASE, min(len(order), first + BATCH), len(order)))
        return found

    def _batch(self, texts: list[str], question: bool) -> list[Any]:
        with self._lock:
            encode = self._model.encode_query if question else self._model.encode_document
            vectors: list[Any] = encode(
                texts, batch_size=BATCH, show_progress_bar=False, convert_to_numpy=True, normalize_embeddings=True
            )
        return vectors

    @cached_property
    def _model(self) -> Any:
        with self._lock:
            folder = str(self._files.folder)
            options: dict[str, Any] = {
                "local_files_only": True, "trust_remote_code": False, "model_kwargs": {"use_safetensors": True},
            }  # fmt: skip
            with self._files.loading():
                from sentence_transformers import MultiVectorEncoder, SentenceTransformer
                from sentence_transformers.base.modules import Normalize
                from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask

                if self.trained:
                    return MultiVectorEncoder(folder, device=self._device, **options)
                # MultiVectorEncoder itself would add a projection with other random weights at every start.
                dense = SentenceTransformer(folder, device="cpu", **options)
                mask = MultiVectorMask(skiplist_words=list(string.punctuation))
                transformer: Any = dense[0]
                modules = [transformer, *_projection(int(transformer.get_embedding_dimension()))]
                modules += [mask, Normalize(module_input_name="token_embeddings")]
                prompts = {name: prompt for name, prompt in dense.prompts.items() if prompt}
                return MultiVectorEncoder(modules=modules, device=self._device, prompts=prompts)


def _projection(width: int) -> list[Any]:
    """Return the layer that takes vectors of more than 128 numbers to 128, keeping angles as far as that goes."""
    if width <= PROJECTED:
        return []
    import torch
    from sentence_transformers.base.modules import Dense

    directions = np.linalg.qr(np.random.default_rng(0).normal(size=(width, PROJECTED)))[0].T
    return [
        Dense(
            in_features=width,
            out_features=PROJECTED,
            bias=False,
            activation_function=torch.nn.Identity(),
            init_weight=torch.from_numpy(directions.astype(np.float32)),
            module_input_name="token_embeddings",
        )
    ]
