"""What kind of answer a question wants: a fact, a description, or yes or no. A rule on its words, for English."""

from __future__ import annotations

import re
from typing import Literal

QuestionType = Literal["extractive", "abstractive", "boolean"]

_OPENING = r"^\W*(?:(?:and|but|so|ok|okay|then|also|please)\b\W*)*"
# "Can you explain …", "Do you know when …" ask for more than yes or no.
_POLITE = re.compile(
    _OPENING
    + r"(?:can|could|would|will) you (?:please )?(?=explain|describe|tell|give|list|provide|summari[sz]e|compare|"
    r"clarify)|" + _OPENING + r"do you know (?=what|when|where|which|who|how|why)",
    re.IGNORECASE,
)
_BOOLEAN = re.compile(
    _OPENING
    + r"(?:is|are|was|were|am|do|does|did|can|could|will|would|shall|should|has|have|had|may|might|must)(?:n['’]t)?\b",
    re.IGNORECASE,
)
_ALTERNATIVE = re.compile(r"\bor\b", re.IGNORECASE)  # "Is it in the north or the south?" names the answers itself
_COUNTED = re.compile(
    r"\bhow (?:many|much|often|long|old|far|high|large|big|tall|deep|wide|soon|late|early|fast|heavy)\b", re.IGNORECASE
)
_VALUE = re.compile(
    rf"{_OPENING}(?:.{{0,80}}?{_COUNTED.pattern}"
    r"|(?:.{0,80},\s*)?what (?:was|were|is|are|percentage|share|rate|amount)\b)",
    re.IGNORECASE | re.DOTALL,
)
_DESCRIBED = re.compile(
    r"\b(?:how|why|describe|explain|compare|discuss|summari[sz]e|tell|difference|differences|process|role|impact|steps|"
    r"relationship|considering)\b",
    re.IGNORECASE,
)
_TWICE = re.compile(
    r"\b(?:and|or)\s+(?:(?:in|at|to|for|by|of|on|with|from)\s+)?(?:what|which|how|when|where|who|whom|whose|why)\b"
    r"|\?\s+\S.*\?",
    re.IGNORECASE | re.DOTALL,
)


def asks_for_value(question: str) -> bool:
    """Return whether a number may be the answer: "How much …", "What was …", or yes or no about one."""
    return _VALUE.match(question) is not None or question_type(question) == "boolean"


def asks_for_amount(question: str) -> bool:
    """Return whether a number belongs to the answer: "how much", "how many", "how long"."""
    return _COUNTED.search(question) is not None


def asks_twice(question: str) -> bool:
    """Return whether a question asks for two things ("Which refrigerant is used, and how much of it?")."""
    return _TWICE.search(question) is not None


def question_type(question: str) -> QuestionType:
    """Return the type of a question: "boolean" (yes or no), "abstractive" (how, why, describe) or "extractive"."""
    asked, polite = _POLITE.subn("", question)
    if not polite and _BOOLEAN.match(asked) and not _ALTERNATIVE.search(asked):
        return "boolean"
    if _DESCRIBED.search(_COUNTED.sub(" ", asked)):
        return "abstractive"
    return "extractive"
