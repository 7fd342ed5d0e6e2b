"""Terms and languages: the words of a text as they are compared, what a language needs for it, and which one it is in.

A language goes by its English name in lower case. Passages are compared by the rules of their own language; those of a
language without rules here, and texts too short to tell, are treated as English ones, as all were before.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from pdfqa_core.errors import ModelError

# ----------------------------------------------------------------------------------------------------
# What a term is: the words of a text as search, checks and word measures compare them. Here alone it is decided.

RULES = 2  # changes with what `terms` returns; see `has_others`

_PRINTED_MINUS = re.compile(r"(?:\u2212|(?<![\w.)\]%°])(?<!\d\s)\u2013)(?=[$€£¥]?\d)")
_LETTERS = re.compile(r"[^\W_]+")
_PLAIN = re.compile(r"\d+(?:[.,]\d+)*|\w+(?:['’]\w+)?")
# What NFKC would glue to what stands before it: raised numbers behind numbers and words of four letters or more (10⁶,
# marks of notes), lowered ones and fractions behind numbers (5½). m² and H₂O are words.
_RAISED, _LOWERED = "¹²³⁰-ⁿʰ-ʸᵃ-ᶻ", "₀-₋¼-¾⅐-⅞↉"
_MAY_STAND_ALONE = re.compile(f"[{_RAISED}{_LOWERED}]")
_STANDS_ALONE = re.compile(rf"(?<=\d)[{_RAISED}{_LOWERED}]+|(?<=\w{{4}})[{_RAISED}]+")
# Where `_PLAIN` does not do: marks, scripts without spaces, characters without width. Greek and Cyrillic have none.
_MORE = re.compile(
    "[\u00ad\u0300-\u036f\u0483-\u0489\u0591-\u1dff\u200b-\u200d\u2060\u20d0-\u20ff\u2de0-\uabff\uf900-\ufaff"
    "\ufe00-\ufe2f\ufeff\U00010000-\U0010ffff]"
)
_INVISIBLE = re.compile("[\u00ad\u200c\u200d\u2060\ufeff]")  # soft hyphens, joiners: a word is the same without them
_BREAK = "\u200b"  # a space without width stands between words

# Letters and marks of scripts that are written without spaces between words: Han, Hiragana, Katakana, Bopomofo; Thai,
# Lao, Myanmar, Khmer, Tai Le, New Tai Lue, Tai Tham, Tai Viet (class SA of UAX #14). Their digits are numbers.
_SPACELESS = (
    "\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303b\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u31a0-\u31bf"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecf\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u109a-\u109d\ua9e0-\ua9ef"
    "\ua9fa-\ua9fe\uaa60-\uaa7f\u1780-\u17d3\u17d7\u17dc\u17dd\u1950-\u1974\u1980-\u19c9\u1a20-\u1a7f\uaa80-\uaadf"
)


class _Patterns(NamedTuple):
    """Numbers, words with their marks and runs without spaces; such a run; its characters; `_LETTERS` with marks."""

    found: re.Pattern[str]
    run: re.Pattern[str]
    character: re.Pattern[str]
    letters: re.Pattern[str]


@cache
def _patterns() -> _Patterns:
    points = (*range(0x300, 0x1E950), *range(0xE0100, 0xE01F0))
    marks = "".join(chr(point) for point in points if unicodedata.category(chr(point))[0] == "M")
    letter, run = rf"[^\W{_SPACELESS}]", f"[{_SPACELESS}]+"
    word = rf"{letter}(?:{letter}|[{marks}])*"
    return _Patterns(
        re.compile(rf"\d+(?:[.,]\d+)*|(?P<run>{run})|{word}(?:['’]{word})?"),
        re.compile(run),
        re.compile(rf"[^{marks}]?[{marks}]*"),
        re.compile(rf"[^\W_](?:[^\W_]|[{marks}])*"),
    )


def composed(text: str) -> str:
    """Return a text in NFC, in which an accent is one character with its letter wherever there is one."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def plain_letters(text: str) -> str:
    """Return a text case-folded and decomposed (NFKD), so that letters can be compared without their accents."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFKD", text.casefold())


def with_plain_minus(text: str) -> str:
    """Return a text with a hyphen for the minus that is printed before a number: U+2212, or an en dash that is none."""
    return text if text.isascii() else _PRINTED_MINUS.sub("-", text)


def terms(text: str) -> list[str]:
    """Return the index terms: NFKC-normalised, case-folded words with their marks; numbers keep their separators.

    A run of a script without spaces is its pairs of neighbouring characters, each with its marks; one alone is itself.
    """
    text = _folded(text)
    if not _needs_more(text):
        return _PLAIN.findall(text)
    return [term for found, run in _found(text) for term in (_pairs(found) if run else (found,))]


def has_others(text: str) -> bool:
    """Return whether `terms` may find others in a text than by earlier RULES, so that an index is out of date."""
    return not text.isascii() and (_needs_more(_folded(text)) or _STANDS_ALONE.search(text) is not None)


def runs_of_letters(text: str) -> list[str]:
    """Return the runs of letters, digits and marks; scripts without spaces by single characters. Case stays."""
    if not _needs_more(text):
        return _LETTERS.findall(text)
    return _patterns().letters.findall(apart(_INVISIBLE.sub("", text)))


def _needs_more(text: str) -> bool:
    """Return whether a text has marks, characters without width, or letters of scripts that may be without spaces."""
    return _MORE.search(text) is not None


def apart(text: str) -> str:
    """Return a text with a space around each character of a script that is written without spaces."""
    if not _needs_more(text):
        return text
    return _patterns().run.sub(lambda run: f" {' '.join(_characters(run[0]))} ", text)


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    if _MAY_STAND_ALONE.search(text):
        text = _STANDS_ALONE.sub(r" \g<0> ", composed(text))
    return unicodedata.normalize("NFKC", text).casefold()


def _found(text: str) -> Iterator[tuple[str, bool]]:
    """Yield numbers, words and runs without spaces of a folded text, and whether it is such a run."""
    text = _INVISIBLE.sub("", text).replace(_BREAK, " ").replace("i\u0307", "i")  # what casefold makes of İ
    for match in _patterns().found.finditer(text):
        yield match[0], match["run"] is not None


def _characters(run: str) -> list[str]:
    return [character for character in _patterns().character.findall(run) if character]


def _pairs(run: str) -> list[str]:
    characters = _characters(run)
    return [one + other for one, other in pairwise(characters)] or characters


# ----------------------------------------------------------------------------------------------------
# Languages of documents and questions: what each needs to be split and compared, and which one a text is in.

# The languages that both the Snowball stemmers and the lists of stop words know; "none" stands for any other.
Language: TypeAlias = Literal[
    "none", "arabic", "catalan", "czech", "danish", "dutch", "english", "finnish", "french", "german", "greek", "hindi",
    "hungarian", "indonesian", "italian", "norwegian", "persian", "polish", "portuguese", "romanian", "russian",
    "spanish", "swedish", "turkish",
]  # fmt: skip
ENGLISH, GERMAN, NONE = "english", "german", "none"
UNKNOWN = "unknown"  # of a text that is too short, or holds too many languages, to tell
KNOWN = frozenset(get_args(Language)) - {NONE}

# Told from the others, so that a text in one of them is not taken for the nearest of the known ones.
_OTHERS = (
    "bulgarian", "chinese", "croatian", "hebrew", "japanese", "korean", "latin", "lithuanian", "slovak", "slovene",
    "thai", "ukrainian", "vietnamese",
)  # fmt: skip
_LINGUA = {"norwegian": "bokmal"}  # what lingua calls it
_INSTALL = "Install it with: pip install PyStemmer stop-words"

PIECES = 16  # of a document that are looked at
PIECE = 600  # characters of each
LETTERS = 100  # below so many a piece says nothing
SURE = 0.9  # how much likelier than any other the language of a piece must be, of 1
AGREEING = 0.6  # share of the pieces that must be in one language

# Function words of English: they say little about what a text is about.
STOP_WORDS = frozenset(
    """a about after all also an and any are as at be been before being but by can could did do does done for from had
    has have having he her hers him his how i if in into is it its me my no nor not of on or our ours out over own she
    should so some such than that the their theirs them then there these they this those to too under up us very was we
    were what when where which while who whom why will with would you your yours""".split()
)
_DIGITS = re.compile(r"\d+")

# Abbreviations of scholarly and business text that Punkt's models do not know. Those of English are in `text`.
ABBREVIATIONS: dict[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "german": """abb abs abschn anh anl anm art aufl bd bsp bspw bzgl bzw ca dr evtl ff fr frl gem geb ggf hr hrsg
            inkl jh jr jg kap lfd mio mrd max min nr o.ä prof rd resp s s.o s.u st std str tab tel u.a u.u urspr usw
            vgl vs z.b z.t d.h zit zzgl""",
        "french": """art av bd cf chap dr éd env etc ex fig figs mme mlle mm mr m max min n no p par pp prof réf resp
            sect st ste tab tél vol vs 'art ’art 'env ’env""",
        "spanish": """art av avda cap cf dr dra ed ej etc fig figs máx mín n núm núms p pág págs pp prof sec sr sra
            sres srta ss tab tel tít ud uds vol vs""",
        "italian": """all art artt avv ca cap cfr dott dott.ssa ecc ed es fig figg ing max min n nn nr p pag pagg par
            prof prof.ssa rif sez sig sigg sig.ra tab tel vol vs 'art ’art""",
        "portuguese": """art arts av cap cf dr dra ed etc ex fig figs máx mín n núm p pág págs pp prof profa sec sr
            sra tab tel vol vs""",
        "dutch": """afb art blz bijl bijv bv ca dhr d.w.z dr e.d enz evt excl fig hfst incl ing ir jl jr max mevr min
            mln mr mrd nl nr o.a par pag prof resp st tab tel vgl vs z.o.z""",
    }.items()
}
# The same in two words: "z. B." has no end of a sentence between them.
SPACED: dict[str, tuple[str, ...]] = {
    "german": ("z b", "d h", "u a", "i d", "o ä", "u ä", "u u", "s o", "s u", "z t", "v a", "i a", "v chr", "n chr"),
    "french": ("p ex",),
    "spanish": ("p ej",),
    "portuguese": ("p ex",),
}


