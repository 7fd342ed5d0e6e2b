"""What stands around an answer's text, or in its place, by what came of the question: the same words everywhere."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pdfqa_core.text import sentences
from pdfqa_core.types import Answer, Citation, Outcome

# ----------------------------------------------------------------------------------------------------
# Whether a model's reply says that the passages do not answer the question, and how that is told.

NOT_ANSWERED = "I found nothing in these pages that answers this."
CONFIDENCE = "Confidence that these passages answer the question:"
DECLINED = "The model declined:"

# Only the first sentence is looked at: an answer may end with what it does not cover. Each pattern stands for a way in
# which instruction models decline; "not covered" and the like are left out, they are answers about insurance.
_SOURCE = r"\b(passages?|context|text|documents?|excerpts?) (above |provided |given )?"
_VERB = r"(provide|contain|mention|include|specify|say|state|give|answer|address|discuss|have)\b"
_UNABLE = r"(do not|don't|cannot|can't|am unable to|are unable to)"
_TOLD = r"(mentioned|provided|stated|specified|given|answered|discussed|addressed|found)"
_DECLINES = (
    r"^\W*insufficient (context|information|evidence)",
    rf"^\W*(i('m| am) sorry,? (but )?)?(i|we) {_UNABLE} (know|answer|find|determine|provide an answer)",
    r"^\W*there is (no|not enough|insufficient) (information|mention|evidence|context)\b",
    rf"{_SOURCE}(do(es)?|did) not {_VERB}",
    rf"{_SOURCE}(provides?|contains?|gives?) (no|not enough|insufficient)\b",
    (
        rf"\b(is|are|was|were) not (explicitly |specifically |directly )?{_TOLD} (in|by) (any of )?(the|these|this) "
        rf"(above |given |provided )?(passages?|context|text|documents?)"
    ),
    r"\bcannot be (answered|determined)\b",
    r"\bnot possible to (answer|determine)\b",
)
_DECLINE = re.compile("|".join(_DECLINES), re.IGNORECASE)


def declines(reply: str) -> bool:
    """Return whether the reply's first sentence declines to answer."""
    line = reply.strip().replace("’", "'").partition("\n")[0]
    return any(_DECLINE.search(line[start:end]) for start, end in sentences(line)[:1])


# ----------------------------------------------------------------------------------------------------
# What stands around an answer's text, or in its place, by what came of the question: the same words everywhere.

MAY_STAND = "It may stand here:"
OR_HERE = "Or here:"
IN_WORDS, MORE_QUOTES = "In the model's words:", "More quotes:"
CAUTION = "Not sure that this answers the question: read the lines before you rely on it."
_REASONS = (CONFIDENCE, DECLINED)


def lines_of(answer: Answer) -> tuple[Citation, ...]:
    """Return the lines that stand before a text that is perhaps an answer, or are nearest where nothing was found.

    At most two pieces, the better one first.
    """
    found = () if answer.outcome is Outcome.ANSWER else (answer.nearest, answer.second)
    return tuple(one for one in found if one is not None)


def lead_of(answer: Answer) -> str:
    """Return what leads from the lines to the text: a model's words, or quotes."""
    return IN_WORDS if answer.model else MORE_QUOTES


def own_words(answer: Answer) -> str:
    """Return what the reader wrote; empty where nothing was found, and where its text is the quoted lines alone."""
    lines = lines_of(answer)
    same = bool(lines) and lines[0].quote.split() == answer.text.split()
    return "" if answer.refused or same else answer.text


def nothing_words(answer: Answer) -> tuple[str, ...]:
    """Return what stands in the place of an answer: that nothing was found, or why nothing was sought; then the notes.

    Those that give reasons, in numbers or in the model's words, are left out.
    """
    told = tuple(note for note in answer.notes if not note.startswith(_REASONS))
    return (NOT_ANSWERED, *told) if answer.hits else told or (NOT_ANSWERED,)


def notes_below(answer: Answer) -> tuple[str, ...]:
    """Return the notes below an answer; where nothing was found, all but one that stands in its place."""
    above = nothing_words(answer)[0] if answer.refused else ""
    return tuple(note for note in answer.notes if note != above)


def lines_and_words(lines: Sequence[str], text: str) -> str:
    """Return lines in quotation marks, then a text unless it is the same; the text alone where there are no lines."""
    quoted = [f"“{' '.join(one.split())}”" for one in lines]
    same = bool(lines) and lines[0].split() == text.split()
    return "\n\n".join([*quoted, *([text] if text and not same else [])])


def rated_text(answer: Answer) -> str:
    """Return an answer as those read it who rate it: without a word on how sure the program is of it."""
    if answer.refused:
        return nothing_words(answer)[0]
    return lines_and_words([one.quote for one in lines_of(answer)], answer.text)
