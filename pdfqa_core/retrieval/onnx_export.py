"""Makes the ONNX graphs of an encoder, tries them against torch and notes which is best here.

Runs as a process of its own: `python -m pdfqa_core.retrieval.onnx_export MODEL_FOLDER GRAPH_FOLDER`.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pdfqa_core.errors import ModelError
from pdfqa_core.retrieval.model_folder import LOADING, prompts
from pdfqa_core.retrieval.onnx_graph import EXACT, INT8, TORCH, GraphFolder, Made, made_with
from pdfqa_core.retrieval.onnx_smooth import Ids, calibration, smooth
from pdfqa_core.whole_files import file_sha256

LEAST = {EXACT: 0.9999, INT8: 0.97}  # cosine to torch's vector of the same text
GAIN = 1.1  # a form has to be so many times as fast as the one before it
ROUNDS = 3
WHOLE = "one_operator"
INPUTS = ("input_ids", "attention_mask")
PARAGRAPH = (
    "The ferry leaves the harbour at seven in the morning and carries at most 240 people, of whom 36 may bring a "
    "bicycle. In 2023 the company counted 181,400 tickets, 4.6 % more than in the year before; a single one costs "
    "$12.50, and children under six travel free. Where the wind is stronger than force 9, the crossing is cancelled "
    "and tickets keep their value for thirty days. Engines run on methanol since the winter of 2021, which, as Dr. "
    "Okafor's report says, took a third off the emissions. Complaints go to the office at Quay 4, in writing, within "
    "two weeks of the journey; the answer comes within ten working days, and who disagrees may ask the ombudsman."
)

Encode = Callable[[Sequence[str]], npt.NDArray[np.float32]]


def samples(count: int = 12) -> list[str]:
    """Return texts of about 120 words, all different."""
    words = PARAGRAPH.split()
    return [" ".join((*words[5 * shift :], *words[: 5 * shift])) for shift in range(count)]


def odd_samples() -> list[str]:
    """Return texts of other lengths and scripts."""
    return ["", "ferry", "How much is a TICKET?", "Fähre über den Fjord: 12,50 €", "船 паром", PARAGRAPH * 4]


def _load(model_folder: Path, **options: Any) -> Any:
    from sentence_transformers import SentenceTransformer

    loading = {**LOADING, "model_kwargs": {**LOADING["model_kwargs"], **options}}
    return SentenceTransformer(str(model_folder), device="cpu", **loading)


def _whole_attention() -> str:
    """Return the name of attention as one operator of ONNX Runtime, for models in which every token sees every other.

    As torch's exporter writes it, it is fourteen and a mask, which a text that stands alone does not need. A model that
    masks more than padding (one that looks back only, or nearby) or has biases for distances keeps torch's.
    """
    import torch
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.integrations.sdpa_attention import sdpa_attention_forward
    from transformers.masking_utils import bidirectional_mask_function, sdpa_mask

    def mask(**asked: Any) -> Any:
        free = asked["mask_function"] is bidirectional_mask_function and asked.get("attention_mask") is None
        return None if free else sdpa_mask(**asked)

    def attention(module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **asked: Any) -> Any:
        batch, heads, length, size = query.shape
        plain = attention_mask is None and asked.get("position_bias") is None and not getattr(module, "is_causal", True)
        if not plain or not query.shape[1::2] == key.shape[1::2] == value.shape[1::2]:
            return sdpa_attention_forward(module, query, key, value, attention_mask, **asked)
        rows = [one.transpose(1, 2).reshape(batch, length, heads * size) for one in (query, key, value)]
        found = torch.onnx.ops.symbolic(
            "com.microsoft::MultiHeadAttention", rows, {"num_heads": heads, "scale": float(asked["scaling"])},
            dtype=query.dtype, shape=rows[0].shape, version=1,
        )  # fmt: skip
        return found.reshape(batch, length, heads, size), None

    AttentionInterface.register(WHOLE, attention)
    AttentionMaskInterface.register(WHOLE, mask)
    return WHOLE


def _export(model_folder: Path, file: Path, *, masked: bool) -> None:
    """Write the graph of the model from the tokens of one text to its vector. Raises what torch raises."""
    import torch

    model = _load(model_folder) if masked else _load(model_folder, attn_implementation=_whole_attention())

    class Whole(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *tokens: Any) -> Any:
            return self.model(dict(zip(INPUTS, tokens, strict=False)))["sentence_embedding"]

    ids = torch.ones((1, 16), dtype=torch.long)
    given = (ids, torch.ones_like(ids)) if masked else (ids,)
    length = torch.export.Dim("length", min=2, max=model.max_seq_length)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            Whole().eval(), given, str(file), input_names=INPUTS[: len(given)], output_names=["sentence_embedding"],
            dynamic_shapes=(tuple({1: length} for _ in given),), dynamo=True, external_data=False, verbose=False,
        )  # fmt: skip


def _quantise(exact: Path, int8: Path, given: Sequence[Ids]) -> None:
    """Write the graph with weights of 8 bits, smoothed, each channel with a scale of its own.

    `given` are token ids that show the range of what the weights are multiplied with.
    """
    from onnxruntime.quantization import QuantType, quantize_dynamic

    smoothed = int8.with_name("smoothed.onnx")
    try:
        smooth(exact, smoothed, given)
        quantize_dynamic(smoothed, int8, per_channel=True, weight_type=QuantType.QInt8)
    finally:
        smoothed.unlink(missing_ok=True)


def _similarity(ours: Encode, theirs: Encode, texts: Sequence[str]) -> float:
    return float((ours(texts) * theirs(texts)).sum(axis=1).min())


def _rates(encoders: Mapping[str, Encode]) -> dict[str, float]:
    """Return passages a second, the best of some rounds in turn."""
    texts = samples()
    best = dict.fromkeys(encoders, float("inf"))
    for _ in range(ROUNDS):
        for form, encode in encoders.items():
            began = time.perf_counter()
            encode(texts)
            best[form] = min(best[form], time.perf_counter() - began)
    return {form: round(len(texts) / seconds, 1) for form, seconds in best.items()}


def make(model_folder: Path, graphs: GraphFolder) -> Made:
    """Make the graphs, try them and note what was found. Raises ModelError if the model has no graph.

    Where attention as one operator cannot be written, or makes other vectors, the graph is what torch's exporter makes.
    """
    try:
        found = _made(model_folder, graphs, masked=False)
        near = EXACT in found.files
    except ModelError:
        near = False
    found = found if near else _made(model_folder, graphs, masked=True)
    graphs.write(found)
    return found


def _made(model_folder: Path, graphs: GraphFolder, *, masked: bool) -> Made:
    try:
        _export(model_folder, graphs.file(EXACT), masked=masked)
        model = _load(model_folder)
        given = calibration(model_folder / "tokenizer.json", samples(4) + odd_samples(), int(model.max_seq_length))
        _quantise(graphs.file(EXACT), graphs.file(INT8), given)
        made = Made(
            TORCH, made_with(), files={form: file_sha256(graphs.file(form)) for form in (EXACT, INT8)},
            prompts=prompts(model), max_tokens=int(model.max_seq_length),
            lower_case=bool(getattr(model[0], "do_lower_case", False)), dimension=int(model.get_embedding_dimension()),
        )  # fmt: skip
        return _tried(model, graphs, made)
    except Exception as error:  # torch and onnx raise anything
        raise ModelError(f"the model cannot be written as a graph ({type(error).__name__}: {error})") from error


def _torch(model: Any, *, question: bool) -> Encode:
    encode = model.encode_query if question else model.encode_document

    def run(texts: Sequence[str]) -> npt.NDArray[np.float32]:
        found = encode(list(texts), normalize_embeddings=True, show_progress_bar=False, batch_size=8)
        return np.asarray(found, dtype=np.float32)

    return run


def _tried(model: Any, graphs: GraphFolder, made: Made) -> Made:
    """Return what the graphs are worth: how near to torch's their vectors are, how fast they are, which is best."""
    encoders, similarity, why = {TORCH: _torch(model, question=False)}, {}, ""
    for form in (EXACT, INT8):
        graph = graphs.graph(form, made)
        document, query = partial(graph.encode, question=False), partial(graph.encode, question=True)
        similarity[form] = min(
            _similarity(document, encoders[TORCH], samples(4) + odd_samples()),
            _similarity(query, _torch(model, question=True), odd_samples()),
        )
        if similarity[form] >= LEAST[form]:
            encoders[form] = document
        else:
            why = f"the {form} form makes other vectors here (cosine {similarity[form]:.3f})"
    rates, best = _rates(encoders), TORCH
    for form in encoders:
        best = form if rates[form] > GAIN * rates[best] else best
    if best != INT8 and not why:
        why = "weights of 8 bits are no faster on this processor"
    kept = {form: digest for form, digest in made.files.items() if form in encoders}
    return replace(made, best=best, why=why, files=kept, rates=rates, similarity=similarity)


if __name__ == "__main__":
    folder, target = Path(sys.argv[1]), Path(sys.argv[2])
    try:
        make(folder, GraphFolder(target, folder))
    except (ModelError, OSError) as error:
        sys.exit(str(error))