def title(language: str) -> str:
    """Return a language as people read it: "German"; "" where it is not known."""
    return "" if language in ("", UNKNOWN, NONE) else language.capitalize()


def rules_of(language: str) -> str:
    """Return the language by whose rules texts in this one are compared: itself where there are any, else English."""
    return language if language in KNOWN else ENGLISH


# ------------------------------------------------------------------ words


@cache
def stop_words(language: str) -> frozenset[str]:
    """Return the function words of a language as index terms. Raises ModelError without the library stop-words."""
    if language == ENGLISH:
        return STOP_WORDS
    try:
        from stop_words import get_stop_words
    except ImportError as error:
        raise ModelError("The library with the stop words of other languages is not installed.", _INSTALL) from error
    return frozenset(term for word in get_stop_words(language) for term in terms(word))


# "l’appartement" is found as "appartement": the article before it is no part of the word.
_ELIDED = {
    "french": re.compile(r"^(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu)['’](?=\w)"),
    "italian": re.compile(r"^(?:[cdlmnstv]|un|(?:d|n)ell|all|dall|sull|coll|quest|quell|sant)['’](?=\w)"),
    "catalan": re.compile(r"^[dlmnst]['’](?=\w)"),
}
_stemming = threading.Lock()


def snowball(language: str, terms: Sequence[str]) -> list[str]:
    """Return the Snowball stem of each term, without an article that is joined to it by an apostrophe.

    Source: Porter 2001, "Snowball: A language for stemming algorithms". Raises ModelError without PyStemmer.
    """
    plain, elided = [_plain(term) for term in terms], _ELIDED.get(language)
    if elided is not None:
        plain = [elided.sub("", term) for term in plain]
    with _stemming:  # a stemmer keeps state
        found: list[str] = _stemmer(language).stemWords(plain)
    return found


