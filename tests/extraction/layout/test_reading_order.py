"""Reading order: drawn pages whose sentences are known, and real ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pdfqa_core.types import BlockKind, Page
from tests.extraction.conftest import at, blocks, read, wrapped

WORDS = (
    "harbour water enters through an intake below the breakwater and two pumps lift it into the plant room where a "
    "heat exchanger takes three degrees out of it before it returns beside the mole and joins the cold sea again"
).split()


def sentences(name: str, count: int) -> list[str]:
    """Return different sentences; each is recognised by its first word and its number."""
    return [f"{name}{n} {' '.join(WORDS[n % 7 : n % 7 + 14])} {n}." for n in range(1, count + 1)]


def column(name: str, count: int, width: int) -> list[str]:
    """Return the lines of a paragraph of sentences, `width` characters wide."""
    return wrapped(" ".join(sentences(name, count)).split(), width)


def flat(page: Page) -> str:
    """Return the page's running text with its white space collapsed."""
    return " ".join(" ".join(blocks(page)).split())


def assert_whole(page: Page, *parts: str | Sequence[str]) -> None:
    """Assert that all the texts stand on the page whole, each after the one before it."""
    text, place = flat(page), 0
    for part in parts:
        for sentence in [part] if isinstance(part, str) else part:
            found = text.find(sentence, place)
            assert found >= 0, f"{sentence!r} is not whole, or not where it belongs, in: {text[place : place + 400]}"
            place = found + len(sentence)


def rows(canvas: Any, top: float, columns: Sequence[tuple[float, Sequence[str]]], leading: float = 12) -> None:
    """Draw columns side by side line by line, as programs do that print row after row."""
    for number in range(max(len(lines) for _, lines in columns)):
        for x, lines in columns:
            at(canvas, x, top + leading * number, lines[number : number + 1])


def whole(canvas: Any, top: float, columns: Sequence[tuple[float, Sequence[str]]], leading: float = 12) -> None:
    """Draw columns one after the other."""
    for x, lines in columns:
        at(canvas, x, top, lines, leading)


ways = pytest.mark.parametrize("draw_columns", [rows, whole])
Way = Callable[[Any, float, Sequence[tuple[float, Sequence[str]]]], None]


@ways
def test_three_columns(draw, draw_columns: Way):
    def page(c):
        c.setFont("Times-Roman", 9)
        draw_columns(c, 100, [(50, column("One", 9, 34)), (220, column("Two", 9, 34)), (390, column("Three", 9, 34))])

    assert_whole(read(draw(page))[0], sentences("One", 9), sentences("Two", 9), sentences("Three", 9))


@ways
def test_columns_of_unequal_length_below_a_header(draw, draw_columns: Way):
    def page(number):
        def on(c):
            c.setFont("Times-Roman", 10)
            at(c, 60, 40, [f"Journal of Harbours {2000 + number}"])
            draw_columns(c, 90, [(60, column(f"Left{number}", 12, 42)), (310, column(f"Right{number}", 5, 42))])

        return on

    for number, found in enumerate(read(draw(*[page(n) for n in range(1, 5)])), 1):
        assert blocks(found, BlockKind.HEADER) == [f"Journal of Harbours {2000 + number}"]
        assert_whole(found, sentences(f"Left{number}", 12), sentences(f"Right{number}", 5))


@ways
@pytest.mark.parametrize("gutter", [14, 40, 80])
def test_a_page_number_under_the_gutter_belongs_to_no_column(draw, draw_columns: Way, gutter: int):
    def page(c):
        c.setFont("Helvetica", 10)
        left, right = column("Left", 8, 32), column("Right", 8, 32)
        second = 60 + max(c.stringWidth(line, "Helvetica", 10) for line in left) + gutter
        draw_columns(c, 80, [(60, left), (second, right)])
        c.setFont("Helvetica", 8)
        draw_columns(c, 700, [(60, ["[1] The island is called Stonholm."]), (second, ["[2] Catches fell later."])])
        c.drawCentredString(second - gutter / 2, 40, "17")

    found = read(draw(page))[0]
    assert_whole(found, sentences("Left", 8), "[1] The island", sentences("Right", 8), "[2] Catches", "17")


def test_two_lines_at_the_top_of_a_second_column(draw):
    lines = column("Long", 22, 42)

    def page(c):
        c.setFont("Times-Roman", 10)
        whole(c, 80, [(60, lines[:-2]), (310, lines[-2:])])

    assert_whole(read(draw(page))[0], sentences("Long", 22))


@ways
def test_a_sidebar_beside_a_wide_column(draw, draw_columns: Way):
    def page(c):
        c.setFont("Times-Roman", 10)
        draw_columns(c, 90, [(60, column("Main", 14, 66)), (410, column("Side", 5, 26))])

    assert_whole(read(draw(page))[0], sentences("Main", 14), sentences("Side", 5))


@ways
def test_a_table_across_both_columns(draw, draw_columns: Way):
    def page(c):
        c.setFont("Times-Roman", 10)
        draw_columns(c, 80, [(60, column("Upper", 6, 42)), (310, column("Over", 6, 42))])
        at(
            c,
            60,
            290,
            ["Table 1. Heat and electricity over both winters, by month and by the meter that counted them."],
        )
        for number in range(5):
            for x, cell in (
                (60, f"Month {number}"),
                (200, f"{number}18"),
                (330, f"{number}4.1"),
                (460, f"3.{number}6"),
            ):
                at(c, x, 310 + 14 * number, [cell])
        draw_columns(c, 420, [(60, column("Lower", 6, 42)), (310, column("Under", 6, 42))])

    found = read(draw(page))[0]
    assert_whole(
        found, sentences("Upper", 6), sentences("Over", 6), "Table 1.", sentences("Lower", 6), sentences("Under", 6)
    )
    assert any("Month 3" in text and "318" in text for text in blocks(found, BlockKind.TABLE))


@ways
def test_footnotes_at_the_foot_of_a_column_stay_apart(draw, draw_columns: Way):
    broken = wrapped(" ".join(sentences("Long", 40)).split(), 42)
    left, right = broken[:46], broken[46:]
    note = ["1 A note about the first of all these sentences,", "which goes on over a second line."]

    def page(c):
        c.setFont("Times-Roman", 10)
        draw_columns(c, 80, [(60, left), (310, right)])
        c.setFont("Times-Roman", 7.5)
        at(c, 60, 80 + 12 * 46 + 14, note, 9)

    found = read(draw(page))[0]
    assert blocks(found, BlockKind.FOOTNOTE) == [" ".join(note)]
    assert blocks(found, BlockKind.TEXT) == [" ".join(sentences("Long", 40))]


def test_the_columns_of_the_sample():
    """Sentences that the two-column page breaks over a line end, from the words the sample is made of."""
    folder = Path(__file__).resolve().parents[3] / "data" / "sample"
    source = (folder / "harbour-heat.md").read_text(encoding="utf-8")
    both = source.split("@columns", 1)[1].split("@single", 1)[0]
    paragraphs = [" ".join(p.split()) for p in re.split(r"\n\s*\n", both) if p.strip() and p.strip()[0] not in "@#-"]
    pages = read(folder / "harbour-heat.pdf")
    page = next(p for p in pages if "Noise and wildlife survey" in p.text and p.number > 2)
    expected = [re.sub(r"\*\*(.+?)\*\*", r"\1", p) for p in paragraphs]
    assert len(expected) > 6
    assert_whole(page, *expected)
