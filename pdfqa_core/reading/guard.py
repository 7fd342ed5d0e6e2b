"""What a model wrote that is no answer: nothing, the question again, a heading, a piece of its prompt."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pdfqa_core.languages import ENGLISH
from pdfqa_core.reading.alignment import stems
from pdfqa_core.reading.numbers import numbers
from pdfqa_core.text import content_terms, sentences, terms

_PROMPT = re.compile(
    r"passage \d+\s*(?:\([^)]*\))?:|^\W*(?:question|passages?|instruction)\s*:|\"\"\"|"
    r"using only the passages|by what the passages above say|word for word",
    re.IGNORECASE,
)
_ANNOUNCED = re.compile(r"\b(?:answer|passages?|question)\b[^.!?\n]*:?\W*$", re.IGNORECASE)
_LABEL = re.compile(r"\W*answer:\s+(?=\S)", re.IGNORECASE)
_VERDICT = re.compile(r"^\W*(yes|no)\W*:\W+(?=\w)", re.IGNORECASE)  # "No:, dogs are not allowed"
_TWO_ENDS = re.compile(r"(?<=\w)(?:\.\?|\?\.)(?=\s|$)")
_PASSAGES = r"(?:the )?(?:(?:first|second|third|fourth|fifth) )?passages?(?: \d+(?:(?:, | and |, and )\d+)*)?"
# "the table in", "the information given by"; not "the north of": a text may be about a passage.
_TOLD = (
    r"(?:the (?:[^,.;!?]{1,80}? )?(?:information|table|text|data|figures|provided|given|stated|shown) "
    r"(?:in|by|of|from) )?"
)
_VERBS_OF_SAYING = (
    r"(?:states?|says?|mentions?|explains?|notes?|indicates?|reports?|shows?|suggests?|outlines?|confirms?|adds?|"
    r"clarif(?:y|ies)|specif(?:y|ies)|emphasi[sz]es?|highlights?)"
)
_TAIL = re.compile(
    r"(?<![.!?]),? (?:as (?:mentioned|stated|described|shown|noted|said|given|provided) (?:in|by)|according to) "
    rf"{_TOLD}{_PASSAGES}(?=[.!?,;])",
    re.IGNORECASE,
)
_SOURCE = re.compile(
    rf"(?:(?<=^)|(?<=[.!?]\s))(?:(?:according to|based on|in|as stated in) {_TOLD}{_PASSAGES},?"
    rf"|{_PASSAGES} (?:also |clearly |explicitly )?{_VERBS_OF_SAYING} that)\s+(?P<first>\w)",
    re.IGNORECASE,
)
# "Additionally, the passage mentions that" and "the tips provided in Passage 2": the words between go.
_ASIDE = re.compile(rf"(?<=[a-z], ){_PASSAGES} (?:also )?{_VERBS_OF_SAYING} that ", re.IGNORECASE)
_PLACE = re.compile(
    r",? (?:provided|given|mentioned|stated|described|listed|outlined|found|shown) in passages? \d+(?=[.!?,; ])",
    re.IGNORECASE,
)
_OF_A_PASSAGE = re.compile(r"(?:the )?passages? \d", re.IGNORECASE)  # a sentence about one, by its number
# 'The passage states that "the pump ran".'
_SAID_BY_IT = re.compile(
    rf"(?:(?<=^)|(?<=[.!?]\s)){_PASSAGES} (?:also |clearly |explicitly )?(?:states?|says?|mentions?|notes?)(?: that)?"
    r",? [\"“](?P<said>(?-i:[A-Z])[^\"“”]+[.!?])[\"”]\.?",
    re.IGNORECASE,
)
_YES_OR_NO = re.compile(r"\W*(?:yes|no|not)\b", re.IGNORECASE)
_VERBS = (
    "is are was were do does did can could will would shall should has have had may might must live lives work works "
    "in of on at to from for with per there that who"
)
_HOW_MANY = re.compile(rf"\bhow many ((?:[\w'’-]+ ){{0,3}}?[\w'’-]+) (?:{'|'.join(_VERBS.split())})\b", re.IGNORECASE)
_COUNTED = re.compile(r"\s+(?P<noun>[a-z]{3,}s)\b")
# What is another word for the same amount: of time, size, money, or a number again.
_MEASURES = frozenset(
    "seconds minutes hours days weeks months years decades times euros dollars cents pounds metres meters miles feet "
    "inches litres liters grams tons tonnes degrees points dozens hundreds thousands millions billions percents "
    "was has this its plus less versus per".split()
)
ABOUT = 0.4  # share of the question's words
HEADING_WORDS = 12  # a line that ends without a full stop is taken for a heading up to this many


def plainly(text: str, question: str = "") -> str:
    """Return a text without "Answer:" before it, and its sentences without "According to passage 2," and the like.

    Passages have other numbers on the page than in a prompt. Sentences about one by its number go, unless the question
    has such a number: then the document has it too.
    """
    text = _LABEL.sub("", text, count=1) if _LABEL.match(text) else text
    text = text.lstrip("… ") if text.lstrip().startswith("…") else text  # a gap between sentences of a passage
    text = _TWO_ENDS.sub(".", _VERDICT.sub(lambda found: f"{found[1]}, ", text))
    text = _SAID_BY_IT.sub(lambda found: found["said"], text)
    text = _SOURCE.sub(lambda found: found["first"].upper(), _TAIL.sub("", text))
    text = _ASIDE.sub("", text)
    return text if _OF_A_PASSAGE.search(question) else _unnumbered(_PLACE.sub("", text))


def _unnumbered(text: str) -> str:
    """Return a text without sentences such as "Passage 3 provides a table.", unless it has no others."""
    places = sentences(text)
    numbered = [_OF_A_PASSAGE.match(text, start) is not None for start, _ in places]
    if all(numbered):
        return text
    for (start, end), of_a_passage in reversed([*zip(places, numbered, strict=True)]):
        if of_a_passage:
            text = f"{text[:start]}{text[end:].lstrip()}"
    return text.rstrip()


def flaw(text: str, question: str, headings: Sequence[str] = (), language: str = ENGLISH) -> str:
    """Return why a text is no answer to the question, in words that follow "it"; "" if it may be one.

    `headings` are those of the passages that the model read, `language` is theirs.
    """
    said = set(content_terms(text, language)) if terms(text) else set()
    if not said:
        return "was empty"
    if _PROMPT.search(text):
        return "repeated its instructions"
    if text.rstrip().endswith((":", "?")) or (_ANNOUNCED.fullmatch(text) and len(terms(text)) <= HEADING_WORDS):
        return "announced an answer and gave none"
    asked = set(content_terms(question, language)) | _initials(question)
    if said <= asked and not _YES_OR_NO.match(text):
        return "repeated the question"
    line = " ".join(terms(text))
    if not text.rstrip().endswith((".", "!")) and any(line in " ".join(terms(heading)) for heading in headings):
        return "was a heading"
    return ""


def _initials(question: str) -> set[str]:
    """Return what three and more of a question's words in a row are abbreviated to; nothing where that is asked for."""
    words = terms(question)
    if {"abbreviation", "acronym", "short", "abbreviated", "called", "stand"} & set(words):
        return set()
    first = "".join(word[0] for word in words)
    return {first[a:b] for a in range(len(first)) for b in range(a + 3, min(len(first), a + 6) + 1)}


def about(text: str, question: str, language: str = ENGLISH) -> bool:
    """Return whether a text has at least ABOUT of what the question is about, by the stems of its words."""
    asked = set(stems(question, language))
    return len(asked & set(stems(text, language))) >= ABOUT * len(asked)


def counts_else(text: str, question: str) -> bool:
    """Return whether all numbers of a text count something else than an English question does: "84 flats" for people.

    Of 69 people's answers to "how many" (CLAPnq, COVID-QA, MT-RAG), none is one.
    """
    asked = _HOW_MANY.search(question)
    found = numbers(text)
    if asked is None or not found or set(stems(asked[1])) & set(stems(text)):
        return False
    nouns = [_COUNTED.match(text, number.end) for number in found]
    return all(noun is not None and noun["noun"] not in _MEASURES for noun in nouns)


class Opening:
    """Holds back the beginning of a text as long as it may turn out to be one of `texts` over again."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = [" ".join(terms(text)) for text in texts]
        self._held = ""
        self._open = True

    def feed(self, piece: str) -> str:
        """Return what can be shown now."""
        if not self._open:
            return piece
        self._held += piece
        begun = " ".join(terms(self._held))
        if any(text.startswith(begun) for text in self._texts):
            return ""
        self._open = False
        return self._held
