import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from pdfqa_core.retrieval.bm25 import LUCENE, Analyser, Postings, TermCounts, Weighted, top
from pdfqa_core.retrieval.index import Index
from pdfqa_core.retrieval.strategies import BM25
from tests.retrieval.fakes import passages

TOKENS = st.lists(st.sampled_from("abcdefgh"), max_size=12)
CORPUS = st.lists(TOKENS, min_size=1, max_size=12)


@settings(max_examples=40, deadline=None)
@given(CORPUS, TOKENS, st.floats(0.01, 3), st.floats(0, 1))
def test_scores_are_those_of_rank_bm25(corpus, question, k1, b):
    assume(any(corpus))
    postings = Postings.merged([TermCounts.of(corpus)])
    scores, matched = Weighted(postings, postings.weights(k1, b)).scores(question)
    with np.errstate(invalid="ignore", divide="ignore"):
        expected = BM25Okapi(corpus, k1=k1, b=b).get_scores(question)
    # With b = 1, rank-bm25 divides 0 by 0 for an empty passage; ours scores 0.
    assert np.allclose(scores, np.nan_to_num(expected), atol=1e-6)
    assert matched.tolist() == [bool(set(tokens) & set(question)) for tokens in corpus]


@settings(max_examples=40, deadline=None)
@given(CORPUS, TOKENS, st.floats(0.01, 3), st.floats(0, 0.9))
def test_with_lucenes_idf_a_word_is_never_in_the_way(corpus, question, k1, b):
    postings = Postings.merged([TermCounts.of(corpus)])
    scores, matched = Weighted(postings, postings.weights(k1, b, LUCENE)).scores(question)
    average = max(sum(map(len, corpus)) / len(corpus), 1e-12)
    for tokens, score, found in zip(corpus, scores, matched, strict=True):
        expected = 0.0
        for term in question:
            frequency, times = sum(term in one for one in corpus), tokens.count(term)
            idf = math.log(1 + (len(corpus) - frequency + 0.5) / (frequency + 0.5))
            expected += idf * times * (k1 + 1) / (times + k1 * (1 - b + b * len(tokens) / average))
        assert score == pytest.approx(expected, abs=1e-9)
        assert found == (score > 0)


@pytest.mark.parametrize(
    ("texts", "question"),
    [
        (
            ["The turbine of the mill is old.", "Turbine maintenance: turbine after turbine, in May."],
            "turbine maintenance",
        ),
        (["A cable.", "A winch.", "Cable and winch.", "Nothing of it."], "cable winch"),
    ],
)
def test_in_few_passages_the_one_with_most_words_of_the_question_is_first(texts, question):
    index = Index.in_memory(passages(*texts))
    best = max(texts, key=lambda text: sum(word in text.lower() for word in question.split()))
    assert BM25(index).search(question, 4)[0].passage.text == best
    assert BM25(index, idf="okapi").search(question, 4)[0].passage.text != best


@settings(max_examples=40, deadline=None)
@given(CORPUS, TOKENS, st.integers(0, 12))
def test_segments_score_as_one_corpus(corpus, question, cut):
    whole = Postings.merged([TermCounts.of(corpus)])
    parts = Postings.merged([TermCounts.of(corpus[:cut]), TermCounts.of([]), TermCounts.of(corpus[cut:])])
    expected, _ = Weighted(whole, whole.weights(1.5, 0.75)).scores(question)
    found, _ = Weighted(parts, parts.weights(1.5, 0.75)).scores(question)
    assert np.allclose(found, expected, atol=1e-12)


WORDS = ("plans", "planned", "planning", "plan", "cover", "covers", "coverage", "über", "the", "42", "\ud800")


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=9), min_size=1, max_size=9), st.sampled_from(WORDS))
def test_joined_stems_score_as_if_each_word_had_been_stemmed(corpus, word):
    analyser = Analyser("english", stemming=True)
    stemmed = [analyser.stems(tokens) for tokens in corpus]
    assume(any(corpus))
    words = Postings.merged([TermCounts.of(corpus)])
    joined = words.joined(analyser.stems(tuple(words.vocabulary)))
    found, matched = Weighted(joined, joined.weights(1.5, 0.75)).scores(analyser.stems([word]))
    with np.errstate(invalid="ignore", divide="ignore"):
        expected = BM25Okapi(stemmed).get_scores(analyser.stems([word]))
    assert np.allclose(found, np.nan_to_num(expected), atol=1e-6)
    assert matched.tolist() == [analyser.stems([word])[0] in tokens for tokens in stemmed]
    again = Postings.merged([TermCounts.of(stemmed)])
    assert set(joined.vocabulary) == set(again.vocabulary)
    for term, number in joined.vocabulary.items():
        rows = joined.rows[joined.starts[number] : joined.starts[number + 1]]
        other = again.vocabulary[term]
        assert rows.tolist() == again.rows[again.starts[other] : again.starts[other + 1]].tolist()


def test_names_have_to_be_as_many_as_terms():
    with pytest.raises(ValueError, match="1 names for 2 terms"):
        Postings.merged([TermCounts.of([["a", "b"]])]).joined(["a"])


@pytest.mark.parametrize("k", [1, 7, 60, 64, 200, 5000])
@pytest.mark.parametrize("levels", [3, 300, 10**9])
def test_top_of_many_scores_is_a_stable_sort_cut_off(k, levels):
    values = np.random.default_rng(k).integers(0, levels, 4500).astype(np.float64)
    expected = sorted(range(len(values)), key=lambda i: (-values[i], i))
    assert top(values, k).tolist() == expected[:k]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-3, 3).map(float), max_size=20), st.integers(1, 25), st.data())
def test_top_is_a_stable_sort_cut_off(scores, k, data):
    values = np.array(scores)
    rows = np.array(sorted(data.draw(st.sets(st.integers(0, max(0, len(scores) - 1))))), dtype=np.int64)
    rows = rows[rows < len(scores)]
    expected = sorted(range(len(scores)), key=lambda i: (-scores[i], i))
    assert top(values, k).tolist() == expected[:k]
    assert top(values, k, rows).tolist() == [i for i in expected if i in set(rows.tolist())][:k]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("term_ids", [0, 9]),
        ("term_ids", [0]),
        ("counts", [0, 1]),
        ("indptr", [0, 1]),
        ("indptr", []),
        ("indptr", [2, 2]),
    ],
)
def test_parts_that_do_not_fit_are_noticed(field, value):
    parts = {"vocabulary": ("a", "b"), "term_ids": [0, 1], "counts": [1, 1], "indptr": [0, 2]}
    arrays = {k: v if k == "vocabulary" else np.array(v, dtype=np.int64) for k, v in parts.items()}
    assert TermCounts(**arrays).valid()
    assert not TermCounts(**{**arrays, field: np.array(value, dtype=np.int64)}).valid()
