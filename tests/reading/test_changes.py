"""By how much a row changed: which cells are compared, what the model is told, and which answers get a tick."""

from __future__ import annotations

import pytest

from pdfqa_core.reading.changes import change, first_change
from pdfqa_core.reading.checking import Checker
from pdfqa_core.reading.evidence import gather
from pdfqa_core.reading.generative import GenerativeReader
from pdfqa_core.reading.prompts import FORMS, IT_IS_NOT_SO
from pdfqa_core.reading.table_rows import TableRows
from pdfqa_core.streaming import result_of
from pdfqa_core.types import Passage, Span, Support
from tests.reading.helpers import hits, read

SALES = """Net sales by category (in millions):

| | Three Months Ended April 1, 2023 | Three Months Ended March 26, 2022 | Six Months Ended April 1, 2023 | Change |
| --- | --- | --- | --- | --- |
| Mac | $ 7,168 | $ 10,435 | $ 14,903 | (31) % |
| iPad | 6,670 | 7,646 | 16,066 | (13) % |
| Services | 20,907 | 19,821 | 41,673 | 5 % |
"""
COSTS = """Costs of the plant

| | 2018 | 2019 |
| --- | --- | --- |
| Financing costs | (389) | (1,655) |
| Operating margin | 4.7 % | 5.3 % |
| Staff | 12.5 | 12.5 |
| Income tax benefit | 40 | (20) |
"""
LEASES = """| | Operating leases | Finance leases |
| --- | --- | --- |
| 2021 | 138 | 6 |
| 2022 | 135 | 7 |
"""


def passage(text: str, document: str = "a") -> Passage:
    return Passage(document, (Span(document, 1, 0, len(text)),), text)


@pytest.mark.parametrize(
    ("question", "text", "by", "percent"),
    [
        ("By how much did net sales of Mac change in the second quarter of 2023?", SALES, -3267, -31.3),
        ("Did the net sales of iPad rise in the second quarter of 2023?", SALES, -976, -12.8),
        ("What was the change in Services net sales for the three months between 2022 and 2023?", SALES, 1086, 5.5),
        ("How much did financing costs increase from 2018 to 2019?", COSTS, 1266, 325.4),  # both in brackets
        ("What was the change in the operating margin between 2018 and 2019?", COSTS, 0.6, None),
        ("What was the change in the income tax benefit between 2018 and 2019?", COSTS, -60, None),
        ("Did staff grow from 2018 to 2019?", COSTS, 0, 0),
        ("What was the change in operating leases between 2021 and 2022?", LEASES, -3, -2.2),  # times are rows
    ],
)
def test_the_two_cells_are_subtracted(question, text, by, percent):
    found = change(question, passage(text))
    assert found is not None
    assert found.by == pytest.approx(by)
    assert found.percent == (None if percent is None else pytest.approx(percent, abs=0.05))


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Why did the net sales of Mac decrease in the second quarter of 2023?", SALES),  # asks for the reason
        ("What were the net sales of Mac in the second quarter of 2023?", SALES),
        ("By how much did net sales of Watch change in the second quarter of 2023?", SALES),  # no such row
        ("By how much did net sales of Mac change in the second quarter of 2022?", SALES),  # nothing before it
        ("By how much did net sales of Mac and iPad change in the second quarter of 2023?", SALES),  # two rows
        ("What was the average increase in financing costs between 2018 and 2019?", COSTS),
        ("What was the change in the financing costs of the ferry terminal's new kitchen from 2018 to 2019?", COSTS),
        ("What was the change in financing costs from 2017 to 2018?", COSTS),
    ],
)
def test_nothing_is_subtracted_where_something_else_could_be_meant(question, text):
    assert change(question, passage(text)) is None


@pytest.mark.parametrize(
    ("question", "text", "words"),
    [
        (
            "Did the net sales of iPad rise in the second quarter of 2023?", SALES,
            "to 6,670 million (Three Months Ended April 1, 2023): it decreased by $976 million, by 12.8%.",
        ),
        (
            "What was the change in the operating margin between 2018 and 2019?", COSTS,
            "went from 4.7 % (2018) to 5.3 % (2019): it increased by 0.6 percentage points.",
        ),
        ("Did staff grow in 2019?", COSTS, '"Staff" went from 12.5 (2018) to 12.5 (2019): it did not change.'),
    ],
)  # fmt: skip
def test_the_model_is_told_what_was_found(question, text, words, fake_llm):
    found = change(question, passage(text))
    assert found is not None
    assert found.words.endswith(words)
    prompt = GenerativeReader(fake_llm).messages(question, gather(hits(text), 1, question))[0].content
    assert found.words in prompt


