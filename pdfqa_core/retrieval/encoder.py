"""Texts to vectors with a sentence-transformers model from a local folder; loaded at first use, offline.

On a processor the vectors come from an ONNX graph of the model where one can be made, see `onnx_graph`.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from pdfqa_core.errors import ModelError, StoppedError, UsageError
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.retrieval.model_folder import COSINE, DOT, INSTALL, LOADING, LocalModel, encodable, stated_similarity
from pdfqa_core.retrieval.onnx_graph import EXACT, INT8, TORCH, Graph, GraphFolder, Made, folder_of, form_hash
from pdfqa_core.streaming import is_set
from pdfqa_core.types import Progress

Vectors: TypeAlias = npt.NDArray[np.float32]
OnProgress: TypeAlias = Callable[[Progress], None]

BATCH = 8
AUTO = "auto"


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
        """Return one vector per text, whose products are what texts are compared by; for cosines all have length 1."""
        ...


class BatchEncoder(LocalModel, ABC):
    """A model that encodes texts in batches; a long call lets other threads compute between batches."""

    phase: ClassVar[str]
    similarity: str = COSINE  # what vectors are compared by; DOT: they keep their length

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
                vectors = self._vectors([encodable(texts[row]) for row in rows], question)
            for row, vector in zip(rows, vectors, strict=True):
                found[row] = np.asarray(vector, dtype=np.float32)
            if on_progress is not None:
                on_progress(Progress(self.phase, min(len(order), first + BATCH), len(order)))
        return found

    def _vectors(self, texts: Sequence[str], question: bool) -> Sequence[Vectors]:
        encode = self._model.encode_query if question else self._model.encode_document
        found: Sequence[Vectors] = encode(
            texts,
            batch_size=BATCH,
            show_progress_bar=False,
            convert_to_numpy=True,
            normalize_embeddings=self.similarity == COSINE,
        )
        return found

    @property
    @abstractmethod
    def _model(self) -> Any:
        """The model of sentence-transformers, loaded at first use."""


class Encoder(BatchEncoder):
    """A sentence-transformers model that makes one vector of a text.

    `graphs` is the folder of ONNX graphs, None to compute with torch. `precision` "int8" takes weights of 8 bits,
    "exact" those of the model, "auto" whichever was found to be faster here (8 bits only where vectors stay near).
    Vectors have length 1, unless the model says that it compares by inner product: weights are exact then.
    """

    kind = "embedding model"
    otherwise = "leave embedding_model empty for the bundled one"
    phase = "Embedding passages"

    def __init__(
        self,
        path_or_name: str | Path = "",
        *,
        device: str | None = None,
        graphs: Path | None = None,
        precision: str = AUTO,
    ) -> None:
        super().__init__(path_or_name, device=device)
        self._graphs = graphs if device in (None, "cpu") else None
        self._precision = precision

    @cached_property
    def similarity(self) -> str:  # type: ignore[override]  # found when it is first asked for
        """What vectors are compared by: COSINE, or DOT where the model's own files say so."""
        return stated_similarity(self._files)

    @cached_property
    def made(self) -> Made | None:
        """What is known of the model's graphs, which are made if need be (20 s, once); None without graphs."""
        with self._lock:
            return self._folder.made() if self._folder is not None else None

    @cached_property
    def _folder(self) -> GraphFolder | None:
        return folder_of(self._graphs, self._files.model_hash, self.folder) if self._graphs is not None else None

    @cached_property
    def form(self) -> str:
        """What computes: "int8", "exact" (an ONNX graph each), or "torch"."""
        made = self.made
        if made is None:
            return TORCH
        precision = self._precision if self.similarity == COSINE else EXACT
        if precision == INT8:
            return INT8 if INT8 in made.files else TORCH
        best = made.best if precision == AUTO else EXACT
        exact_is_faster = made.rates.get(EXACT, 0) > made.rates.get(TORCH, 0)
        return best if best in made.files and (best != EXACT or exact_is_faster) else TORCH

    @property
    def speed_words(self) -> str:
        """How fast it is on this computer, and why not faster."""
        made = self.made
        if made is None or not made.rates:
            return "computed by torch" + (f", since {made.why}" if made is not None and made.why else "")
        rates = {TORCH: "torch", EXACT: "ONNX Runtime", INT8: "ONNX Runtime with weights of 8 bits"}
        said = ", ".join(f"{rates[form]} {rate:.0f}" for form, rate in made.rates.items())
        return f"passages a second: {said}" + (f"; {made.why}" if made.why else "")

    @property
    def name(self) -> str:
        """The hub name, or the last part of the path; ", int8" where weights of 8 bits make the vectors."""
        return f"{self._files.name}, {INT8}" if self.form == INT8 else self._files.name

    @property
    def model_hash(self) -> str:
        """16 hex digits over what decides the vectors: the model's files, if its weights have 8 bits, their length."""
        return form_hash(self._files.model_hash, self.form if self.similarity == COSINE else DOT)

    @cached_property
    def _graph(self) -> Graph | None:
        return self._folder.open(self.form) if self._folder is not None and self.form != TORCH else None

    def _vectors(self, texts: Sequence[str], question: bool) -> Sequence[Vectors]:
        graph = self._graph
        if graph is None:
            return super()._vectors(texts, question)
        return list(graph.encode(texts, question=question, unit=self.similarity == COSINE))

    @cached_property
    def dimension(self) -> int:
        """Length of the vectors; loads the model."""
        if self.made is not None and self.form != TORCH:
            return self.made.dimension
        return int(self._model.get_embedding_dimension() or self.encode(["dimension"]).shape[1])

    def encode(
        self,
        texts: Sequence[str],
        *,
        question: bool = False,
        on_progress: OnProgress | None = None,
        stop: StopSignal | None = None,
    ) -> Vectors:
        """Return an (n, dimension) array of vectors, in the order of the texts. Raises StoppedError."""
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
            raise ModelError(
                f"{self._files.name} has no usable tokenizer.json.", "Choose another embedding model."
            ) from error
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def _model(self) -> Any:
        return self.fresh_model()

    def fresh_model(self) -> Any:
        """Return the SentenceTransformer, loaded anew: who asks may change it. Raises ModelError."""
        if self._files.json("config.json").get("model_type") == "dpr":
            raise ModelError(
                f"{self._files.name} is a DPR encoder as the transformers library saves it.",
                "Use it as sentence-transformers has it: its repositories sentence-transformers/facebook-dpr-…",
            )
        with self._lock, self._files.loading() as folder:
            from sentence_transformers import SentenceTransformer

            return SentenceTransformer(folder, device=self._device, **LOADING)


