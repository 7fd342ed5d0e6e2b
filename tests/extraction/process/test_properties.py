"""What a PDF says of itself, read in a child process that a bad file cannot take the program down with."""

from __future__ import annotations

import zlib
from contextlib import suppress
from pathlib import Path

import pytest

from pdfqa_core.errors import DocumentError
from pdfqa_core.extraction.process.properties import read_properties, take_attached
from pdfqa_core.types import DocumentState
from tests.extraction.conftest import at
from tests.extraction.hostile import one_page, with_attached


def test_title_author_date_and_first_page(draw):
    def first(canvas):
        canvas.setTitle("Granité")
        canvas.setAuthor("Ann")
        at(canvas, 70, 90, ["First page"])

    found = read_properties(draw(first, lambda canvas: at(canvas, 70, 90, ["Second page"])))
    assert (found.title, found.author, found.first_page.strip()) == ("Granité", "Ann", "First page")
    assert found.created.startswith("D:20")


def test_attached_pdfs_are_taken_within_limits(tmp_path: Path) -> None:
    inner = one_page("BT /F 12 Tf 72 700 Td (The rent is 900 crowns) Tj ET")
    files = [("contract.pdf", inner), ("prices.csv", b"a,b"), ("../../lie.pdf", b"MZ"), ("annex.pdf", inner + b"%")]
    path = tmp_path / "portfolio.pdf"
    path.write_bytes(with_attached("", *files))
    for most, names in ((10 * len(inner), ["contract.pdf", "annex.pdf"]), (len(inner) + 5, ["contract.pdf"]), (5, [])):
        folder = tmp_path / str(most)
        folder.mkdir()
        taken = take_attached(path, folder, most=most)
        assert [name for _, name in taken] == names
        assert sorted(folder.iterdir()) == sorted(one for one, _ in taken)
        assert all(one.read_bytes().startswith(inner) for one, _ in taken)


def test_an_attached_file_that_grows_without_end_does_no_harm(tmp_path: Path) -> None:
    packer = zlib.compressobj(9)
    first, again = (packer.compress(bytes(1 << 24)) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    bomb = first + 200 * again  # of 3.4 GB
    path = tmp_path / "bomb.pdf"
    path.write_bytes(with_attached("", ("bomb.pdf", bomb), packed=True))
    (tmp_path / "taken").mkdir()
    with suppress(DocumentError):
        assert take_attached(path, tmp_path / "taken", most=100_000_000) == []
    assert list((tmp_path / "taken").iterdir()) == []


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
