"""Which documents a question means: those whose title or file name it has, or the newest of a series."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping

from pdfqa_core.languages import STOP_WORDS
from pdfqa_core.reading.numbers import MONTHS
from pdfqa_core.text import content_terms, terms

# Words of a title or of one side of a comparison that name no document.
_ANY_DOCUMENT = frozenset(
    "document documents file files pdf plan plans report reports paper policy handbook filing section chapter".split()
)
# What documents are called; the first of them say nothing about which one is meant.
_ANY_KIND = frozenset("document doc file pdf paper text report filing".split())
_A_KIND = frozenset(
    "agreement article book brochure contract filing guide handbook invoice leaflet lease letter manual minutes paper "
    "policy report statement study syllabus thesis".split()
)
_OF_A_SECTION = re.compile(r"\b(?:section|chapter|part|passage|paragraph)s?\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d[\d.]*")
_QUARTERS = ("first", "second", "third", "fourth")
_QUARTER = re.compile(rf"\b({'|'.join(_QUARTERS)})[ -]quarter\b", re.IGNORECASE)
_SERIES = (
    "reports?|filings?|10-?[qk]s?|documents?|files?|pdfs?|quarters?|quarterly|years?|annual|months?|monthly|periods?|"
    "versions?|editions?|issues?|statements?|results|minutes|releases?|papers?|polic(?:y|ies)|handbooks?|plans?"
)
_NEWEST = re.compile(rf"\b(?:latest|newest|most recent)\s+(?:[\w’'-]+\s+){{0,2}}?(?:{_SERIES})\b", re.IGNORECASE)
_OTHERS = re.compile(
    rf"\b(?:previous|earlier|prior|preceding|other|all|across|last \w+)\s+(?:\w+\s+){{0,2}}?(?:{_SERIES})\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_WORD = re.compile(r"\w+(?:[’']\w+)?")
# Where names have been taken out: with the article and preposition before them, and "report" or "10-Q" behind.
_GAP = re.compile(
    r"(?:\b(?:in|for|from|of|as reported in)\s+)?(?:\b(?:the|its|their|this)\s+)?(?:\0(?:\s+of)?\s*)+"
    rf"(?:\b(?:{_SERIES})\b)?",
    re.IGNORECASE,
)


def named(text: str, names: Mapping[str, str], least: int = 2) -> tuple[str, ...]:
    """Return the ids of the documents that a text names: all of its words, at least so many, are among their names."""
    wanted = naming(text)
    return tuple(one for one, words in names.items() if len(wanted) >= least and wanted <= naming(words))


def summarised(subject: str, names: Mapping[str, str], files: Mapping[str, str]) -> tuple[str, ...]:
    """Return the ids of the documents that the subject of a summary names, () where it is about something in them.

    All of its words are among a document's `names`. One word is enough where it is the whole name of the file, or
    where one document alone has it and the word is, or stands beside, what documents are called: "the lab report", "the
    Kestrel manual".
    """
    asked = frozenset(content_terms(subject.replace("_", " ")))
    wanted = naming(subject)
    if not asked or asks_for_section(subject):
        return ()
    own = {one: frozenset(content_terms(words.replace("_", " "))) for one, words in names.items()}
    exact = tuple(one for one, words in own.items() if asked <= words)
    if len(asked) > 1 and exact and (len(wanted) > 1 or len(exact) == 1):
        return exact
    whole = tuple(one for one, stem in files.items() if wanted and wanted == naming(stem))
    if whole and asked - wanted <= _ANY_KIND:
        return whole
    if len(asked) == 1:
        return exact if asked <= _A_KIND and len(exact) == 1 else ()
    return named(subject, names) or _alone(asked, wanted, own)


def _alone(asked: frozenset[str], wanted: frozenset[str], own: Mapping[str, frozenset[str]]) -> tuple[str, ...]:
    """Return the one document with the words of a subject beside those that documents are called by; else ()."""
    kinds = _A_KIND | _ANY_KIND
    fitting = tuple(one for one, words in own.items() if wanted and wanted <= words)
    if asked != wanted and asked - wanted <= _ANY_KIND and len(fitting) == 1:
        return fitting
    # "the Kestrel manual" of a document that has Kestrel in its name, and does not say what it is
    rest = asked - kinds
    fitting = tuple(one for one, words in own.items() if rest and rest < asked and rest <= words)
    return fitting if len(fitting) == 1 and not own[fitting[0]] & kinds else ()


def of_kind(question: str, names: Mapping[str, str]) -> str:
    """Return the id of the one document whose names have what the question calls it, like "the handbook"; else ""."""
    kinds = _A_KIND.intersection(terms(question))
    found = [one for one, words in names.items() if kinds.intersection(terms(words.replace("_", " ")))]
    return found[0] if len(found) == 1 else ""


def asks_for_section(text: str) -> bool:
    """Return whether a question or its subject says that it is about a section."""
    return _OF_A_SECTION.search(text) is not None


def is_heading(subject: str, heading: str) -> bool:
    """Return whether a subject has the words of a heading and no others; the heading's number may be left out."""
    wanted, own = (
        [term for term in terms(_OF_A_SECTION.sub(" ", text)) if term not in STOP_WORDS] for text in (subject, heading)
    )
    without = [term for term in own if not _NUMBER.fullmatch(term)]
    return bool(without) and wanted in (own, without)


