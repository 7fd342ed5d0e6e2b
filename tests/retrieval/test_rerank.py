import numpy as np
import pytest

from pdfqa_core.errors import ModelError
from pdfqa_core.retrieval import BM25, CrossEncoderScorer, Index, Reranked
from tests.retrieval.fakes import passage
from tests.retrieval.tiny_models import CORPUS, bert

QUESTION = "is the vaccine covered by the plan ?"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return bert(tmp_path_factory.mktemp("cross-encoder"), labels=1)


@pytest.fixture(scope="module")
def scorer(folder):
    return CrossEncoderScorer(folder)


def test_hits_come_in_the_order_of_the_cross_encoder(folder, scorer):
    from sentence_transformers import CrossEncoder

    index = Index.in_memory(CORPUS)
    before = BM25(index, stop_words=False).search(QUESTION, 9)
    hits = Reranked(BM25(index, stop_words=False), scorer).search(QUESTION, 9)
    pairs = [(QUESTION, hit.passage.text) for hit in hits]
    own = CrossEncoder(str(folder), device="cpu", local_files_only=True).predict(pairs)
    assert np.allclose([hit.score for hit in hits], own, atol=1e-6)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert [hit.rank for hit in hits] == list(range(1, len(before) + 1))
    assert {hit.passage.id for hit in hits} == {hit.passage.id for hit in before}
    lexical = {hit.passage.id: hit.score for hit in before}
    assert all(hit.parts == {"bm25": lexical[hit.passage.id], "rerank": hit.score} for hit in hits)


def test_only_the_candidates_are_read_and_the_best_k_returned(scorer):
    index = Index.in_memory(CORPUS)
    inner = BM25(index, stop_words=False)
    first = {hit.passage.id for hit in inner.search(QUESTION, 3)}
    hits = Reranked(inner, scorer, candidates=3).search(QUESTION, 2)
    assert len(hits) == 2
    assert {hit.passage.id for hit in hits} <= first


def test_nothing_found_is_nothing_to_rerank(scorer):
    assert Reranked(BM25(Index.in_memory(CORPUS)), scorer).search("nowhere", 3) == []
    assert Reranked(BM25(Index.in_memory([])), scorer).search("plan", 3) == []


def test_long_questions_and_odd_characters_are_read(scorer):
    index = Index.in_memory([passage("plan \ud800 " * 500), passage("the plan", number=1)])
    hits = Reranked(BM25(index), scorer).search("plan \ud800 " * 200, 5)
    assert len(hits) == 2
    assert all(np.isfinite(hit.score) for hit in hits)


def test_a_model_that_is_nowhere_is_told(tmp_path):
    with pytest.raises(ModelError, match=r"no re-ranking model at .*leave reranker empty"):
        CrossEncoderScorer(tmp_path / "missing").scores("question", ["text"])


def test_a_model_with_pickled_weights_is_refused(tmp_path):
    (tmp_path / "pytorch_model.bin").write_bytes(b"x")
    with pytest.raises(ModelError, match="safetensors"):
        CrossEncoderScorer(tmp_path).scores("question", ["text"])


def test_a_model_that_makes_several_numbers_is_told(tmp_path):
    scorer = CrossEncoderScorer(bert(tmp_path, labels=3))
    with pytest.raises(ModelError, match="makes 3 numbers"):
        scorer.scores("question", ["text"])
