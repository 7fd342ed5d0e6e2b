from pdfqa_core.reading.best_sentence import nearest_sentence
from tests.reading.helpers import hits


def test_the_nearest_sentence_is_a_whole_one_and_not_verified():
    found = hits(
        "Wildlife survey\n\nThe survey counted the plants of the bay.", "| Survey | wildlife |\n\nNobody swam there."
    )
    near = nearest_sentence("How many seabirds did the wildlife survey count?", found)
    assert near.quote == "The survey counted the plants of the bay."
    assert (near.number, near.verified) == (1, False)
    assert found[0].passage.text[near.span.start - 100 : near.span.end - 100] == near.quote


def test_a_heading_is_better_than_nothing():
    assert nearest_sentence("Which wildlife?", hits("Wildlife survey")).quote == "Wildlife survey"
    assert nearest_sentence("Which wildlife?", []) is None
