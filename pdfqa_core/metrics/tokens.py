"""Words as ROUGE and BLEU count them."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Any

_ASCII = re.compile(r"[a-z0-9]+")
_WORD = re.compile(r"[^\W_]+")
_SHORTEST_STEMMED = 4  # rouge_score leaves words of up to three letters as they are


def word_tokens(text: str) -> list[str]:
    """Return the words of any script in lower case, without punctuation."""
    return _WORD.findall(text.lower())


def rouge_tokens(text: str, *, stemming: bool = False) -> list[str]:
    """Return the words as rouge_score makes them: runs of a-z and 0-9 in lower case, Porter stems if asked for.

    For text of another script, where that finds nothing, the words of `word_tokens`.
    """
    found = _ASCII.findall(text.lower()) or word_tokens(text)
    return [_stem(word) for word in found] if stemming else found


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    return str(_porter().stem(word)) if len(word) >= _SHORTEST_STEMMED else word


@cache
def _porter() -> Any:
    from nltk.stem.porter import PorterStemmer

    return PorterStemmer()
