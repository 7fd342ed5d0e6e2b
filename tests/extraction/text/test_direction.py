"""Ligatures, marks, cells and mixed lines of scripts written from right to left."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from pdfqa_core.extraction.text.direction import logical_text
from tests.extraction.conftest import read
from tests.extraction.hostile import with_meanings

MEANT = {
    "A": "ا",
    "B": "ب",
    "C": "ت",
    "G": "غ",
    "L": "ل",
    "F": "ف",
    "Y": "ي",
    "M": "م",
    "Q": "لا",
    "W": "لله",
    "f": "\u064e",
}
HEBREW = {"A": "א", "B": "ב", "G": "ג", "D": "ד", "H": "ה", "L": "ל", "M": "מ", "O": "ו", "R": "ר", "S": "ש", "T": "ת"}


def drawn(path: Path, content: str, meant: Mapping[str, str]) -> Path:
    """Write a PDF whose font /F means other letters."""
    path.write_bytes(with_meanings(content, meant))
    return path


def placed(*pieces: tuple[float, float, str]) -> str:
    """Return content that draws pieces of text at (x, y); those with a digit, a sign or a small letter in /L."""
    return "".join(
        f"BT /{'F' if text[0].isupper() else 'L'} 12 Tf {x} {y} Td ({text.replace('~', '')}) Tj ET\n"
        for x, y, text in pieces
    )


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        pytest.param([(300, 700, "BAQ")], "لااب", id="ligature of two letters, as it is printed"),
        pytest.param([(300, 700, "B"), (308, 700, "W"), (320, 700, "C")], "تللهب", id="ligature of three letters"),
        pytest.param([(320, 700, "C"), (308, 700, "W"), (300, 700, "B")], "تللهب", id="written as it is read"),
        # the next letter reaches back under the one before it, as in في and بلغ
        pytest.param([(300, 700, "Y"), (303, 700, "F")], "في", id="nested letters"),
        pytest.param([(300, 700, "G"), (307, 700, "L"), (310, 700, "B")], "بلغ", id="letters that reach under two"),
    ],
)
def test_letters_are_read_in_their_order(tmp_path: Path, pieces: list[tuple[float, float, str]], text: str) -> None:
    assert read(drawn(tmp_path / "drawn.pdf", placed(*pieces), MEANT))[0].text == text


def test_a_word_of_latin_letters_and_a_number_stay_in_their_order(tmp_path: Path) -> None:
    content = placed((300, 700, "LAT"), (328, 700, "abc"), (352, 700, "100"), (378, 700, "GOR"))
    assert read(drawn(tmp_path / "drawn.pdf", content, HEBREW))[0].text == "רוג abc 100 תאל"


def test_punctuation_stands_at_the_end(tmp_path: Path) -> None:
    content = placed((300, 700, ".2021"), (336, 700, "LAT"), (364, 700, "GOR"))
    assert read(drawn(tmp_path / "drawn.pdf", content, HEBREW))[0].text == "רוג תאל 2021."


def test_cells_are_read_from_right_to_left(tmp_path: Path) -> None:
    rows = (("HLM", "GOR", "TBS"), ("412", "398", "DAS"), ("17", "21", "LAT"), ("18", "40", "MOR"))
    content = "".join(
        placed(*[(104 + 120 * column, 700 - 20 * number, text) for column, text in enumerate(row)])
        for number, row in enumerate(rows)
    )
    content += "".join(f"100 {714 - 20 * i} m 460 {714 - 20 * i} l S\n" for i in range(5))
    content += "".join(f"{100 + 120 * i} 714 m {100 + 120 * i} 634 l S\n" for i in range(4))
    text = read(drawn(tmp_path / "drawn.pdf", content, HEBREW))[0].text
    assert text.splitlines()[0] == "| שבת | רוג | מלה |"
    assert text.splitlines()[2] == "| שאד | 398 | 412 |"


@pytest.mark.parametrize(
    ("printed", "text"),
    [
        ("505105-03 فتاهلا", "الهاتف 03-505105"),  # behind Arabic letters a hyphen parts numbers
        ("03-505105 ןופלט", "טלפון 03-505105"),
        ("2,450 موسرلا", "الرسوم 2,450"),
        ("12/05/2024 خيراتلا", "التاريخ 12/05/2024"),
        ("לארשיב ABC 100 גוריד", "דירוג ABC 100 בישראל"),
    ],
)
def test_numbers_of_mixed_lines_stay_whole(printed: str, text: str) -> None:
    assert logical_text(printed) == text