@lru_cache(maxsize=50_000)
def snowball_stem(language: str, term: str) -> str:
    """Return the Snowball stem of one term."""
    return snowball(language, [term])[0]


@cache
def _stemmer(language: str) -> Any:
    try:
        import Stemmer
    except ImportError as error:
        raise ModelError("The stemming library is not installed.", _INSTALL) from error
    return Stemmer.Stemmer(language, 0)


def _plain(term: str) -> str:
    """Replace lone surrogates, which broken PDFs hold and the stemmer refuses."""
    return term if term.isascii() else term.encode("utf-8", "replace").decode("utf-8")


# ------------------------------------------------------------------ which language


def of_document(texts: Sequence[str]) -> str:
    """Return the language that most of a document is in, by pieces from all of its pages; UNKNOWN if none leads.

    A page of another language, or one of numbers, does not decide. Without the library lingua it is "".
    """
    if _detector(KNOWN.union(_OTHERS), SURE) is None:
        return ""
    pieces = [piece for piece in _pieces(texts) if sum(map(str.isalpha, piece)) >= LETTERS]
    votes = Counter(found for piece in pieces if (found := _detected(piece, KNOWN.union(_OTHERS), SURE)))
    if not votes:
        return UNKNOWN
    language, count = votes.most_common(1)[0]
    return language if count >= AGREEING * len(pieces) else UNKNOWN


