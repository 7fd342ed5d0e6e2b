"""Pure text helpers that several parts share: sentences, words, index terms. Offsets are in characters."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from punkt import PunktSentenceTokenizer

# Abbreviations of scholarly and business text that Punkt's English model does not know.
ABBREVIATIONS = (
    "al", "fig", "figs", "eq", "eqs", "sec", "secs", "tab", "ch", "chap", "no", "nos", "vol", "vols", "pp", "ed", "eds",
    "ref", "refs", "approx", "ca", "cf", "e.g", "i.e", "resp", "viz", "vs", "etc", "dept", "est", "max", "min", "art",
    "para", "app", "incl", "excl", "inc", "ltd", "corp", "bros", "mr", "mrs", "ms", "dr", "prof", "st",
)  # fmt: skip

# Function words of English: they say little about what a text is about.
STOP_WORDS = frozenset(
    """a about after all also an and any are as at be been before being but by can could did do does done for from had
    has have having he her hers him his how i if in into is it its me my no nor not of on or our ours out over own she
    should so some such than that the their theirs them then there these they this those to too under up us very was we
    were what when where which while who whom why will with would you your yours""".split()
)

_WORD = re.compile(r"\d+(?:[.,]\d+)*|\w+(?:['’]\w+)?", re.UNICODE)
_TABLE_ROW = re.compile(r"^\|.*\|(?= ?$)", re.MULTILINE)
_NON_SPACE = re.compile(r"\S+")


@cache
def _sentence_tokenizer() -> PunktSentenceTokenizer:
    import punkt

    model = punkt.load_model("english").merged_with(punkt.PunktParameters(abbrev_types=set(ABBREVIATIONS)))
    return punkt.PunktSentenceTokenizer(model, line_breaks="paragraph")


def sentences(text: str) -> list[tuple[int, int]]:
    """Return (start, end) of each sentence without the white space around it; a blank line always ends one.

    A row of a Markdown table counts as a sentence, its row of dashes as none. Source: Kiss and Strunk 2006,
    "Unsupervised multilingual sentence boundary detection".
    """
    if "|\n|" not in text and "| \n|" not in text:
        return _sentences(text, 0, len(text))
    found: list[tuple[int, int]] = []
    reached = 0
    for row in _TABLE_ROW.finditer(text):
        found += _sentences(text, reached, row.start())
        reached = row.end()
        if row[0].strip("|- "):
            found.append(row.span())
    return found + _sentences(text, reached, len(text))


def _sentences(text: str, start: int, end: int) -> list[tuple[int, int]]:
    part = text[start:end]
    return [(start + a, start + b) for a, b in _sentence_tokenizer().span_tokenize(part) if part[a:b].strip()]


def words(text: str) -> list[tuple[int, int]]:
    """Return (start, end) of each run of characters that are not white space."""
    return [match.span() for match in _NON_SPACE.finditer(text)]


def terms(text: str) -> list[str]:
    """Return the index terms: NFKC-normalised, case-folded Unicode words; numbers keep their separators."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def content_terms(text: str) -> list[str]:
    """Return the terms that are no stop words; all terms where only stop words are left."""
    found = terms(text)
    return [term for term in found if term not in STOP_WORDS] or found
