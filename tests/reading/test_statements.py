"""What of an answer is a statement that can have a tick, and which of its words the passages need not have."""

from __future__ import annotations

import pytest

from pdfqa_core.reading.checking import Checker
from pdfqa_core.types import Hit, Support
from tests.reading.helpers import hits
from tests.reading.test_checking import run


def supports(text: str, found: list[Hit], question: str = "") -> list[Support]:
    return [one.support for one in run(Checker(), text, found, question=question).sentences]


def test_a_statement_may_begin_with_no():
    found = hits("No roost was found, although two nights were spent on it. No other animals may be brought in.")
    assert supports("No roost was found.", found) == [Support.SUPPORTED]
    assert supports("No, no roost was found.", found) == [Support.PARTLY]
    assert supports("No.", found) == [Support.NOT_FOUND]


def test_words_that_name_nothing_may_come_from_the_question():
    found = hits("The rent is £1,240 a calendar month, payable in advance on the first day of each month.")
    said = supports("The rent is £1,240 per month.", found, "how much is the rent per month")
    assert said == [Support.SUPPORTED]


@pytest.mark.parametrize("village", ["Coldharbour", "Ashby"])
def test_what_no_row_says_by_itself_has_no_tick(village: str):
    lamps = "Street lamps by village\n\n| | Lamps |\n| --- | --- |\n| Coldharbour | 286 |\n| Ashby | 108 |"
    said = supports(f"The village with the most lamps is {village}.", hits(lamps), "Which village has the most lamps?")
    assert said == [Support.PARTLY]


@pytest.mark.parametrize("scale", ["(million euros)", "(€m)", "in EUR million"])
def test_the_scale_of_a_table_may_be_named_in_other_ways(scale: str):
    found = hits(f"Spending on parks by year {scale}\n\n| | 2023 | 2024 |\n| --- | --- | --- |\n| Parks | 3.1 | 2.8 |")
    assert supports("In 2024 spending on parks was €2.8 million.", found) == [Support.SUPPORTED]
    assert supports("In 2024 spending on parks was €3.1 million.", found) == [Support.PARTLY]
