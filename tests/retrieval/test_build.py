import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.retrieval import Index, make_retriever, needs_embeddings
from pdfqa_core.settings import RetrievalSettings
from tests.retrieval.fakes import FakeEncoder, LengthScorer, WordVectors
from tests.retrieval.tiny_models import CORPUS


class Models:
    def __init__(self):
        self.asked = []

    def token_encoder(self, path_or_name=""):
        self.asked.append(("token_encoder", path_or_name))
        return WordVectors()

    def reranker(self, path_or_name):
        self.asked.append(("reranker", path_or_name))
        return LengthScorer()


@pytest.fixture(scope="module")
def index():
    return Index.in_memory(CORPUS, FakeEncoder())


def parameters(**changes):
    return RetrievalSettings(**{"merge_overlaps": False, **changes}).model_dump()


def test_parameters_reach_the_retriever(index):
    made = make_retriever(index, parameters(retriever="rrf", k1=1.1, stemming=True, rrf_k=9, candidates=7), Models())
    assert (made.k1, made.stemming, made.rrf_k, made.candidates) == (1.1, True, 9, 7)


def test_models_are_asked_for_only_where_they_are_used(index):
    models = Models()
    make_retriever(index, parameters(retriever="hybrid"), models)
    assert models.asked == []
    make_retriever(index, parameters(retriever="late_interaction", late_model="colbert", reranker="cross"), models)
    assert models.asked == [("token_encoder", "colbert"), ("reranker", "cross")]


def test_a_reranker_orders_what_was_found(index):
    made = make_retriever(index, parameters(retriever="bm25", reranker="x", rerank_candidates=3), Models())
    hits = made.search("plan vaccine office", 5)
    assert [len(hit.passage.text) for hit in hits] == sorted(len(hit.passage.text) for hit in hits)


def test_a_first_stage_narrows_late_interaction(index):
    settings = parameters(retriever="late_interaction", first_stage="bm25", candidates=2)
    hits = make_retriever(index, settings, Models()).search("vaccine dress copay balance", 9)
    assert len(hits) == 4
    assert {"bm25", "late_interaction"} == set(hits[0].parts)
    with pytest.raises(UsageError, match="cannot be the first stage"):
        make_retriever(index, {**settings, "first_stage": "late_interaction"}, Models())


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"retriever": "bm25"}, False),
        ({"retriever": "convex"}, True),
        ({"retriever": "late_interaction"}, False),
        ({"retriever": "late_interaction", "first_stage": "bm25"}, False),
        ({"retriever": "late_interaction", "first_stage": "hybrid"}, True),
        ({"retriever": "bm25", "first_stage": "hybrid"}, False),
    ],
)
def test_embeddings_are_needed_where_a_stage_compares_them(changes, expected):
    assert needs_embeddings(parameters(**changes)) is expected
