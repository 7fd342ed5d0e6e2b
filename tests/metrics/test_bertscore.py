"""BERTScore: known answers, an independent implementation of the formula, and a real encoder."""

import math
import random

import numpy as np
import pytest

from pdfqa_core.errors import ModelError, UsageError
from pdfqa_core.metrics.bertscore import Baseline, TokenVectors, bertscore, greedy_match, idf_weights
from pdfqa_core.metrics.scoring_models import TransformerTokens

REFERENCE, HYPOTHESIS = np.array([[1.0, 0], [0, 1]]), np.array([[2.0, 0], [1, 1], [0, -3]])
VOCABULARY = "the cat sat on a mat dog ran home today".split()


class WordVectors:
    """Random vectors by word and its left neighbour, between two special tokens; remembers what it was asked."""

    name = "words"

    def __init__(self):
        self.embedded = []

    def token_ids(self, texts):
        return [tuple(text.split()) for text in texts]

    def embed(self, texts):
        self.embedded.append(list(texts))
        return [self.one(text) for text in texts]

    def one(self, text):
        tokens = ("<s>", *text.split(), "</s>")
        rows = [
            np.random.default_rng(abs(hash_of(before + token))).normal(size=12) + 1
            for before, token in zip(("", *tokens), tokens, strict=False)
        ]
        return TokenVectors(tokens, np.array(rows), tuple(token in ("<s>", "</s>") for token in tokens))


def hash_of(text):
    return int.from_bytes(text.encode()[:8].ljust(8, b"x"), "big")


def test_known_answers():
    assert greedy_match(HYPOTHESIS, REFERENCE) == pytest.approx((0.5690, 0.8536, 0.6828), abs=5e-5)
    weighted = greedy_match(HYPOTHESIS, REFERENCE, [1, 3, 0], [2, 1])
    assert weighted == pytest.approx((0.7803, 0.9024, 0.8369), abs=5e-5)


def test_weights_of_nothing_and_opposite_vectors():
    assert greedy_match(HYPOTHESIS, REFERENCE, [0, 0, 0]) is None
    assert greedy_match(np.zeros((0, 2)), REFERENCE) is None
    assert greedy_match(np.array([[1.0, 0]]), np.array([[-1.0, 0]])) == (-1, -1, 0)
    assert greedy_match(np.array([[0.0, 0]]), REFERENCE) == (0, 0, 0)  # a vector without length is like no other


def test_idf_is_over_the_references():
    weights = idf_weights([("a", "b", "b"), ("a", "c"), ("a",)])
    assert weights == {"a": 0.0, "b": pytest.approx(math.log(4 / 2)), "c": pytest.approx(math.log(4 / 2))}
    for few in ([], [("a",)]):
        with pytest.raises(UsageError, match="at least 2 references"):
            idf_weights(few)
    with pytest.raises(UsageError, match="at least 2 references"):
        bertscore(["a"], [["b"]], WordVectors(), idf=True)


def plain(prediction, reference, weight_of):
    """The formula as it is written, one cosine after the other."""
    ours, theirs = WordVectors().one(prediction), WordVectors().one(reference)

    def cosine(a, b):
        return sum(x * y for x, y in zip(a, b, strict=True)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))

    def side(one, other):
        top = bottom = 0.0
        for token, vector, special in zip(one.ids, one.vectors, one.special, strict=True):
            weight = 0.0 if special else weight_of(token)
            top += weight * max(cosine(vector, match) for match in other.vectors)
            bottom += weight
        return top / bottom if bottom else None

    precision, recall = side(ours, theirs), side(theirs, ours)
    return None if precision is None or recall is None else (precision, recall)


