import numpy as np
import pytest

from pdfqa_core.errors import ModelError, StoppedError
from pdfqa_core.retrieval import BM25, Hybrid, Index, LateEncoder, LateInteraction, forget
from pdfqa_core.retrieval.late_interaction import PART, Part, TokenStore, _Comparison
from tests.retrieval.fakes import FakeEncoder, WordVectors, passages
from tests.retrieval.tiny_models import CORPUS, multi_vector_encoder, sentence_transformer

QUESTION = "is the vaccine covered ?"


def expected(encoder, question, texts):
    (asked,) = encoder.encode_tokens([question], question=True)
    return [float((asked @ vectors.T).max(axis=1).sum()) for vectors in encoder.encode_tokens(texts)]


def many(count, document_id="doc"):
    words = ["plan", "copay", "office", "vaccine", "visit", "month", "dress", "code"]
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(words, size=int(rng.integers(1, 30)))) + f" w{n}" for n in range(count)]
    return passages(*texts, document_id=document_id)


# ------------------------------------------------------------------ real models


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return multi_vector_encoder(tmp_path_factory.mktemp("colbert"))


def test_a_checkpoint_scores_as_its_own_similarity(checkpoint):
    from sentence_transformers import MultiVectorEncoder

    model = MultiVectorEncoder(str(checkpoint), device="cpu", local_files_only=True)
    texts = [p.text for p in CORPUS]
    exact = model.similarity(model.encode_query([QUESTION]), model.encode_document(texts))[0].numpy()
    hits = LateInteraction(Index.in_memory(CORPUS), LateEncoder(checkpoint)).search(QUESTION, 5)
    found = {hit.passage.text: hit.score for hit in hits}
    assert np.allclose([found[text] for text in texts], exact, atol=0.05)
    assert [h.parts["late_interaction"] for h in hits] == [h.score for h in hits] == sorted(found.values())[::-1]


