"""What a PDF says of itself, read in a child process that a bad file cannot take the program down with."""

from __future__ import annotations

import pytest

from pdfqa_core.errors import DocumentError
from pdfqa_core.extraction.process.properties import read_properties
from pdfqa_core.types import DocumentState
from tests.extraction.conftest import at


def test_title_author_date_and_first_page(draw):
    def first(canvas):
        canvas.setTitle("Granité")
        canvas.setAuthor("Ann")
        at(canvas, 70, 90, ["First page"])

    found = read_properties(draw(first, lambda canvas: at(canvas, 70, 90, ["Second page"])))
    assert (found.title, found.author, found.first_page.strip()) == ("Granité", "Ann", "First page")
    assert found.created.startswith("D:20")


def test_bad_files_are_named(tmp_path):
    path = tmp_path / "bad.pdf"
    path.write_bytes(b"%PDF-1.4 nothing")
    with pytest.raises(DocumentError, match=r"bad\.pdf is damaged") as raised:
        read_properties(path)
    assert raised.value.state is DocumentState.BROKEN
    path.write_bytes(b"")
    with pytest.raises(DocumentError, match=r"report\.pdf is empty"):
        read_properties(path, filename="report.pdf")


def test_a_file_that_takes_too_long(draw):
    with pytest.raises(DocumentError, match="within 0 seconds") as raised:
        read_properties(draw(lambda canvas: at(canvas, 70, 90, ["One"])), seconds=0)
    assert raised.value.state is DocumentState.TOO_SLOW
