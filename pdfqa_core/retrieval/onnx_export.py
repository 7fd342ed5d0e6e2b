"""Makes the ONNX graphs of an encoder, tries them against torch and notes which is best here.

Runs as a process of its own: `python -m pdfqa_core.retrieval.onnx_export MODEL_FOLDER GRAPH_FOLDER`.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pdfqa_core.errors import ModelError
from pdfqa_core.retrieval.model_folder import LOADING, prompts
from pdfqa_core.retrieval.onnx_graph import EXACT, INT8, TORCH, GraphFolder, Made, made_with
from pdfqa_core.whole_files import file_sha256

# ----------------------------------------------------------------------------------------------------
# Moves the range of a graph's activations into its weights, so that both suffer less from 8 bits (SmoothQuant).
#
# Weights of 8 bits have a scale per column, what they are multiplied with has one for all: a single large column
# takes the precision of all others. Each column of an activation is divided by a factor, the weights' row of the
# same number is multiplied by it: the product stays the same, both have more even columns (Xiao et al.,
# "SmoothQuant", ICML 2023).

# The share of an activation's range that moves into the weights, chosen by the score error on 96 paragraphs and 300
# questions of XQuAD, see docs/experiments.md. The paper's 0.5 is for one scale per weight matrix, not per column.
SHARE = 0.7
RANDOM_TEXTS = 64
Floats = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]


def calibration(tokenizer_file: Path, texts: Iterable[str], longest: int) -> list[Ids]:
    """Return token ids, (1, tokens) each, that show a model's range: those of `texts`, and of 64 at random.

    Tokens at random reach what no text of a language does, whatever languages the model knows.
    """
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(tokenizer_file))
    tokenizer.enable_truncation(longest)
    tokenizer.no_padding()
    chance = np.random.default_rng(0)
    drawn = [chance.integers(0, tokenizer.get_vocab_size(), chance.integers(3, 90)) for _ in range(RANDOM_TEXTS)]
    every = [*texts, *(tokenizer.decode(ids.tolist()) for ids in drawn)]
    found = [tokenizer.encode(text).ids for text in every]
    return [np.asarray([ids], dtype=np.int64) for ids in found if ids]


def smooth(exact: Path, target: Path, given: Sequence[Ids]) -> None:
    """Write the graph `exact`, which computes the same, with smoothed weights. Raises what onnx and its runtime raise.

    `given` are the token ids that the ranges are measured with.
    """
    import onnx
    from onnx import helper, numpy_helper

    model = onnx.load(exact)
    weights = {each.name: each for each in model.graph.initializer}
    by_activation: dict[str, list[Any]] = {}
    for node in model.graph.node:
        if node.op_type == "MatMul" and node.input[1] in weights and len(weights[node.input[1]].dims) == 2:
            by_activation.setdefault(node.input[0], []).append(node)
    reached = _largest(model, list(by_activation), given)
    factors: dict[str, Floats] = {}
    for activation, nodes in by_activation.items():
        matrices = [numpy_helper.to_array(weights[node.input[1]]) for node in nodes]
        factors[activation] = _factors(reached[activation], np.concatenate(matrices, axis=1))
        for node, matrix in zip(nodes, matrices, strict=True):
            # A name of its own: a matrix may be used twice, behind different activations.
            name = f"{node.name}_{node.input[1]}_smoothed"
            scaled = (matrix * factors[activation][:, None]).astype(np.float32)
            model.graph.initializer.append(numpy_helper.from_array(scaled, name))
            node.input[0], node.input[1] = f"{activation}_smoothed", name
    order: list[Any] = []
    done: set[str] = set()
    for node in model.graph.node:
        for name in node.input:
            activation = name.removesuffix("_smoothed")
            if name in done or activation == name or activation not in factors:
                continue
            divisor = f"{activation}_divisor"
            model.graph.initializer.append(numpy_helper.from_array(1 / factors[activation], divisor))
            order.append(helper.make_node("Mul", [activation, divisor], [name], name=f"{name}_by"))
            done.add(name)
        order.append(node)
    del model.graph.node[:]
    model.graph.node.extend(order)
    used = {name for node in order for name in node.input}
    kept = [each for each in model.graph.initializer if each.name in used]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    onnx.save(model, target)


def _largest(model: Any, activations: Sequence[str], given: Sequence[Ids]) -> Mapping[str, Floats]:
    """Return the largest absolute value of each column of each activation, over all tokens of `given`."""
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper

    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    shown.graph.output.extend(helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in activations)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(shown.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_inputs()]
    found: dict[str, Floats] = {}
    for ids in given:
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        values = session.run(list(activations), {name: inputs[name] for name in names})
        for name, value in zip(activations, values, strict=True):
            columns = np.abs(value).reshape(-1, value.shape[-1]).max(axis=0)
            found[name] = np.maximum(found[name], columns) if name in found else columns
    return found


def _factors(reached: Floats, matrix: Floats) -> Floats:
    """Return by how much each column of an activation is divided, from its range and that of its row of weights."""
    activation = np.maximum(reached, 1e-4)
    rows = np.maximum(np.abs(matrix).max(axis=1), 1e-5)
    found = np.log(activation) * SHARE - np.log(rows) * (1 - SHARE)
    factors: Floats = np.exp(found - found.mean()).astype(np.float32)
    return factors


# ----------------------------------------------------------------------------------------------------
# Makes the ONNX graphs of an encoder, tries them against torch and notes which is best here.

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
            "com.microsoft::MultiHeadAttention",
            rows,
            {"num_heads": heads, "scale": float(asked["scaling"])},
            dtype=query.dtype,
            shape=rows[0].shape,
            version=1,
        )
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
            Whole().eval(),
            given,
            str(file),
            input_names=INPUTS[: len(given)],
            output_names=["sentence_embedding"],
            dynamic_shapes=(tuple({1: length} for _ in given),),
            dynamo=True,
            external_data=False,
            verbose=False,
        )


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
            TORCH,
            made_with(),
            files={form: file_sha256(graphs.file(form)) for form in (EXACT, INT8)},
            prompts=prompts(model),
            max_tokens=int(model.max_seq_length),
            lower_case=bool(getattr(model[0], "do_lower_case", False)),
            dimension=int(model.get_embedding_dimension()),
        )
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
