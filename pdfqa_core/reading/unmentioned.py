"""Names in a question that no page mentions: what is asked about Tesla is not answered by a report of Apple's.

A rule for English. In a question of several sentences only the last one counts.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from pdfqa_core.languages import STOP_WORDS
from pdfqa_core.reading.numbers import MONTHS
from pdfqa_core.text import bare_terms, sentences

_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_TIMES = frozenset((*MONTHS, *_DAYS))
# A word with a capital that does not begin the sentence; not in capitals alone: EPS is "earnings per share".
_NAME = re.compile(r"(?<=[\w,;:)’'])\s+[“\"(]?([A-Z][a-z]+(?:[A-Z][a-z]+)*)\b")
_TITLE_CASE = 0.5  # share of names among the words from which on capitals say nothing
UNMENTIONED = "No page mentions"
SHORTEST = 3  # letters of a name
BEGINNING, ENDING = 5, 3  # a word with the same first letters, but for so many at the end, may mean the same


def unmentioned(question: str, known: Collection[str], meant: Collection[str] = ()) -> tuple[str, ...]:
    """Return the names of a question that are not among the index terms of the pages, nor words that begin alike.

    "German" is known where "Germany" is. `meant` are words that are misspelt.
    """
    last = question[slice(*(sentences(question) or [(0, len(question))])[-1])]
    names = list(dict.fromkeys(found[1] for found in _NAME.finditer(last)))
    if len(names) >= _TITLE_CASE * len(last.split()):
        return ()
    return tuple(name for name in names if name not in meant and not _mentioned(name, known))


def no_page_mentions(names: Sequence[str]) -> str:
    """Return a sentence that says which names no page mentions."""
    return f"{UNMENTIONED} {' or '.join(f'“{name}”' for name in names)}."


def _mentioned(name: str, known: Collection[str]) -> bool:
    (word, *_) = bare_terms(name)
    if len(word) < SHORTEST or word in known or word in STOP_WORDS or word in _TIMES:
        return True
    beginning = word[: max(BEGINNING, len(word) - ENDING)]
    return any(one.startswith(beginning) or (len(one) >= BEGINNING and word.startswith(one)) for one in known)
