"""The outline's headings: drawn PDFs with bookmarks, hostile ones, and a real one."""

from __future__ import annotations

from pathlib import Path

import pypdfium2
import pytest

from pdfqa_core.extraction.layout.outline import OutlineEntry, match_outline, plain_title, read_outline
from pdfqa_core.extraction.raw_page import TextLine
from pdfqa_core.types import BlockKind
from tests.extraction.conftest import LOREM, at, blocks, read, wrapped
from tests.extraction.hostile import pdf


def outline_of(path: Path) -> tuple[OutlineEntry, ...]:
    with pypdfium2.PdfDocument(path) as document:
        return read_outline(document.raw)


def entry(canvas, title: str, level: int, top: float) -> None:
    canvas.bookmarkPage(f"{title}-{level}", fit="XYZ", left=0, top=842 - top)
    canvas.addOutlineEntry(title, f"{title}-{level}", level=level)


def line(text: str, top: float) -> TextLine:
    return TextLine(text, 70, 70 + 6 * len(text), top, top + 11, top + 9, 11, False, 1, 30)


def chapter(canvas):
    entry(canvas, "2 What the plan pays", 0, 80)
    at(canvas, 70, 80, ["2. What the plan pays", "", *wrapped(LOREM, 70)])
    entry(canvas, "Copayments and coinsurance for members", 1, 240)
    at(canvas, 70, 240, ["COPAYMENTS AND COINSURANCE", "FOR MEMBERS", "", *wrapped(LOREM, 70)])
    entry(canvas, "A chapter that nobody printed", 2, 400)


def test_bookmarks_have_level_page_and_place(draw):
    found = outline_of(draw(lambda c: at(c, 70, 80, ["Cover"]), chapter))
    assert [(x.level, x.title, x.page) for x in found] == [
        (1, "2 What the plan pays", 2),
        (2, "Copayments and coinsurance for members", 2),
        (3, "A chapter that nobody printed", 2),
    ]
    assert [x.top for x in found] == pytest.approx([80, 240, 400], abs=1)


def test_what_the_outline_names_is_a_heading_of_its_level(draw):
    page = read(draw(chapter))[0]
    body = " ".join(LOREM)
    assert blocks(page) == ["2. What the plan pays", body, "COPAYMENTS AND COINSURANCE FOR MEMBERS", body]
    headings = [b for b in page.blocks if b.kind is BlockKind.HEADING]
    assert [b.level for b in headings] == [1, 2]
    assert "nobody printed" not in page.text


def test_of_two_places_the_one_that_the_bookmark_points_to_counts():
    lines = [line("Premiums", 80), line("The text of it", 110), line("Premiums", 400)]
    assert match_outline(lines, [OutlineEntry(2, "Premiums", 1, 395)]) == {2: (1, 2)}
    assert match_outline(lines, [OutlineEntry(2, "Premiums", 1, None)]) == {0: (1, 2)}


@pytest.mark.parametrize(
    ("printed", "title", "found"),
    [
        ("3.2 Deﬁned terms", "Defined Terms", True),
        ("Defined terms", "3.2 Defined Terms", True),
        ("IV. Results", "4 Results", True),
        ("Chapter 7: Results", "Results", True),
        ("Results and more of them", "Results", False),
        ("Our results", "Results", False),
        ("Über das Maß", "ÜBER DAS MASS", True),
    ],
)
def test_numbering_case_and_ligatures_do_not_matter(printed, title, found):
    assert bool(match_outline([line(printed, 100)], [OutlineEntry(1, title, 1)])) == found


def hostile(*items: str) -> bytes:
    """Return a PDF of one page whose outline begins with object 4."""
    return pdf(
        "<< /Type /Catalog /Pages 2 0 R /Outlines << /First 4 0 R /Last 4 0 R /Count 1 >> >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] >>",
        *items,
    )


@pytest.mark.parametrize(
    ("items", "titles"),
    [
        (["<< /Title (Round) /Dest [3 0 R /Fit] /Next 4 0 R /First 4 0 R >>"], ["Round"]),
        (
            ["<< /Title (One) /Dest [3 0 R /Fit] /Next 5 0 R >>", "<< /Title (Two) /Dest [3 0 R /Fit] /First 4 0 R >>"],
            ["One", "Two"],
        ),
        (["<< /Title (Nowhere) /Dest [99 /Fit] >>"], []),
        (["<< /Title (No place) >>"], []),
        (["<< /Dest [3 0 R /Fit] >>"], []),
        (["<< /Title 7 /Dest (nothing) /Next 3 0 R >>"], []),
    ],
)
def test_broken_outlines_end(tmp_path, items, titles):
    path = tmp_path / "hostile.pdf"
    path.write_bytes(hostile(*items))
    assert [x.title for x in outline_of(path)] == titles


def test_a_real_outline(shared_data: Path):
    path = shared_data / "sample_pdfs" / "pdflatex-outline.pdf"
    found = outline_of(path)
    assert len(found) == 9
    pages = read(path)
    for number, page in enumerate(pages[1:], 2):
        titles = [plain_title(x.title) for x in found if x.page == number]
        assert [plain_title(text.split(" ", 1)[1]) for text in blocks(page, BlockKind.HEADING)] == titles
