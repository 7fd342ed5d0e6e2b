"""A table of questions to be filled in for measuring retrieval: one row for each kind of gold that it may have."""

from __future__ import annotations

from pdfqa_core.csv_format import write_csv

TEMPLATE = "retrieval questions.csv"
COLUMNS = ("question", "document", "page", "quote", "answerable")
_SAMPLE = "harbour-heat.pdf"  # so that the rows can be tried as they stand
_ROWS = (
    ("How often are the meters read?", _SAMPLE, "4", "All meters are read every 15 minutes", "yes"),  # words of a page
    ("What did building the plant cost?", _SAMPLE, "6", "", "yes"),  # a whole page
    ("How loud is it at night, and what is permitted?", _SAMPLE, "2; 7", "", "yes"),  # any of several pages
    ("Which company built the heat pump?", "", "", "", "no"),  # nothing that could be found
)


def template() -> bytes:
    """Return a CSV file with the columns that questions need whose places are to be found, and example rows."""
    return write_csv(COLUMNS, _ROWS)
