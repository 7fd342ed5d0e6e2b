"""Moves the range of a graph's activations into its weights, so that both suffer less from 8 bits (SmoothQuant).

Weights of 8 bits have a scale per column, what they are multiplied with has one for all: a single large column takes
the precision of all others. Each column of an activation is divided by a factor, the weights' row of the same number
is multiplied by it: the product stays the same, both have more even columns (Xiao et al., "SmoothQuant", ICML 2023).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

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
