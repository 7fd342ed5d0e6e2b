"""An encoder as an ONNX graph, which computes the same vectors as torch in less time.

The graphs of a model are made once on each computer, see `onnx_export`, and lie in a folder of their own: one with the
weights as they are (`exact`), one with weights of 8 bits (`int8`). Beside them stands what they were found to be worth
on this processor. Where no graph can be made, torch computes.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import logging
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import cpu_count

from pdfqa_core.errors import ModelError
from pdfqa_core.whole_files import DAMAGE, file_sha256, write_atomically

EXACT, INT8, TORCH = "exact", "int8", "torch"
NOTE = "made.json"
MAKERS = ("torch", "onnx", "onnxscript", "onnxruntime", "sentence-transformers")
REMAKE = "Remove the folder; the graph is made again."
WAY = 3  # how graphs are written and run; one more makes graphs, and indexes of 8 bits, again: their vectors change
# Addition and normalisation in one operator take six times as long as in two (onnxruntime 1.31).
SLOW_FUSIONS = {"SkipLayerNormFusion"}
SECONDS = 900.0  # making a graph never takes longer
_log = logging.getLogger(__name__)


def made_with() -> str:
    """Return the versions of the libraries that graphs are made and run with, and ours; "" if one is missing.

    Builds of a version ("2.13.0+cpu") make the same graphs: checkouts that share a folder and differ in nothing else
    would make them in turns otherwise.
    """
    try:
        found = [f"{name} {importlib.metadata.version(name).partition('+')[0]}" for name in MAKERS]
    except importlib.metadata.PackageNotFoundError:
        return ""
    return ", ".join((*found, f"way {WAY}"))


@dataclass(frozen=True, slots=True)
class Made:
    """What was found when the graphs of a model were made.

    `best` is the form to use here: "int8", "exact", or "torch" where no graph is faster; `why` says why not int8.
    By form: `files` are the sha256 of the graphs, `rates` passages of about 120 words a second, `similarity` the lowest
    cosine between a graph's vector and torch's of the same text. `prompts` stand before questions and documents.
    """

    best: str
    versions: str
    why: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    rates: Mapping[str, float] = field(default_factory=dict)
    similarity: Mapping[str, float] = field(default_factory=dict)
    prompts: Mapping[str, str] = field(default_factory=dict)
    max_tokens: int = 0
    lower_case: bool = False
    dimension: int = 0


@dataclass(frozen=True)
class GraphFolder:
    """The graphs of the model whose files lie in `model`, in the folder `path`."""

    path: Path
    model: Path

    def file(self, form: str) -> Path:
        """Where the graph of this form lies."""
        return self.path / f"{form}.onnx"

    def read(self) -> Made | None:
        """Return what is known of the graphs; None if they were never made, or with other versions of the libraries."""
        try:
            found = Made(**json.loads((self.path / NOTE).read_bytes()))
        except DAMAGE:
            return None
        whole = found.versions == made_with() and all(self.file(form).is_file() for form in found.files)
        return found if whole else None

    def write(self, made: Made) -> None:
        """Note what was found. Raises OSError."""
        write_atomically(self.path / NOTE, json.dumps(asdict(made), indent=1).encode())

    def made(self) -> Made:
        """Return what is known of the graphs, after making them if need be, which takes some 20 s.

        Never raises: where they cannot be made, `why` says so and `best` is "torch".
        """
        found = self.read()
        if found is not None:
            return found
        if not made_with() or importlib.util.find_spec("onnx") is None:
            return Made(TORCH, "", "the packages onnx and onnxscript are not installed")
        try:
            return self._make()
        except (OSError, subprocess.SubprocessError, ModelError) as error:
            _log.warning("the embedding model is not made faster: %s", error)
            return Made(TORCH, made_with(), str(error))

    def _make(self) -> Made:
        from filelock import FileLock

        self.path.mkdir(parents=True, exist_ok=True)
        with FileLock(self.path / ".lock", timeout=SECONDS):
            found = self.read()
            if found is not None:  # another process made it meanwhile
                return found
            # In a process of its own: exporting takes a gigabyte of memory that is not given back otherwise.
            command = [sys.executable, "-m", "pdfqa_core.retrieval.onnx_export", str(self.model), str(self.path)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)  # noqa: S603
            found = self.read()
            if found is None:
                said = done.stderr.strip().splitlines()
                why = said[-1] if said else f"making the graph ended with {done.returncode}"
                found = Made(TORCH, made_with(), why)
                self.write(found)  # it is not tried again before a library changes
            return found

    def open(self, form: str) -> Graph:
        """Return the graph of this form. Raises ModelError if it is not there or not whole."""
        made = self.made()
        if form not in made.files:
            raise ModelError(f"There is no {form} form of this embedding model: {made.why or 'it was not made'}.")
        if file_sha256(self.file(form)) != made.files[form]:
            (self.path / NOTE).unlink(missing_ok=True)
            raise ModelError(f"{self.file(form)} is damaged.", "Start the program again: the graph is made again.")
        return self.graph(form, made)

    def graph(self, form: str, made: Made) -> Graph:
        """Return the graph of this form, whatever its file holds."""
        return Graph(self.file(form), self.model / "tokenizer.json", made)


def folder_of(graphs: Path, model_hash: str, model: Path) -> GraphFolder:
    """Return where below `graphs` those of a model lie."""
    return GraphFolder(graphs / model_hash, model)


def form_hash(model_hash: str, form: str) -> str:
    """Return the hash of a model in this form; exact graphs make the vectors that torch makes."""
    if form in (EXACT, TORCH):
        return model_hash
    return hashlib.sha256(f"{model_hash} {form} {WAY}".encode()).hexdigest()[:16]


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph that makes vectors of texts, each by itself on one core: a vector never depends on the texts beside it.

    (Numbers of 8 bits are scaled by the largest of a batch.) Each core has a text of its own, which is faster than all
    of them at one text, whose steps are too small to share. Texts are cut at the model's longest, as torch does.
    """

    path: Path
    tokenizer_file: Path
    made: Made

    @cached_property
    def _session(self) -> Any:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.enable_cpu_mem_arena = False  # it keeps what the longest texts took, and takes as long
        options.log_severity_level = 3
        try:
            return onnxruntime.InferenceSession(
                str(self.path), options, providers=["CPUExecutionProvider"], disabled_optimizers=SLOW_FUSIONS
            )
        except Exception as error:  # its errors have no common class
            raise ModelError(f"{self.path} does not load: {error}.", REMAKE) from error

    @cached_property
    def _cores(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(cpu_count(), thread_name_prefix="encoder")

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self.tokenizer_file))
        tokenizer.enable_truncation(self.made.max_tokens)
        tokenizer.no_padding()
        return tokenizer

    def encode(self, texts: Sequence[str], *, question: bool, unit: bool = True) -> npt.NDArray[np.float32]:
        """Return one vector per text, of length 1 or (`unit` False) as it is; `question` chooses the prompt."""
        prompt = self.made.prompts.get("question" if question else "document", "")
        session, tokenizer = self._session, self._tokenizer  # loaded here, once for all threads
        names = [each.name for each in session.get_inputs()]

        def vector_of(text: str) -> npt.NDArray[np.float32]:
            found = tokenizer.encode((prompt + text).lower() if self.made.lower_case else prompt + text)
            ids = np.asarray([found.ids], dtype=np.int64)
            given = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
            (vectors,) = session.run(None, {name: given[name] for name in names})
            vector = np.asarray(vectors[0], dtype=np.float32)
            return vector / max(float(np.linalg.norm(vector)), 1e-12) if unit else vector

        return np.stack(list(self._cores.map(vector_of, texts) if len(texts) > 1 else map(vector_of, texts)))
