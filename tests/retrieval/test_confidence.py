import pytest

from pdfqa_core.retrieval import BM25, Hybrid, Index, confidence
from pdfqa_core.types import Hit
from tests.retrieval.fakes import FakeEncoder, passage, passages


def hit(text, rank=1, heading="", **parts):
    return Hit(passage(text, heading=heading), 1.0, rank, "test", parts)


def test_it_weighs_the_best_cosine_and_the_covered_terms():
    hits = [hit("the deductible", dense=0.4), hit("vaccines", 2, dense=0.6)]
    assert confidence("Is the deductible large?", hits) == pytest.approx(0.4 * 0.6 + 0.6 * 0.5)


def test_headings_count_and_only_three_hits_cover():
    hits = [hit("a", heading="Deductible"), hit("b", 2), hit("c", 3), hit("large", 4)]
    assert confidence("deductible large", hits) == 0.5


def test_hits_without_cosines_are_judged_by_terms_alone():
    assert confidence("deductible large", [hit("the deductible", bm25=7.0)]) == 0.5


@pytest.mark.parametrize(("cosine", "expected"), [(-0.5, 0.6), (1.0000001, 1.0)])
def test_it_stays_between_0_and_1(cosine, expected):
    assert confidence("deductible", [hit("deductible", dense=cosine)]) == expected


def test_nothing_found_or_asked_is_no_confidence():
    assert confidence("deductible", []) == 0
    assert confidence("", [hit("deductible", dense=0.9)]) == 0
    assert confidence("?!", [hit("deductible", dense=0.9)]) == 0


def test_what_is_there_is_surer_than_what_is_not():
    index = Index.in_memory(passages("The deductible is 500 dollars.", "Vaccines are free.", "Cats."), FakeEncoder())
    for retriever in (BM25(index), Hybrid(index)):
        known, unknown = "How many dollars is the deductible?", "Who won the football match?"
        assert confidence(known, retriever.search(known, 3)) > confidence(unknown, retriever.search(unknown, 3))


def test_words_that_only_ask_need_not_stand_in_the_passages():
    assert confidence("How many flats are there?", [hit("84 flats")]) == 1.0
    assert confidence("How many?", [hit("84 flats")]) == 0.0