def test_the_same_as_the_formula_with_and_without_idf():
    rng = random.Random(5)
    texts = [" ".join(rng.choices(VOCABULARY, k=rng.randint(1, 7))) for _ in range(24)]
    predictions, references = texts[:12], texts[12:]
    df = {word: sum(word in one.split() for one in references) for word in VOCABULARY}
    for idf, weight_of in ((False, lambda word: 1.0), (True, lambda word: math.log(13 / (df[word] + 1)))):
        found = bertscore(predictions, [[one] for one in references], WordVectors(), idf=idf)
        for prediction, reference, item in zip(predictions, references, found.items, strict=True):
            expected = plain(prediction, reference, weight_of)
            assert item[:2] == pytest.approx(expected)
            assert item.f1 == pytest.approx(2 * item.precision * item.recall / (item.precision + item.recall))


def test_empty_texts_several_references_and_none():
    found = bertscore(
        ["", "", "cat", "the cat", "x"], [[""], ["cat"], [""], ["dog ran", "the cat"], []], WordVectors()
    ).items
    assert found[:3] == ((1, 1, 1), (0, 0, 0), (0, 0, 0))
    assert found[3] == pytest.approx((1, 1, 1))
    assert found[4] is None
    same = bertscore(["cat", "cat"], [["cat"], ["cat"]], WordVectors(), idf=True)
    assert same.items == (None, None)  # all words are in all references: nothing weighs anything
    assert same.metrics()[0] == {"bertscore_precision": None, "bertscore_recall": None, "bertscore_f1": None}


def test_rescaling_is_linear_and_named():
    plain_scores = bertscore(["the cat"], [["a dog ran"]], WordVectors())
    rescaled = bertscore(["the cat"], [["a dog ran"]], WordVectors(), baseline=Baseline(0.2, 0.3, 0.25))
    for value, raw, b in zip(rescaled.items[0], plain_scores.items[0], (0.2, 0.3, 0.25), strict=True):
        assert value == pytest.approx((raw - b) / (1 - b))
    assert plain_scores.setting == "words, no idf"
    assert rescaled.setting == "words, no idf, rescaled with 0.200, 0.300, 0.250"
    with pytest.raises(UsageError, match="leaves nothing"):
        bertscore(["a"], [["b"]], WordVectors(), baseline=Baseline(1, 0, 0))
    with pytest.raises(UsageError, match="2 predictions and 1"):
        bertscore(["a", "b"], [["b"]], WordVectors())


# ------------------------------------------------------------------ a real encoder


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    from tests.retrieval.tiny_models import bert

    return bert(tmp_path_factory.mktemp("bert"))


def test_padding_and_batches_change_no_value(tiny):
    texts = ["the plan", "the deductible of the plan is paid a month", "vaccine", ""]
    alone = [TransformerTokens(tiny).embed([text])[0] for text in texts]
    together = TransformerTokens(tiny, batch=4).embed(texts)
    in_twos = TransformerTokens(tiny, batch=2).embed(texts)
    for one, other, another in zip(alone, together, in_twos, strict=True):
        assert one.ids == other.ids == another.ids
        assert np.allclose(one.vectors, other.vectors, atol=1e-5)
        assert np.allclose(one.vectors, another.vectors, atol=1e-5)
    assert together[0].special == (True, False, False, True)
    assert TransformerTokens(tiny).token_ids(texts) == [one.ids[1:-1] for one in alone]


def test_a_folder_without_a_model_is_told(tmp_path):
    with pytest.raises(ModelError, match="cannot be loaded"):
        TransformerTokens(tmp_path).embed(["x"])


def test_the_bundled_encoder_prefers_the_paraphrase():
    from pdfqa_core.models.metrics import token_embedder

    scores = bertscore(
        ["the weather is cold today", "the weather is cold today", "He bought a car."],
        [["it is freezing today"], ["the bank lends money"], ["He bought a car."]],
        token_embedder(),
    )
    assert scores.encoder == "all-MiniLM-L6-v2"
    assert scores.items[0].f1 > scores.items[1].f1 + 0.1
    assert scores.items[2] == pytest.approx((1, 1, 1), abs=1e-4)
