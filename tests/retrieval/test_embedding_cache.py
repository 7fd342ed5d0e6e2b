import os

import numpy as np
import pytest

from pdfqa_core.errors import ModelError, StoppedError
from pdfqa_core.retrieval import Index, forget
from pdfqa_core.retrieval.embedding_cache import Embedding, EmbeddingCache, text_key
from tests.retrieval.fakes import FakeEncoder, passages

SENTENCES = [f"Sentence {number} of the report is about heat." for number in range(30)]


def windows(size):
    return [" ".join(SENTENCES[first : first + size]) for first in range(0, len(SENTENCES), size)]


def build(root, encoder, *texts, recipe="one", **options):
    made = passages(*texts, document_id="doc")
    return Index.open_or_build(root, recipe, {"doc": lambda: made}, encoder=encoder, embeddings=True, **options)


def test_another_chunker_encodes_only_new_texts(tmp_path):
    encoder = FakeEncoder()
    build(tmp_path, encoder, *windows(1), *windows(5))
    assert len(encoder.encoded) == 36
    encoder.encoded.clear()
    again = build(tmp_path, encoder, *windows(5), *windows(10), recipe="other")
    assert sorted(encoder.encoded) == sorted(windows(10))
    assert np.array_equal(again.embeddings, FakeEncoder().encode([p.text for p in again.passages]))
    encoder.encoded.clear()
    build(tmp_path, encoder, *windows(10), *windows(1), recipe="third")
    assert encoder.encoded == []


def test_the_heading_is_part_of_the_text(tmp_path):
    encoder = FakeEncoder()
    build(tmp_path, encoder, "Heat.")
    made = [type(p)(p.id, p.spans, p.text, "Title") for p in passages("Heat.")]
    Index.open_or_build(tmp_path, "other", {"doc": lambda: made}, encoder=encoder, embeddings=True)
    assert encoder.encoded == ["Heat.", "Title\nHeat."]


def test_models_are_kept_apart(tmp_path):
    build(tmp_path, FakeEncoder(), *SENTENCES)
    other = FakeEncoder(dimension=16, model_hash="other")
    assert build(tmp_path, other, *SENTENCES, recipe="two").embeddings.shape == (30, 16)
    assert len(other.encoded) == 30


def test_equal_texts_are_encoded_once_and_the_longest_first(tmp_path):
    encoder = FakeEncoder()
    index = build(tmp_path, encoder, "short", "a rather long text", "short", "middle text")
    assert encoder.encoded == ["a rather long text", "middle text", "short"]
    assert np.array_equal(index.embeddings[0], index.embeddings[2])


def test_progress_counts_what_was_known_as_done(tmp_path):
    seen = []
    build(tmp_path, FakeEncoder(), *SENTENCES[:20])
    build(tmp_path, FakeEncoder(), *SENTENCES, recipe="two", on_progress=seen.append)
    embedding = [(p.done, p.total) for p in seen if p.phase == "Embedding passages"]
    assert embedding == [(done, 30) for done in range(21, 31)]


def test_an_encoder_that_fails_loses_nothing_that_was_encoded(tmp_path):
    class Failing(FakeEncoder):
        def encode(self, texts, **options):
            if len(self.encoded) >= 16:
                raise ModelError("Out of memory.")
            return super().encode(texts, **options)

    with pytest.raises(ModelError, match="memory"):
        build(tmp_path, Failing(), *SENTENCES)
    encoder = FakeEncoder()
    build(tmp_path, encoder, *SENTENCES)
    assert len(encoder.encoded) == 14


def damage_bit(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.write_bytes(bytes(content))


@pytest.mark.parametrize(
    "damage",
    [
        damage_bit,
        lambda file: file.write_bytes(b""),
        lambda file: file.write_bytes(b"\x80\x04cos\nsystem\n(S'true'\ntR."),
        lambda file: file.rename(file.with_name(file.name.replace(".", ".0", 1))),
    ],
)
def test_damaged_vectors_are_made_again(tmp_path, damage):
    good = build(tmp_path, FakeEncoder(), *SENTENCES)
    (file,) = tmp_path.glob("embeddings-*/*")
    damage(file)
    encoder = FakeEncoder()
    assert np.array_equal(build(tmp_path, encoder, *SENTENCES, recipe="two").embeddings, good.embeddings)
    assert len(encoder.encoded) == 30


def test_vectors_of_another_dimension_under_the_same_name_are_made_again(tmp_path):
    build(tmp_path, FakeEncoder(dimension=32), *SENTENCES[:20])
    encoder = FakeEncoder(dimension=64)
    index = build(tmp_path, encoder, *SENTENCES, recipe="two")
    assert index.embeddings.shape == (30, 64)
    assert set(encoder.encoded) == set(SENTENCES)


def test_the_files_of_a_document_become_one(tmp_path):
    cache = EmbeddingCache(tmp_path, "model")
    for number in range(5):
        cache.add("doc", {text_key(str(number)): np.full(3, number, dtype=np.float32)})
    assert len(list(cache.folder.iterdir())) == 1
    assert {key: vector[0] for key, vector in cache.load("doc").items()} == {text_key(str(n)): n for n in range(5)}
    assert cache.load("other") == {}


def test_a_removed_document_leaves_no_vectors(tmp_path):
    build(tmp_path, FakeEncoder(), *SENTENCES)
    EmbeddingCache(tmp_path, "fake").add("kept", {text_key("x"): np.zeros(64, dtype=np.float32)})
    forget(tmp_path, "doc")
    assert EmbeddingCache(tmp_path, "fake").load("doc") == {}
    assert len(list(tmp_path.glob("embeddings-*/*"))) == 1


def test_above_the_limit_what_was_used_longest_ago_goes(tmp_path):
    cache = EmbeddingCache(tmp_path, "model", limit=10_000)
    for number, name in enumerate(("old", "used", "new")):
        cache.add(name, {text_key(name): np.full(1000, number, dtype=np.float32)})
    for file in cache.folder.iterdir():
        os.utime(file, (0, 0))
    cache.touch("used")
    cache.touch("new")
    cache.trim()
    assert [bool(cache.load(name)) for name in ("old", "used", "new")] == [False, True, True]


def test_a_folder_that_cannot_be_written_costs_only_the_keeping(tmp_path):
    (tmp_path / "root").write_text("a file")
    found = list(Embedding(FakeEncoder(), EmbeddingCache(tmp_path / "root", "m")).run({"doc": SENTENCES, "none": []}))
    assert [(name, vectors.shape) for name, vectors, _ in found] == [("doc", (30, 64)), ("none", (0, 0))]


def test_a_stop_before_the_first_batch_is_noticed(tmp_path):
    class Stopped:
        def is_set(self):
            return True

    with pytest.raises(StoppedError):
        build(tmp_path, FakeEncoder(), *SENTENCES, stop=Stopped())
