"""Extractor `visual`: pages that are pictures, drawn here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pypdfium2
import pytest

from pdfqa_core.extraction import extractors
from pdfqa_core.extraction.base import ExtractionOptions
from pdfqa_core.extraction.process.worker import read_document
from pdfqa_core.extraction.visual.picture import draw as draw_page
from pdfqa_core.types import DocumentState
from tests.extraction.conftest import at

pytest.importorskip("rapidocr")

LINES = (
    "The deductible starts again every year.",
    "Die Gebühr für größere Straßen: 12,50 €.",
    "Un élève à l'école, déjà reçu; señor Núñez.",
)


def pictured(path: Path, target: Path, *, dpi: int = 120, turn: int = 0) -> Path:
    """Write the pages of a PDF as pictures, turned clockwise by quarters."""
    with pypdfium2.PdfDocument(path) as document:
        pictures = [page.render(scale=dpi / 72, rotation=90 * turn).to_pil().convert("L") for page in document]
    pictures[0].save(target, save_all=True, append_images=pictures[1:], resolution=dpi)
    return target


def visual(path: Path, **choices):
    return list(extractors.get("visual")(ExtractionOptions(), **choices).extract(path, "doc"))


def test_a_picture_of_text_is_read_with_its_accents(draw, tmp_path):
    scan = pictured(draw(lambda c: at(c, 70, 100, LINES, 30)), tmp_path / "scan.pdf")
    (page,) = visual(scan)
    for line in LINES:
        assert line in page.text
    assert (page.source, page.warnings) == ("ocr", ())
    assert 0.9 < page.confidence <= 1
    start = page.text.index("deductible")
    (box,) = page.boxes(start, start + len("deductible"))
    assert box.x0 == pytest.approx(92, abs=6)
    assert 85 < box.top < 100 < box.bottom < 110


def parts(path: Path, target: Path) -> Path:
    """Write one PDF: the first page of a file as it is, the first page as a picture, an empty page."""
    scan = pictured(path, target.with_name("scan.pdf"))
    with pypdfium2.PdfDocument(path) as text, pypdfium2.PdfDocument(scan) as picture:
        mixed = pypdfium2.PdfDocument.new()
        mixed.import_pages(text, [0])
        mixed.import_pages(picture, [0])
        mixed.new_page(595, 842)
        mixed.save(target)
    return target


def test_only_the_scanned_page_of_a_mixed_file_is_read_by_ocr(draw, tmp_path):
    mixed = parts(draw(lambda c: at(c, 70, 100, LINES, 30)), tmp_path / "mixed.pdf")
    text, scan, empty = visual(mixed)
    originals = list(extractors.get("direct")(ExtractionOptions()).extract(mixed, "doc"))
    assert text == originals[0]
    assert empty == originals[2]
    assert (scan.source, scan.number) == ("ocr", 2)
    assert LINES[1] in scan.text
    assert originals[1].text == ""


def test_all_pages_are_read_by_ocr_where_that_is_asked_for(draw):
    (page,) = visual(draw(lambda c: at(c, 70, 100, LINES[:1])), visual_pages="all")
    assert (page.source, page.text) == ("ocr", LINES[0])


def test_a_page_with_a_rotation_of_its_own_is_read_as_it_is_shown(draw, tmp_path):
    scan = pictured(draw(lambda c: at(c, 70, 100, LINES[:1])), tmp_path / "scan.pdf", turn=3)
    with pypdfium2.PdfDocument(scan) as document:
        document[0].set_rotation(90)
        document.save(tmp_path / "rotated.pdf")
    (page,) = visual(tmp_path / "rotated.pdf")
    assert page.text == LINES[0]
    assert (page.width, page.height) == pytest.approx((595, 842), abs=1)
    assert page.lines[0].box.x0 == pytest.approx(70, abs=4)
    assert 85 < page.lines[0].box.top < 100 < page.lines[0].box.bottom < 110


def test_a_huge_page_is_drawn_no_larger_than_can_be_read():
    with pypdfium2.PdfDocument.new() as document:
        picture, scale = draw_page(document.new_page(14400, 14400))
        assert picture.size <= 12_100_000
        assert picture.shape[0] == pytest.approx(14400 * scale, abs=1)
        picture, scale = draw_page(document.new_page(1, 14400))
        assert picture.shape[0] <= 8000
        assert draw_page(document.new_page(2, 2))[0].shape[0] >= 8


def test_the_program_reads_a_scan_in_its_child_processes(draw, tmp_path):
    source = draw(lambda c: at(c, 70, 100, LINES[:1]), lambda c: at(c, 70, 100, LINES[1:2]))
    told = []
    result = read_document(
        pictured(source, tmp_path / "scan.pdf"), "doc", extractor="visual", workers=2, on_progress=told.append
    )
    assert (result.state, result.reason) == (DocumentState.READY, "")
    assert [page.text for page in result.pages] == [LINES[0], LINES[1]]
    assert (told[-1].done, told[-1].total) == (2, 2)


def test_nothing_is_downloaded(draw, tmp_path):
    scan = pictured(draw(lambda c: at(c, 70, 100, LINES[:1])), tmp_path / "scan.pdf")
    code = (
        "import sys\n"
        "def watch(event, arguments):\n"
        "    if event in ('socket.connect', 'socket.getaddrinfo', 'socket.gethostbyname', 'socket.sendto'):\n"
        "        raise SystemExit(f'network: {event} {arguments}')\n"
        "sys.addaudithook(watch)\n"
        "from pathlib import Path\n"
        "from pdfqa_core.extraction.base import ExtractionOptions\n"
        "from pdfqa_core.extraction.visual import visual_extractor\n"
        f"print(next(visual_extractor(ExtractionOptions()).extract(Path({str(scan)!r}), 'doc')).text)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, LINES[0], "")
