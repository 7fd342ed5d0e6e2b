"""Formulas and captions side by side, drawn as TeX draws them: in the order in which they are written."""

from __future__ import annotations

import pytest

from pdfqa_core.extraction.text.normalise import compose
from pdfqa_core.types import BlockKind
from tests.extraction.conftest import LOREM, at, blocks, put, read, wrapped


def test_the_limits_of_a_sum_go_into_their_line(draw):
    def page(c):
        at(c, 70, 80, wrapped(LOREM, 70))
        put(c, 70, 200, "The sum is a =")
        put(c, 158, 192, "n", 7)
        put(c, 155, 201, "S", 14)
        put(c, 152, 210, "i = 1", 7)
        put(c, 172, 200, "b and it grows with n")
        at(c, 70, 240, wrapped(LOREM, 70))

    assert blocks(read(draw(page))[0])[1] == "The sum is a = n S i = 1 b and it grows with n"


def test_stacked_indices_are_read_as_they_were_written(draw):
    def page(c):
        put(c, 70, 100, "The map goes to R")
        put(c, 158, 96, "+", 7)
        put(c, 158, 102, "0", 7)
        put(c, 166, 100, "and is called a metric")

    assert read(draw(page))[0].text == "The map goes to R+0 and is called a metric"


@pytest.mark.parametrize("together", [True, False])
def test_captions_side_by_side_are_read_one_by_one(draw, together):
    def page(c):
        if together:
            at(c, 80, 300, ["(a) The two triangles share", "one corner and one side."])
            at(c, 330, 300, ["(b) The two triangles share", "one side and nothing else."])
        else:
            put(c, 80, 300, "(a) The first panel")
            put(c, 330, 300, "(b) The second panel")
        at(c, 80, 340, ["Figure 3: Triangles in the plane, drawn for the two cases that the text speaks of."])

    text = " ".join(blocks(read(draw(page))[0], BlockKind.LIST, BlockKind.CAPTION, BlockKind.TEXT))
    expected = (
        "(a) The two triangles share one corner and one side. (b) The two triangles share one side and nothing else."
        if together
        else "(a) The first panel (b) The second panel"
    )
    assert expected in text
    assert text.endswith("that the text speaks of.")


@pytest.mark.parametrize(
    ("printed", "text"),
    [
        ("p : X˜ → X", "p : X̃ → X"),
        ("p( ˜x0)", "p( x̃0)"),
        ("U1 ∪˙ U2", "U1 ∪̇ U2"),
        ("f¨ur", "für"),
        ("ma˜nana", "mañana"),
        ("2 ˆ 3", "2 ˆ 3"),
    ],
)
def test_accents_above_letters(printed, text):
    assert compose(printed) == text
