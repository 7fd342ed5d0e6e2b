"""EM, token F1, BLEU-1, ROUGE-L: known answers, properties, and the reference libraries on random input."""

import math
import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdfqa_core.metrics.rouge import (
    bleu_1,
    by_sentence,
    rouge_l,
    rouge_l_of_lines,
    rouge_l_overlap,
    rouge_l_sum,
    rouge_tokens,
)
from pdfqa_core.metrics.short_answers import exact_match, normalise_answer, token_f1, token_recall

TEXT = st.lists(
    st.sampled_from("the a Cat cat, dog's dogs! 1,800 naïve über“ - running runs".split()), max_size=12
).map(" ".join)


def test_normalisation_deletes_punctuation_before_articles():
    assert normalise_answer("  The Cat-Flap, a “naïve” one!\n") == "catflap “naïve” one"
    assert normalise_answer("A. The. An") == ""


@pytest.mark.parametrize(
    ("prediction", "reference", "f1", "em"),
    [
        ("respiratory droplets", "respiratory droplets and aerosols", 2 / 3, 0),
        ("point-guard", "point guard", 0, 0),
        ("1,800", "1800", 1, 1),
        ("The The Beatles", "Beatles", 1, 1),
        ("naïve café", "naive cafe", 0, 0),
        ("", "the", 1, 1),
        ("", "cat", 0, 0),
        ("insufficient context", "Insufficient context.", 1, 1),
    ],
)
def test_known_answers_of_em_and_f1(prediction, reference, f1, em):
    assert token_f1(prediction, [reference]) == pytest.approx(f1)
    assert exact_match(prediction, [reference]) == em


def test_squad_means_and_the_best_reference_counts():
    rows = [("1976", ["1976"]), ("Beyonce", ["Beyoncé and Bruno Mars"]), ("climate change", ["climate change"])]
    assert 100 * sum(exact_match(*row) for row in rows) / 3 == pytest.approx(66.67, abs=0.01)
    assert 100 * sum(token_f1(*row) for row in rows) / 3 == pytest.approx(66.67, abs=0.01)
    assert token_f1("blue cat", ["dog", "blue cat here"]) == pytest.approx(0.8)
    assert exact_match("blue cat", ["dog", "Blue cat."]) == 1.0
    assert (token_f1("x", []), exact_match("x", []), bleu_1("x", []), rouge_l("x", []), rouge_l_of_lines("x", [])) == (
        None,
    ) * 5


@pytest.mark.parametrize(
    ("prediction", "references", "recall"),
    [
        ("There were 902 passes of the serotine in 2022.", ["902"], 1),
        ("There were 1902 passes.", ["902"], 0),
        ("respiratory droplets", ["respiratory droplets and aerosols"], 0.5),
        ("Bizet", ["Georges Bizet"], 0.5),
        ("The cat", ["cat cat"], 0.5),
        ("It was Bizet, Georges", ["Gounod", "Georges Bizet"], 1),
        ("Yes, it did.", ["yes"], 1),
        ("", ["cat"], 0),
        ("", ["the"], 1),
    ],
)
def test_token_recall_is_the_share_of_the_gold_words_that_the_answer_has(prediction, references, recall):
    assert token_recall(prediction, references) == recall


@given(TEXT, st.lists(TEXT, min_size=1, max_size=3), st.sampled_from([0.5, 1.0, 2.0]))
def test_ranges_identity_and_the_order_of_references(text, references, beta):
    for measure in (
        exact_match,
        token_f1,
        bleu_1,
        lambda one, other: bleu_1(one, other, brevity_penalty=True),
        lambda one, other: rouge_l(one, other, beta=beta),
        lambda one, other: rouge_l_of_lines(one, other, beta=beta),
    ):
        value = measure(text, references)
        assert 0 <= value <= 1
        assert measure(text, references[::-1]) == value
        assert measure(text, [*references, text]) >= value - 1e-12
        if rouge_tokens(text):
            assert measure(text, [text]) == pytest.approx(1)


# ------------------------------------------------------------------ BLEU-1


def test_known_answers_of_bleu_1():
    references = ["the cat is on the mat", "there is a cat on the mat"]
    assert bleu_1("the the the the the the the", references) == pytest.approx(2 / 7)
    assert bleu_1("respiratory droplets", ["respiratory droplets and aerosols"]) == 1.0
    assert bleu_1("respiratory droplets", ["respiratory droplets and aerosols"], brevity_penalty=True) == pytest.approx(
        math.exp(-1), abs=1e-4
    )
    assert bleu_1("", references) == bleu_1("", references, brevity_penalty=True) == 0.0


