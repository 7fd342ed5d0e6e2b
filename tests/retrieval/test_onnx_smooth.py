"""What is smoothed computes the same, and loses less by 8 bits."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from pdfqa_core.retrieval.onnx_export import smooth

SIZE, WORDS = 48, 40
CHANCE = np.random.default_rng(3)
TOKENS = [CHANCE.integers(0, WORDS, (1, length)) for length in (3, 17, 30)]


def normal(*shape):
    return CHANCE.standard_normal(shape).astype(np.float32)


@pytest.fixture
def graph(tmp_path):
    """A graph with an embedding of one very large column, multiplied by two matrices, of which one is used twice."""
    table = normal(WORDS, SIZE)
    table[:, 5] *= 80
    values = {"table": table, "first": normal(SIZE, SIZE), "second": normal(SIZE, SIZE)}
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["rows"], name="gather"),
        helper.make_node("MatMul", ["rows", "first"], ["a"], name="one"),
        helper.make_node("MatMul", ["rows", "second"], ["b"], name="two"),
        helper.make_node("Tanh", ["a"], ["bent"], name="bend"),
        helper.make_node("MatMul", ["bent", "second"], ["c"], name="three"),
        helper.make_node("Add", ["b", "c"], ["sum"], name="add"),
        helper.make_node("Add", ["sum", "rows"], ["out"], name="beside"),
    ]
    body = helper.make_graph(
        nodes, "test", [helper.make_tensor_value_info("input_ids", TensorProto.INT64, [1, "length"])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, [1, "length", SIZE])],
        [numpy_helper.from_array(value, name) for name, value in values.items()],
    )  # fmt: skip
    file = tmp_path / "graph.onnx"
    onnx.save(helper.make_model(body, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), file)
    return file


def computed(file, ids):
    return onnxruntime.InferenceSession(str(file)).run(None, {"input_ids": ids})[0]


def test_a_smoothed_graph_computes_the_same(graph, tmp_path):
    smooth(graph, tmp_path / "smooth.onnx", TOKENS)
    onnx.checker.check_model(onnx.load(tmp_path / "smooth.onnx"))
    for ids in TOKENS:
        assert np.allclose(computed(graph, ids), computed(tmp_path / "smooth.onnx", ids), rtol=1e-4, atol=1e-2)
    kinds = [node.op_type for node in onnx.load(tmp_path / "smooth.onnx").graph.node]
    assert kinds.count("Mul") == 2  # one per activation, whatever it is multiplied with


def test_eight_bits_of_a_smoothed_graph_are_nearer(graph, tmp_path):
    from onnxruntime.quantization import QuantType, quantize_dynamic

    smooth(graph, tmp_path / "smooth.onnx", TOKENS)
    far = []
    for name in ("graph", "smooth"):
        quantised = tmp_path / f"{name}8.onnx"
        quantize_dynamic(
            tmp_path / f"{name}.onnx", quantised, per_channel=True, weight_type=QuantType.QInt8,
            op_types_to_quantize=["MatMul"],
        )  # fmt: skip
        far.append(sum(np.abs(computed(quantised, ids) - computed(graph, ids)).mean() for ids in TOKENS))
    assert far[1] < 0.7 * far[0]
