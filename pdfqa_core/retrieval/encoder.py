"""Texts to vectors with a sentence-transformers model from a local folder; loaded at first use, offline."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from pdfqa_core.errors import ModelError, StoppedError
from pdfqa_core.retrieval.model_files import INSTALL, ModelFiles, encodable
from pdfqa_core.types import Progress, StopSignal

Vectors: TypeAlias = npt.NDArray[np.float32]
OnProgress: TypeAlias = Callable[[Progress], None]

BATCH = 8


class TextEncoder(Protocol):
    """What an index needs of an encoder."""

    @property
    def name(self) -> str:
        """The model's name, for people."""
        ...

    @property
    def model_hash(self) -> str:
        """What tells this model from any other; vectors of different hashes are never mixed."""
        ...

    def encode(
        self,
        texts: Sequence[str],
        *,
        question: bool = False,
        on_progress: OnProgress | None = None,
        stop: StopSignal | None = None,
    ) -> Vectors:
        """Return one vector of length 1 per text."""
        ...


class Encoder:
    """A sentence-transformers model by folder or hub name; empty: the bundled one. Nothing is loaded before first use.

    Only one thread at a time computes; a long `encode` lets others in between batches. Every method raises ModelError
    if the library or the model is missing or broken.
    """

    def __init__(self, path_or_name: str | Path = "", *, device: str | None = None) -> None:
        self._files = ModelFiles(str(path_or_name))
        self._device = device
        self._lock = threading.RLock()

    @property
    def name(self) -> str:
        """The hub name, or the last part of the path."""
        return self._files.name

    @property
    def folder(self) -> Path:
        """The model's folder; a hub name is looked up on this computer first and downloaded once if it is not there."""
        return self._files.folder

    @property
    def model_hash(self) -> str:
        """16 hex digits over the names and contents of the model's configuration, vocabulary and weights."""
        return self._files.model_hash

    @cached_property
    def dimension(self) -> int:
        """Length of the vectors; loads the model."""
        return int(self._model.get_embedding_dimension() or self.encode(["dimension"]).shape[1])

    @cached_property
    def max_tokens(self) -> int:
        """Tokens of a text that count, special ones included; what is beyond is cut off by the model. 0: not stated."""
        try:
            return int(self._files.json("sentence_bert_config.json")["max_seq_length"])
        except (ValueError, KeyError, TypeError):
            return 0

    def encode(
        self,
        texts: Sequence[str],
        *,
        question: bool = False,
        on_progress: OnProgress | None = None,
        stop: StopSignal | None = None,
    ) -> Vectors:
        """Return an (n, dimension) array of vectors of length 1, in the order of the texts.

        Questions get the model's own prompt for questions where it has one. Texts are encoded in batches of 8, longest
        first, so that little is padded. Raises StoppedError as soon as `stop` is set, at most one batch later.
        """
        order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
        found: Vectors | None = None
        for first in range(0, len(order), BATCH):
            if stop is not None and stop.is_set():
                raise StoppedError("Embedding was stopped.")
            rows = order[first : first + BATCH]
            vectors = self._encode_batch([encodable(texts[row]) for row in rows], question=question)
            if found is None:
                found = np.empty((len(texts), vectors.shape[1]), dtype=np.float32)
            found[rows] = vectors
            if on_progress is not None:
                on_progress(Progress("Embedding passages", min(len(order), first + BATCH), len(order)))
        return np.zeros((0, self.dimension), dtype=np.float32) if found is None else found

    def _encode_batch(self, texts: list[str], *, question: bool) -> Vectors:
        with self._lock:
            encode = self._model.encode_query if question else self._model.encode_document
            vectors = encode(
                texts, batch_size=BATCH, show_progress_bar=False, convert_to_numpy=True, normalize_embeddings=True
            )
        return np.asarray(vectors, dtype=np.float32)

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Return (start, end) of each of the model's tokens in `text`, without the special ones; loads no weights."""
        encoded = self._tokenizer.encode(encodable(text), add_special_tokens=False)
        return [(start, end) for start, end in encoded.offsets if start < end]

    @cached_property
    def _tokenizer(self) -> Any:
        file = self.folder / "tokenizer.json"
        try:
            from tokenizers import Tokenizer

            tokenizer = Tokenizer.from_file(str(file))
        except ImportError as error:
            raise ModelError("The tokenizers library is not installed.", INSTALL) from error
        except Exception as error:
            raise ModelError(f"{self.name} has no usable tokenizer.json.", "Choose another embedding model.") from error
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def _model(self) -> Any:
        with self._lock:
            folder = self.folder
            with self._files.loading():
                from sentence_transformers import SentenceTransformer

                return SentenceTransformer(
                    str(folder),
                    device=self._device,
                    local_files_only=True,
                    trust_remote_code=False,
                    model_kwargs={"use_safetensors": True},
                )
