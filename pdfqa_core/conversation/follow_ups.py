"""Questions that a reader may ask next, made of the headings around the evidence. Pure functions, no model.

A heading is quoted, so that the question is right English whatever the heading's grammar. A number or a broken line
makes no question. Whether the text below says a heading's words again (it does not under "Overview"), and whether the
documents answer a question, is for the caller to find out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pdfqa_core.languages import ENGLISH, snowball, stop_words
from pdfqa_core.text import terms
from pdfqa_core.types import Span

LONGEST = 8  # words of a heading
LONGEST_TITLE = 48  # characters of a document's title
FEWEST_ASKED = 2  # words of a heading that asks, function words not counted

# A question about a heading, and one about a heading of the document with this title.
_ASKED = {
    ENGLISH: ("What is said about “{heading}”?", "What does {title} say about “{heading}”?"),
    "german": ("Was steht zu „{heading}“?", "Was steht in {title} zu „{heading}“?"),
    "french": ("Que dit-on de « {heading} » ?", "Que dit {title} de « {heading} » ?"),
    "spanish": ("¿Qué se dice de «{heading}»?", "¿Qué dice {title} de «{heading}»?"),
    "italian": ("Che cosa si dice di «{heading}»?", "Che cosa dice {title} di «{heading}»?"),
    "portuguese": ("O que se diz sobre «{heading}»?", "O que diz {title} sobre «{heading}»?"),
    "dutch": ("Wat staat er over “{heading}”?", "Wat staat er in {title} over “{heading}”?"),
}
ASKED_IN = frozenset(_ASKED)  # the languages in which questions can be made

# "3.2 ", "IV. ", "Item 1A. ", "Note 3 – "
_NUMBERED = re.compile(r"^(?:\d+(?:\.\d+)*[.)]?|[IVXLC]+[.)]|[A-Z][.)]|\w+\s+\d+[A-Z]?(?:\.|\s+[–—-]))\s+")
_BROKEN = re.compile(r"[|•@=<>{}\[\]_“”\"]|\.{2,}|…|[.!?;]\s|[,;–—-]$")


@dataclass(frozen=True, slots=True)
class Section:
    """A section near the evidence: its heading, its document (with the title, empty where it goes without saying)."""

    heading: str
    document_id: str
    page: int
    title: str = ""
    language: str = ENGLISH


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading where it stands: its level (1 is the highest), its page, and where in the page's text it begins.

    `below` is what stands below it, up to the next heading that is not lower.
    """

    text: str
    level: int
    page: int
    start: int
    below: str


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A question and the section that should answer it."""

    question: str
    section: Section


def topic(heading: str, language: str = ENGLISH) -> str:
    """Return what a heading names, without number and capitals; empty if it names nothing to ask about."""
    words = _NUMBERED.sub("", " ".join(heading.split())).rstrip(":. ")
    parts = words.split()
    if not words[:1].isupper() or len(parts) > LONGEST or _BROKEN.search(words):
        return ""
    letters = sum(c.isalpha() or c.isspace() for c in words)
    if letters < 0.8 * len(words) or parts[-1].casefold() in stop_words(language):
        return ""
    if not _own(words, language):
        return ""
    return words.capitalize() if words.isupper() and len(parts) > 1 else words


def says_again(heading: str, text: str, language: str = ENGLISH) -> bool:
    """Whether the text below a heading says one of its words: what a heading tells of comes up again."""
    return not set(_own(topic(heading, language), language)).isdisjoint(_own(text, language))


def asks(heading: str, language: str = ENGLISH) -> bool:
    """Whether a heading is a question with two words that say what it is about: "Are there any exceptions?" has one."""
    return heading.endswith("?") and len(set(_own(heading, language))) >= FEWEST_ASKED


def related_parts(headings: Sequence[Heading], place: Span) -> list[Heading]:
    """Return the parts of the section in which a passage begins, and the other parts of the section around that.

    `headings` are in the order of the document. The heading of a section that holds the passage is no part.
    """
    at = (place.page, place.start)
    before = [n for n, heading in enumerate(headings) if (heading.page, heading.start) <= at]
    if not before:
        return []
    own = headings[before[-1]]
    parent = next((n for n in reversed(before) if headings[n].level < own.level), -1)
    around = headings[parent].level if parent >= 0 else 0
    inside = []
    for heading in headings[parent + 1 :]:
        if heading.level <= around:
            break
        inside.append(heading)
    n = inside.index(own)
    end = next((m for m in range(n + 1, len(inside)) if inside[m].level <= own.level), len(inside))
    below = inside[n + 1 : end]
    deep = min((heading.level for heading in below), default=0)
    parts = [heading for heading in below if heading.level == deep]
    return parts + [heading for heading in inside if heading.level == own.level and heading is not own]


def follow_ups(sections: Iterable[Section], asked: Sequence[str]) -> Iterator[FollowUp]:
    """Yield a question for each section with a topic of its own that none of the questions `asked` was about."""
    offered: list[frozenset[str]] = []
    for section in sections:
        heading = topic(section.heading, section.language)
        about = frozenset(_own(heading, section.language))
        known = [*(frozenset(_own(question, section.language)) for question in asked), *offered]
        if not heading or any(about <= one for one in known) or any(one <= about for one in offered):
            continue
        shared = len(about & set(_own(section.title, section.language)))
        if 2 * shared > len(about) or (shared > 1 and 2 * shared == len(about)):  # the title once more
            continue
        if heading.endswith("?") and not asks(heading, section.language):
            continue
        offered.append(about)
        yield FollowUp(_question(heading, section.title, section.language), section)


def _question(heading: str, title: str, language: str) -> str:
    if heading.endswith("?"):
        return heading
    about, titled = _ASKED.get(language, _ASKED[ENGLISH])
    if title and len(title) <= LONGEST_TITLE and not _BROKEN.search(title):
        return titled.format(title=title, heading=heading)
    return about.format(heading=heading)


def asked_about(question: str) -> str:
    """Return the heading that a question was made of, with the title of its document if that is named; else ""."""
    for form in (form for forms in _ASKED.values() for form in forms):
        pattern = re.escape(form).replace(r"\{heading\}", "(?P<heading>.+)").replace(r"\{title\}", "(?P<title>.+)")
        if found := re.fullmatch(pattern, question):
            return " · ".join(found[name] for name in ("heading", "title") if name in found.groupdict())
    return ""


def _own(text: str, language: str = ENGLISH) -> list[str]:
    """Return the stems of the words that are neither function words nor numbers."""
    left_out = stop_words(language)
    return snowball(language, [term for term in terms(text) if term not in left_out and not term.isdigit()])
