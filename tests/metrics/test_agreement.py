from __future__ import annotations

import random
from dataclasses import replace
from math import isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.agreement import Agreement, Judgement, agreement, agreement_of_many, landis_koch
from pdfqa_core.metrics.statistics import clusters_of, turn_of


def from_table(table: list[list[int]], labels: str = "yn", **options: int) -> Agreement:
    pairs = [(labels[i], labels[j]) for i, row in enumerate(table) for j, count in enumerate(row) for _ in range(count)]
    return agreement([one for one, _ in pairs], [other for _, other in pairs], labels=tuple(labels), **options)


def test_known_answer_of_the_definitions() -> None:
    result = from_table([[20, 20], [10, 50]])
    assert result.n == 100
    assert result.confusion == ((20, 20), (10, 50))
    assert result.agreement == 0.7
    assert result.kappa == pytest.approx(0.3478, abs=5e-5)
    assert result.pabak == pytest.approx(0.4)
    # shares of "y": (40 + 30) / 200 = .35; chance 2 · .35 · .65 = .455; (.7 - .455) / .545
    assert result.ac1 == pytest.approx(0.245 / 0.545)
    assert result.prevalence_index == pytest.approx(0.3)
    assert result.bias_index == pytest.approx(0.1)
    assert result.words == "fair"


def test_pabak_counts_the_labels_of_the_scale() -> None:
    thirds = from_table([[4, 1, 0], [0, 3, 0], [1, 0, 1]], "abc")
    assert thirds.pabak == pytest.approx((3 * 0.8 - 1) / 2)
    assert agreement(["a", "b"], ["a", "c"], labels=("a", "b", "c", "d")).pabak == pytest.approx((4 * 0.5 - 1) / 3)
    assert agreement(["a", "a"], ["a", "a"]).pabak == 1


def test_one_label_on_both_sides_has_no_kappa() -> None:
    result = agreement(["1"] * 5, ["1"] * 5, labels=("0", "1"))
    assert (result.kappa, result.low, result.high, result.words) == (None, None, None, "")
    assert "every item the label '1'" in result.note
    assert (result.agreement, result.pabak, result.ac1, result.prevalence_index) == (1, 1, 1, 1)
    assert agreement(["1"] * 5, ["1"] * 5).ac1 == 1


@pytest.mark.parametrize(("first", "words"), [((), "share no item"), (("1",), "at least 2 shared items")])
def test_too_few_items(first: tuple[str, ...], words: str) -> None:
    result = agreement(first, first)
    assert result.kappa is None
    assert words in result.note
    assert result.agreement == (1 if first else None)


def test_wrong_arguments() -> None:
    with pytest.raises(UsageError, match="judged 1 and 2 items"):
        agreement(["1"], ["1", "0"])
    with pytest.raises(UsageError, match="'2' is not on the scale 0, 1"):
        agreement(["1"], ["2"], labels=("0", "1"))


def test_resamples_without_a_kappa_are_left_out_and_mentioned() -> None:
    some = agreement(["1"] * 9 + ["0"] * 2, ["1"] * 8 + ["0"] * 3)
    assert some.low < some.kappa < some.high
    assert "had one label only" in some.note
    none = agreement(["1", "0"], ["1", "0"])
    assert (none.kappa, none.low, none.high) == (1, None, None)
    assert "too few" in none.note


def test_kappa_has_no_interval_where_resampling_tells_nothing() -> None:
    whole = agreement([*"1100101"], [*"1100101"])
    assert (whole.kappa, whole.low, whole.high) == (1, None, None)
    assert "too much alike for an interval" in whole.note
    assert whole.agreement_low == pytest.approx(0.025 ** (1 / 7))


@pytest.mark.parametrize(("second", "low", "high"), [("11010", 0.4782, 1), ("00101", 0, 0.5218)])
def test_raw_agreement_that_is_whole_has_an_exact_interval(second: str, low: float, high: float) -> None:
    result = agreement([*"11010"], [*second])
    assert (result.agreement_low, result.agreement_high) == pytest.approx((low, high), abs=5e-5)
    (two,) = {agreement([*"11010"], [*"11010"], clusters=clusters).agreement_low for clusters in ("aaabb", "abbba")}
    assert two == pytest.approx(0.025**0.5)


def rated_turns(chance: random.Random, turns: int = 40, passages: int = 5) -> list[tuple[str, str, str]]:
    """Return (item, label, label): of a turn either all passages are easy to judge, or none is."""
    found = []
    for turn in range(turns):
        same = 0.95 if chance.random() < 0.5 else 0.45
        for rank in range(1, passages + 1):
            label = chance.choice("01")
            other = label if chance.random() < same else "10"[int(label)]
            found.append((f"t{turn}#{rank}", label, other))
    return found


