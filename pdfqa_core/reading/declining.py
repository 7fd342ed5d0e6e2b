"""Whether a model's reply says that the passages do not answer the question, and how that is told."""

from __future__ import annotations

import re

from pdfqa_core.text import sentences

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