def test_the_same_bleu_1_as_nltk():
    from nltk.translate.bleu_score import brevity_penalty, closest_ref_length, modified_precision

    rng = random.Random(3)
    for _ in range(300):
        words = [rng.choice("abcdefgh") for _ in range(rng.randint(1, 12))]
        references = [[rng.choice("abcdefgh") for _ in range(rng.randint(1, 12))] for _ in range(rng.randint(1, 3))]
        texts = [" ".join(reference) for reference in references]
        expected = float(Fraction(modified_precision(references, words, 1)))
        assert bleu_1(" ".join(words), texts) == pytest.approx(expected)
        penalty = brevity_penalty(closest_ref_length(references, len(words)), len(words))
        assert bleu_1(" ".join(words), texts, brevity_penalty=True) == pytest.approx(expected * penalty)


# ------------------------------------------------------------------ ROUGE


@pytest.mark.parametrize(("beta", "value"), [(0.5, 0.9091), (1, 0.8), (1.2, 0.7722), (2, 0.7143)])
def test_beta_weighs_recall(beta, value):
    assert rouge_l("testing two", ["testing one two"], beta=beta) == pytest.approx(value, abs=1e-4)


def test_known_answers_of_rouge_l():
    overlap = rouge_l_overlap("testing two", "testing one two")
    assert overlap == pytest.approx((1.0, 2 / 3, 0.8))
    assert rouge_l("cats running", ["cat run"]) == 0.0
    assert rouge_l("cats running", ["cat run"], stemming=True) == 1.0
    assert rouge_l("", ["x"]) == rouge_l("x", [""]) == 0.0
    assert rouge_l("wrong", ["no", "wrong way"]) == pytest.approx(2 / 3)
    assert rouge_l("тепловой насос", ["насос тепловой"]) == pytest.approx(0.5)  # words of other scripts


def test_the_same_rouge_as_rouge_score():
    rouge_scorer = pytest.importorskip("rouge_score.rouge_scorer")
    rng = random.Random(5)
    words = "running runs cat cats dog's jumping jumped 1,800 the of generalisation ponies fly flies dying".split()
    for stemming in (False, True):
        scorer = rouge_scorer.RougeScorer(["rougeL", "rougeLsum"], use_stemmer=stemming)
        for _ in range(200):
            one, other = (
                "\n".join(" ".join(rng.choices(words, k=rng.randint(0, 9))) for _ in range(rng.randint(1, 4)))
                for _ in range(2)
            )
            expected = scorer.score(other, one)
            assert rouge_l_overlap(one, other, stemming=stemming) == pytest.approx(tuple(expected["rougeL"]))
            assert rouge_l_of_lines(one, [other], stemming=stemming) == pytest.approx(expected["rougeLsum"].fmeasure)


def test_rouge_l_sum_reads_a_sentence_per_line():
    assert by_sentence("One is here. Two  is\nthere.") == "One is here.\nTwo is there."
    assert by_sentence("") == ""
    text = "One is here. Two is there."
    assert rouge_l_sum(text, ["Two is here."]) == rouge_l_of_lines(by_sentence(text), ["Two is here."])


# ------------------------------------------------------------------ other scripts

ALL = (exact_match, token_f1, bleu_1, rouge_l)


@pytest.mark.parametrize(
    ("prediction", "reference", "values"),
    [
        ("Zu\u0308rich und Ma\u0301laga", "Z\u00fcrich und M\u00e1laga", (1, 1, 1, 1)),
        ("हिन्दी में रिपोर्ट", "हिन्दी में लिखी गई रिपोर्ट", (0, 0.75, 1, 0.75)),
        ("北京大学在中国", "北京大学位于中国的首都", (0, 12 / 18, 6 / 7, 12 / 18)),
        ("大阪は日本の都市です", "東京は日本の首都です", (0, 0.7, 0.7, 0.7)),
        ("5 किताबें", "5 लोग", (0, 0.5, 0.5, 0.5)),  # the number is not all that is compared
        ("Насос 5 кВт PDF", "Котёл 5 кВт PDF", (0, 0.75, 0.75, 0.75)),
    ],
)
def test_words_of_other_scripts_are_counted(prediction, reference, values):
    assert [measure(prediction, [reference]) for measure in ALL] == pytest.approx(list(values))


def test_a_sign_as_it_is_printed_costs_the_exact_match_as_in_squad():
    assert exact_match("\u22125 °C", ["-5 °C"]) == 0
