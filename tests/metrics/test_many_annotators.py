"""Weighted kappa against sklearn, Krippendorff's alpha against published examples, and both over judgements."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.agreement import (
    Alpha,
    Judgement,
    agreement,
    agreement_of_many,
    krippendorff_alpha,
    ordered,
    whole_scale,
)

# Krippendorff 2011, example C/D: four observers, twelve units, gaps.
FOUR = (
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
)
LABELS = st.lists(st.tuples(st.sampled_from("12345"), st.sampled_from("12345")), min_size=2, max_size=30)
UNITS = st.lists(st.lists(st.sampled_from(["1", "2", "3", None]), min_size=1, max_size=4), min_size=1, max_size=15)


def units(rows):
    return [[None if value == "." else value for value in column] for column in zip(*map(str.split, rows), strict=True)]


# ------------------------------------------------------------------ Krippendorff's alpha


@pytest.mark.parametrize(
    ("scale", "value"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_the_published_example_of_four_observers(scale, value):
    found = krippendorff_alpha(units(FOUR), scale=scale)
    assert found.alpha == pytest.approx(value, abs=5e-4)
    assert (found.n, found.scale) == (11, scale)
    assert found.low < found.alpha < found.high <= 1


def test_the_published_examples_of_two_observers():
    binary = list(zip("0100000010", "1110010000", strict=True))
    assert krippendorff_alpha(binary).alpha == pytest.approx(0.095, abs=5e-4)
    assert krippendorff_alpha(list(zip("aabbdcccedda", "babbbccceddd", strict=True))).alpha == pytest.approx(
        0.692, abs=5e-4
    )


@given(UNITS, st.randoms())
def test_alpha_does_not_depend_on_the_order_of_items_and_annotators(items, rng):
    found = krippendorff_alpha(items, scale="ordinal", labels="123", resamples=0)
    shuffled = [rng.sample(item, len(item)) for item in rng.sample(items, len(items))]
    again = krippendorff_alpha(shuffled, scale="ordinal", labels="123", resamples=0)
    if found.alpha is None:
        assert again.alpha is None
    else:
        assert again.alpha == pytest.approx(found.alpha)
        assert -1 <= found.alpha <= 1


@given(st.lists(st.sampled_from("123"), min_size=2, max_size=20), st.integers(2, 4))
def test_alpha_of_annotators_who_agree_is_1(labels, annotators):
    found = krippendorff_alpha([[label] * annotators for label in labels], resamples=0)
    assert found.alpha == (None if len(set(labels)) == 1 else pytest.approx(1))


def test_alpha_where_it_is_undefined_and_for_wrong_arguments():
    assert krippendorff_alpha([]) == Alpha(None, None, None, 0)
    assert krippendorff_alpha([["1"], ["2", None]]) == Alpha(None, None, None, 0)
    assert krippendorff_alpha([["1", "1"], ["1", "1"]]) == Alpha(None, None, None, 2)
    assert krippendorff_alpha([["1", "2"]]) == Alpha(0.0, None, None, 1)
    with pytest.raises(UsageError, match=r"Choose one of: nominal"):
        krippendorff_alpha([["1", "2"]], scale="cardinal")
    with pytest.raises(UsageError, match=r"labels are numbers"):
        krippendorff_alpha([["good", "bad"]], scale="interval")
    with pytest.raises(UsageError, match=r"'3' is not on the scale 1, 2"):
        krippendorff_alpha([["1", "3"]], labels="12")


# ------------------------------------------------------------------ weighted kappa


@given(LABELS)
def test_the_same_weighted_kappa_as_sklearn(pairs):
    first, second = [one for one, _ in pairs], [other for _, other in pairs]
    found, mirrored = (agreement(*given, labels="12345", resamples=20) for given in ((first, second), (second, first)))
    assert bool(found.weighted) == (len({*first, *second}) > 1)
    for one, other in zip(found.weighted, mirrored.weighted, strict=True):
        expected = cohen_kappa_score(first, second, weights=one.weights, labels=list("12345"))
        assert one.kappa == pytest.approx(expected)
        assert -1 - 1e-9 <= one.kappa <= 1 + 1e-9
        assert other.kappa == pytest.approx(one.kappa)


def test_numbers_are_ordinal_by_themselves_and_gaps_are_kept():
    assert agreement([*"ab"], [*"ba"]).weighted == ()
    assert agreement([*"01"], [*"10"]).weighted == ()  # two labels: no distance to weigh
    assert agreement([*"1245"], [*"1244"], ordinal=False).weighted == ()
    found = agreement(["1", "2", "9"], ["1", "2", "2"])
    expected = cohen_kappa_score(["1", "2", "9"], ["1", "2", "2"], weights="linear", labels=[*"123456789"])
    assert found.weighted[0].kappa == pytest.approx(expected)
    assert found.labels == ("1", "2", "9")
    words = agreement(["bad", "good"], ["fair", "good"], labels=("bad", "fair", "good"), ordinal=True)
    assert words.weighted[0].kappa == pytest.approx(
        cohen_kappa_score([0, 2], [1, 2], weights="linear", labels=[0, 1, 2])
    )


def test_scales():
    assert ordered(["10", "9", "-1", "9"]) == ("-1", "9", "10")
    assert ordered(["10", "9", "x"]) == ("10", "9", "x")
    assert whole_scale(["1", "4"]) == ("1", "2", "3", "4")
    assert whole_scale(["1", "1.5"]) == whole_scale(["01"]) == whole_scale([]) == ()
    assert whole_scale(["1", "1000"]) == ("1", "1000")


# ------------------------------------------------------------------ judgements


def judgements(rows, criterion="quality"):
    return [
        Judgement(str(place), name, criterion, value)
        for name, row in zip("ABCD", rows, strict=True)
        for place, value in enumerate(row.split())
        if value != "."
    ]


def test_alpha_mean_kappa_and_pairs_of_one_criterion():
    (found,) = agreement_of_many(judgements(FOUR), scale="ordinal")
    assert found.alpha.alpha == pytest.approx(0.815, abs=5e-4)
    assert (found.annotators, found.labels, found.unpaired) == (("A", "B", "C", "D"), tuple("12345"), 1)
    assert [pair.annotators for pair in found.pairs] == list(combinations("ABCD", 2))
    assert found.mean_kappa == pytest.approx(sum(pair.kappa for pair in found.pairs) / 6)
    assert found.note == ""
    assert [one.weights for one in found.pairs[0].weighted] == ["linear", "quadratic"]
    two = agreement_of_many(judgements(FOUR), ("A", "D"))[0]
    assert two.mean_kappa == two.pairs[0].kappa


def test_what_is_undefined_is_told():
    same = agreement_of_many([Judgement(str(n), name, "ok", "1") for n in range(3) for name in "AB"])[0]
    assert (same.alpha.alpha, same.mean_kappa) == (None, None)
    assert same.note == "Alpha is undefined: all labels are the same. 1 of 1 pairs have no kappa."
    apart = agreement_of_many([Judgement("1", "A", "ok", "1"), Judgement("2", "B", "ok", "1")])[0]
    assert "no item has two judgements" in apart.note
    assert apart.unpaired == 2


def test_who_can_be_compared():
    rows = judgements(FOUR)
    for names, words in ((("A", "Max"), "no annotator 'Max'"), (("A",), "here is one"), (("A", "A"), "here is one")):
        with pytest.raises(UsageError, match=words):
            agreement_of_many(rows, names)
    with pytest.raises(UsageError, match="here is none"):
        agreement_of_many([])
    with pytest.raises(UsageError, match="twice"):
        agreement_of_many([*rows, rows[0]])
    with pytest.raises(UsageError, match="not on the scale"):
        agreement_of_many(rows, scales={"quality": ("1", "2")})
