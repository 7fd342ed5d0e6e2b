"""Characters as PDFs spell them to characters as people search for them. Standard library only."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

STRUCK, STRUCK_END = 0xF0000, 0xF0001  # codes that stand around struck-out words
# Bullets and arrows of the Symbol and Wingdings fonts, which come out as private-use characters.
_SYMBOLS = {
    0xF0B7: "•",
    0xF0A7: "▪",
    0xF06E: "▪",
    0xF0A8: "▪",
    0xF071: "▪",
    0xF0D8: "▸",
    0xF0E0: "→",
    0xF0FC: "✓",
    0xF0B0: "°",
    0xF02D: "-",
    0xF06F: "◦",
    STRUCK: "[struck out: ",
    STRUCK_END: "]",
}
# Compatibility forms whose plain form means the same; superscripts, fractions and signs are left as they are.
_COMPATIBILITY = (
    (0xFB00, 0xFDFF),
    (0xFE30, 0xFE4F),
    (0xFE70, 0xFEFC),
    (0xFF01, 0xFFEE),
    (0x1D400, 0x1D7FF),
    (0xF900, 0xFAFF),
    (0x2000, 0x200A),
    (0x0132, 0x0133),
    (0x01C4, 0x01CC),
    (0x2160, 0x217F),
    (0x2E80, 0x2FDF),
)
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\u200f\ufb1d-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff]")
_DROPPED = frozenset({0x061C, 0x200B, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2060, 0x206A), 0xFEFF, 0xFFFC})
CARET = 0x100000  # added to a code: a "^" stands before the character
HYPHENS = frozenset("-\u2010\u00ad\u2011")
# Spacing accents that old TeX fonts print before or after the letter, with their combining forms.
_ACCENTS = {"¨": "\u0308", "´": "\u0301", "`": "\u0300", "ˆ": "\u0302", "˜": "\u0303", "¸": "\u0327", "ˇ": "\u030c"}
_TO_COMPOSE = frozenset({*_ACCENTS, "˙", "\u00ad"})
# Those that mathematics prints above a letter: it is the letter that no other letter stands between.
_ABOVE = re.compile(r"([^\W\d_]|∪)([ˆ˜˙ˇ])(?![^\W\d_])|(?<![^\W\d_])([ˆ˜˙ˇ])([^\W\d_])")


@lru_cache(maxsize=8192)
def character(code: int) -> str:
    """Return the text of one code point: ligatures spelt out, odd spaces plain, controls gone."""
    if code in (0x02, 0xFFFE):  # how PDFium marks a hyphen at the end of a line
        return "-"
    if code < 0x20 or 0x7F <= code < 0xA0 or code in _DROPPED or 0xD800 <= code < 0xE000 or code > 0x10FFFF:
        return ""
    if code in _SYMBOLS or code >= CARET:
        return _SYMBOLS.get(code) or "^" + character(code - CARET)
    plain = chr(code)
    if unicodedata.category(plain) in ("Zs", "Zl", "Zp"):
        return " "
    if any(low <= code <= high for low, high in _COMPATIBILITY):
        return unicodedata.normalize("NFKC", plain)
    return plain


def compose(text: str) -> str:
    """Return `text` in NFC, with a spacing accent that stands between letters put onto the letter after it."""
    if text.isascii() and "`" not in text:
        return text
    if _TO_COMPOSE.isdisjoint(text):
        return unicodedata.normalize("NFC", text)
    text = text[:-1].replace("\u00ad", "-") + text[-1:]  # it is printed, so it parts no syllables
    for accent, combining in _ACCENTS.items():
        if accent in text:
            parts = text.split(accent)
            text = parts[0]
            for part in parts[1:]:
                quote = accent == "`" and not text[-1:].isalpha()  # as in program code
                joined = unicodedata.normalize("NFC", part[:1] + combining) if part[:1].isalpha() and not quote else ""
                text += joined + part[1:] if len(joined) == 1 else accent + part
    if any(accent in text for accent in "ˆ˜˙ˇ"):
        text = _ABOVE.sub(_accented, text)
    return unicodedata.normalize("NFC", text)


def _accented(found: re.Match[str]) -> str:
    letter, accent = (found[1], found[2]) if found[1] else (found[4], found[3])
    return letter + (_ACCENTS.get(accent) or "\u0307")


def right_to_left(text: str) -> bool:
    """Return whether `text` belongs to a script written from right to left: most letters, or the first and the last."""
    if text.isascii() or not _RIGHT_TO_LEFT.search(text):
        return False
    kinds = [kind for kind in map(unicodedata.bidirectional, text) if kind in ("L", "R", "AL")]
    right = len(kinds) - kinds.count("L")
    return right > len(kinds) - right or (right > 0 and kinds[0] != "L" != kinds[-1])