def test_resampling_turns_covers_what_resampling_passages_misses() -> None:
    """Kappa of the whole population is 0.4: labels are equally frequent, and 0.7 of them are the same."""
    chance, held = random.Random(5), {"turns": 0, "passages": 0}
    rounds = 150
    for _ in range(rounds):
        items, first, second = zip(*rated_turns(chance), strict=True)
        for name, clusters in (("turns", clusters_of(items, {})), ("passages", ())):
            found = agreement(first, second, clusters=clusters, resamples=400)
            held[name] += found.low <= 0.4 <= found.high
    assert held["passages"] / rounds < 0.88
    assert held["turns"] / rounds > 0.9


def test_passages_of_a_turn_are_drawn_together_and_turns_of_many_conversations_too() -> None:
    items = [f"t{turn}#{rank}" for turn in range(20) for rank in (1, 2)]
    assert clusters_of([*items, "t0", "no#rank"], {})[-4:] == ["t19", "t19", "t0", "no#rank"]
    few = {f"t{turn}": f"c{turn % 9}" for turn in range(20)}
    many = {f"t{turn}": f"c{turn % 10}" for turn in range(20)}
    assert clusters_of(items, few) == clusters_of(items, {})
    assert set(clusters_of(items, many)) == {f"c{n}" for n in range(10)}
    judged = [Judgement(item, name, "passage", value) for item, *values in rated_turns(random.Random(1), 20, 2)
              for name, value in zip("AB", values, strict=True)]  # fmt: skip
    by_turn = of_two(judged)[0]
    by_conversation = of_two([replace(j, conversation=many[turn_of(j.item)]) for j in judged])[0]
    assert (by_turn.kappa, by_turn.low) != (by_turn.kappa, by_conversation.low)
    assert by_turn.kappa == by_conversation.kappa


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=2, max_size=30))
def test_bounds_and_symmetry(pairs: list[tuple[str, str]]) -> None:
    first, second = [one for one, _ in pairs], [other for _, other in pairs]
    result, mirrored = agreement(first, second, resamples=50), agreement(second, first, resamples=50)
    assert sum(map(sum, result.confusion)) == result.n == len(pairs)
    assert (result.kappa is None) == (len({*first, *second}) == 1)
    if result.kappa is not None:
        assert isclose(result.kappa, mirrored.kappa, abs_tol=1e-12)
        assert -1 <= result.kappa <= 1
        assert isclose(result.kappa, cohen_kappa_score(first, second), abs_tol=1e-12)
    if result.low is not None:
        assert result.low <= result.high
    assert -1 <= result.ac1 <= 1


@pytest.mark.parametrize(
    ("kappa", "words"),
    [(-0.01, "poor"), (0, "slight"), (0.2, "slight"), (0.21, "fair"), (0.4, "fair"), (0.6, "moderate"),
     (0.61, "substantial"), (0.8, "substantial"), (0.81, "almost perfect"), (1, "almost perfect")],
)  # fmt: skip
def test_words(kappa: float, words: str) -> None:
    assert landis_koch(kappa) == words


def of_two(judgements: list[Judgement], names: tuple[str, ...] = ()) -> list[Agreement]:
    return [pair for one in agreement_of_many(judgements, names) for pair in one.pairs]


def rows(annotator: str, criterion: str, **values: str) -> list[Judgement]:
    return [Judgement(item, annotator, criterion, value) for item, value in values.items()]


def test_criteria_are_joined_on_the_item() -> None:
    given_rows = [
        *rows("Anna", "answer", a="1", b="0", c="1", e="1"),
        *rows("Ben", "answer", c="1", b="0", a="0", d="1"),
        *rows("Anna", "intent", a="boolean", b="extractive"),
        *rows("Ben", "passage", a="1"),
    ]
    answer, intent, passage = of_two(given_rows)
    assert (answer.criterion, answer.annotators, answer.n) == ("answer", ("Anna", "Ben"), 3)
    assert answer.agreement == pytest.approx(2 / 3)
    assert (intent.n, passage.n, intent.kappa) == (0, 0, None)


def test_the_same_ratings_have_the_same_interval_on_whatever_scale_they_are_shown() -> None:
    rng = random.Random(3)
    first = [rng.choice("abc") for _ in range(30)]
    second = [one if rng.random() < 0.6 else rng.choice("abc") for one in first]
    found = [agreement(first, second, labels=tuple(labels), ordinal=False) for labels in ("abcd", "cbad", "")]
    assert len({(one.kappa, one.low, one.high, one.agreement_low, one.agreement_high) for one in found}) == 1
