"""The bundled encoder in every form that was considered, for the scripts that measure speed and what is found."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pdfqa_core.models import graphs_path
from pdfqa_core.retrieval import Encoder
from pdfqa_core.retrieval.onnx_graph import EXACT, INT8, Graph
from pdfqa_core.settings import LLMSettings

BATCH = 8
TORCH, BF16, GRAPH = "torch fp32", "torch bf16", "ONNX Runtime fp32"
CHANNEL, TENSOR, SMOOTH = "int8 per channel", "int8 per tensor", "int8 smoothed"


@dataclass
class Form:
    """An encoder at the protocol of an index; `run(texts, question)` returns vectors of length 1."""

    name: str
    run: Callable[[list[str], bool], Any]

    @property
    def model_hash(self) -> str:
        """Its name: vectors of forms are never mixed."""
        return self.name

    def encode(self, texts: Sequence[str], *, question: bool = False, **_: object) -> np.ndarray:
        """Return one vector per text, longest first in batches of 8."""
        order = sorted(range(len(texts)), key=lambda row: -len(texts[row]))
        found = np.zeros((len(texts), 384), dtype=np.float32)
        for first in range(0, len(order), BATCH):
            rows = order[first : first + BATCH]
            found[rows] = self.run([texts[row] for row in rows], question)
        return found


def forms() -> dict[str, Form]:
    """Return all forms by name; the one with one scale per tensor is made in a temporary folder."""
    import torch
    from onnxruntime.quantization import QuantType, quantize_dynamic

    plain = Encoder()
    encoder = Encoder(graphs=graphs_path(LLMSettings()))
    made, folder = encoder.made, encoder._folder
    assert made is not None
    assert folder is not None
    if {EXACT, INT8} - set(made.files):
        raise SystemExit(f"Not all forms can be made here: {made.why}.")
    exact, smoothed = folder.open(EXACT), folder.open(INT8)

    def plain_bytes(per_channel: bool) -> Graph:
        """Return the graph with weights of 8 bits as they are."""
        file = Path(tempfile.mkdtemp()) / "plain.onnx"
        quantize_dynamic(folder.file(EXACT), file, per_channel=per_channel, weight_type=QuantType.QInt8)
        return Graph(file, exact.tokenizer_file, made)

    tensor, channel = plain_bytes(False), plain_bytes(True)

    def bf16(texts: list[str], question: bool) -> np.ndarray:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return np.asarray(plain._vectors(texts, question), dtype=np.float32)

    found = [
        Form(TORCH, plain._vectors),
        Form(BF16, bf16),
        Form(GRAPH, lambda texts, question: exact.encode(texts, question=question)),
        Form(CHANNEL, lambda texts, question: channel.encode(texts, question=question)),
        Form(TENSOR, lambda texts, question: tensor.encode(texts, question=question)),
        Form(SMOOTH, lambda texts, question: smoothed.encode(texts, question=question)),
    ]
    return {form.name: form for form in found}
