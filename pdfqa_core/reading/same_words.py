"""Whether a quote says what a sentence says, in languages whose facts are not taken apart as those of English are.

The verdicts of `verdicts.py` were fitted on English. Here a sentence counts as said only where the quote has all of its
words, in the same order, and is negated as often: what is put differently has no tick, and nothing wrong gets one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pdfqa_core.languages import snowball_stem
from pdfqa_core.text import content_terms, terms

_NEGATIONS: Mapping[str, re.Pattern[str]] = {
    language: re.compile(rf"\b(?:{words})\b", re.IGNORECASE)
    for language, words in {
        "german": r"nicht|kein\w*|nie|niemals|niemand\w*|nichts|ohne|weder|noch|außer|ausgenommen|un\w+bar",
        "french": r"ne|n(?=['’])|pas|jamais|aucune?|rien|personne|sans|ni|sauf|excepté|hormis",
        "spanish": r"no|nunca|jamás|ningún|ninguna|ninguno|nada|nadie|sin|ni|tampoco|salvo|excepto",
        "italian": r"non|mai|nessun\w*|niente|nulla|senza|né|neanche|neppure|salvo|eccetto|tranne",
        "portuguese": r"não|nunca|jamais|nenhum\w*|nada|ninguém|sem|nem|tampouco|salvo|exceto",
        "dutch": r"niet|geen|nooit|niemand|niets|zonder|noch|behalve|uitgezonderd",
    }.items()
}


def says_the_same(sentence: str, quote: str, language: str) -> bool:
    """Return whether a quote in this language has all that a sentence says.

    In a language whose negations are not known it must be the sentence itself.
    """
    negations = _NEGATIONS.get(language)
    if negations is None:
        return terms(sentence) == terms(quote)
    if len(negations.findall(sentence)) != len(negations.findall(quote)):
        return False
    said = [snowball_stem(language, term) for term in content_terms(sentence, language)]
    there = iter([snowball_stem(language, term) for term in terms(quote)])
    return bool(said) and all(word in there for word in said)