def test_an_untrained_model_is_the_same_at_every_start(tmp_path):
    folder = sentence_transformer(tmp_path)
    one, other = (LateEncoder(folder).encode_tokens(["the plan", "a vaccine . is covered"]) for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    assert [len(vectors) for vectors in one] == [4, 6]  # with [CLS] and [SEP], without the full stop
    assert np.allclose(np.linalg.norm(np.concatenate(one), axis=1), 1, atol=1e-5)


def test_the_bundled_encoder_tells_topics_apart():
    texts = ["Vaccines are covered in full.", "The dress code of the office.", "Parking is free on Sundays."]
    hits = LateInteraction(Index.in_memory(passages(*texts)), LateEncoder()).search("Which immunisations are paid?", 3)
    assert hits[0].passage.text == texts[0]


def test_a_model_that_is_nowhere_or_broken_is_told(tmp_path):
    with pytest.raises(ModelError, match="no late interaction model at"):
        LateEncoder(tmp_path / "missing").encode_tokens(["text"])
    (tmp_path / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(ModelError, match="does not load"):
        LateEncoder(tmp_path).encode_tokens(["text"])


# ------------------------------------------------------------------ scores and stages


def test_scores_are_maxsim_up_to_rounding():
    made, encoder = many(150), WordVectors()
    hits = LateInteraction(Index.in_memory(made), encoder).search("vaccine visit w3 plan", 150)
    exact = dict(
        zip([p.id for p in made], expected(encoder, "vaccine visit w3 plan", [p.text for p in made]), strict=True)
    )
    assert len(hits) == 150
    assert max(abs(hit.score - exact[hit.passage.id]) for hit in hits) < 0.02


@pytest.mark.parametrize("in_bytes", [True, False])
def test_both_ways_to_multiply_agree(in_bytes):
    rng = np.random.default_rng(0)
    encoded = [rng.normal(size=(length, 32)).astype(np.float32) for length in (1, 7, 30)]
    part = Part.of(np.arange(3), encoded)
    question = rng.normal(size=(5, 32)).astype(np.float32)
    comparison = _Comparison(question, in_bytes=in_bytes)
    found = comparison.maxima(part.tokens, part.starts[:-1]) * part.scales
    exact = [(question @ vectors.T).max(axis=1).sum() for vectors in encoded]
    assert np.allclose(found, exact, rtol=0.02)


def test_the_document_and_page_filters_give_the_same_scores():
    index = Index.in_memory([*many(100, "a"), *many(20, "b")])
    retriever = LateInteraction(index, WordVectors())
    everything = {hit.passage.id: hit.score for hit in retriever.search("plan copay", 400)}
    for options in (
        {"document_ids": frozenset("b")},
        {"pages": (3, 9)},
        {"document_ids": frozenset("a"), "pages": (1, 1)},
    ):
        hits = retriever.search("plan copay", 400, **options)
        assert hits
        assert all(hit.score == pytest.approx(everything[hit.passage.id], abs=1e-5) for hit in hits)


def test_as_a_second_stage_it_orders_the_candidates_of_the_first():
    index = Index.in_memory(many(60), FakeEncoder())
    encoder, question = WordVectors(), "w7 vaccine"
    first = [hit.passage.id for hit in Hybrid(index).search(question, 10)]
    hits = LateInteraction(index, encoder, Hybrid(index), candidates=10).search(question, 10)
    assert {hit.passage.id for hit in hits} == set(first)
    exact = expected(encoder, question, [hit.passage.text for hit in hits])
    assert exact == sorted(exact, reverse=True)
    assert all(set(hit.parts) == {"bm25", "dense", "late_interaction"} for hit in hits)
    assert LateInteraction(index, encoder, BM25(index)).search("nowhere", 5) == []


# ------------------------------------------------------------------ on disk


def stored(root, encoder, documents, **options):
    providers = {document_id: (lambda made=made: made) for document_id, made in documents.items()}
    index = Index.open_or_build(root, "recipe", providers)
    return index, TokenStore.open_or_build(index, encoder, **options)


def test_what_is_stored_is_mapped_and_not_encoded_again(tmp_path):
    documents = {"a": many(PART + 5, "a"), "b": many(3, "b")}
    index, store = stored(tmp_path, WordVectors(), documents)
    encoder = WordVectors()
    index, again = stored(tmp_path, encoder, documents)
    assert encoder.encoded == []
    assert all(isinstance(part.tokens, np.memmap) and part.tokens.dtype == np.int8 for part in again.parts)
    (asked,) = encoder.encode_tokens(["plan copay"], question=True)
    assert np.array_equal(store.maxsim(asked), again.maxsim(asked))
    assert {file.suffix for file in index.folder.glob("tokens-*/*")} == {".npy", ".json"}
    assert index.stats.bytes > sum(part.tokens.nbytes for part in again.parts)


def test_added_and_removed_documents_touch_only_their_own(tmp_path):
    stored(tmp_path, WordVectors(), {"a": many(4, "a"), "b": many(3, "b")})
    encoder = WordVectors()
    index, store = stored(tmp_path, encoder, {"c": many(2, "c"), "b": many(3, "b")})
    assert len(encoder.encoded) == 2
    assert len(list(index.folder.glob("tokens-*/*"))) == 4
    assert [len(part.rows) for part in store.parts] == [2, 3]
    forget(tmp_path, "b")
    assert len(list(index.folder.glob("tokens-*/*"))) == 2


def test_a_stopped_encoding_keeps_the_finished_parts(tmp_path):
    made = many(2 * PART, "a")

    class StopAfter(WordVectors):
        def is_set(self):
            return len(self.encoded) > PART + 10

    stopping = StopAfter()
    with pytest.raises(StoppedError):
        stored(tmp_path, stopping, {"a": made}, stop=stopping)
    encoder = WordVectors()
    stored(tmp_path, encoder, {"a": made})
    assert encoder.encoded == [p.text for p in made[PART:]]


@pytest.mark.parametrize("pattern", ["*.npy", "*.json"])
def test_damaged_files_are_made_again(tmp_path, pattern):
    made = {"a": many(6, "a")}
    index, good = stored(tmp_path, WordVectors(), made)
    (asked,) = WordVectors().encode_tokens(["plan"], question=True)
    before = good.maxsim(asked)
    for file in index.folder.glob(f"tokens-*/{pattern}"):
        file.unlink()
        file.write_bytes(b"{}")
    encoder = WordVectors()
    assert np.array_equal(stored(tmp_path, encoder, made)[1].maxsim(asked), before)
    assert len(encoder.encoded) == 6
