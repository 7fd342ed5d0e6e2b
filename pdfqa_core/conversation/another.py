"""Follow-ups that ask the last question about something else: "And the fixed desk?", "What about Oslo?".

The last question is asked again with the other thing in the place of its own. With the words of both side by side, the
search finds the last passage again and a small model repeats its answer. What is not clear is left to the other rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pdfqa_core.conversation.relation import PRONOUNS, Encode, points_back, topic_terms
from pdfqa_core.interfaces import History
from pdfqa_core.languages import ENGLISH
from pdfqa_core.text import sentences, terms

LONGEST = 5  # words of the other thing
LONGEST_PHRASE = 4  # words of the one whose place it takes
# What speaks for a phrase beside its cosine with the other thing; chosen on the first list of benchmarks/another.tsv.
SAME_PREPOSITION = 0.5
SAME_KIND = 0.15  # both are names, or both have a number
EDGE = 0.15  # it begins behind a small word, or ends before one
NEAR = 0.3  # cosine of what may stand behind the question instead
LEAST = 0.4  # below which no phrase is meant

_LEADS = {
    ENGLISH: r"(?:and|but|or|so|ok|okay|then)\b[,\s]*(?:(?:what|how) about\b)?|(?:what|how) about\b",
    "german": (
        r"(?:und|aber|oder)\b(?: wie (?:ist|steht) es mit| was ist mit)?|(?:wie (?:ist|steht) es|was ist) mit\b"
    ),
    "french": r"(?:et|mais|ou)\b(?: qu['’]en est-il)?|qu['’]en est-il\b",
    "spanish": r"¿?\s*(?:y|pero|o)\b(?: qué (?:hay|pasa) (?:de|con))?|¿?\s*qué (?:hay|pasa) (?:de|con)\b",
    "italian": r"(?:e|ma|o)\b",
    "portuguese": r"(?:e|mas|ou)\b(?: quanto a)?",
    "dutch": r"(?:en|maar|of)\b(?: hoe zit het met)?|hoe zit het met\b",
}
_ARTICLES = {
    ENGLISH: "a an the", "german": "der die das den dem des ein eine einen einem einer eines",
    "french": "le la les un une des", "spanish": "el la los las un una unos unas",
    "italian": "il lo la i gli le un una uno", "portuguese": "o a os as um uma", "dutch": "de het een",
}  # fmt: skip
# Words of questions and sentences of their own: what has one of them is no mere thing.
_ASKING = frozenset(
    """who what which when where why how whose whom is are was were do does did can could will would should shall may
    might must has have had if wer wie was wann wo warum welche welcher ist sind hat qui que quoi quand où pourquoi
    comment est quién qué cuándo dónde por chi che quando dove perché quem onde wie wat waar waarom not""".split()
)
# Words between the things of a question, beside those in -ed, unless an article makes them things ("the cost").
_VERBS = frozenset(
    """cost costs cover covers use uses include includes open opens close closes take takes took taken need needs pay
    pays paid get gets got allow require offer offers provide fit keep keeps kept sell sells sold found build built
    start starts end ends begin begins began run runs ran make makes made rise rose fall fell vote decide say says
    said write wrote written lay laid bring brings brought earn earns spend spends spent lose loses lost win wins won
    grow grows grew receive receives hold holds held own owns weigh weighs last lasts help helps apply applies happen
    happens change changes give gives gave show shows showed drop drops charge charges lead leads led mean means meant
    become becomes became come comes came go goes went belong belongs contain contains""".split()
)
_PLACES = frozenset("first second third fourth last next latter former".split())  # of something listed in an answer
_COUNTING = frozenset("much many".split())
_BE = frozenset("is are was were be been being".split())
# What they stand before may be in the question without them.
_APART = frozenset("for of für von pour de du para por per di da do voor van".split())
_ONE = re.compile(r"\s+ones?$", re.IGNORECASE)
_NOUNS = """chest contest forest guest harvest honest interest invest latest modest nest priest protest quest request
    rest suggest test west"""
_EXTREME = rf"(?!(?:{'|'.join(_NOUNS.split())})\b)(?:most|least|best|worst|\w{{2,}}est)"
_MUCH = frozenset(("most", "least", "fewest"))
_OTHER_END = re.compile(rf"(?:the )?(?P<word>{_EXTREME})(?: ones?)?[\s?.!]*", re.IGNORECASE)
_THE_EXTREME = re.compile(rf"(?<=\bthe ){_EXTREME}\b", re.IGNORECASE)
_WORD = re.compile(r"[\w'’&.-]*\w")


@dataclass(frozen=True, slots=True)
class _Phrase:
    """Words of a question: where they stand, and the small words before them."""

    start: int
    end: int
    before: tuple[str, ...]
    edges: int


def for_another_thing(question: str, history: History, encode: Encode | None, language: str = ENGLISH) -> str:
    """Return the last question of the (question, answer) pairs, asked about what `question` names; else "".

    What a phrase means is compared by `encode`, for English; without it and in other languages a preposition that both
    have tells the place ("for tenants", "for the landlord"). Questions of the history that name a thing alone are to be
    whole.
    """
    if not history:
        return ""
    last = history[-1][0]
    if not last.strip() or points_back(last, [asked for asked, _ in history[:-1]], language):
        return ""
    if extreme := _other_end(question, last, language):
        return extreme
    if not (named := _named(question, language)):
        return ""
    start, end = sentences(last, language)[-1]
    return _asked_about(last[start:end].strip(), *named, encode, language)


def _asked_about(last: str, small: Sequence[str], thing: str, encode: Encode | None, language: str) -> str:
    """Return a whole question asked about a thing with the small words before it."""
    own = [word for word in small if word not in _articles(language)]
    matched = bool(own) and any(own[0] in phrase.before for phrase in _phrases(last, language))
    at_end = _with_end(last, " ".join([*small, thing]))
    if matched:
        return _replaced(last, own, small, thing, encode, language)
    if not own:
        return "" if thing.casefold() in _PLACES else _replaced(last, (), small, thing, encode, language)
    if own[0] not in _APART:
        return at_end
    # "For families" goes behind "the deductible of the plan"; "for managers" takes the place of "employees".
    return (_replaced(last, (), small, thing, encode, language, NEAR) or at_end) if language == ENGLISH else ""


def _other_end(question: str, last: str, language: str) -> str:
    """Return the last question with the extreme that is named in the place of its own ("and the fewest?"); else ""."""
    lead = _lead(question, language)
    named = _OTHER_END.fullmatch(question, lead.end()) if lead is not None and language == ENGLISH else None
    found = list(_THE_EXTREME.finditer(last))
    if named is None or len(found) != 1 or terms(found[0][0]) == terms(named["word"]):
        return ""
    if found[0][0].casefold() in _MUCH and named["word"].casefold() not in _MUCH:  # "the most expensive", "cheapest"
        return ""
    return f"{last[: found[0].start()]}{named['word']}{last[found[0].end() :]}"


def _lead(question: str, language: str) -> re.Match[str] | None:
    return re.match(rf"\s*(?:{_LEADS.get(language, '(?!)')})(?!\w)[\s,]*", question, re.IGNORECASE)


def _named(question: str, language: str) -> tuple[list[str], str] | None:
    """Return what a question names and nothing else: the small words before it, and the thing; None if it asks more."""
    lead = _lead(question, language)
    if lead is None:
        return None
    words = question[lead.end() :].strip(" ?.!,").split()
    small: list[str] = []
    while words and not topic_terms(words[0], language):
        small.append(words.pop(0).casefold())
    said = {*small, *terms(" ".join(words))}
    if not 1 <= len(words) <= LONGEST or len(small) > 2 or said & (_ASKING | PRONOUNS):
        return None
    return small, " ".join(words)


def _articles(language: str) -> frozenset[str]:
    return frozenset(_ARTICLES.get(language, "").split())


def _replaced(
    last: str, own: Sequence[str], small: Sequence[str], thing: str, encode: Encode | None, language: str,
    nearest: float = -1.0,
) -> str:  # fmt: skip
    """Return the question with the thing in the place of the phrase that fits it best; "" if none does.

    A phrase fits that has the preposition of `own`, if there is one, and a cosine from `nearest` on.
    """
    modifier = _ONE.sub("", thing)
    found = [phrase for phrase in _phrases(last, language) if terms(last[phrase.start : phrase.end]) != terms(thing)]
    if own:
        found = [phrase for phrase in found if own[0] in phrase.before]
    if any(word in _articles(language) for word in small):  # "the landlord" is no other thing than "how much notice"
        found = [phrase for phrase in found if not phrase.before or phrase.before[-1] not in _COUNTING]
    if modifier != thing:  # "the south one" behind "the north tower": the noun stays
        found = [phrase for phrase in found if (rest := last[phrase.end :].split()) and topic_terms(rest[0], language)]
    if not found or (not own and (encode is None or language != ENGLISH)):
        return ""
    texts = [last[phrase.start : phrase.end] for phrase in found]
    near = [0.0] * len(found)
    if encode is not None and language == ENGLISH:
        rows = encode([modifier, *texts])
        near = [float(cosine) for cosine in rows[1:] @ rows[0]]
    scores = [
        cosine + SAME_PREPOSITION * bool(own) + SAME_KIND * _alike(modifier, text, language) + EDGE * phrase.edges
        for phrase, text, cosine in zip(found, texts, near, strict=True)
    ]  # fmt: skip
    best = max(range(len(found)), key=scores.__getitem__)
    if scores[best] < LEAST or near[best] < nearest:
        return ""
    phrase, start = found[best], found[best].start
    if not own:  # the article before the phrase stays
        return f"{last[:start]}{modifier}{last[phrase.end :]}"
    if phrase.before[-1] in _articles(language):
        start = last[:start].rstrip().rfind(" ") + 1
    article = [word for word in small if word in _articles(language)]
    return f"{last[:start]}{' '.join([*article, modifier])}{last[phrase.end :]}"


def _with_end(last: str, words: str) -> str:
    stem = last.rstrip(" ?.!")
    return f"{stem} {words}{last.rstrip()[len(stem) :] or '?'}"


def _alike(thing: str, phrase: str, language: str) -> int:
    numbers = [re.search(r"\d", text) is not None for text in (thing, phrase)]
    if numbers[0] != numbers[1]:
        return -1
    names = [text[:1].isupper() for text in (thing, phrase)]
    return int(all(numbers) or (all(names) and language != "german"))


def _phrases(question: str, language: str) -> Iterator[_Phrase]:
    """Yield the runs of topic words of a question that no name is cut by."""
    words = list(_WORD.finditer(question))
    topic = [
        bool(topic_terms(word[0], language)) and not _verb(word[0], words[place - 1][0] if place else "", language)
        for place, word in enumerate(words)
    ]
    joined = [_joined(words, topic, place, language) for place in range(len(words))]  # with the word before
    for first in range(len(words)):
        if not topic[first] or joined[first]:
            continue
        before: list[str] = []
        place = first - 1
        while place >= 0 and not topic[place]:
            before.insert(0, words[place][0].casefold())
            place -= 1
        behind_be = bool(before) and before[-1] in _BE and len(before) < first
        begins = bool(before) and not behind_be
        for last in range(first, min(first + LONGEST_PHRASE, len(words))):
            if not topic[last]:
                if last + 1 < len(words) and joined[last + 1]:
                    continue
                break
            following = last + 1 < len(words)
            if following and joined[last + 1]:
                continue
            ends = not following or not topic[last + 1]
            yield _Phrase(words[first].start(), words[last].end(), tuple(before), begins + ends)


def _verb(word: str, before: str, language: str) -> bool:
    if language != ENGLISH or before.casefold() in _articles(language):
        return False
    return word.casefold() in _VERBS or (word.islower() and re.fullmatch(r"\w{3,}ed", word) is not None)


def _joined(words: Sequence[re.Match[str]], topic: Sequence[bool], place: int, language: str) -> bool:
    """Return whether a word belongs to a name that goes on from the word before: "Director of Sales", "8 hours"."""

    def name(at: int) -> bool:
        return at > 0 and language != "german" and words[at][0][:1].isupper()

    if place == 0:
        return False
    if words[place - 1][0].isdecimal() and topic[place]:
        return True
    if not topic[place - 1]:
        return words[place - 1][0] in ("of", "and", "&") and name(place) and place > 1 and name(place - 2)
    return name(place) and name(place - 1)
