"""Formulas and figures of two dimensions are read as they were written; tables, notes and text are not."""

from __future__ import annotations

from pdfqa_core.types import BlockKind
from tests.extraction.conftest import LOREM, at, blocks, read, wrapped


def put(canvas, x: float, top: float, text: str, size: float = 11) -> None:
    canvas.setFont("Helvetica", size)
    canvas.drawString(x, 842 - top, text)
    canvas.setFont("Helvetica", 11)


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


def test_a_matrix_is_read_row_by_row_between_its_neighbours(draw):
    def page(c):
        at(c, 70, 80, wrapped(LOREM, 70))
        put(c, 200, 207, "M :=")
        put(c, 240, 200, "a")
        put(c, 256, 200, "b")
        put(c, 240, 214, "c")
        put(c, 256, 214, "d")
        put(c, 275, 207, "* z = 1")
        at(c, 70, 250, wrapped(LOREM, 70))

    assert blocks(read(draw(page))[0])[1] == "M := a b c d * z = 1"


def test_the_labels_of_a_figure_are_read_as_they_were_drawn(draw):
    def page(c):
        for x, values in ((80, ("one", "two", "ten")), (300, ("red", "green", "blue"))):
            for row, text in enumerate(values):
                put(c, x, 300 - 30 * row, text, 9)
            put(c, x + 20, 320, f"(a) left {x}" if x < 200 else f"(b) right {x}", 9)
        at(c, 80, 345, ["Figure 3: Two drawings that the text above speaks of in so many words."])
        at(c, 70, 400, wrapped(LOREM, 70))

    found = blocks(read(draw(page))[0], BlockKind.CAPTION)
    assert found[0] == "one two ten (a) left 80 red green blue (b) right 300"


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


def test_notes_drawn_from_the_last_to_the_first_are_read_downwards(draw):
    def page(c):
        at(c, 70, 80, wrapped(LOREM, 70))
        for number in (3, 2, 1):
            put(c, 70, 720 + 11.5 * number, str(number), 6)
            put(c, 76, 723.8 + 11.5 * number, f"202{number} estimate", 10)

    text = read(draw(page))[0].text
    assert text.index("2021 estimate") < text.index("2022 estimate") < text.index("2023 estimate")


def test_columns_of_words_drawn_one_after_the_other_are_still_read_across(draw):
    def page(c):
        at(c, 70, 80, wrapped(LOREM, 70))
        for x, words in ((80, ("north", "south", "east")), (200, ("cold", "warm", "mild")), (300, ("12", "31", "25"))):
            at(c, x, 220, list(words))

    text = " ".join(read(draw(page))[0].text.replace("|", " ").replace("-", " ").split())
    assert [row in text for row in ("north cold 12", "south warm 31", "east mild 25")] == [True] * 3
