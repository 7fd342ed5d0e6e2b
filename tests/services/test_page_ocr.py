"""OCR of single pages: only they change, and what became of them is said."""

from __future__ import annotations

import io

import pytest
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from pdfqa_core.errors import PdfQAError, StoppedError, UsageError
from pdfqa_core.extraction.raw_page import IS_PICTURE, OCR_FOUND_NOTHING
from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.services.pages import ocr_task
from pdfqa_core.types import DocumentState, Progress
from tests.services.helpers import BM25, built, only

pytest.importorskip("rapidocr")

TEXT = ("The quarry sells granite by the tonne.", "It is blasted on Tuesdays.")
SCANNED = "Boats are kept in the hall during the winter."


def picture(*lines):
    """Return a picture of lines of text; of a grey plane where there is none."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("RGB", (1240, 1754), "white" if lines else "grey")
    for place, line in enumerate(lines):
        ImageDraw.Draw(image).text((90, 120 + 70 * place), line, fill="black", font=ImageFont.load_default(size=34))
    return image


@pytest.fixture
def mixed(tmp_path):
    """A PDF with text on pages 1 and 4, a picture of text on page 2, and one of nothing on page 3."""
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=(595, 842), invariant=1)
    for page in (TEXT, picture(SCANNED), picture(), TEXT):
        if isinstance(page, tuple):
            for place, line in enumerate(page):
                canvas.drawString(72, 760 - 18 * place, line)
        else:
            canvas.drawImage(ImageReader(page), 0, 0, 595, 842)
        canvas.showPage()
    canvas.save()
    path = tmp_path / "mixed.pdf"
    path.write_bytes(buffer.getvalue())
    return path


@pytest.fixture
def opened(open_services, mixed):
    services = open_services(empty=True)
    list(services.documents.ingest(LOCAL_OWNER, [mixed]))
    return services


def pages(services):
    return services.documents.text(LOCAL_OWNER, only(services).id, BM25)


def test_what_cannot_be_read_is_said(opened):
    document = only(opened)
    with pytest.raises(UsageError, match=r"mixed\.pdf has no such page: 0, 9"):
        list(opened.documents.pages.read_by_ocr(LOCAL_OWNER, document.id, [9, 0, 2]))
    with pytest.raises(UsageError, match="no such page: none"):
        list(opened.documents.pages.read_by_ocr(LOCAL_OWNER, document.id, []))
    with pytest.raises(UsageError, match="no such document"):
        list(opened.documents.pages.read_by_ocr("visitor", document.id, [2]))


def test_a_stopped_page_changes_nothing(opened):
    before = pages(opened)
    steps = opened.documents.pages.read_by_ocr(LOCAL_OWNER, only(opened).id, [2])
    next(steps)
    with pytest.raises(PdfQAError, match="still busy"):
        next(opened.documents.pages.read_by_ocr(LOCAL_OWNER, only(opened).id, [3]))
    opened.tasks.stop(ocr_task(LOCAL_OWNER))
    with pytest.raises(StoppedError):
        list(steps)
    assert pages(opened) == before
    assert before[1].warnings == (f"Page 2{IS_PICTURE}",)


def test_pages_are_added_to_the_reading_and_the_others_stay(opened):
    before = pages(opened)
    assert only(opened).pages_without_text == (2, 3)
    assert opened.answers.overviews.of(LOCAL_OWNER, only(opened).id, BM25).pictures == (2, 3)
    *steps, document = opened.documents.pages.read_by_ocr(LOCAL_OWNER, only(opened).id, [3, 2])
    assert all(isinstance(step, Progress) for step in steps)
    assert steps[0].phase == "reading pages 2, 3 with OCR"
    first, scanned, grey, last = pages(opened)
    assert [first, last] == [before[0], before[3]]
    assert (scanned.text, scanned.source, scanned.number) == (SCANNED, "ocr", 2)
    assert (grey.text, grey.source, grey.warnings) == ("", "ocr", (f"Page 3{OCR_FOUND_NOTHING}",))
    assert (document.extractor, document.state, document.reason) == ("direct", DocumentState.READY, "")
    assert document.pages_without_text == ()
    (reading,) = opened.documents.kept.readings(LOCAL_OWNER)
    assert (reading.extractor, reading.ocr_pages) == ("direct", 2)
    built(opened)
    assert SCANNED in opened.index.search(LOCAL_OWNER, "winter hall", BM25)[0].passage.text
    assert opened.answers.overviews.of(LOCAL_OWNER, document.id, BM25).pictures == ()
