import pytest

from pdfqa_core.reading.facts import claimed, facts, numbers, stated


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,000", "1000"), ("$2,000.00", "2000"), ("two", "2"), ("twenty-five", "25"), ("20 percent", "20%"),
        ("20 per cent", "20 %"), ("$2.5 million", "2,500,000"), ("a thousand", "1,000"), ("1st", "1"),
        ("two hundred and five", "205"), ("Three thousand two hundred", "3,200"), ("0.50", "0.5"),
    ],
)  # fmt: skip
def test_the_same_number_in_other_words(one, other):
    assert {number.key for number in numbers(one)} == {number.key for number in numbers(other)} != set()


@pytest.mark.parametrize(("one", "other"), [("20%", "20"), ("1,000", "1,001"), ("2.5", "25"), ("two", "three")])
def test_other_numbers(one, other):
    assert not {number.key for number in numbers(one)} & {number.key for number in numbers(other)}


def test_places_are_those_of_the_text():
    text = "It costs $1,500 (or 20 % of it) for two people."
    assert [text[n.start : n.end] for n in numbers(text)] == ["1,500", "20 %", "two"]


def test_amounts_of_money_may_shorten_their_scale():
    text = "It cost €8.5 m, not $3bn or £120k; the tower is 8 m high, of land at €5 m² each."
    assert [n.value for n in numbers(text)] == [8.5e6, 3e9, 120e3, 8, 5]
    assert "€8.5 m".endswith(text[numbers(text)[0].start : numbers(text)[0].end])
    assert stated("€8.5 m") == stated("8.5 million euros")


def test_numbers_of_list_items_and_in_words_are_none():
    assert numbers("1. Call them.\n2) Wait.\n (3) Pay.") == []
    assert numbers("Vitamin B12 and H2O") == []
    assert [n.value for n in numbers("In 1. place\n4 days")] == [1, 4]


def test_one_is_stated_but_not_claimed():
    assert claimed("It is one of them.") == []
    assert (1, False) in stated("It is one of them.")
    assert [n.value for n in claimed("one hundred of 1")] == [100, 1]


def test_dates_share_their_numbers():
    assert {n.key for n in claimed("2022-06-25")} <= stated("On June 25, 2022 it began.")
    assert not {n.key for n in claimed("2022-07-25")} <= stated("On June 25, 2022 it began.")


def test_huge_and_odd_input():
    assert numbers("") == []
    assert numbers("9" * 400)[0].value == float("inf")
    assert len(numbers("1,2,3 ٣ ½ " * 50)) > 0


def test_names_of_forms_are_no_numbers():
    text = "The 10-Q, the 8-K and two 10-Ks name a 12-month plan."
    assert [text[number.start : number.end] for number in numbers(text)] == ["two", "12"]


@pytest.mark.parametrize("minus", ["-", "\u2212", "\u2013"])
@pytest.mark.parametrize("text", ["It fell to {}5 °C.", "({}5)", "{}5", "| {}5 |", "a loss of {}€5", "=$ {}5"])
def test_a_minus_counts_however_it_is_printed(minus, text):
    (number,) = numbers(text.format(minus))
    assert number.value == -5


@pytest.mark.parametrize(
    "text", ["10-5", "10\u20135", "10 \u20135 km", "F-5", "COVID-5", "- 5 boats", "\u2013 5 boats", "2018-5", "10%-5%"]
)
def test_other_dashes_are_no_minus(text):
    assert all(number.value > 0 for number in numbers(text))


@pytest.mark.parametrize(
    ("claim", "source", "there"),
    [
        ("It was -5 °C.", "It was \u22125 °C.", True),
        ("It was 5 °C.", "It was \u22125 °C.", False),
        ("It was -5 °C.", "It was 5 °C.", False),
        ("Sales fell by 5 %.", "Sales: \u20135 %", False),
    ],
)
def test_a_number_without_its_sign_is_another_one(claim, source, there):
    (number,) = claimed(claim)
    assert (number.key in stated(source)) is there
    ((one,), (other,)) = ([fact for fact in facts(text) if fact.kind != "name"] for text in (claim, source))
    assert one.same(other) is there
