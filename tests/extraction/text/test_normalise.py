"""Characters as PDFs spell them, and lines written from right to left."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pdfqa_core.extraction.text.direction import logical_text
from pdfqa_core.extraction.text.normalise import character, compose, right_to_left
from tests.extraction.conftest import read

FONT = Path("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf")


@pytest.mark.parametrize(
    ("printed", "text"),
    [
        ("oﬃce ﬂow ﬁrst ﬀ ﬅ", "office flow first ff st"),
        ("10\u00a0000\u202f€\u2009a\u3000b\u205fc\u1680d", "10 000 € a b c d"),
        ("in\u200bvis\u2060ible\ufeff\u200e\u202a\u2066", "invisible"),
        ("x² y₃ ½ ™ ℃ №", "x² y₃ ½ ™ ℃ №"),
        ("ＰＤＦ１２３", "PDF123"),
        ("Ⅳ ⅳ", "IV iv"),
        ("⼈", "人"),
        ("𝑥𝐀", "xA"),
        ("ﻻ", "لا"),
        ("mu µ stays µ", "mu µ stays µ"),
    ],
)
def test_characters_become_what_people_search_for(printed: str, text: str) -> None:
    assert "".join(character(ord(c)) for c in printed) == text


@pytest.mark.parametrize(
    ("printed", "text"),
    [
        ("voil`a", "voilà"),
        ("the call `add(a)`", "the call `add(a)`"),
        ("e\u0301", "é"),
        ("well\u00adknown", "well-known"),
        ("infor\u00ad", "infor\u00ad"),
    ],
)
def test_composition(printed: str, text: str) -> None:
    assert compose(printed) == text


def printed(logical: str) -> str:
    """Return the characters of a line as they are printed from left to right, brackets mirrored (UAX #9, L2 to L4).

    Numbers and Latin words must stand in braces-free stretches marked by ⟨ and ⟩.
    """
    parts: list[str] = []
    inside = ""
    for c in logical:
        if c == "⟨":
            inside = "⟨"
        elif c == "⟩":
            parts.append(inside[1:])
            inside = ""
        elif inside:
            inside += c
        else:
            parts.append({"(": ")", ")": "(", "[": "]", "]": "["}.get(c, c))
    return "".join(reversed(parts))


LINES = [
    "שלום עולם",
    "המחיר הוא ⟨1,234.50⟩ שקלים",
    "ביום ⟨12/05/2024⟩ בשעה ⟨10:30⟩ בבוקר",
    "התוכנה ⟨Microsoft Word 2019⟩ מותקנת",
    "הנחה של ⟨50%⟩ (לחברים בלבד) עד סוף החודש",
    "ראה [⟨12⟩] וגם (⟨PDF⟩) בסוף",
    "העמודים ⟨12⟩ ⟨34⟩ חסרים",
    "כתבו אל ⟨name@example.org⟩ היום",
    "السعر ⟨1500⟩ ريال (شامل) في ⟨2024⟩",
    "سعر ⟨$20⟩ فقط",
]


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("mirrored", [True, False])
def test_lines_from_right_to_left_are_read_in_their_order(line: str, mirrored: bool) -> None:
    shown = printed(line)
    if not mirrored:  # the file names the brackets as they are read, not as they look
        shown = printed(line.translate(str.maketrans("()[]", ")(][")))
    assert logical_text(list(shown)) == line.replace("⟨", "").replace("⟩", "")


@pytest.mark.skipif(not FONT.exists(), reason="DejaVu Sans is not installed")
@pytest.mark.parametrize("line", LINES)
def test_drawn_lines_from_right_to_left(draw: Callable[..., Path], line: str) -> None:
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.ttfonts import TTFont

    pdfmetrics.registerFont(TTFont("DejaVu", str(FONT)))

    def page(c: Any) -> None:
        c.setFont("DejaVu", 12)
        c.drawRightString(500, 700, printed(line))

    found = read(draw(page))[0]
    expected = unicodedata.normalize("NFC", line.replace("⟨", "").replace("⟩", ""))
    assert found.text == expected
    first = found.lines[0]
    assert found.text[first.start : first.end] == expected
    assert first.box.x1 == pytest.approx(500, abs=2)


def test_direction_of_writing():
    assert right_to_left("שלום abc")
    assert not right_to_left("abc 123")
    assert all(right_to_left(c) for c in map(chr, range(0x110000)) if unicodedata.bidirectional(c) in ("R", "AL"))
