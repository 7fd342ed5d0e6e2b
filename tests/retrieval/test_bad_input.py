"""Bad input of every retriever: a clear message or an empty list, and nothing lost."""

import threading

import numpy as np
import pytest

from pdfqa_core.errors import ModelError, PdfQAError, UsageError
from pdfqa_core.retrieval import (
    Dense,
    Encoder,
    Hybrid,
    Index,
    forget,
    make_retriever,
    retrievers,
)
from pdfqa_core.settings import RetrievalSettings
from tests.retrieval.fakes import FakeEncoder, LengthScorer, WordVectors, passages

TEXTS = ("The deductible is 500 dollars.", "Vaccines are covered in full.", "The office has a dress code.")


class Models:
    def token_encoder(self, path_or_name=""):
        return WordVectors()

    def reranker(self, path_or_name):
        return LengthScorer()


@pytest.fixture(params=[*retrievers.names(), "reranked", "evidence"])
def build(request):
    """Return a function that makes one of the retrievers, or one with everything on top, of an index."""
    options = {
        "reranked": {"retriever": "bm25", "reranker": "any"},
        "evidence": {"retriever": "hybrid", "per_page": 1, "merge_overlaps": True},
    }.get(request.param, {"retriever": request.param})
    return lambda index: make_retriever(index, RetrievalSettings(**options).model_dump(), Models())


@pytest.fixture(scope="module")
def index():
    return Index.in_memory(passages(*TEXTS), FakeEncoder())


def test_an_empty_index(build):
    assert build(Index.in_memory([], FakeEncoder())).search("anything", 5) == []


@pytest.mark.parametrize("question", ["", "  ", "?!"])
def test_a_question_without_words(build, index, question):
    assert build(index).search(question, 5) == []


def test_a_question_of_stop_words(build, index):
    assert len(build(index).search("what is the", 2)) in (1, 2)


def test_a_question_of_ten_thousand_words(build, index):
    hits = build(index).search("deductible vaccines " * 5000, 3)
    assert hits
    assert all(np.isfinite(hit.score) for hit in hits)


def test_more_hits_than_passages(build, index):
    hits = build(index).search("the deductible and the vaccines of the office", 10_000)
    assert 1 <= len(hits) <= len(TEXTS)
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))


@pytest.mark.parametrize(
    ("k", "pages", "words"), [(0, None, "k is 0"), (3, (5, 2), "no range"), (3, (0, 2), "no range")]
)
def test_what_cannot_be_meant(build, index, k, pages, words):
    with pytest.raises(UsageError, match=words):
        build(index).search("deductible", k, pages=pages)


def test_pages_that_are_not_there(build, index):
    assert build(index).search("deductible", 3, pages=(90, 99)) == []


def test_a_document_that_is_removed_while_it_is_searched(tmp_path):
    providers = {name: (lambda name=name: passages(*TEXTS, document_id=name)) for name in ("a", "b")}
    options = {"encoder": FakeEncoder(), "embeddings": True}
    index = Index.open_or_build(tmp_path, "recipe", providers, **options)
    errors, stop = [], threading.Event()

    def search():
        try:
            while not stop.is_set():
                assert len(Hybrid(index).search("deductible vaccines", 6)) == 6
        except Exception as error:  # noqa: BLE001 - asserted below, in the thread of the test
            errors.append(error)

    threads = [threading.Thread(target=search) for _ in range(2)]
    for thread in threads:
        thread.start()
    forget(tmp_path, "a")
    left = Index.open_or_build(tmp_path, "recipe", {"b": providers["b"]}, **options)
    stop.set()
    for thread in threads:
        thread.join()
    assert errors == []
    assert {hit.passage.document_id for hit in Hybrid(left).search("deductible vaccines", 6)} == {"b"}


def test_a_model_that_fails_leaves_the_index_as_it_was(tmp_path):
    def opened(encoder):
        providers = {"a": lambda: passages(*TEXTS, document_id="a")}
        return Index.open_or_build(tmp_path, "recipe", providers, encoder=encoder, embeddings=True)

    before = opened(FakeEncoder())
    with pytest.raises(PdfQAError):
        opened(Encoder(tmp_path / "missing"))
    encoder = FakeEncoder()
    assert np.array_equal(opened(encoder).embeddings, before.embeddings)
    assert encoder.encoded == []


def test_an_exchanged_model_is_told_and_not_compared():
    encoder = FakeEncoder()
    index = Index.in_memory(passages(*TEXTS), encoder)
    encoder.dimension = 32
    for name in ("dense", "hybrid", "rrf", "convex"):
        with pytest.raises(ModelError, match="vectors of 32 numbers, but those of the index have 64"):
            retrievers.get(name)(index).search("deductible", 3)
    assert Dense(Index.in_memory(passages(*TEXTS), encoder)).search("deductible", 1)
