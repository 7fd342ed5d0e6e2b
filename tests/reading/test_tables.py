from dataclasses import replace

import pytest

from pdfqa_core.reading.tables import tables, taken_from
from pdfqa_core.types import Citation
from tests.reading.helpers import hit

SALES = """Net sales and costs (in millions)

| | June 2022 | June 2021 |
| --- | --- | --- |
| Net sales: | | |
| Products | $ 63,355 | $ 63,948 |
| Total net sales | 82,959 | 81,434 |
| Net income | 19,442 | |"""


def test_a_row_is_read_out_with_its_columns_and_the_label_it_stands_under():
    (table,) = tables(SALES)
    assert table.columns == ("", "June 2022", "June 2021")
    assert [row.words for row in table.rows] == [
        "Net sales:",
        "Net sales: Products: June 2022: $ 63,355 million; June 2021: $ 63,948 million",
        "Net sales: Total net sales: June 2022: $ 82,959 million; June 2021: $ 81,434 million",
        "Net income: June 2022: $ 19,442 million",
    ]
    assert [SALES[row.start : row.end] for row in table.rows][1] == "| Products | $ 63,355 | $ 63,948 |"


def test_amounts_alone_are_read_out_in_the_scale_of_their_table():
    rows = "| Income | $ (5) |\n| Margin | 43.3 % |\n| Earnings per share | $ 1.2 |\n| Rating | A1 |\n| Due | 2031 |"
    (table,) = tables(
        f"Results (in millions, except shares in thousands and per share amounts):\n\n| | 2022 |\n| --- | --- |\n{rows}"
    )
    assert [row.words for row in table.rows] == [
        "Income: 2022: $ (5) million", "Margin: 2022: 43.3 %", "Earnings per share: 2022: $ 1.2", "Rating: 2022: A1",
        "Due: 2022: 2031",
    ]  # fmt: skip


def test_a_currency_that_stands_once_holds_for_all_amounts_of_the_table():
    rows = "| Income | $ 5 | 6 |\n| Tax | (2) | 2 % |\n| Shares | 7 | 8 |\n| Year | 2031 | |"
    (table,) = tables(f"Results (in millions):\n| | 2022 | 2021 |\n| --- | --- | --- |\n{rows}")
    assert [row.words for row in table.rows] == [
        "Income: 2022: $ 5 million; 2021: $ 6 million", "Tax: 2022: $ (2) million; 2021: 2 %",
        "Shares: 2022: 7; 2021: 8", "Year: 2022: 2031",
    ]  # fmt: skip


@pytest.mark.parametrize("signs", [("", ""), ("$ ", "€ ")])
def test_without_a_currency_or_with_two_none_is_said_of_other_amounts(signs):
    rows = "".join(f"\n| Income {place} | {sign}5 |" for place, sign in enumerate((*signs, "")))
    (table,) = tables(f"Results (in millions):\n| | 2022 |\n| --- | --- |{rows}")
    assert table.rows[-1].words == "Income 2: 2022: 5 million"


@pytest.mark.parametrize(
    "above", ["Results", "Income in millions and shares in thousands", "In millions.\n\nA\nB\nC\nD"]
)
def test_a_scale_that_is_far_or_one_of_several_is_not_said(above):
    (table,) = tables(f"{above}:\n| | 2022 |\n| --- | --- |\n| Income | 5 |")
    assert table.rows[0].words == "Income: 2022: 5"


def test_a_table_without_names_of_columns_and_the_joint_of_a_split_one():
    (table,) = tables("| | |\n| --- | --- | \n| Heat pump \\| plant room | 940,000 |")
    assert [row.words for row in table.rows] == ["Heat pump | plant room: 940,000"]


def test_two_tables_keep_their_own_columns_and_bars_alone_are_none():
    one, two = tables("| a | b |\n| --- | --- |\n| 1 | 2 |\n\nBetween.\n\n| c | d |\n| --- | --- |\n| 3 | 4 |")
    assert one.rows[0].words == "1: b: 2"
    assert two.rows[0].words == "3: d: 4"
    assert tables("| a | b |\n| 1 | 2 |") == []
    assert tables("no table") == []


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ("iPhone® (1) | $ 65,775", "iPhone: b: $ 65,775"),
        ("Wearables (1)(2) | 13 (3)", "Wearables: b: 13"),
        ("Costs * | (13)", "Costs: b: (13)"),
        ("Table (a) | 4 (of 5)", "Table (a): b: 4 (of 5)"),
        ("(1) | 5", "(1): b: 5"),
    ],
)
def test_marks_of_footnotes_are_no_part_of_labels_and_values(cells, words):
    (table,) = tables(f"| a | b |\n| --- | --- |\n| {cells} |")
    assert table.rows[0].words == words


@pytest.mark.parametrize(
    ("answer", "column"),
    [
        ("Products brought in $63,355.", "column “June 2022”"),
        ("Products brought in $63,948 million.", "column “June 2021”"),
        ("They went from 63,948 to 63,355 million dollars.", "columns “June 2022” and “June 2021”"),
        ("They fell by 593.", ""),
    ],
)
def test_an_answer_from_a_row_names_the_columns_it_took(answer, column):
    found = hit(SALES)
    row = "| Products | $ 63,355 | $ 63,948 |"
    cited = Citation(1, found.passage.id, found.passage.spans[0], row, True, 0, len(answer))
    wanted = (f"Taken from the {column} of the row “Products”.",) if column else ()
    assert taken_from(answer, [cited, cited], [found]) == wanted
    assert taken_from(answer, [replace(cited, verified=False)], [found]) == ()
