"""Spaces that PDFium leaves out, and the gaps that show where they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.extraction.conftest import read
from tests.extraction.hostile import CATALOG, pdf, stream

SIZE = 14  # points
SIGN = "x"  # printed above the letter before it and without width, as vowel signs are


def drawn(path: Path, words: str, room: float) -> Path:
    """Write a PDF of one line with a text object for each word, and `room` points behind each."""
    content, x = "BT /F 14 Tf ", 72.0
    for word in words.split():
        content += f"1 0 0 1 {x:.2f} 700 Tm ({word}) Tj "
        x += SIZE / 2 * len(word.replace(SIGN, "")) + room
    letters = "".join(f"/{chr(code)} 6 0 R " for code in range(97, 123) if chr(code) != SIGN)
    names = " ".join(f"/{chr(code)}" for code in range(97, 123))
    widths = " ".join("0" if chr(code) == SIGN else "500" for code in range(97, 123))
    path.write_bytes(
        pdf(
            CATALOG,
            "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R "
            "/Resources << /Font << /F 5 0 R >> >> >>",
            stream(content + "ET"),
            f"<< /Type /Font /Subtype /Type3 /FontBBox [-500 -200 500 900] /FontMatrix [0.001 0 0 0.001 0 0] "
            f"/CharProcs << {letters}/{SIGN} 7 0 R >> /Encoding << /Type /Encoding /Differences [97 {names}] >> "
            f"/FirstChar 97 /LastChar 122 /Widths [{widths}] /Resources << >> >>",
            stream("500 0 20 0 480 500 d1 20 0 460 500 re f"),
            stream("0 0 -400 550 -100 700 d1 -400 550 300 150 re f"),
        )
    )
    return path


@pytest.mark.parametrize(
    ("words", "room", "text"),
    [
        pytest.param("mex likhi gai ki riport kax pahla", 3.6, None, id="as wide as the spaces of the line"),
        pytest.param("mex li ga", 2.3, None, id="a tight line"),
        pytest.param("mex likhi gai", 1.0, "mexlikhigai", id="no room for a space"),
    ],
)
def test_words_stay_apart_behind_a_sign_without_width(
    tmp_path: Path, words: str, room: float, text: str | None
) -> None:
    assert read(drawn(tmp_path / "drawn.pdf", words, room))[0].text == (text or words)
