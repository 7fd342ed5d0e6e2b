"""The template of questions for measuring retrieval: it is read back, and every kind of gold is in it."""

from __future__ import annotations

from pathlib import Path

from pdfqa_core.csv_format import read_csv
from pdfqa_core.protocols.gold import GoldFile, read_gold
from pdfqa_core.protocols.retrieval import COLUMNS, TEMPLATE, template
from tests.serving_fakes import PDF


def brought(folder: Path) -> GoldFile:
    path = folder / TEMPLATE
    path.write_bytes(template())
    return read_gold(path)


def test_it_is_read_back_with_one_question_for_each_kind_of_gold(tmp_path: Path) -> None:
    assert read_csv(template()).header == COLUMNS
    quote, page, pages, none = brought(tmp_path).questions
    assert [(one.document, one.page) for one in quote.places] == [(PDF.name, 4)]
    assert quote.places[0].quote == "All meters are read every 15 minutes"
    assert [(one.page, one.quote) for one in page.places] == [(6, "")]
    assert [one.page for one in pages.places] == [2, 7]
    assert (none.places, none.answerable) == ((), False)
    assert all(one.answerable for one in (quote, page, pages))