# ----------------------------------------------------------------------------------------------------
# A pair of encoders as DPR has: one for questions, one for passages, whose vectors share a space.
#
# Source: Karpukhin et al. 2020, "Dense Passage Retrieval". They are compared by inner product where they say so.

BETWEEN = " + "  # the encoder of questions, then that of passages


def parts_of(path_or_name: str) -> tuple[str, ...]:
    """Return the name of an encoder, or the two of a pair ("QUESTIONS + PASSAGES"). Raises UsageError for more."""
    parts = tuple(part.strip() for part in path_or_name.split(BETWEEN))
    if len(parts) > 2 or (len(parts) == 2 and not all(parts)):
        raise UsageError(f"{path_or_name!r} names {len(parts)} encoders.", "Name one, or two: QUESTIONS + PASSAGES.")
    return parts


@dataclass(frozen=True)
class PairedEncoder:
    """Encodes questions with one model and passages with another one. Raises ModelError where their sizes differ."""

    questions: Encoder
    passages: Encoder

    @property
    def name(self) -> str:
        """Both names."""
        return f"{self.questions.name}{BETWEEN}{self.passages.name}"

    @property
    def model_hash(self) -> str:
        """16 hex digits over both models."""
        both = f"{self.questions.model_hash} {self.passages.model_hash}"
        return hashlib.sha256(both.encode()).hexdigest()[:16]

    @property
    def texts_per_call(self) -> int:
        """How many passages the encoder of passages wants at a time."""
        return int(getattr(self.passages, "texts_per_call", BATCH))

    def encode(
        self,
        texts: Sequence[str],
        *,
        question: bool = False,
        on_progress: OnProgress | None = None,
        stop: StopSignal | None = None,
    ) -> Vectors:
        """Return one vector per text, see `Encoder.encode`."""
        if self.questions.dimension != self.passages.dimension:
            raise ModelError(
                f"{self.questions.name} makes vectors of {self.questions.dimension} numbers, {self.passages.name} of "
                f"{self.passages.dimension}.",
                "Name two encoders that were trained together.",
            )
        encoder = self.questions if question else self.passages
        return encoder.encode(texts, question=question, on_progress=on_progress, stop=stop)

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Return (start, end) of the tokens that the model of passages makes of a text."""
        return self.passages.token_spans(text)
