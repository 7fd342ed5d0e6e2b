"""A pair of encoders: questions by one, passages by the other, compared in one space; taken by "A + B"."""

from __future__ import annotations

import numpy as np
import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.models import Encoders
from pdfqa_core.retrieval import Encoder, onnx_graph
from pdfqa_core.retrieval.encoder import PairedEncoder, parts_of
from tests.retrieval.tiny_models import sentence_transformer

pytest.importorskip("sentence_transformers")
ASKED = ["the deductible of the plan"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return [sentence_transformer(tmp_path_factory.mktemp("pair"), seed=seed) for seed in (1, 2)]


def test_each_side_is_encoded_by_its_own_model(folders, tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_graph, "made_with", lambda: "")  # torch computes: graphs have tests of their own
    encoders = Encoders.with_graphs(tmp_path / "graphs")
    pair = encoders.encoder(f"{folders[0]} + {folders[1]}", "exact")
    questions, passages = (Encoder(folder) for folder in folders)
    assert np.allclose(pair.encode(ASKED, question=True), questions.encode(ASKED, question=True), atol=1e-4)
    assert np.allclose(pair.encode(ASKED), passages.encode(ASKED), atol=1e-4)
    assert not np.allclose(pair.encode(ASKED), pair.encode(ASKED, question=True), atol=1e-2)
    assert pair.name == "model + model"
    assert pair.token_spans("the plan") == passages.token_spans("the plan")
    turned = PairedEncoder(passages, questions)
    assert len({pair.model_hash, turned.model_hash, passages.model_hash, questions.model_hash}) == 4


def test_one_name_is_one_encoder_and_three_are_too_many():
    assert parts_of("sentence-transformers/all-MiniLM-L6-v2") == ("sentence-transformers/all-MiniLM-L6-v2",)
    assert parts_of("") == ("",)
    assert parts_of("a/b + c d") == ("a/b", "c d")
    for wrong in ("a + b + c", "a + ", " + b"):
        with pytest.raises(UsageError, match="QUESTIONS"):
            parts_of(wrong)
