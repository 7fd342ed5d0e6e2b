"""Tiny GGUF files: a header that reads like a model's, and no weights worth loading."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

VALUES: dict[str, Any] = {
    "general.architecture": "llama",
    "general.name": "Tiny",
    "general.license": "mit",
    "llama.block_count": 4,
    "llama.context_length": 2048,
    "llama.embedding_length": 64,
    "llama.attention.head_count": 4,
    "llama.attention.head_count_kv": 2,
    "tokenizer.ggml.tokens": ["a", "b", "c"],
    "tokenizer.ggml.scores": [0.5, 0.25, 1.0],
}


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def value(given: Any) -> bytes:
    if isinstance(given, str):
        return struct.pack("<I", 8) + text(given)
    if isinstance(given, list):
        kind = {str: 8, float: 6, int: 4}[type(given[0])]
        items = b"".join(value(item)[4:] for item in given)
        return struct.pack("<IIQ", 9, kind, len(given)) + items
    return struct.pack("<If", 6, given) if isinstance(given, float) else struct.pack("<II", 4, given)


def header(values: dict[str, Any] | None = None, *, version: int = 3, tensors: int = 1) -> bytes:
    """Return a GGUF header with these values in place of the usual ones, or beside them."""
    entries = {**VALUES, **(values or {})}
    body = b"".join(text(key) + value(given) for key, given in entries.items())
    return b"GGUF" + struct.pack("<IQQ", version, tensors, len(entries)) + body


def write(path: Path, values: dict[str, Any] | None = None, **options: Any) -> Path:
    path.write_bytes(header(values, **options) + bytes(64))
    return path
