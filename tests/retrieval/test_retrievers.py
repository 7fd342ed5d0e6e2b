import numpy as np
import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.retrieval import BM25, Dense, Hybrid, Index, ReciprocalRankFusion, index_text, retrievers
from pdfqa_core.types import Passage, Span
from tests.retrieval.fakes import FakeEncoder, passage, passages

TEXTS = (
    "Balance billing protection limits what out-of-network providers may charge.",
    "The deductible is the amount you pay before the plan pays.",
    "A copayment of 20 dollars is due at each visit.",
    "Preventive care such as vaccines is covered in full.",
    "Prescription drugs are listed in the formulary.",
    "Employees accrue vacation days every month.",
    "The handbook describes the dress code of the office.",
)
NAMES = ("bm25", "dense", "rrf", "hybrid", "convex")


@pytest.fixture(scope="module")
def index():
    return Index.in_memory(
        [*passages(*TEXTS[:5], document_id="a"), *passages(*TEXTS[5:], document_id="b")], FakeEncoder()
    )


@pytest.mark.parametrize("name", NAMES)
def test_hits_are_ranked_and_complete(index, name):
    hits = retrievers.get(name)(index).search("What is a deductible amount?", 3)
    assert hits[0].passage.text == TEXTS[1]
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert {hit.retriever for hit in hits} == {name}
    expected = {"bm25": {"bm25"}, "dense": {"dense"}}.get(name, {"bm25", "dense"})
    assert all(set(hit.parts) == expected for hit in hits)


@pytest.mark.parametrize("name", NAMES)
def test_the_search_can_be_limited_to_documents(index, name):
    retriever = retrievers.get(name)(index)
    assert {h.passage.document_id for h in retriever.search("the plan of the office", 9, frozenset({"b"}))} == {"b"}
    assert retriever.search("the plan", 9, frozenset()) == []
    assert retriever.search("the plan", 9, frozenset({"unknown"})) == []
    everything = retriever.search("the plan", 9)
    assert retriever.search("the plan", 9, frozenset({"a", "b"})) == everything


def test_equal_scores_keep_the_order_of_the_passages():
    index = Index.in_memory(passages(*["same words here"] * 6, *["nothing in common"] * 9), FakeEncoder())
    for name in NAMES:
        hits = retrievers.get(name)(index).search("same words here", 4)
        assert [hit.passage.pages[0] for hit in hits] == [1, 2, 3, 4]


def test_headings_are_indexed():
    index = Index.in_memory([passage("Five visits.", heading="Acupuncture"), passage("Six visits.", number=1)])
    assert BM25(index).search("acupuncture", 5)[0].passage.text == "Five visits."
    assert index_text(index.passages[0]) == "Acupuncture\nFive visits."
    assert index_text(index.passages[1]) == "Six visits."


def test_hybrid_is_the_clamped_product_and_unmatched_passages_come_last(index):
    hits = Hybrid(index).search("deductible and vaccines", 7)
    matched = [hit for hit in hits if hit.parts["bm25"] > 0]
    assert len(hits) == 7
    assert hits[: len(matched)] == matched
    for hit in matched:
        assert hit.score == pytest.approx(max(hit.parts["dense"], 0) * hit.parts["bm25"], abs=1e-9)
    rest = [hit.parts["dense"] for hit in hits[len(matched) :]]
    assert rest == sorted(rest, reverse=True)
    assert all(hit.score < 0 for hit in hits[len(matched) :])


def test_unclamped_hybrid_is_the_plain_product(index):
    for hit in Hybrid(index, clamp=False).search("deductible and vaccines", 7):
        assert hit.score == pytest.approx(hit.parts["dense"] * hit.parts["bm25"], abs=1e-9)


class TwoVectors(FakeEncoder):
    """Cosines as told: the question is (1, 0), a passage "cosine 0.3 …" stands at that angle."""

    def encode(self, texts, *, question=False, on_progress=None, stop=None):
        found = []
        for text in texts:
            cosine = 1.0 if question else float(text.split()[1])
            found.append((cosine, (1 - cosine**2) ** 0.5))
        return np.array(found, dtype=np.float32)


def test_hybrid_fills_in_exact_parts_for_the_union_and_clamps_negative_cosines():
    texts = ["cosine 0.9 x", "cosine 0.5 apple", "cosine -0.8 apple apple apple", "cosine 0.1 y", "cosine 0.2 z"]
    index = Index.in_memory(passages(*texts), TwoVectors())
    hits = Hybrid(index, candidates=2).search("apple", 3)
    assert [h.passage.text for h in hits] == [texts[1], texts[2], texts[0]]
    assert hits[1].score == 0
    assert hits[1].parts["dense"] == pytest.approx(-0.8)
    assert hits[1].parts["bm25"] > hits[0].parts["bm25"] > 0
    assert hits[2].parts["bm25"] == 0
    assert [h.passage.text for h in Hybrid(index).search("pear", 2)] == [texts[0], texts[1]]


