from __future__ import annotations

from dataclasses import replace

import pytest

from pdfqa_core.extraction.layout.outline import choose_authors, choose_title, sensible
from pdfqa_core.types import Block, BlockKind, Box, Line, Page


def titled(*headings: tuple[str, float, int]) -> Page:
    text, lines, blocks = "", [], []
    for words, height, level in headings:
        start = len(text)
        text += words
        top = 10 + 50 * len(lines)
        lines.append(Line(start, len(text), Box(10, top, 100, top + height)))
        blocks.append(Block(start, len(text), BlockKind.HEADING, level))
        text += "\n\n"
    return Page("d", 1, "1", 595, 842, text.removesuffix("\n\n"), tuple(lines), tuple(blocks))


@pytest.mark.parametrize(
    "poor", ["", "untitled", "Untitled", "report.docx", "0000320193-23", "Microsoft Word", "Slide 1", "a", "x" * 300]
)
def test_poor_titles(poor):
    assert not sensible(poor)


def test_titles():
    page = titled(("Contoso", 36, 1), ("Health Plan", 24, 1), ("Your Name", 12, 3))
    assert choose_title("Annual report 2023", (page,), "file") == "Annual report 2023"
    assert choose_title("Microsoft Word - Travel policy", (page,), "file") == "Travel policy"
    assert choose_title("Microsoft Word - a.docx", (page,), "file") == "Contoso Health Plan"
    assert choose_title("", (titled(("Contents", 30, 1)),), "my file") == "my file"
    assert choose_title("", (), "my file") == "my file"
    assert choose_title("", (titled(), page), "my file") == "Contoso Health Plan"
    filing = titled(("Form 10-Q", 16, 1), ("For the quarter", 12, 2), ("Apple Inc.", 18, 1), ("Mark One", 9, 4))
    assert choose_title("0000320193-23-000077", (filing,), "file") == "Form 10-Q Apple Inc."


@pytest.mark.parametrize(
    ("headings", "source", "title"),
    [
        ((("Tenancy Agreement", 20, 1), ("1. Parties and property", 14, 1)), "text", "Tenancy Agreement"),
        ((("Sea Ice", 20, 1), ("2.1 Melting", 20, 1)), "text", "Sea Ice 2.1 Melting"),  # alone it would say little
        ((("Boiler EC-200", 18, 1), ("1. Error codes", 20, 1), ("2. Data", 20, 1)), "text", "Boiler EC-200"),
        (
            (("Two winters of", 20, 1), ("heat from the sea", 20, 1), ("Aim", 14, 2)),
            "text",
            "Two winters of heat from the sea",
        ),
        ((("Boiler EC-200", 14, 3), ("Error codes Technical data", 20, 1)), "ocr", "Boiler EC-200"),
        ((("The Harbour News", 14, 3), ("Boiler for sale", 20, 1)), "text", "Boiler for sale"),
    ],
)
def test_a_section_is_no_part_of_the_title(headings, source, title):
    page = replace(titled(*headings), source=source)
    blocks = [
        replace(page.blocks[0], kind=BlockKind.HEADER if source == "ocr" else BlockKind.HEADING),
        *page.blocks[1:],
    ]
    assert choose_title("", (replace(page, blocks=tuple(blocks)),), "my file") == title


def test_headings_side_by_side_are_no_title_of_two_lines():
    page = titled(("Boiler EC-200", 16, 1), ("Error codes", 20, 1), ("Technical data", 20, 1))
    *above, last = page.lines
    beside = replace(last, box=Box(300, above[-1].box.top, 400, above[-1].box.bottom))
    assert choose_title("", (replace(page, lines=(*above, beside)),), "my file") == "Boiler EC-200"


@pytest.mark.parametrize(
    ("metadata", "authors"),
    [
        ("Kestrel Bay Heat Works", "Kestrel Bay Heat Works"),
        ("Ada Lovelace, Charles Babbage", "Ada Lovelace, Charles Babbage"),
        ("Ada Lovelace; user;\nAda Lovelace | C. Mackenzie", "Ada Lovelace; C. Mackenzie"),
        ("A" * 150 + " " + "B" * 150, "A" * 150 + "…"),
        ("Jos\u00e9\u0000 Test", "José Test"),
    ],
)
def test_authors(metadata, authors):
    assert choose_authors(metadata) == authors


@pytest.mark.parametrize(
    "account",
    [
        *("user", "Administrator", "Microsoft Office User", "python-docx", "HP", "jd0042", "me@home.org", "?", ""),
        *("pdfTeX", "EDGAR Online, a division of Donnelley Financial Solutions", "C:\\me", "\ufffd\ufffd\ufffd"),
    ],
)
def test_accounts_and_programs_are_no_authors(account):
    assert choose_authors(account) == ""
