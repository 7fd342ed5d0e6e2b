from pdfqa_core.reading.best_sentence import LONGEST, nearest_lines, nearest_sentence
from tests.reading.helpers import hit, hits

COUNTED = "The wildlife survey counted 4,000 seabirds."


def test_the_nearest_sentence_comes_with_its_neighbours_and_is_not_verified():
    found = hits(f"Nobody swam there. {COUNTED} It took two days.", "Seabirds eat fish.")
    near = nearest_lines("How many seabirds did the wildlife survey count?", found)
    assert near.quote == f"Nobody swam there. {COUNTED} It took two days."
    assert (near.number, near.verified) == (1, False)
    assert found[0].passage.text[near.span.start - 100 : near.span.end - 100].split() == near.quote.split()


def test_the_lines_are_no_longer_than_can_be_read_at_a_glance():
    long = "Boats came and went " * 12 + "all day."
    near = nearest_lines("How many seabirds did the wildlife survey count?", hits(f"{long} {COUNTED} {long}"))
    assert COUNTED in near.quote
    assert len(near.quote.split()) <= LONGEST


def test_a_row_has_the_names_of_its_columns():
    table = "| Fee | Members | Guests |\n| --- | --- | --- |\n| Sauna | 4 | 9 |"
    near = nearest_lines("What is the sauna fee for guests?", [hit(table)])
    assert near.quote == "Sauna: Members: 4; Guests: 9"


def test_a_heading_is_better_than_nothing():
    assert nearest_lines("Which wildlife?", hits("Wildlife survey")).quote == "Wildlife survey"
    assert nearest_lines("Which wildlife?", []) is None
    assert nearest_sentence("Which wildlife?", []) is None
