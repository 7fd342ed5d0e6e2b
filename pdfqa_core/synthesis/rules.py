"""Questions by rules, where a model is too weak or not at hand: of table rows, definitions, numbers and headings.

English only but for table rows and headings, whose words come from the document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pdfqa_core.conversation.follow_ups import Section, follow_ups
from pdfqa_core.languages import ENGLISH, stop_words
from pdfqa_core.reading.tables import tables
from pdfqa_core.text import sentences
from pdfqa_core.types import Passage

LONGEST_NAME = 6  # words of what a definition defines

_NAME = r"(?P<name>(?:(?:An?|The)\s+)?[A-Z(][\w()’'/&-]*(?:\s+[\w()’'/&-]+){0,5}?)"
_DEFINITION = re.compile(
    _NAME + r"\s+(?P<verb>is|are|means|refers to|is defined as|describes)\s+(?:an?|the|any|all|one of|those)\s+\w+"
)
_NUMBER = r"(?P<number>(?:[$€£]\s?)?\d[\d.,]*(?:\s?%|\s(?:percent|million|billion|thousand))?)"
_COUNT = re.compile(_NAME + r"\s+(?P<verb>has|have|had|contains?|includes?|serves?|employs?|covers?)\s+(?:about\s+)?"
                    + _NUMBER + r"\s+(?P<what>[a-z][\w-]+(?:\s[a-z][\w-]+)?)")  # fmt: skip
_LEANS = frozenset(  # what a sentence begins with that is about something said before
    """this these those it they he she we you there here that such each both one in on at for if when where as by with
    from to all some any no not note after before during while what who which how our your their its his her my
    following""".split()
)
_ADVERBS = frozenset("always also often usually never still not only currently now then there typically".split())
_DO = {"has": "does {} have", "have": "do {} have", "had": "did {} have"}
_PLURAL_VERBS = frozenset(("have", "had", "contain", "include", "serve", "employ", "cover"))


def by_rules(passage: Passage, title: str) -> Iterator[str]:
    """Yield questions that a passage answers: the most specific first. `title` is that of its document."""
    yield from of_rows(passage)
    if passage.language == ENGLISH:
        for start, end in sentences(passage.text, passage.language):
            yield from _of_sentence(" ".join(passage.text[start:end].split()))
    if passage.heading:
        heading = passage.heading.removeprefix(title).removeprefix(": ")
        part = Section(heading, passage.document_id, passage.pages[0], title, passage.language)
        yield from (one.question for one in follow_ups([part], [title]))


def of_rows(passage: Passage) -> Iterator[str]:
    """Yield a question for each value of a table that has a label and the name of a column."""
    for table in tables(passage.text):
        for row in table.rows:
            label = f"{row.under.rstrip(':')}: {row.label}" if row.under else row.label
            label = label.strip().rstrip(":")
            if not re.search(r"[^\W\d_]{3}", label):
                continue
            for column, value in row.values:
                if re.search(r"[^\W_]{2}", column) and re.search(r"\d", value):
                    yield f"What was {label} for {column}?" if _is_time(column) else f"What is the {column} of {label}?"


def _is_time(column: str) -> bool:
    return re.search(r"\b(?:19|20)\d\d\b|\b[qQ][1-4]\b|\bmonths?\b|\bended\b", column) is not None


def _of_sentence(sentence: str) -> Iterator[str]:
    if re.split(r"\W", sentence, maxsplit=1)[0].casefold() in _LEANS:
        return
    counted = _COUNT.match(sentence)
    if counted is not None and _is_name(counted["name"]):
        verb = counted["verb"]
        subject = _in_a_question(counted["name"])
        if verb in _DO:
            done = _DO[verb].format(subject)
        else:
            done = f"do {subject} {verb}" if verb in _PLURAL_VERBS else f"does {subject} {verb.removesuffix('s')}"
        what = [word for word in counted["what"].split() if word not in stop_words(ENGLISH)]
        if what:
            yield f"How many {' '.join(what)} {done}?"
        return
    defined = _DEFINITION.match(sentence)
    if defined is not None and _is_name(defined["name"]):
        subject = _in_a_question(defined["name"])
        yield f"What are {subject}?" if defined["verb"] == "are" else f"What is {subject}?"


def _is_name(name: str) -> bool:
    """Whether what a sentence begins with can be asked about by itself: short, and with brackets that close."""
    words = name.split()
    whole = name.count("(") == name.count(")") and not name.endswith("-")
    return whole and len(words) <= LONGEST_NAME and words[-1] not in _ADVERBS


def _in_a_question(name: str) -> str:
    """Return the beginning of a sentence as it stands within one: its article small."""
    first, _, rest = name.partition(" ")
    return f"{first.lower()} {rest}" if first in ("A", "An", "The") and rest else name
