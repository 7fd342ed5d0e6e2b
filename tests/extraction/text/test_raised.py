"""Superscripts, subscripts and marks of footnotes keep apart from the numbers and words they stand beside."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pdfqa_core.types import BlockKind
from tests.extraction.conftest import LOREM, at, blocks, read, wrapped
from tests.extraction.hostile import with_meanings

UP, DOWN = 4, -2  # points from the baseline, at a font size of 11


def mixed(c: Any, x: float, y: float, parts: tuple[str | tuple[str, float], ...], font: str = "Helvetica") -> float:
    """Draw a line of parts, those with a rise in a smaller font; return where it ends."""
    for part in parts:
        text, rise = (part, 0) if isinstance(part, str) else part
        size = 7 if rise else 11
        c.setFont(font, size)
        c.drawString(x, y + rise, text)
        x += c.stringWidth(text, font, size)
    return x


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (("5.2 × 10", ("6", UP), " cells"), "5.2 × 10⁶ cells"),
        (("3 × 10", ("-4", UP), " g on 25 m", ("2", UP), "."), "3 × 10⁻⁴ g on 25 m²."),
        (("Sales of 4,512", ("3", UP), " units"), "Sales of 4,512³ units"),
        (("Sales of 4,512", ("3,12", UP), " units"), "Sales of 4,512³,¹² units"),
        (("a price of 12", ("a", UP), " crowns"), "a price of 12ᵃ crowns"),
        (("for years.", ("1", UP), " The end"), "for years.¹ The end"),
        (("iPhone", ("(1)", UP), " sales"), "iPhone(1) sales"),
        (("on the 21", ("st", UP), " of May"), "on the 21st of May"),
        (("a half-life of ", ("14", UP), "C is known"), "a half-life of ¹⁴C is known"),
        (("it falls as e", ("-qt", UP), " does"), "it falls as e^-qt does"),
        (("Price*", ("*", UP), " of it"), "Price** of it"),
        (("water is H", ("2", DOWN), "O, and H", ("2", DOWN), "SO", ("4", DOWN)), "water is H2O, and H2SO4"),
        (("the number 101", ("2", DOWN), " is five"), "the number 101₂ is five"),
        (("so log", ("2", DOWN), "8 is three"), "so log₂8 is three"),
        (("x", ("2", DOWN), ("3", UP), " and the rest"), "x2³ and the rest"),
    ],
)
def test_what_stands_raised_or_lowered_joins_no_number(draw: Callable[..., Path], parts: Any, text: str) -> None:
    assert read(draw(lambda c: mixed(c, 70, 700, parts)))[0].text == text


def test_marks_written_after_the_whole_line_stand_beside_their_number(draw: Callable[..., Path]) -> None:
    def page(c: Any) -> None:
        end = mixed(c, 70, 700, ("Sales were 4,512",))
        mixed(c, end + 12, 700, ("units in May",))
        mixed(c, end, 700, (("3", UP),))

    assert read(draw(page))[0].text == "Sales were 4,512³ units in May"


def test_a_line_may_lie_on_its_side(draw: Callable[..., Path]) -> None:
    def page(c: Any) -> None:
        c.translate(300, 200)
        c.rotate(90)
        mixed(c, 0, 0, ("a yield of 5.2 × 10", ("6", UP), " cells"))

    assert read(draw(page))[0].text == "a yield of 5.2 × 10⁶ cells"


def test_marks_and_notes_are_spelt_alike(draw: Callable[..., Path]) -> None:
    def page(c: Any) -> None:
        at(c, 70, 100, wrapped(LOREM * 3, 80))
        c.setFont("Helvetica", 11)
        mixed(c, 70, 500, ("It sold 4,512", ("3", UP), " units and lost 20", ("10", UP), " of them."))
        for y, mark, note in ((90, "3", "Without what was returned."), (75, "10", "In the harbour of Kvalvik.")):
            c.setFont("Helvetica", 6)
            c.drawString(70, y + 3, mark)
            c.setFont("Helvetica", 8)
            c.drawString(78, y, note)

    found = read(draw(page))[0]
    assert "4,512³ units and lost 20¹⁰ of them" in found.text
    assert blocks(found, BlockKind.FOOTNOTE) == ["³ Without what was returned.", "¹⁰ In the harbour of Kvalvik."]


@pytest.mark.parametrize("ruled", [True, False])
def test_cells_keep_their_marks_apart(draw: Callable[..., Path], ruled: bool) -> None:
    rows = [("Quarter", "Units", "Area"), ("Spring", "4,512", "25"), ("Summer", "388", "31"), ("Autumn", "1,204", "18")]

    def page(c: Any) -> None:
        for number, row in enumerate(rows):
            for column, text in enumerate(row):
                mark = ("3", UP) if text == "4,512" else ("2", UP) if text == "Area" else ("", 0)
                mixed(c, 74 + 120 * column, 700 - 20 * number, (text, mark))
        if ruled:
            c.grid([70 + 120 * i for i in range(4)], [715 - 20 * i for i in range(5)])

    found = read(draw(page))[0]
    assert "| Spring | 4,512³ | 25 |" in found.text
    assert "| Quarter | Units | Area² |" in found.text


def test_a_line_of_smaller_words_is_no_superscript(draw: Callable[..., Path]) -> None:
    def page(c: Any) -> None:
        c.setFont("Helvetica", 22)
        c.drawString(70, 700, "Harbour 12")
        c.setFont("Helvetica", 11)
        c.drawString(70, 685, "2 boats")
        c.drawString(70 + c.stringWidth("Harbour 12", "Helvetica", 22) + 20, 706, "7 berths")

    text = read(draw(page))[0].text
    assert "2 boats" in text
    assert "7 berths" in text


def test_letters_beyond_the_first_plane_are_read(tmp_path: Path) -> None:
    letters = {"A": "𝑁", "B": "𝟚", "D": "𝜆", "C": "(", "E": ")", "F": "=", " ": " "}
    path = tmp_path / "letters.pdf"
    path.write_bytes(with_meanings("BT /F 12 Tf 72 700 Td (ACDE FAFBF) Tj ET", letters))
    assert read(path)[0].text == "N(λ) =N=2="