def of_question(question: str, among: Collection[str]) -> str:
    """Return which of these languages a question is in; "" if that cannot be told.

    It is the one that most of its function words belong to; where no language leads, what letters and word parts say,
    which takes "What if I lose my keycard?" for German.
    """
    chosen = frozenset(among)
    if len(chosen) < 2:
        return next(iter(chosen), "")
    words = terms(question)
    counts = {one: sum(word in stop_words(one) for word in words) for one in chosen & KNOWN}
    leading = [one for one, count in counts.items() if count == max(counts.values())]
    if len(leading) == 1:
        return leading[0]
    return _detected(question, chosen)


def spread(count: int, most: int = PIECES) -> list[int]:
    """Return at most `most` of the numbers 0 to `count` - 1, evenly spread."""
    return list(range(count)) if count <= most else [round(i * (count - 1) / (most - 1)) for i in range(most)]


def _pieces(texts: Sequence[str]) -> Iterable[str]:
    """Yield pieces of running text from all over the texts."""
    filled = [text for text in texts if text.strip()]
    each = max(1, PIECES // max(1, len(filled)))
    for number in spread(len(filled)):
        text = filled[number]
        step = max(PIECE, len(text) // each)
        for start in range(0, min(len(text), each * step), step):
            yield " ".join(_DIGITS.sub(" ", text[start : start + PIECE]).split())


def _detected(text: str, among: frozenset[str], sure: float = 0.0) -> str:
    detector = _detector(among, sure)
    found = detector.detect_language_of(text) if detector is not None else None
    if found is None:
        return ""
    name = str(found.name).lower()
    return next((ours for ours, theirs in _LINGUA.items() if theirs == name), name)


@cache
def _detector(among: frozenset[str], sure: float) -> Any:
    """Return lingua's detector for these languages, None without it. In its low accuracy mode it takes 35 MB.

    Its other mode takes 150 MB for seven languages and 2.6 s to load, and is no better on pieces of this length.
    """
    try:
        from lingua import Language as Lingua
        from lingua import LanguageDetectorBuilder
    except ImportError:
        return None
    names = sorted(_LINGUA.get(language, language).upper() for language in among)
    builder = LanguageDetectorBuilder.from_languages(*(getattr(Lingua, name) for name in names))
    builder = builder.with_low_accuracy_mode()
    return (builder.with_minimum_relative_distance(sure) if sure else builder).build()
