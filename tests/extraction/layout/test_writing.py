"""Slanted words, and columns of Chinese and Japanese."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pdfqa_core.types import READABLE, BlockKind
from tests.extraction.conftest import LOREM, at, blocks, read, wrapped
from tests.extraction.hostile import with_meanings

COLUMNS = ("港の水温は毎朝六", "時に測られ冬の平", "均は八度でした。")


def slanted(canvas: Any, text: str, degrees: float, size: float, *, apart: bool = False) -> None:
    canvas.saveState()
    canvas.translate(120, 250)
    canvas.rotate(degrees)
    canvas.setFont("Helvetica-Bold", size)
    canvas.setFillGray(0.8)
    x = 0.0
    for part in text if apart else (text,):
        canvas.drawString(x, 0, part)
        x += canvas.stringWidth(part, "Helvetica-Bold", size)
    canvas.restoreState()


@pytest.mark.parametrize("degrees", [45, 75, 30, -45, 60])
@pytest.mark.parametrize("apart", [False, True])
def test_a_watermark_is_one_word_and_no_passage(draw: Callable[..., Path], degrees: float, apart: bool) -> None:
    text = wrapped(LOREM * 6, 80)

    def page(c: Any) -> None:
        at(c, 70, 150, text)
        slanted(c, "CONFIDENTIAL", degrees, 50, apart=apart)

    found = read(draw(page))[0]
    assert blocks(found, BlockKind.HEADER) == ["CONFIDENTIAL"]
    assert " ".join(blocks(found, *READABLE)) == " ".join(text)


def test_slanted_labels_stay_words(draw: Callable[..., Path]) -> None:
    def page(c: Any) -> None:
        at(c, 70, 150, wrapped(LOREM * 3, 80))
        slanted(c, "Northern quay", 45, 9)

    assert "Northern quay" in blocks(read(draw(page))[0], BlockKind.CAPTION)


LETTERS = {chr(0x41 + number): c for number, c in enumerate(dict.fromkeys("".join(COLUMNS)))}
SHAPES = {c: shape for shape, c in LETTERS.items()}


def test_columns_are_read_downwards_and_to_the_left(tmp_path: Path) -> None:
    content = "".join(
        f"BT /F 14 Tf {400 - 26 * number} {760 - 16 * place} Td ({SHAPES[c]}) Tj ET\n"
        for number, column in enumerate(COLUMNS)
        for place, c in enumerate(column)
    )
    path = tmp_path / "columns.pdf"
    path.write_bytes(with_meanings(content, LETTERS))
    assert read(path)[0].text == "".join(COLUMNS)


def test_lines_of_japanese_stay_lines(tmp_path: Path) -> None:
    content = "".join(
        f"BT /F 14 Tf 72 {760 - 18 * number} Td ({''.join(SHAPES[c] for c in line)}) Tj ET\n"
        for number, line in enumerate(COLUMNS)
    )
    path = tmp_path / "lines.pdf"
    path.write_bytes(with_meanings(content, LETTERS))
    assert read(path)[0].text == "".join(COLUMNS)
