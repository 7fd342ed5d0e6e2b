"""What blocks are, on drawn pages: contents, figures, footnotes, plain headings, lists, formulas."""

from __future__ import annotations

import pytest

from pdfqa_core.extraction.layout.kinds import titled
from pdfqa_core.types import BlockKind
from tests.extraction.conftest import LOREM, at, blocks, read, wrapped

BODY = " ".join(LOREM) + "."
LINES = wrapped(BODY.split(), 70)


def leaders(title: str, page: str, width: int = 60) -> str:
    return f"{title} {'. ' * ((width - len(title)) // 2)}{page}"


def test_contents_with_leaders_are_list_items(draw):
    entries = [("1 Purpose", "1"), ("2 How the system works", "3"), ("2.1 From the sea", "3"), ("Glossary", "12")]

    def page(c):
        c.setFont("Helvetica-Bold", 16)
        at(c, 70, 80, ["Contents"])
        c.setFont("Helvetica-Bold", 11)
        at(c, 70, 120, [leaders("Foreword", "iv")])
        c.setFont("Helvetica", 11)
        at(c, 70, 140, [leaders(*entry) for entry in entries], 16)

    found = read(draw(page))[0]
    assert blocks(found, BlockKind.HEADING) == ["Contents"]
    assert blocks(found, BlockKind.LIST) == ["Foreword … iv", *(f"{title} … {page}" for title, page in entries)]


def test_contents_without_leaders_keep_an_entry_of_two_lines_together(draw):
    def page(c):
        c.setFont("Helvetica-Bold", 16)
        at(c, 70, 80, ["TABLE OF CONTENTS"])
        for number, (title, target) in enumerate(
            [("Item 1. Financial Statements", 1), ("", 0), ("of the company and its subsidiaries", 14), ("Part II", 20)]
        ):
            c.setFont("Helvetica-Bold" if title == "Part II" else "Helvetica", 11)
            at(c, 70, 120 + 14 * number, [title or "Item 2. Discussion and analysis of the results of operations"])
            if target:
                at(c, 500, 120 + 14 * number, [str(target)])

    found = read(draw(page))[0]
    assert blocks(found, BlockKind.LIST) == [
        "Item 1. Financial Statements 1",
        "Item 2. Discussion and analysis of the results of operations of the company and its subsidiaries 14",
        "Part II 20",
    ]


def test_words_in_a_figure_are_one_block_above_its_caption(draw):
    def page(c):
        at(c, 70, 80, LINES)
        for number in range(4):
            at(c, 80, 200 + 20 * number, [str(300 - 100 * number)])
            at(c, 400, 200 + 20 * number, [f"{3.7 - 0.3 * number:.1f}"])
        for number, month in enumerate(["Oct", "Nov", "Dec", "Jan", "Feb"]):
            at(c, 110 + 60 * number, 280, [month])
        at(c, 70, 310, ["Figure 1. Heat delivered and coefficient of performance by month."])
        at(c, 70, 340, LINES)

    found = read(draw(page))[0]
    assert blocks(found, BlockKind.CAPTION) == [
        "300 3.7 200 3.4 100 3.1 0 2.8 Oct Nov Dec Jan Feb",
        "Figure 1. Heat delivered and coefficient of performance by month.",
    ]
    assert blocks(found, BlockKind.TEXT) == [BODY, BODY]


def test_plain_headings_stand_above_paragraphs(draw):
    def page(c):
        c.setFont("Helvetica", 11)
        at(c, 70, 80, ["Premiums", "", *LINES, "", "What is balance billing?", "", *LINES, "", "Reporting Procedures:"])
        at(
            c,
            70,
            80 + 13 * (2 * len(LINES) + 8),
            [*LINES, "", "Tips to keep in mind:", "", "• one tip", "• another tip"],
        )

    found = read(draw(page))[0]
    assert blocks(found, BlockKind.HEADING) == ["Premiums", "What is balance billing?", "Reporting Procedures:"]
    assert "Tips to keep in mind:" in blocks(found, BlockKind.TEXT)


def test_a_heading_at_the_end_of_a_page_belongs_to_the_next(draw):
    def first(c):
        at(c, 70, 80, LINES)
        at(c, 70, 760, ["Workplace Violence"])

    def second(c):
        at(c, 70, 110, LINES)

    assert blocks(read(draw(first, second))[0], BlockKind.HEADING) == ["Workplace Violence"]
    assert blocks(read(draw(first))[0], BlockKind.HEADING) == []


@pytest.mark.parametrize(
    "text",
    ["Premiums", "Out-of-Pocket Maximum", "WHAT IF I MOVE?", "What is covered?", "Level 1: Initial Appeal", "Tips"],
)
def test_titles(text):
    assert titled(text)


@pytest.mark.parametrize(
    "text",
    [
        "Last Updated: 2023-03-05",
        "You can reach us by mail, by phone",
        "the plan pays",
        "Is it?!",
        "The plan covers services such as surgery and much more",
        "Dear Ms Jones,",
        "A = B",
        "Yes ☒ No ☐",
        "U",
        "Really cheap?",
    ],
)
def test_other_short_lines_are_no_titles(text):
    assert not titled(text)


def test_the_text_below_a_hanging_item_is_no_part_of_it(draw):
    def page(c):
        at(c, 80, 100, ["• The first item is so long that it goes on over the end of its line, and"])
        at(c, 90, 113, ["its second line hangs behind the mark of the item that it belongs to, and is full"])
        at(c, 80, 126, LINES)

    found = blocks(read(draw(page))[0])
    assert found[0].endswith("belongs to, and is full")
    assert found[1:] == [BODY]


def test_a_telephone_number_is_no_item(draw):
    page = read(draw(lambda c: at(c, 80, 100, ["(408) 996-1010"])))[0]
    assert blocks(page, BlockKind.LIST) == []


def test_small_notes_at_the_foot_are_footnotes(draw):
    def page(c):
        at(c, 70, 80, LINES)
        c.setFont("Helvetica", 8)
        at(c, 70, 740, ["1 The first note says where a number comes from."], 10)
        at(c, 70, 751, ["2 The second note does the same for another."], 10)
        c.setFont("Helvetica", 11)

    def table_note(c):
        at(c, 70, 80, LINES)
        c.setFont("Helvetica", 8)
        at(c, 70, 740, ["2022 was a year in which all the figures were lower."], 10)

    assert len(blocks(read(draw(page))[0], BlockKind.FOOTNOTE)) == 2
    assert blocks(read(draw(table_note))[0], BlockKind.FOOTNOTE) == []


def test_a_justified_line_of_few_words_does_not_part_its_paragraph(draw):
    above = ["The protocol was registered on 2 February", "at the registry. One deviation has to be"]
    below = ["Coldharbour were stolen on the night of 11", "July, and the session went on without them."]

    def page(c):
        c.setFont("Helvetica", 10)
        at(c, 63, 80, above, 14)
        for left, word in zip((63, 114, 139, 179, 211, 273), "named: in 2022 six detectors in".split(), strict=True):
            at(c, left, 108, [word])
        at(c, 63, 122, below, 14)
        at(c, 63, 180, LINES, 14)

    found = read(draw(page))[0]
    assert "One deviation has to be named: in 2022 six detectors in Coldharbour were stolen" in found.text
