"""Characters as PDFs spell them to characters as people search for them. Standard library only."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

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
)
_DROPPED = frozenset({0x200B, 0x200E, 0x200F, 0x2060, 0xFEFF, 0xFFFC})
HYPHENS = frozenset("-\u2010\u00ad\u2011")
# Spacing accents that old TeX fonts print before or after the letter, with their combining forms.
_ACCENTS = {"¨": "\u0308", "´": "\u0301", "`": "\u0300", "ˆ": "\u0302", "˜": "\u0303", "¸": "\u0327", "ˇ": "\u030c"}


@lru_cache(maxsize=8192)
def character(code: int) -> str:
    """Return the text of one code point: ligatures spelt out, odd spaces plain, controls gone."""
    if code in (0x02, 0xFFFE):  # how PDFium marks a hyphen at the end of a line
        return "-"
    if code < 0x20 or 0x7F <= code < 0xA0 or code in _DROPPED or 0xD800 <= code < 0xE000 or code > 0x10FFFF:
        return ""
    if code in _SYMBOLS:
        return _SYMBOLS[code]
    plain = chr(code)
    if code in (0xA0, 0x202F, 0x205F, 0x3000) or unicodedata.category(plain) in ("Zl", "Zp"):
        return " "
    if any(low <= code <= high for low, high in _COMPATIBILITY):
        return unicodedata.normalize("NFKC", plain)
    return plain


def compose(text: str) -> str:
    """Return `text` in NFC, with a spacing accent that stands between letters put onto the letter after it."""
    for accent, combining in _ACCENTS.items():
        if accent in text:
            parts = text.split(accent)
            text = parts[0]
            for part in parts[1:]:
                joined = unicodedata.normalize("NFC", part[:1] + combining) if part[:1].isalpha() else ""
                text += joined + part[1:] if len(joined) == 1 else accent + part
    return unicodedata.normalize("NFC", text)


def right_to_left(text: str) -> bool:
    """Return whether most letters of `text` belong to a script that is written from right to left."""
    if text.isascii():
        return False
    kinds = [unicodedata.bidirectional(c) for c in text]
    right = sum(kind in ("R", "AL") for kind in kinds)
    return right > sum(kind == "L" for kind in kinds)
