"""Formulas and figures of two dimensions are read as they were written; tables, notes and text are not."""

from __future__ import annotations

from pdfqa_core.types import BlockKind
from tests.extraction.conftest import LOREM, at, blocks, put, read, wrapped


def test_a_fraction_is_read_behind_the_sign_before_it_and_boxed_line_by_line(draw):
    def page(c):
        at(c, 70, 80, wrapped(LOREM, 70))
        put(c, 240, 207, "s(z) :=")
        put(c, 285, 199.5, "az + b")
        put(c, 285, 214.5, "cz + d")
        at(c, 70, 250, wrapped(LOREM, 70))

    found = read(draw(page))[0]
    assert blocks(found)[1] == "s(z) := az + b cz + d"
    (denominator,) = [line for line in found.lines if found.text[line.start : line.end] == "cz + d"]
    assert denominator.box.x0 > 280
    assert 200 < denominator.box.top < 214.5 < denominator.box.bottom < 220


def test_a_header_of_two_lines_beside_one_of_one_line_is_no_formula(draw):
    def page(c):
        at(c, 70, 80, wrapped(LOREM, 70))
        put(c, 70, 204, "Region", 9)
        for column, year in enumerate(("2022", "2021")):
            put(c, 250 + 120 * column, 198.5, "June 25,", 9)
            put(c, 250 + 120 * column, 209.5, year, 9)
        for row in range(4):
            put(c, 70, 225 + 14 * row, f"Sales of region {row}", 9)
            put(c, 260, 225 + 14 * row, f"1,{row}21", 9)
            put(c, 380, 225 + 14 * row, f"2,{row}45", 9)
        at(c, 70, 320, wrapped(LOREM, 70))

    found = read(draw(page))[0]
    text = found.text
    assert blocks(found, BlockKind.TABLE)[0].startswith("| Region | June 25, 2022 | June 25, 2021 |")
    assert text.index("June 25,") < text.index("Sales of region 0") < text.index("1,021") < text.index("2,045")
