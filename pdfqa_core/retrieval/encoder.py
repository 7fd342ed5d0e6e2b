"""Texts to vectors with a sentence-transformers model from a local folder; loaded at first use, offline."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from pdfqa_core.errors import ModelError, StoppedError
from pdfqa_core.retrieval.model_folder import INSTALL, LOADING, LocalModel, encodable
from pdfqa_core.streaming import is_set
from pdfqa_core.types import Progress, StopSignal

Vectors: TypeAlias = npt.NDArray[np.float32]
OnProgress: TypeAlias = Callable[[Progress], None]

BATCH = 8


class NamedModel(Protocol):
    """What every model can say of itself."""

    @property
    def name(self) -> str:
        """The model's name, for people."""
        ...

    @property
    def model_hash(self) -> str:
        """What tells this model from any other; vectors of different hashes are never mixed."""
        ...


class TextEncoder(NamedModel, Protocol):
    """What an index needs of an encoder."""

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


class BatchEncoder(LocalModel, ABC):
    """A model that encodes texts in batches; a long call lets other threads compute between batches."""

    phase: ClassVar[str]

    def _encode(
        self, texts: Sequence[str], question: bool, on_progress: OnProgress | None, stop: StopSignal | None
    ) -> list[Vectors]:
        """Return what the model makes of each text, in the order of the texts.

        Questions get the model's own prompt for questions if it has one. In batches of 8, longest texts first, so that
        little is padded. Raises StoppedError as soon as `stop` is set, at most one batch later.
        """
        order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
        found: list[Any] = [None] * len(texts)
        for first in range(0, len(order), BATCH):
            if is_set(stop):
                raise StoppedError("Encoding was stopped.")
            rows = order[first : first + BATCH]
            with self._lock:
                encode = self._model.encode_query if question else self._model.encode_document
                vectors = encode(
                    [encodable(texts[row]) for row in rows],
                    batch_size=BATCH, show_progress_bar=False, convert_to_numpy=True, normalize_embeddings=True,
                )  # fmt: skip
            for row, vector in zip(rows, vectors, strict=True):
                found[row] = np.asarray(vector, dtype=np.float32)
            if on_progress is not None:
                on_progress(Progress(self.phase, min(len(order), first + BATCH), len(order)))
        return found

    @property
    @abstractmethod
    def _model(self) -> Any:
        """The model of sentence-transformers, loaded at first use."""


class Encoder(BatchEncoder):
    """A sentence-transformers model that makes one vector of a text."""

    kind = "embedding model"
    otherwise = "leave embedding_model empty for the bundled one"
    phase = "Embedding passages"

    @cached_property
    def dimension(self) -> int:
        """Length of the vectors; loads the model."""
        return int(self._model.get_embedding_dimension() or self.encode(["dimension"]).shape[1])

    def encode(
        self,
        texts: Sequence[str],
        *,
        question: bool = False,
        on_progress: OnProgress | None = None,
        stop: StopSignal | None = None,
    ) -> Vectors:
        """Return an (n, dimension) array of vectors of length 1, in the order of the texts. Raises StoppedError."""
        found = self._encode(texts, question, on_progress, stop)
        return np.stack(found) if found else np.zeros((0, self.dimension), dtype=np.float32)

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
        with self._lock, self._files.loading() as folder:
            from sentence_transformers import SentenceTransformer

            return SentenceTransformer(folder, device=self._device, **LOADING)
