"""Whether a quote says what a sentence says, in languages whose facts are not taken apart as those of English are.

The verdicts of `verdicts.py` were fitted on English. Here a sentence counts as said only where the quote has all of its
words, in the same order, and is negated as often: what is put differently has no tick. In German what is left out is
looked at too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate

from pdfqa_core.languages import GERMAN, snowball_stem, stop_words
from pdfqa_core.text import sentences, terms

LONGEST = 150  # words that decide, of a sentence that is looked for in a German quote

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


# German: words that decide though they are stop words, what begins a clause, what limits one.
_DECIDING = frozenset("vor nach über unter aus ein um auf bis ab mit ohne seit von zu gegen für".split())
_BREAK = re.compile(r"[,;:](?!\d)|\b(?:und|aber|jedoch|sondern|während)\b", re.IGNORECASE)
_LIMIT = re.compile(
    r"nur|erst|höchstens|bis|spätestens|frühestens|mindestens|maximal|ausgenommen|außer|wenn|falls|sofern|soweit|"
    r"nicht|kein\w*|nie|niemals|ohne|weder",
    re.IGNORECASE,
)
_NUMBERS = frozenset("zwei drei vier fünf sechs sieben acht neun zehn elf zwölf".split())


def says_the_same(sentence: str, quote: str, language: str) -> bool:
    """Return whether a quote in this language has all that a sentence says.

    In a language whose negations are not known it must be the sentence itself.
    """
    negations = _NEGATIONS.get(language)
    if negations is None:
        return terms(sentence) == terms(quote)
    if language == GERMAN:
        said = [word.stem for word in _german(sentence)]
        parts = [quote[start:end] for start, end in sentences(quote, language)]
        return 0 < len(said) <= LONGEST and any(_runs_through(said, part) for part in parts)
    if len(negations.findall(sentence)) != len(negations.findall(quote)):
        return False
    said = [snowball_stem(language, term) for term in terms(sentence)]
    there = iter([snowball_stem(language, term) for term in terms(quote)])
    return bool(said) and all(word in there for word in said)


@dataclass(frozen=True, slots=True)
class _Word:
    """A word with its stem, and the number of the clause that it stands in."""

    text: str
    stem: str
    clause: int = 0

    @property
    def counts(self) -> bool:
        """Whether it is a number."""
        return self.text[0].isdigit() or self.text in _NUMBERS

    @property
    def limits(self) -> bool:
        """Whether it limits or negates."""
        return _LIMIT.fullmatch(self.text) is not None


def _german(text: str, clause: int = 0) -> list[_Word]:
    left_out = stop_words(GERMAN) - _DECIDING
    kept = [term for term in terms(text) if term not in left_out or _LIMIT.fullmatch(term)]
    return [_Word(term, snowball_stem(GERMAN, term), clause) for term in kept]


def _runs_through(said: Sequence[str], part: str) -> bool:
    """Return whether the stems run through a sentence without a number, limit or negation left out.

    Of a later clause all is said or nothing; and none that limits ("wenn ...") follows the last one.
    """
    cuts = [0, *(match.start() for match in _BREAK.finditer(part)), len(part)]
    words = [word for n, cut in enumerate(cuts[:-1]) for word in _german(part[cut : cuts[n + 1]], n)]
    deciding = [0, *accumulate(word.counts or word.limits for word in words)]  # how many stand before a word
    behind_comma = {n for n, cut in enumerate(cuts[:-1]) if part[cut : cut + 1] in (",", ";")}

    def ends(at: int, whole: bool) -> bool:
        """Return whether the sentence may end with this word; `whole`: nothing of its clause may be left out."""
        clause = words[at].clause
        rest = [word for word in words[at + 1 :] if word.clause == clause]
        if any(word.limits for word in rest if not word.counts) or (whole and rest):
            return False
        after = next((word for word in words[at + 1 :] if word.clause == clause + 1), None)
        return after is None or clause + 1 not in behind_comma or not after.limits or after.text == "nicht"

    @cache
    def goes_on(count: int, at: int, whole: bool) -> bool:
        """Return whether the stems from `count` on follow the word at `at`."""
        if count == len(said):
            return ends(at, whole)
        for to in range(at + 1, len(words)):
            if words[to].stem != said[count]:
                continue
            if to == at + 1:
                fits, still = True, whole
            elif words[to].clause != words[at].clause:
                fits, still = words[to - 1].clause != words[to].clause, True
            else:
                fits, still = not whole and deciding[at + 1] == deciding[to], whole
            if fits and goes_on(count + 1, to, still):
                return True
        return False

    return any(word.stem == said[0] and goes_on(1, n, False) for n, word in enumerate(words))
