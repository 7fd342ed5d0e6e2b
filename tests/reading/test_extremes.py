"""The largest or smallest value of a table: which cell it is, what the model is told, and which answers get a tick."""

from __future__ import annotations

import pytest

from pdfqa_core.reading.cells import with_initials
from pdfqa_core.reading.checking import Checker
from pdfqa_core.reading.evidence import gather
from pdfqa_core.reading.extractive import ExtractiveReader
from pdfqa_core.reading.extremes import extreme, first_extreme
from pdfqa_core.reading.generative import GenerativeReader
from pdfqa_core.reading.table_rows import TableRows
from pdfqa_core.streaming import result_of
from pdfqa_core.types import Hit, Passage, Span, Support

SALES = """Net sales by region (in millions)

| Region | 2022 | 2021 |
| --- | --- | --- |
| Americas | 169,658 | 153,306 |
| Europe | 95,118 | 89,307 |
| Japan | 25,977 | 28,482 |
| Total net sales | 394,328 | 365,817 |
"""
PLANS = """Leave by plan

| Plan | Vacation days | Sick days | Note |
| --- | --- | --- | --- |
| Basic | 20 | 12 | from 2021 |
| Plus | 25 | 12 | – |
| Family | 25 (5 unpaid) | 10 | – |
"""

MONTHS = """Monthly figures

| Month | Sea (°C) | Heat (MWh) | COP |
| --- | --- | --- | --- |
| October 2022 | 13.1 | 118 | 3.46 |
| February 2023 | 6.8 | 219 | 2.96 |
| March 2023 | 7.5 | 187 | 3.08 |
| Winter 2022–23 | 9.2 | 1,179 | 3.13 |
| October 2023 | 13.8 | 139 | 3.66 |
| January 2024 | 7.9 | 254 | 3.28 |
| February 2024 | 7.6 | 214 | 3.26 |
| Winter 2023–24 | 9.8 | 1,198 | 3.40 |
"""


def passage(text: str, document: str = "a") -> Passage:
    return Passage(document, (Span(document, 1, 0, len(text)),), text)


@pytest.mark.parametrize(
    ("question", "label", "column", "value"),
    [
        ("Which region had the highest net sales in 2022?", "Americas", "2022", "169,658"),
        ("Which region had the second highest net sales in 2021?", "Europe", "2021", "89,307"),
        ("What was the lowest net sales figure of a region in 2021?", "Japan", "2021", "28,482"),
        ("In which year were total net sales higher?", "Total net sales", "2022", "394,328"),
        ("Which year had the smallest net sales in Japan?", "Japan", "2022", "25,977"),
        ("Which region had the highest net sales?", "Americas", "2022", "169,658"),  # the latest year
    ],
)
def test_the_cell_that_is_asked_for_is_found(question, label, column, value):
    found = extreme(question, passage(SALES))
    assert found is not None
    assert (found.label, found.column, found.value) == (label, column, f"{value} million")


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Which region had the highest net sales?", SALES.replace("2021", "Plan")),  # of which column?
        ("What were net sales in Japan in 2022?", SALES),
        ("Were net sales in Japan at most 26,000?", SALES),
        ("Which region has the highest mountains?", SALES),
        ("Which plan has the most sick days?", PLANS),  # two have
        ("Which plan has the most vacation days?", PLANS),  # a cell with two numbers
        ("In which year was the most vacation?", PLANS),
        ("", SALES),
    ],
)
def test_what_the_table_leaves_open_is_not_decided(question, text):
    assert extreme(question, passage(text)) is None


def test_the_smallest_of_a_column_is_found_and_a_negative_value_is_below_others():
    assert extreme("Which plan has the fewest sick days?", passage(PLANS)).label == "Family"
    text = SALES.replace("| Japan | 25,977", "| Japan | (99,000)")
    assert extreme("Which region had the lowest net sales in 2022?", passage(text)).value == "(99,000) million"


def test_a_part_of_a_table_is_not_compared_row_by_row():
    head, rest = SALES.split("| Europe")
    rest = f"| Europe{rest}"
    text = f"{head[:-1]} \n{rest}"
    parts = (Span("a", 1, 0, len(head) - 1), Span("a", 1, 500, 500 + len(rest)))
    question = "Which region had the highest net sales in 2022?"
    assert extreme(question, Passage("a", parts, text)) is None
    assert extreme("In which year were total net sales higher?", Passage("a", parts, text)).column == "2022"


