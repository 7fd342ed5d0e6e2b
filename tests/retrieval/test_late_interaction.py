import threading

import numpy as np
import pytest

from pdfqa_core.errors import ModelError, StoppedError, UsageError
from pdfqa_core.retrieval import BM25, Hybrid, Index, LateEncoder, LateInteraction, forget
from pdfqa_core.retrieval.token_store import BLOCK, PART, Part, TokenStore, _Comparison
from pdfqa_core.types import Query
from tests.retrieval.fakes import FakeEncoder, WordVectors, passage, passages
from tests.retrieval.tiny_models import CORPUS, bert, multi_vector_encoder, sentence_transformer

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


def test_a_checkpoint_is_named_plainly_and_a_dense_model_as_untrained(checkpoint, tmp_path):
    assert LateEncoder(checkpoint).name == "colbert"
    dense = LateEncoder(sentence_transformer(tmp_path))
    assert dense.name == "model (untrained for late interaction)"
    assert LateEncoder().name == "all-MiniLM-L6-v2 (untrained for late interaction)"
    assert dense.model_hash != LateEncoder(checkpoint).model_hash


def test_an_untrained_model_is_the_same_at_every_start(tmp_path):
    folder = sentence_transformer(tmp_path)
    one, other = (LateEncoder(folder).encode_tokens(["the plan", "a vaccine . is covered"]) for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    assert [len(vectors) for vectors in one] == [4, 6]  # with [CLS] and [SEP], without the full stop
    assert np.allclose(np.linalg.norm(np.concatenate(one), axis=1), 1, atol=1e-5)


def test_prompts_of_a_model_are_used(tmp_path):
    plain = LateEncoder(sentence_transformer(tmp_path / "plain"))
    prompted = LateEncoder(sentence_transformer(tmp_path / "p", prompts={"query": "Ask: ", "document": "Text: "}))
    for question in (True, False):
        (without,) = plain.encode_tokens(["the plan"], question=question)
        (with_prompt,) = prompted.encode_tokens(["the plan"], question=question)
        assert len(with_prompt) > len(without)


def test_a_plain_transformer_works_too(tmp_path):
    (tmp_path / "bert").mkdir()
    encoder = LateEncoder(bert(tmp_path / "bert"))
    assert "untrained" in encoder.name
    assert LateInteraction(Index.in_memory(CORPUS), encoder).search(QUESTION, 2)[0].rank == 1


def test_the_bundled_encoder_has_128_dimensions_and_the_same_at_every_start():
    one, other = (LateEncoder().encode_tokens(["Vaccines are covered."])[0] for _ in range(2))
    assert one.shape == (5, 128)
    assert np.array_equal(one, other)


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


def test_encoding_stops(checkpoint):
    stop = threading.Event()
    seen = []

    def report(progress):
        seen.append(progress.done)
        stop.set()

    with pytest.raises(StoppedError):
        LateEncoder(checkpoint).encode_tokens(["the plan"] * 20, on_progress=report, stop=stop)
    assert seen == [8]


# ------------------------------------------------------------------ scores and stages


def test_scores_are_maxsim_up_to_rounding():
    made, encoder = many(700), WordVectors()
    hits = LateInteraction(Index.in_memory(made), encoder).search("vaccine visit w3 plan", 700)
    exact = dict(
        zip([p.id for p in made], expected(encoder, "vaccine visit w3 plan", [p.text for p in made]), strict=True)
    )
    assert len(hits) == 700
    assert max(abs(hit.score - exact[hit.passage.id]) for hit in hits) < 0.02


def test_the_texts_of_a_query_count_with_their_weights():
    made, encoder = many(50), WordVectors()
    query = Query("why", dense=(("vaccine", 1.0), ("office plan", 0.25)))
    texts = [p.text for p in made]
    both = zip(expected(encoder, "vaccine", texts), expected(encoder, "office plan", texts), strict=True)
    exact = {p.id: first + 0.25 * second for p, (first, second) in zip(made, both, strict=True)}
    hits = LateInteraction(Index.in_memory(made), encoder).search(query, 50)
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
    index = Index.in_memory([*many(300, "a"), *many(20, "b")])
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


def test_without_an_encoder_it_is_refused():
    with pytest.raises(UsageError, match="encoder of tokens"):
        LateInteraction(Index.in_memory([]))


def test_an_encoder_of_another_dimension_is_told():
    encoder = WordVectors()
    retriever = LateInteraction(Index.in_memory(many(5)), encoder)
    retriever.prepare()
    encoder.dimension = 12
    with pytest.raises(ModelError, match="do not fit"):
        retriever.search("plan", 3)


def test_passages_without_tokens_are_no_obstacle():
    index = Index.in_memory([passage("plan"), passage(" ", number=1), passage("copay", number=2)])
    hits = LateInteraction(index, WordVectors()).search("copay", 3)
    assert hits[0].passage.text == "copay"
    assert LateInteraction(Index.in_memory([]), WordVectors()).search("copay", 3) == []


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
@pytest.mark.parametrize("content", [b"", b"\x00" * 300, b"{}"])
def test_damaged_files_are_made_again(tmp_path, pattern, content):
    made = {"a": many(6, "a")}
    index, good = stored(tmp_path, WordVectors(), made)
    (asked,) = WordVectors().encode_tokens(["plan"], question=True)
    before = good.maxsim(asked)
    for file in index.folder.glob(f"tokens-*/{pattern}"):
        file.unlink()
        file.write_bytes(content)
    encoder = WordVectors()
    assert np.array_equal(stored(tmp_path, encoder, made)[1].maxsim(asked), before)
    assert len(encoder.encoded) == 6


def test_blocks_cover_every_passage_once():
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, BLOCK // 3, 40)
    starts = np.concatenate(([0], np.cumsum(lengths)))
    part = Part(np.arange(40), np.zeros((int(starts[-1]), 1), np.int8), starts, np.ones(40, np.float32))
    blocks = list(part.blocks())
    assert [place for first, last in blocks for place in range(first, last)] == list(range(40))
    assert all(last == first + 1 or starts[last] - starts[first] <= BLOCK for first, last in blocks)
