"""The row of a table that a question asks for by its label, and where its passage comes among the hits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pdfqa_core.reading.tables import TableRows
from pdfqa_core.services.finding import with_row
from pdfqa_core.types import Hit, Passage, Span

SALES = """Net sales by category (dollars in millions):

| | April 1, 2023 | March 26, 2022 |
| --- | --- | --- |
| Net sales: | | |
| iPhone | $ 51,334 | $ 50,570 |
| Services | 20,907 | 19,821 |"""
MARGINS = """Gross margin:

| | April 1, 2023 | March 26, 2022 |
| --- | --- | --- |
| Services | $ 14,842 | $ 14,392 |
| Gross margin percentage | 44.3 % | 43.7 % |"""
PROSE = "Services net sales increased due to higher net sales from cloud services."


def passage(key: str, text: str, document: str = "a", page: int = 1) -> Passage:
    return Passage(key, (Span(document, page, 0, len(text)),), text, "Apple Inc.: Results")


PASSAGES = [passage("prose", PROSE), passage("sales", SALES, page=2), passage("margins", MARGINS, "b", 3)]


@pytest.mark.parametrize(
    ("question", "document_ids", "found"),
    [
        ("How high were the net sales of Services?", (), "sales"),
        ("What was the gross margin of Services?", (), "margins"),
        ("What was the gross margin of Services?", ("b",), "margins"),
        ("What was the gross margin of Services?", ("a",), None),  # a row without most of the words
        ("What was the gross margin percentage?", (), "margins"),
        ("What was the gross margin?", (), None),  # half a label
        ("How much did the net sales of Mac fall?", (), None),
        ("In April 2023, what were the net sales of Services?", (), "sales"),
        ("On April 1, 2023, what was the gross margin of Services?", (), "margins"),  # the sales are of that day too
        ("", (), None),
    ],
)
def test_the_row_whose_whole_label_is_asked_for(
    question: str, document_ids: tuple[str, ...], found: str | None
) -> None:
    row = TableRows(PASSAGES).asked_for(question, document_ids)
    assert (row.id if row else None) == found


def test_what_stands_above_another_table_says_nothing_of_a_row():
    staff = "Staff:\n\n| | 2023 |\n| --- | --- |\n| Pilots | 30 |"
    rows = TableRows([passage("both", f"{MARGINS}\n\n{staff}")])
    assert rows.asked_for("What was the gross margin of Pilots?") is None
    assert rows.asked_for("How many staff are Pilots?") is not None


def test_a_label_is_compared_by_the_rules_of_its_own_language():
    text = "Ausgaben\n\n| | 2023 |\n| --- | --- |\n| Mieten | 7 |\n| Löhne | 9 |"
    costs = replace(passage("ausgaben", text), language="german")
    row = TableRows([*PASSAGES, costs]).asked_for("Wie hoch war die Miete?")
    assert row == costs


def hits(*keys: str) -> list[Hit]:
    known = {one.id: one for one in PASSAGES}
    return [Hit(known[key], 9.0 - rank, rank, "bm25") for rank, key in enumerate(keys, start=1)]


ROW = Hit(PASSAGES[1], 1.0, 1, "table row")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (("prose", "margins"), ("prose", "sales")),
        (("prose", "margins", "sales"), ("prose", "sales", "margins")),
        (("sales", "prose"), ("sales", "prose")),
    ],
)
def test_its_passage_comes_second(before: tuple[str, ...], after: tuple[str, ...]) -> None:
    found = with_row(hits(*before), ROW, max(2, len(before)))
    assert tuple(hit.passage.id for hit in found) == after
    assert [hit.rank for hit in found] == list(range(1, len(found) + 1))
