"""The row of a table that a question asks for by its label, and where its passage comes among the hits."""

from __future__ import annotations

import pytest

from pdfqa_core.plans import with_row
from pdfqa_core.reading.table_rows import TableRows
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
        ("What was the gross margin of Services?", ("a",), None),
        ("What was the gross margin percentage?", (), "margins"),
        ("How much did the net sales of Mac fall?", (), None),
        ("Why did the net sales of Services rise?", (), None),
        ("Which Services have net sales?", (), None),
        ("In April 2023, what were the net sales of Services?", (), "sales"),
        ("Did the net sales of Services rise?", (), "sales"),
        ("By how much did net sales of iPhone rise?", (), "sales"),
        ("Which services does the airport of Oslo offer to visitors at night?", (), None),
        ("", (), None),
    ],
)
def test_the_row_whose_whole_label_is_asked_for(question, document_ids, found):
    row = TableRows(PASSAGES).asked_for(question, document_ids)
    assert (row.id if row else None) == found


COSTS = """Operating expenses:

| | April 1, 2023 |
| --- | --- |
| Research and development | $ 7,457 |
| Selling, general and administrative | 6,201 |
| Earnings per share | 1.52 |"""


@pytest.mark.parametrize(("short", "found"), [("R&D", True), ("SG&A", True), ("EPS", True), ("GDP", False)])
def test_labels_may_be_abbreviated(short, found):
    row = TableRows([*PASSAGES, passage("costs", COSTS, "c")]).asked_for(f"How high was {short}?")
    assert (row.id if row else None) == ("costs" if found else None)


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
        ((), ()),
    ],
)
def test_its_passage_comes_second(before, after):
    found = with_row(hits(*before), ROW, max(2, len(before)))
    assert tuple(hit.passage.id for hit in found) == after
    assert [hit.rank for hit in found] == list(range(1, len(found) + 1))


def test_without_such_a_row_the_hits_stay():
    assert with_row(hits("prose", "margins"), None, 5) == hits("prose", "margins")
