"""The header of a GGUF file: what a model is and how large its parts are, without loading it.

Reads numbers and texts only and bounds every length, so that a damaged file ends in a message.
Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from pdfqa_core.errors import ModelError
from pdfqa_core.llm.hardware import Dimensions

MAGIC = b"GGUF"
VERSIONS = (2, 3)
LONGEST_TEXT = 16_000_000  # bytes
MOST_ENTRIES = 100_000
MOST_ITEMS = 20_000_000  # of an array
LISTED = 4096  # items up to which an array of numbers is kept
_NUMBERS = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d",
}  # fmt: skip
_TEXT, _ARRAY = 8, 9
# Architectures that write no answers: encoders, and the picture part of a model that sees.
NO_LANGUAGE_MODELS = (
    "bert", "nomic-bert", "nomic-bert-moe", "jina-bert-v2", "modern-bert", "neo-bert", "gemma-embedding", "clip",
    "t5encoder", "wavtokenizer-dec", "whisper", "eurobert",
)  # fmt: skip


# Names of "general.file_type", as llama.cpp has them.
QUANTISATIONS = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K", 11: "Q3_K_S", 12: "Q3_K_M",
    13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K", 19: "IQ2_XXS", 20: "IQ2_XS",
    21: "Q2_K_S", 22: "IQ3_XS", 23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S",
    29: "IQ2_M", 30: "IQ4_XS", 31: "IQ1_M", 32: "BF16",
}  # fmt: skip

_SIZE, _BILLIONS = re.compile(r"(?:(\d+)x)?(\d+(?:\.\d+)?)([MBT])"), {"M": 1e-3, "B": 1.0, "T": 1e3}


@dataclass(frozen=True, slots=True)
class Header:
    """What a GGUF file says of itself.

    `values` are its metadata; of an array of texts, and of a long one, only its length is kept. `tensors` is the
    number of its tensors, `size` the file's size in bytes.
    """

    tensors: int
    values: Mapping[str, Any]
    size: int

    @property
    def architecture(self) -> str:
        """The kind of model ("llama", "qwen2", …), "" if it is not named."""
        return str(self.values.get("general.architecture", ""))

    @property
    def title(self) -> str:
        """The model's name, "" if it has none."""
        return str(self.values.get("general.name", ""))

    @property
    def licence(self) -> str:
        """The licence that the file names, "" if it names none."""
        return str(self.values.get("general.license", ""))

    @property
    def quantisation(self) -> str:
        """The form of most of its weights ("Q4_K_M", "F16", …), "" if the file does not say."""
        return QUANTISATIONS.get(self.values.get("general.file_type", -1), "")

    @property
    def parameters(self) -> float | None:
        """The number of its parameters in billions ("135M" is 0.135, "8x7B" 56); None where the file does not say."""
        label = _SIZE.fullmatch(str(self.values.get("general.size_label", "")))
        return int(label[1] or 1) * float(label[2]) * _BILLIONS[label[3]] if label else None

    def number(self, name: str, default: int = 0) -> int:
        """Return a whole number that is filed under the architecture's name."""
        value = self.values.get(f"{self.architecture}.{name}", default)
        return int(value) if isinstance(value, int | float) else default

    @property
    def dimensions(self) -> Dimensions | None:
        """What decides how much memory the model takes; None where the file does not say."""
        layers, heads = self.number("block_count"), self.number("attention.head_count")
        width = self.number("attention.key_length") or (self.number("embedding_length") // heads if heads else 0)
        per_layer = self.values.get(f"{self.architecture}.attention.head_count_kv", heads)
        kv_heads = sum(per_layer) if isinstance(per_layer, list) else layers * int(per_layer)
        vocabulary = self.number("vocab_size") or int(self.values.get("tokenizer.ggml.tokens", 0))
        if not (kv_heads and width and vocabulary):
            return None
        return Dimensions(kv_heads * width, vocabulary, self.number("context_length"))


class _Damaged(Exception):  # noqa: N818 - never leaves this module
    """The file ends early or holds an impossible value."""


class _Reader:
    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._left = size

    def take(self, count: int) -> bytes:
        data = self._file.read(count) if count <= self._left else b""
        if len(data) < count:
            raise _Damaged("it ends within its header")
        self._left -= count
        return data

    def skip(self, count: int) -> None:
        if count > self._left:
            raise _Damaged("it ends within its header")
        self._left -= count
        self._file.seek(count, 1)

    def number(self, form: str) -> Any:
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def length(self, most: int) -> int:
        count = int(self.number("<Q"))
        if count > most:
            raise _Damaged(f"its header speaks of {count:,} items")
        return count

    def text(self) -> str:
        return self.take(self.length(LONGEST_TEXT)).decode("utf-8", "replace")

    def value(self, kind: int) -> Any:
        if kind in _NUMBERS:
            return self.number(_NUMBERS[kind])
        if kind == _TEXT:
            return self.text()
        if kind == _ARRAY:
            return self._array()
        raise _Damaged(f"its header has values of an unknown kind ({kind})")

    def _array(self) -> Any:
        kind, count = self.number("<I"), self.length(MOST_ITEMS)
        if kind == _TEXT:
            for _ in range(count):
                self.skip(self.length(LONGEST_TEXT))
            return count
        if kind not in _NUMBERS:
            raise _Damaged(f"its header has lists of an unknown kind ({kind})")
        if count > LISTED:
            self.skip(count * struct.calcsize(_NUMBERS[kind]))
            return count
        return [self.number(_NUMBERS[kind]) for _ in range(count)]


def read_header(path: Path) -> Header:
    """Return the header of a GGUF file. Raises ModelError if it is not one, or cannot be read."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            return _read(_Reader(file, size), path, size)
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror or error}.", "Check the path.") from error
    except _Damaged as error:
        raise ModelError(f"{path} is damaged: {error}.", "Get the file again.") from error


def _read(reader: _Reader, path: Path, size: int) -> Header:
    if size < len(MAGIC) or reader.take(len(MAGIC)) != MAGIC:
        raise ModelError(f"{path} is not a GGUF file.", "Give a language model in GGUF format.")
    version = reader.number("<I")
    if version not in VERSIONS:
        raise ModelError(
            f"{path} is a GGUF file of version {version}; versions {VERSIONS[0]} and {VERSIONS[-1]} are read.",
            "Get a newer file of this model.",
        )
    tensors, entries = reader.length(MOST_ENTRIES), reader.length(MOST_ENTRIES)
    values = {}
    for _ in range(entries):
        key = reader.text()
        values[key] = reader.value(reader.number("<I"))
    return Header(tensors, values, size)


def check_model(header: Header, path: Path) -> None:
    """Raise ModelError if the file holds no language model."""
    kind = header.architecture
    if not header.tensors or not kind:
        raise ModelError(f"{path} holds no model.", "Give a language model in GGUF format.")
    if kind in NO_LANGUAGE_MODELS or header.values.get("general.type") in ("mmproj", "adapter", "imatrix"):
        raise ModelError(f"{path} is no language model ({kind}).", "Give one that writes answers.")
