from __future__ import annotations

import shutil
from subprocess import CompletedProcess

import numpy as np
import pytest

from pdfqa_core.errors import ModelError
from pdfqa_core.retrieval import Encoder, onnx_export, onnx_graph
from pdfqa_core.retrieval.onnx_graph import EXACT, INT8, TORCH, GraphFolder
from tests.retrieval.tiny_models import causal_sentence_transformer, sentence_transformer

TEXTS = ["the plan deductible", "", "a copay of the office visit is paid in the month", "vaccine " * 200]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    return sentence_transformer(folder, prompts={"query": "Ask: ", "document": "Text: "})


@pytest.fixture(scope="module")
def graphs(model, tmp_path_factory):
    """A folder of graphs in which the model's have been made."""
    folder = tmp_path_factory.mktemp("graphs")
    assert Encoder(model, graphs=folder).made.files.keys() >= {EXACT}
    return folder


def test_exact_graphs_make_the_vectors_that_torch_makes(model, graphs):
    torch, graph = Encoder(model), Encoder(model, graphs=graphs, precision="exact")
    graph.__dict__["form"] = EXACT  # also where torch is as fast for so small a model
    for question in (False, True):
        assert np.allclose(graph.encode(TEXTS, question=question), torch.encode(TEXTS, question=question), atol=1e-4)
    assert graph.encode(["Ask"]).dtype == np.float32
    assert graph.dimension == torch.dimension
    assert (graph.model_hash, graph.name) == (torch.model_hash, torch.name)
    assert "_model" not in graph.__dict__


def test_attention_is_one_operator_and_the_graph_takes_no_mask(graphs):
    import onnx

    graph = onnx.load(next(graphs.glob(f"*/{EXACT}.onnx"))).graph
    assert [given.name for given in graph.input] == ["input_ids"]
    assert [node.op_type for node in graph.node].count("MultiHeadAttention") == 2


def test_a_model_that_looks_back_only_keeps_its_mask(tmp_path):
    model = causal_sentence_transformer(tmp_path)
    found = onnx_export.make(model, GraphFolder(tmp_path, model))
    assert found.similarity[EXACT] > 0.9999


def test_weights_of_8_bits_are_another_model(model, graphs):
    plain, small = Encoder(model), Encoder(model, graphs=graphs, precision="int8")
    if INT8 not in small.made.files:
        pytest.skip(f"no int8 form on this processor: {small.made.why}")
    assert small.model_hash != plain.model_hash
    assert small.name == f"{plain.name}, int8"
    alone = small.encode([TEXTS[0]])[0]
    assert np.array_equal(small.encode(TEXTS)[0], alone)  # whatever stands beside it
    assert alone @ plain.encode([TEXTS[0]])[0] > 0.95


def test_a_damaged_graph_is_told_and_made_again(model, graphs, tmp_path):
    folder = shutil.copytree(graphs, tmp_path / "graphs")
    place = next(folder.glob(f"*/{EXACT}.onnx"))
    place.write_bytes(b"not a graph")
    encoder = Encoder(model, graphs=folder)
    encoder.__dict__["form"] = EXACT
    with pytest.raises(ModelError, match="damaged"):
        encoder.encode(["text"])
    assert GraphFolder(place.parent, model).read() is None


def test_another_version_of_a_library_makes_new_graphs(model, graphs, monkeypatch):
    monkeypatch.setattr(onnx_graph, "made_with", lambda: "torch 99")
    assert GraphFolder(next(graphs.iterdir()), model).read() is None


def test_without_the_packages_torch_computes(model, tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_graph, "made_with", lambda: "")
    encoder = Encoder(model, graphs=tmp_path)
    assert encoder.form == TORCH
    assert "onnxscript are not installed" in encoder.speed_words
    assert encoder.encode(["the plan"]).shape == (1, encoder.dimension)


def test_a_model_without_a_graph_is_tried_once(tmp_path, monkeypatch):
    (tmp_path / "model").mkdir()
    tried = []
    failed = CompletedProcess([], 1, "", "Traceback\nno such model")
    monkeypatch.setattr(onnx_graph.subprocess, "run", lambda *_, **__: (tried.append(1), failed)[1])
    graphs = GraphFolder(tmp_path / "graphs", tmp_path / "model")
    assert (graphs.made().best, graphs.made().files) == (TORCH, {})
    assert graphs.made().why == "no such model"
    assert tried == [1]
    assert graphs.made() == graphs.read()


def test_a_folder_that_cannot_be_written_means_torch(model, tmp_path):
    (tmp_path / "file").write_text("in the way")
    encoder = Encoder(model, graphs=tmp_path / "file")
    assert encoder.form == TORCH
    assert encoder.speed_words.startswith("computed by torch, since")
