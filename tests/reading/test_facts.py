import pytest

from pdfqa_core.reading.checking import align
from pdfqa_core.reading.facts import facts, scales


def kinds(text):
    return [(text[fact.start : fact.end], fact.kind) for fact in facts(text) if not fact.initial]


def test_numbers_dates_ordinals_and_names_are_facts():
    text = "In June 2018 the second plan of Contoso Ltd paid $1,200, or 12 percent, within 3 weeks."
    assert kinds(text) == [
        ("June 2018", "date"), ("second", "ordinal"), ("Contoso Ltd", "name"), ("1,200", "money"),
        ("12 percent", "percent"), ("3", "number"),
    ]  # fmt: skip


@pytest.mark.parametrize(("first", "initial"), [("Sales", True), ("iPad", False), ("eBay", False), ("NASA", False)])
def test_a_capital_at_the_beginning_makes_no_name_but_one_inside_does(first, initial):
    (name,) = facts(f"{first} grew a little.")
    assert (name.kind, name.initial) == ("name", initial)


def test_a_stop_word_with_a_capital_is_no_name():
    assert kinds("In 2013 -- 14 The farms of the US grew. * Hidden costs fell.") == [
        ("2013", "date"), ("14", "number"), ("US", "name"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("one", "other", "same", "rivals"),
    [
        ("2018", "June 2018", True, False), ("June 2018", "June 2019", False, True),
        ("in June", "in 2019", False, False), ("12 months", "12 weeks", False, True),
        ("12 months", "12", True, False), ("12 %", "12", False, False), ("1.2 million", "1,200,000", True, False),
        ("of Contoso", "of Contoso Ltd", True, False), ("of Contoso", "of Northwind", False, True),
        ("of the U.S", "of the US", True, False), ("of Khloe's", "of Khloé", True, False),
    ],
)  # fmt: skip
def test_which_facts_are_the_same(one, other, same, rivals):
    (first,), (second,) = facts(one), facts(other)
    assert (first.same(second), first.rivals(second)) == (same, rivals)


def test_the_scale_of_a_table_is_read():
    assert scales("Sales by year (in millions)") == {1e6}
    assert scales("Amounts in thousands of US$’000") == {1e3}
    assert scales("5,000 in 2,000 cases") == set()


def test_the_best_rival_of_a_fact_is_the_one_beside_the_same_words():
    passage = "The grant was 992,000 euros. The drum screen cost another 38,500 euros. Building took 19 months."
    (price,) = align("The drum screen cost 992,000 euros.", [(passage, "")])
    assert list(price.rivals) == ["38,500"]
    assert price.own is not None
    assert price.own < price.rival
    (missing,) = align("The drum screen cost 40,000 euros.", [(passage, "")])
    assert missing.own is None