def test_the_passage_with_the_row_is_found_among_all():
    place, found = first_change(
        "Did net sales of iPad rise in 2023 over three months?", [passage(COSTS), passage(SALES)]
    )
    assert (place, found.label) == (1, "iPad")
    prose = passage("Net sales of iPad rise and fall with the seasons, and net sales rise with iPad.", "b")
    rows = TableRows([prose, passage(SALES)])
    asked = rows.asked_for("By how much did net sales of iPad change in the second quarter of 2023?")
    assert asked is not None
    assert asked.text == SALES


@pytest.mark.parametrize(
    ("sentence", "ticked"),
    [
        ("Net sales of Mac decreased by $3,267 million, or 31%, in the three months ended April 1, 2023.", True),
        ("Net sales of Mac fell from $10,435 million to $7,168 million.", True),
        ("Net sales of Mac decreased.", True),
        ("Net sales of Mac decreased by $31 million in the second quarter of 2023.", False),
        ("Net sales of Mac increased by $3,267 million in the second quarter of 2023.", False),
        ("Net sales of Mac decreased by 13% in the second quarter of 2023.", False),
        ("Net sales of Mac fell from $7,646 million to $6,670 million.", False),
    ],
)
def test_only_the_right_change_gets_a_tick(sentence, ticked):
    question = "By how much did net sales of Mac change in the second quarter of 2023?"
    checked = result_of(Checker().check(sentence, hits(SALES), (), question))
    assert [one.support is Support.SUPPORTED for one in checked.sentences] == [ticked]
    if ticked:
        assert checked.citations[0].quote.startswith("| Mac |")


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Did the net sales of iPad rise in the second quarter of 2023?", False),
        ("Did the net sales of iPad fall in the second quarter of 2023?", True),
        ("Did the net sales of Services grow in the second quarter of 2023?", True),
        ("Did the net sales of Services change in the second quarter of 2023?", None),  # no direction
        ("Did the net sales of iPad fall by 20 percent in the second quarter of 2023?", None),
        ("Were the net sales of Services higher than in 2022 in the second quarter of 2023?", True),
    ],
)
def test_yes_or_no_follows_from_the_direction(question, answer):
    found = change(question, passage(SALES))
    assert found is not None
    assert found.answers(question) is answer


def test_the_answer_says_what_was_computed(fake_llm):
    fake_llm.enqueue(["No, net sales of iPad decreased by 12.8%."])
    reader = GenerativeReader(fake_llm, form=FORMS["qwen2.5-coder-1.5b"])
    question = "Did the net sales of iPad rise in the second quarter of 2023?"
    _, answer, _ = read(reader, question, hits(SALES))
    assert IT_IS_NOT_SO in fake_llm.history[0][0].content
    assert any(note.startswith('Computed from the table: "iPad" went from 7,646 million') for note in answer.notes)


def test_computed_numbers_are_not_said_to_be_missing():
    question = "By how much did net sales of Mac change in the second quarter of 2023?"
    told = "Net sales of Mac decreased by $3,267 million or 31.3%."
    assert result_of(Checker().check(told, hits(SALES), (), question)).sentences[0].numbers == ()
    wrong = "Net sales of Mac decreased by $3,268 million."
    assert len(result_of(Checker().check(wrong, hits(SALES), (), question)).sentences[0].numbers) == 1


def test_nothing_is_decided_against_something_else_than_an_earlier_time():
    found = change("Did the net sales of Services grow in the second quarter of 2023?", passage(SALES))
    assert found is not None
    assert found.answers("Did Services grow faster than costs?") is None
    assert found.answers("Did Services grow less than expected?") is None
    assert found.answers("Were Services higher than in the year before?") is True


ACCOUNTS = """Income statement
| Item | 2023 | 2022 |
| --- | --- | --- |
| Revenue | 25,515 | 24,185 |
| Staff costs | 8,730 | 8,105 |
| Energy | 3,960 | 4,420 |"""


def test_a_row_beside_costs_is_one_of_costs():
    found = change("By how much did energy costs change from 2022 to 2023?", passage(ACCOUNTS))
    assert found is not None
    assert (found.label, found.by) == ("Energy", -460)
    assert change("By how much did energy use change from 2022 to 2023?", passage(ACCOUNTS)) is None
    assert change("By how much did energy costs change?", passage(ACCOUNTS.replace("Staff costs", "Staff"))) is None