class InnerProducts(TwoVectors):
    """Vectors of length 9, as an encoder has them that was made for inner products."""

    def encode(self, texts, **options):
        return 9 * super().encode(texts, **options)


def test_inner_products_above_1_leave_the_order_of_words_and_meaning():
    texts = ["cosine 0.9 x", "cosine 0.5 apple", "cosine -0.8 apple apple apple", "cosine 0.1 y"]
    cosines, products = (Index.in_memory(passages(*texts), kind()) for kind in (TwoVectors, InnerProducts))
    for name in ("dense", "hybrid", "rrf"):
        ranked = [
            [hit.passage.text for hit in retrievers.get(name)(one).search("apple", 4)] for one in (cosines, products)
        ]
        assert ranked[0] == ranked[1]
    assert all(0 <= hit.score <= 1 for hit in retrievers.get("convex")(products).search("apple", 4))


def test_hybrid_of_a_tiny_index_goes_by_similarity():
    # Every term is in most passages: rank-bm25's idf is not positive for any of them.
    index = Index.in_memory(passages("cosine 0.2 apple", "cosine 0.7 apple"), TwoVectors())
    assert [h.passage.pages for h in Hybrid(index).search("apple", 2)] == [(2,), (1,)]


def test_rrf_sums_reciprocal_ranks():
    texts = ["cosine 0.9 x", "cosine 0.5 apple", "cosine 0.3 apple apple apple", "cosine 0.1 y", "cosine 0.2 z"]
    index = Index.in_memory(passages(*texts), TwoVectors())
    hits = {h.passage.text: h.score for h in ReciprocalRankFusion(index, rrf_k=60).search("apple", 9)}
    assert hits[texts[0]] == pytest.approx(1 / 61)
    assert hits[texts[1]] == pytest.approx(1 / 62 + 1 / 62)
    assert hits[texts[2]] == pytest.approx(1 / 61 + 1 / 63)
    assert hits[texts[3]] == pytest.approx(1 / 65)


@pytest.mark.parametrize("name", ["dense", "rrf", "hybrid"])
def test_the_graph_finds_what_the_exact_search_finds(name):
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(50)]
    texts = [" ".join(rng.choice(words, 12)) for _ in range(300)]
    index = Index.in_memory(passages(*texts), FakeEncoder())
    exact, graph = retrievers.get(name)(index, exact_below=1000), retrievers.get(name)(index, exact_below=10)
    for question in texts[:5]:
        assert [h.passage.id for h in graph.search(question, 5)] == [h.passage.id for h in exact.search(question, 5)]
    limited = graph.search(texts[0], 5, frozenset({"doc"}))
    assert limited == graph.search(texts[0], 5)


@pytest.mark.parametrize("name", ["dense", "rrf", "hybrid"])
def test_without_embeddings_the_error_says_what_to_do(name):
    with pytest.raises(UsageError, match="bm25"):
        retrievers.get(name)(Index.in_memory(passages("text")))


@pytest.mark.parametrize(
    "make",
    [
        lambda index: BM25(index, k1=-1),
        lambda index: BM25(index, b=1.5),
        lambda index: Hybrid(index, candidates=0),
        lambda index: ReciprocalRankFusion(index, candidates=0),
        lambda index: ReciprocalRankFusion(index, rrf_k=-1),
    ],
)
def test_wrong_parameters_are_refused(index, make):
    with pytest.raises(UsageError):
        make(index)


def test_convex_weighs_normalised_scores(index):
    question = "vaccines and drugs of the plan"
    cosines = {h.passage.id: h.score for h in Dense(index).search(question, 9)}
    lexical = {h.passage.id: h.score for h in BM25(index).search(question, 9)}
    most, best = max(cosines.values()) + 1, max(lexical.values())
    hits = retrievers.get("convex")(index, weight=0.3).search(question, 9)
    assert len(hits) == len(TEXTS)
    for hit in hits:
        share = 0.3 * (cosines[hit.passage.id] + 1) / most + 0.7 * lexical.get(hit.passage.id, 0) / best
        assert hit.score == pytest.approx(share, abs=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_the_search_can_be_limited_to_pages(name):
    across = Passage("across", (Span("a", 2, 0, 9), Span("a", 3, 0, 9)), "the plan pays again")
    index = Index.in_memory([*passages(*["the plan pays"] * 5, document_id="a"), across], FakeEncoder())
    retriever = retrievers.get(name)(index)

    def pages(**options):
        return sorted(hit.passage.pages for hit in retriever.search("plan pays", 9, **options))

    assert pages(pages=(3, 4)) == [(2, 3), (3,), (4,)]
    assert pages(pages=(1, 1)) == [(1,)]
    assert pages(pages=(1, 99)) == pages()
    assert pages(pages=(3, 4), document_ids=frozenset({"b"})) == []
