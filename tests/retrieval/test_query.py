"""Questions whose parts have weights, through every retriever."""

import numpy as np
import pytest

from pdfqa_core.retrieval import Index, retrievers
from pdfqa_core.retrieval.bm25 import Analyser
from pdfqa_core.types import Query
from tests.retrieval.fakes import FakeEncoder, passages

TEXTS = (
    "The deductible of the Standard plan is 2,000 dollars.",
    "The deductible of the Plus plan is 500 dollars.",
    "Families pay twice as much for dental care.",
    "Owls hunt at night.",
    "The dress code is casual.",
)
NAMES = ("bm25", "dense", "hybrid", "rrf", "convex")
FOLLOW_UP = "How much for families?"


@pytest.fixture(scope="module")
def index():
    return Index.in_memory(passages(*TEXTS), FakeEncoder())


@pytest.mark.parametrize("name", NAMES)
def test_a_question_and_a_query_without_weights_are_the_same(index, name):
    retriever = retrievers.get(name)(index)
    for question in ("deductible of the Plus plan", FOLLOW_UP, "of the"):
        plain = retriever.search(question, 5)
        assert retriever.search(Query(question), 5) == plain
        weighed = Query(question, ((question, 1.0),), ((question, 1.0),))
        assert retriever.search(weighed, 5) == plain


@pytest.mark.parametrize("name", NAMES)
def test_what_stands_beside_a_question_counts_by_its_weight(index, name):
    retriever = retrievers.get(name)(index)

    def first(weight):
        beside = ("deductible Standard plan", weight)
        query = Query(FOLLOW_UP, ((FOLLOW_UP, 1.0), beside), ((FOLLOW_UP, 1.0), beside))
        return retriever.search(query, 5)[0].passage.text

    assert first(0.01) == TEXTS[2]
    assert first(20.0) == TEXTS[0]


def test_a_question_of_stop_words_alone_is_searched_by_what_stands_beside_it():
    assert Analyser().query_terms(Query("And them?")) == {"and": 1.0, "them": 1.0}
    assert Analyser().query_terms(Query("x", (("And them?", 1.0), ("plan", 0.3)))) == {"plan": 0.3}


def test_bm25_scores_are_the_weighted_sum(index):
    retriever = retrievers.get("bm25")(index)

    def scores(question):
        return {hit.passage.id: hit.score for hit in retriever.search(question, 5)}

    plan, owls = scores("plan"), scores("owls")
    both = scores(Query("x", (("plan", 1.0), ("owls", 0.5))))
    expected = {key: plan.get(key, 0) + 0.5 * owls.get(key, 0) for key in plan | owls}
    assert both == pytest.approx(expected)


def test_the_dense_score_is_the_cosine_with_the_weighted_mean(index):
    texts = ((FOLLOW_UP, 1.0), ("Owls hunt.", 0.5))
    vectors = FakeEncoder().encode([text for text, _ in texts])
    mean = vectors[0] + 0.5 * vectors[1]
    hits = retrievers.get("dense")(index).search(Query(FOLLOW_UP, dense=texts), 5)
    found = {hit.passage.text: hit.score for hit in hits}
    cosines = FakeEncoder().encode(TEXTS) @ mean / np.linalg.norm(mean)
    assert found == pytest.approx(dict(zip(TEXTS, cosines.tolist(), strict=True)), abs=1e-6)