def test_the_passage_with_most_of_the_question_is_the_one():
    place, found = first_extreme("Which region had the highest net sales in 2022?", [passage(PLANS), passage(SALES)])
    assert (place, found.label) == (1, "Americas")
    assert first_extreme("Who wrote it?", [passage(SALES)]) is None


def test_it_is_found_among_all_passages_of_the_documents_in_scope():
    rows = TableRows([passage(PLANS, "b"), passage(SALES, "a")])
    question = "Which region had the highest net sales in 2022?"
    assert rows.asked_for(question).document_id == "a"
    assert rows.asked_for(question, ["b"]) is None


def test_a_model_is_told_what_the_comparison_found(fake_llm):
    reader = GenerativeReader(fake_llm)
    hits = [Hit(passage(SALES), 1.0, 1, "test")]
    question = "Which region had the highest net sales in 2022?"
    prompt = reader.messages(question, gather(hits, 1, question))[0].content
    assert 'the highest "2022" is that of Americas: 169,658 million.' in prompt
    other = "What were net sales in Japan?"
    assert "Comparing" not in reader.messages(other, gather(hits, 1, other))[0].content


def test_quotes_begin_with_its_row():
    hits = [Hit(passage(SALES), 1.0, 1, "test")]
    quotes = ExtractiveReader(count=1).sentences("Which region had the highest net sales in 2022?", hits)
    assert [quote.text for quote in quotes] == ["| Americas | 169,658 | 153,306 |"]


@pytest.mark.parametrize(
    ("question", "answer", "ticked"),
    [
        ("Which region had the highest net sales in 2022?", "Americas had the highest net sales in 2022.", True),
        ("Which region had the highest net sales in 2022?", "The region with the largest net sales is Americas.", True),
        ("Which region had the highest net sales in 2022?", "Europe had the highest net sales, 95,118 million.", False),
        ("Which region had the highest net sales in 2022?", "Americas had the lowest net sales in 2022.", False),
        ("Which region had the highest net sales in 2022?", "Europe.", False),
        ("Which region had the second highest net sales in 2021?", "Americas had the second highest sales.", False),
        ("Which region had the second highest net sales in 2021?", "Europe had the highest net sales in 2021.", False),
        (
            "In which year were total net sales higher?",
            "Total net sales were higher in 2022, at 394,328 million.",
            True,
        ),
        ("In which year were total net sales higher?", "Total net sales were higher in 2021.", False),
        ("What were the net sales in Japan in 2022?", "Japan's net sales were 25,977 million in 2022.", True),
        ("What were the net sales in Japan in 2022?", "Japan's net sales were 28,482 million in 2022.", False),
    ],
)
def test_only_the_right_one_gets_a_tick(question, answer, ticked):
    hits = [Hit(passage(SALES), 1.0, 1, "test")]
    checked = result_of(Checker().check(answer, hits, (), question))
    assert (checked.sentences[0].support is Support.SUPPORTED) is ticked
    if ticked:
        assert checked.citations[0].quote.startswith("| ")


@pytest.mark.parametrize(
    ("question", "month", "value"),
    [
        ("Which month of the second winter had the lowest coefficient of performance?", "February 2024", "3.26"),
        ("Which month of the first winter had the highest COP?", "October 2022", "3.46"),
        ("In which month of winter 2022–23 was the sea coldest?", "February 2023", "6.8"),
        ("Which month of 2023 had the highest heat?", "February 2023", "219"),
        ("Which month had the lowest COP?", "February 2023", "2.96"),  # the sums of the winters are no months
    ],
)
def test_months_are_compared_without_their_sums_and_within_the_part_that_is_asked_for(question, month, value):
    found = extreme(question, passage(MONTHS))
    assert found is not None
    assert (found.label, found.value) == (month, value)


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("the lowest coefficient of performance", ["COP"], "the lowest COP"),
        ("earnings per share in 2022", ["EPS", "Year"], "EPS in 2022"),
        ("mergers and acquisitions", ["M&A"], "M&A"),
        ("the cost of parts", ["COP", "Cost"], "the COP"),  # it may be that: the table alone has this name
        ("the lowest price", ["COP"], "the lowest price"),
        ("", ["COP"], ""),
    ],
)
def test_words_become_the_initials_that_the_table_has(text, names, expected):
    assert with_initials(text, names) == expected
