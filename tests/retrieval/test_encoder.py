import threading

import numpy as np
import pytest

from pdfqa_core.errors import ModelError, StoppedError
from pdfqa_core.retrieval import Encoder
from tests.retrieval.tiny_models import sentence_transformer


@pytest.fixture(scope="module")
def encoder():
    return Encoder()


def test_vectors_have_length_one_and_keep_the_order(encoder):
    texts = ["short", "a much longer sentence about balance billing and deductibles " * 8, "", "cats", "kittens"]
    vectors = encoder.encode(texts * 3)
    assert vectors.shape == (15, encoder.dimension)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert np.allclose(vectors[:5], vectors[5:10], atol=1e-5)
    assert vectors[3] @ vectors[4] > 0.6 > vectors[1] @ vectors[4]
    assert np.allclose(encoder.encode(["cats"], question=True)[0], vectors[3], atol=1e-5)


def test_text_that_utf8_cannot_say_is_encoded(encoder):
    assert encoder.encode(["lone \ud800 surrogate"]).shape == (1, 384)
    assert encoder.token_spans("a \ud800 b")[0] == (0, 1)


def test_the_prompts_of_a_model_are_used(tmp_path):
    plain = Encoder(sentence_transformer(tmp_path / "plain"))
    prompts = {"query": "Ask: ", "document": "Text: "}
    prompted = Encoder(sentence_transformer(tmp_path / "prompted", prompts=prompts))
    for question, prompt in ((True, "Ask: "), (False, "Text: ")):
        expected = plain.encode([f"{prompt}the plan"], question=question)
        assert np.allclose(prompted.encode(["the plan"], question=question), expected, atol=1e-5)
        assert not np.allclose(plain.encode(["the plan"], question=question), expected, atol=1e-3)
    assert prompted.model_hash != plain.model_hash


def test_encoding_reports_and_stops(encoder):
    stop, seen = threading.Event(), []

    def report(progress):
        seen.append((progress.done, progress.total))
        stop.set()

    with pytest.raises(StoppedError):
        encoder.encode(["text"] * 20, on_progress=report, stop=stop)
    assert seen == [(8, 20)]


def test_token_spans_point_into_the_text_and_cover_it(encoder):
    text = "Balance-billing protection:\n\n naïve 漢字 " + "word " * 600
    spans = encoder.token_spans(text)
    covered = {place for start, end in spans for place in range(start, end)}
    assert all(text[place].isspace() for place in set(range(len(text))) - covered)
    assert spans == sorted(spans)
    assert len(spans) > 600
    assert text[slice(*spans[0])] == "Balance"
    assert encoder.token_spans("") == []


def test_the_hash_follows_the_weights(tmp_path):
    for file in ("config.json", "model.safetensors"):
        (tmp_path / file).write_text("{}")
    before = Encoder(tmp_path).model_hash
    assert Encoder(tmp_path).model_hash == before
    (tmp_path / "model.safetensors").write_text("{1}")
    assert Encoder(tmp_path).model_hash != before
    assert Encoder(tmp_path).name == tmp_path.name


def test_pickled_weights_are_refused(tmp_path):
    (tmp_path / "pytorch_model.bin").write_bytes(b"x")
    with pytest.raises(ModelError, match="safetensors"):
        Encoder(tmp_path).encode(["text"])


def test_a_folder_without_weights_is_refused(tmp_path):
    with pytest.raises(ModelError, match="safetensors"):
        _ = Encoder(tmp_path).model_hash


def test_a_broken_model_is_reported(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"not weights")
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ModelError):
        Encoder(tmp_path).encode(["text"])
    with pytest.raises(ModelError, match="tokenizer"):
        Encoder(tmp_path).token_spans("text")


def test_a_name_that_is_nowhere_is_reported(tmp_path):
    with pytest.raises(ModelError, match="no embedding model"):
        Encoder(tmp_path / "missing").encode(["text"])
