import os

import numpy as np
import pytest

from pdfqa_core.errors import ModelError
from pdfqa_core.retrieval import Index, forget
from pdfqa_core.retrieval.embedding_cache import Embedding, EmbeddingCache, text_key
from tests.retrieval.fakes import FakeEncoder, passages
from tests.retrieval.test_index import damage_bit

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