def asked_about(text: str, names: Mapping[str, str], least: int = 2) -> str:
    """Return the id of the one document that a question names, like "… in Q3 2023", "… of Plan Standard"; "" if none.

    All words of names that the question has are its, at least so many, and no other document has them all; words that
    only its name has are in the question together or not at all: "Northwind Health" is not "Northwind Health Plus".
    """
    asked = naming(_QUARTER.sub(_short, text))
    own = {one: naming(words) for one, words in names.items()}
    shared = {one: words & asked for one, words in own.items()}
    for one, words in shared.items():
        rivals = [other for other in own if other != one]
        unique = own[one].difference(*(own[other] for other in rivals))
        whole = unique <= asked or not unique & asked
        if rivals and len(words) >= least and whole and all(shared[other] < words for other in rivals):
            return one
    return ""


def newest(text: str, names: Mapping[str, str]) -> str:
    """Return the id of the newest document where a question asks for "the latest quarter", "the most recent report".

    Documents belong to one series if their names differ in year, quarter, month or day alone. "" where none or several
    series are there, or the question has no such words or asks about earlier ones too.
    """
    if not _NEWEST.search(text) or _OTHERS.search(text):
        return ""
    series: dict[frozenset[str], dict[tuple[int, ...], str]] = defaultdict(dict)
    for one, name in names.items():
        period, rest = _period(name)
        if period:
            series[rest][period] = one
    found = [periods for periods in series.values() if len(periods) > 1]
    return found[0][max(found[0])] if len(found) == 1 else ""


def unnamed(question: str, names: str) -> str:
    """Return a question without the words that name its document, which has these `names`; as it is if none are left.

    "What was net income in the latest 10-Q report?" and "What was net income in Q2 2023?" both ask for net income: the
    document's pages need not say how it is called.
    """
    called = naming(names)
    marked = _NEWEST.sub("\0", _QUARTER.sub(lambda found: _left(found[0], {_short(found)} <= called), question))
    marked = _WORD.sub(lambda found: _left(found[0], bool(naming(found[0])) and naming(found[0]) <= called), marked)
    short = re.sub(r"\s+(?=[,.?!])", "", " ".join(_GAP.sub(" ", marked).split())).lstrip(", ")
    return question if set(terms(short)) <= STOP_WORDS else short


def _left(text: str, named: bool) -> str:
    return "\0" if named else text


def _short(quarter: re.Match[str]) -> str:
    return f"q{_QUARTERS.index(quarter[1].lower()) + 1}"


def _period(name: str) -> tuple[tuple[int, ...], frozenset[str]]:
    """Return the period of a name as year, month (the last of a quarter) and day, 0 where not said, and other words.

    () without a year: "Report 7" has no period.
    """
    words = terms(name.replace("_", " ").replace("-", " "))
    year = next((int(word) for word in words if _YEAR.fullmatch(word)), 0)
    if not year:
        return (), frozenset(words)
    quarters = [3 * int(word[1]) for word in words if re.fullmatch("q[1-4]", word)]
    months = [MONTHS.index(word) + 1 for word in words if word in MONTHS]
    counts = [int(word) for word in words if re.fullmatch(r"\d{1,2}", word)]
    period = (year, *[*quarters, *months, *counts, 0, 0][:2])
    return period, frozenset(word for word in words if not _is_of_period(word))


def _is_of_period(word: str) -> bool:
    return word in MONTHS or re.fullmatch(r"q[1-4]|\d{1,2}|(?:19|20)\d\d", word) is not None


def naming(text: str) -> frozenset[str]:
    """Return the words that name something."""
    return frozenset(term for term in content_terms(text.replace("_", " ")) if term not in _ANY_DOCUMENT)
