"""Answers as EM and F1 compare them: lower case, no punctuation, no articles, single spaces.

In this order, as SQuAD's evaluation script does it: characters of `string.punctuation` are deleted, not replaced, so
that "point-guard" becomes "pointguard"; typographic quotes and accents stay. Source: Rajpurkar et al. 2016.
"""

from __future__ import annotations

import re
import string
from functools import lru_cache

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_DELETED = str.maketrans("", "", string.punctuation)


@lru_cache(maxsize=65_536)
def normalise_answer(text: str) -> str:
    """Return the answer in the form that EM and F1 compare."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_DELETED)).split())


def answer_tokens(text: str) -> list[str]:
    """Return the words of the normalised answer."""
    return normalise_answer(text).split()
