"""Questions of a language model about a passage."""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pdfqa_core.conversation.follow_ups import Section, follow_ups
from pdfqa_core.interfaces import GREEDY, LLM, Message, Sampling, StopSignal
from pdfqa_core.languages import ENGLISH, stop_words
from pdfqa_core.reading.tables import tables
from pdfqa_core.streaming import complete, is_set
from pdfqa_core.synthesis.base import Draft, Example
from pdfqa_core.text import content_terms, sentences, terms, words
from pdfqa_core.types import Passage

# ----------------------------------------------------------------------------------------------------
# The prompts of seed 001 (after PROMPTAGATOR, Dai et al. 2022), word for word.

SEPARATOR = "XXX"  # between the examples of a few-shot prompt; a model that goes on writes it before another passage


def zero_shot_prompt(passage: str) -> str:
    """Return the prompt for a question about a passage without an example."""
    return f"{_line(passage)} Read the passage and generate a corresponding query."


def few_shot_prompt(examples: Sequence[Example], passage: str) -> str:
    """Return the prompt for a question about a passage after the pattern of the examples, at least one."""
    shown = [f"Passage: {_line(one.passage)} Question: {_line(one.question)}" for one in examples]
    return f" {SEPARATOR} ".join([*shown, f"Passage: {_line(passage)} Question:"])


def _line(text: str) -> str:
    """Return a text in one line, as the prompts have it."""
    return " ".join(text.split())


# Seed 000 has gold answers and conversations in its synthetic data, but no prompts for them. These are the program's.


def answer_prompt(passage: str, question: str) -> str:
    """Return the prompt for the gold answer of a question from its passage."""
    return (
        f"{_line(passage)}\n\nQuestion: {_line(question)}\n\n"
        "Answer the question with words copied exactly from the passage, as few as possible."
    )


@dataclass(frozen=True, slots=True)
class Manner:
    """How a question follows up the turn before it; `moves`: it is about the next passage."""

    words: str
    moves: bool = False


FOLLOW_UPS = (
    Manner("It has “it”, “they” or another pronoun in the place of what the last question is about."),
    Manner("It is short and begins with “And”.", moves=True),
    Manner("It is narrower: it asks for a detail of the last answer."),
    Manner("It goes on from the last answer to what the passage says.", moves=True),
)


def follow_up_prompt(passage: str, turns: Sequence[Draft], manner: Manner) -> str:
    """Return the prompt for the next question of a conversation, which the passage answers."""
    said = "\n".join(f"Question: {_line(one.question)}\nAnswer: {_line(one.answer)}" for one in turns)
    return (
        f"{_line(passage)}\n\n{said}\n\n"
        f"Write the next question of this conversation. {manner.words} The passage answers it."
    )


# ----------------------------------------------------------------------------------------------------
# Why a synthetic question is of no use. Pure functions; what needs a search or vectors is asked by the service.

LONGEST_QUESTION = 40  # words
LONGEST_ANSWER = 60  # words
COPIED = 0.8  # share of a question's words that stand in one run in the passage
SHORTEST_COPY = 7  # words; shorter runs are names and terms
FEWEST = 2  # words that say something


class Reason(StrEnum):
    """Why a question was dropped, in the words that a person reads."""

    EMPTY = "nothing was written"
    NO_QUESTION = "not a question"
    LONG = "too long"
    VAGUE = "says too little"
    COPY = "copied from the passage"
    POINTS = "cannot be understood without the passage"
    EXAMPLE = "repeats an example"
    NO_ANSWER = "no answer was written"
    LONG_ANSWER = "its answer is too long"
    NOT_THERE = "its answer does not stand in the passage"
    NOT_FOUND = "a search does not find its passage"
    APART = "a search finds its passage as well without the turns before"
    DUPLICATE = "nearly the same as another"
    FEW_TURNS = "too few turns of its conversation are left"


_PART = r"(?:passage|section|text|paragraph|excerpt|document|article|chapter|page|statement|sentence|context|snippet)"
_NAMES_PASSAGE = re.compile(
    rf"\b(?:this|these|those|that|the|given|above|following|provided)\s+{_PART}s?\b|"
    r"\b(?:mentioned|described|listed|shown|given|stated|discussed|outlined|provided)\s+(?:above|below|here|earlier)\b|"
    r"\b(?:above|below|aforementioned|following)\b[^?]*\?$|"
    rf"\b(?:in|im|aus)\s+(?:diesem|dem)\s+(?:abschnitt|text|absatz|dokument)\b|\bdieser?\s+(?:abschnitt|text|absatz)\b",
    re.IGNORECASE,
)
_THESE = re.compile(r"\b(?:this|these|those)\s+\w+", re.IGNORECASE)
_PRONOUN = re.compile(r"(?:it|its|they|them|their|he|she|him|her|his|hers|this|these|those|that)", re.IGNORECASE)


def objection(question: str, passage: str, language: str = ENGLISH, examples: Sequence[str] = ()) -> Reason | None:
    """Return why a question about a passage is of no use; None where nothing speaks against it.

    `examples` are the questions that the model was shown.
    """
    text, asked = question.strip(), terms(question)
    objections = {
        Reason.EMPTY: not asked,
        Reason.NO_QUESTION: not text.endswith(("?", "？", "؟")),
        Reason.LONG: len(asked) > LONGEST_QUESTION,
        Reason.EXAMPLE: any(asked == terms(example) for example in examples),
        Reason.POINTS: any(one.search(text) for one in (_NAMES_PASSAGE, _THESE)) or _opens_with_pronoun(text, language),
        Reason.VAGUE: len(content_terms(text, language)) < FEWEST,
        Reason.COPY: _copied(asked, passage),
    }
    return next((reason for reason, holds in objections.items() if holds), None)


def follow_up_objection(question: str, passage: str, turns: Sequence[Draft]) -> Reason | None:
    """Return why a question is of no use as the next turn of a conversation; None where nothing speaks against it."""
    text, asked = question.strip(), terms(question)
    objections = {
        Reason.EMPTY: not asked,
        Reason.NO_QUESTION: not text.endswith(("?", "？", "؟")),
        Reason.LONG: len(asked) > LONGEST_QUESTION,
        Reason.DUPLICATE: any(asked == terms(one.question) for one in turns),
        Reason.POINTS: _NAMES_PASSAGE.search(text) is not None,
        Reason.COPY: _copied(asked, passage),
    }
    return next((reason for reason, holds in objections.items() if holds), None)


def answer_objection(answer: str, passage: str) -> Reason | None:
    """Return why an answer is no gold answer: it has to stand in the passage, as one run of words."""
    written = terms(answer)
    if not written:
        return Reason.NO_ANSWER
    if len(written) > LONGEST_ANSWER:
        return Reason.LONG_ANSWER
    return None if longest_run(written, terms(passage)) == len(written) else Reason.NOT_THERE


def _copied(asked: Sequence[str], passage: str) -> bool:
    run = longest_run(asked, terms(passage))
    return run >= SHORTEST_COPY and run >= COPIED * len(asked)


def longest_run(asked: Sequence[str], passage: Sequence[str]) -> int:
    """Return the length of the longest run of words that both have in the same order, in words."""
    longest, before = 0, [0] * (len(passage) + 1)
    for word in asked:
        now = [0] * (len(passage) + 1)
        for place, other in enumerate(passage, start=1):
            if word == other:
                now[place] = before[place - 1] + 1
        longest, before = max(longest, *now), now
    return longest


def _opens_with_pronoun(question: str, language: str) -> bool:
    """Whether a pronoun comes before anything that it could stand for: "What does it cost?"."""
    for word in re.findall(r"[^\W\d_]+", question):
        if _PRONOUN.fullmatch(word):
            return True
        if content_terms(word, language) and word.casefold() not in _ASKING:
            return False
    return False


_ASKING = frozenset("what which who whom whose when where why how many much does do did is are was were can".split())


# ----------------------------------------------------------------------------------------------------
# Questions by rules, where a model is too weak or not at hand: of table rows, definitions, numbers and headings.
#
# English only but for table rows and headings, whose words come from the document.

LONGEST_NAME = 6  # words of what a definition defines

_NAME = r"(?P<name>(?:(?:An?|The)\s+)?[A-Z(][\w()’'/&-]*(?:\s+[\w()’'/&-]+){0,5}?)"
_DEFINITION = re.compile(
    _NAME + r"\s+(?P<verb>is|are|means|refers to|is defined as|describes)\s+(?:an?|the|any|all|one of|those)\s+\w+"
)
_NUMBER = r"(?P<number>(?:[$€£]\s?)?\d[\d.,]*(?:\s?%|\s(?:percent|million|billion|thousand))?)"
_COUNT = re.compile(_NAME + r"\s+(?P<verb>has|have|had|contains?|includes?|serves?|employs?|covers?)\s+(?:about\s+)?"
                    + _NUMBER + r"\s+(?P<what>[a-z][\w-]+(?:\s[a-z][\w-]+)?)")  # fmt: skip
_LEANS = frozenset(  # what a sentence begins with that is about something said before
    """this these those it they he she we you there here that such each both one in on at for if when where as by with
    from to all some any no not note after before during while what who which how our your their its his her my
    following""".split()
)
_ADVERBS = frozenset("always also often usually never still not only currently now then there typically".split())
_DO = {"has": "does {} have", "have": "do {} have", "had": "did {} have"}
_PLURAL_VERBS = frozenset(("have", "had", "contain", "include", "serve", "employ", "cover"))


def by_rules(passage: Passage, title: str) -> Iterator[Draft]:
    """Yield questions that a passage answers, the most specific first. `title` is that of its document.

    The answers are the value of a row, the number, and the sentence that defines; a question about a heading has none.
    """
    yield from of_rows(passage)
    if passage.language == ENGLISH:
        for start, end in sentences(passage.text, passage.language):
            yield from _of_sentence(" ".join(passage.text[start:end].split()))
    if passage.heading:
        heading = passage.heading.removeprefix(title).removeprefix(": ")
        part = Section(heading, passage.document_id, passage.pages[0], title, passage.language)
        yield from (Draft(one.question) for one in follow_ups([part], [title]))


def of_rows(passage: Passage) -> Iterator[Draft]:
    """Yield a question for each value of a table that has a label and the name of a column."""
    for table in tables(passage.text):
        for row in table.rows:
            label = f"{row.under.rstrip(':')}: {row.label}" if row.under else row.label
            label = label.strip().rstrip(":")
            if not re.search(r"[^\W\d_]{3}", label):
                continue
            for column, value in row.values:
                if re.search(r"[^\W_]{2}", column) and re.search(r"\d", value):
                    was = f"What was {label} for {column}?"
                    yield Draft(was if _is_time(column) else f"What is the {column} of {label}?", value)


def _is_time(column: str) -> bool:
    return re.search(r"\b(?:19|20)\d\d\b|\b[qQ][1-4]\b|\bmonths?\b|\bended\b", column) is not None


def _of_sentence(sentence: str) -> Iterator[Draft]:
    if re.split(r"\W", sentence, maxsplit=1)[0].casefold() in _LEANS:
        return
    counted = _COUNT.match(sentence)
    if counted is not None and _is_name(counted["name"]):
        verb = counted["verb"]
        subject = _in_a_question(counted["name"])
        if verb in _DO:
            done = _DO[verb].format(subject)
        else:
            done = f"do {subject} {verb}" if verb in _PLURAL_VERBS else f"does {subject} {verb.removesuffix('s')}"
        what = [word for word in counted["what"].split() if word not in stop_words(ENGLISH)]
        if what:
            yield Draft(f"How many {' '.join(what)} {done}?", counted["number"])
        return
    defined = _DEFINITION.match(sentence)
    if defined is not None and _is_name(defined["name"]):
        subject = _in_a_question(defined["name"])
        yield Draft(f"What {'are' if defined['verb'] == 'are' else 'is'} {subject}?", sentence)


def _is_name(name: str) -> bool:
    """Whether what a sentence begins with can be asked about by itself: short, and with brackets that close."""
    words = name.split()
    whole = name.count("(") == name.count(")") and not name.endswith("-")
    return whole and len(words) <= LONGEST_NAME and words[-1] not in _ADVERBS


def _in_a_question(name: str) -> str:
    """Return the beginning of a sentence as it stands within one: its article small."""
    first, _, rest = name.partition(" ")
    return f"{first.lower()} {rest}" if first in ("A", "An", "The") and rest else name


# ----------------------------------------------------------------------------------------------------
# Questions that ask nearly the same.

ALIKE = 0.92  # cosine from which two questions count as one


def nearly_there(vector: npt.NDArray[np.float32], known: npt.NDArray[np.float32]) -> bool:
    """Whether the cosine of `vector` (d) with a row of `known` (n x d) is ALIKE or more; all have length 1."""
    return bool(len(known)) and float((known @ vector).max()) >= ALIKE


# ----------------------------------------------------------------------------------------------------
# Which passages questions are made of.

SHORTEST = 25  # words; shorter passages are headings, captions and broken lines


def sample_passages(passages: Sequence[Passage], per_document: int, seed: int) -> list[Passage]:
    """Return at most `per_document` passages of each document, drawn with `seed`, in the order given.

    0 takes them all. Passages of less than SHORTEST words are left out. A document's draw does not depend on the
    others, so that adding one leaves the questions of the rest as they are; a larger draw holds the smaller one.
    """
    by_document: dict[str, list[Passage]] = defaultdict(list)
    for passage in passages:
        if len(words(passage.text)) >= SHORTEST:
            by_document[passage.document_id].append(passage)
    chosen: list[Passage] = []
    for document_id, own in by_document.items():
        drawn = list(range(len(own)))
        random.Random(f"{seed} {document_id}").shuffle(drawn)  # noqa: S311 - not a secret
        keep = sorted(drawn[:per_document] if per_document else drawn)
        chosen += [own[place] for place in keep]
    return chosen


def neighbours(passages: Sequence[Passage], first: Passage, count: int) -> list[Passage]:
    """Return a passage and those after it in its document, `count` at most; none shares text with the one before."""
    found = [first]
    own = [one for one in passages if one.document_id == first.document_id]
    for one in own[own.index(first) + 1 :]:
        if len(found) == count:
            break
        if len(words(one.text)) >= SHORTEST and not one.overlaps(found[-1]):
            found.append(one)
    return found


# ----------------------------------------------------------------------------------------------------
# Examples for few-shot prompts that come with the program: pairs of our own about documents of many kinds.

FILE = Path(__file__).with_name("examples.jsonl")


@cache
def shipped_examples() -> tuple[Example, ...]:
    """Return the pairs of FILE in their order."""
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return tuple(Example(**json.loads(line)) for line in lines)


def filled_up(own: Sequence[Example], k: int) -> tuple[Example, ...]:
    """Return the first k of one's own examples; where they are fewer, shipped ones follow as long as there are any."""
    return (*own, *(one for one in shipped_examples() if one not in own))[:k]


def origin(examples: Sequence[Example]) -> str:
    """Return in words where examples come from: "2 of your own and 1 that comes with the program"."""
    shipped = sum(one in shipped_examples() for one in examples)
    own = len(examples) - shipped
    parts = [f"{own} of your own"] if own else []
    parts += [f"{shipped} that {'comes' if shipped == 1 else 'come'} with the program"] if shipped else []
    return " and ".join(parts)


# ----------------------------------------------------------------------------------------------------
# Questions of a language model about a passage.

LONGEST = 48  # tokens of a question
ANSWER_TOKENS = 160  # so many that one of LONGEST_ANSWER words is not cut
WARM = Sampling(temperature=0.7, top_p=0.95)  # for the second and later questions; PROMPTAGATOR samples at 0.7

_LABEL = re.compile(r"^(?:\W*(?:question|query|q)\s*\d*\s*[:.)-]\s*|\s*(?:\d+[.)]|[-*•])\s+)+", re.IGNORECASE)
_ANSWER_LABEL = re.compile(r"^\W*(?:answer|a)\s*:\s*", re.IGNORECASE)
_QUOTES = "\"'“”„«»` "


@dataclass(frozen=True, slots=True)
class Generator:
    """Asks a language model for questions and answers, with `examples` for patterns; without any, zero-shot.

    A question that a guard objects to is not answered, unless `keep_all`.
    """

    llm: LLM
    examples: tuple[Example, ...] = ()
    keep_all: bool = False

    def drafts(self, passage: Passage, count: int, seed: int, stop: StopSignal | None = None) -> Iterator[Draft]:
        """Yield `count` questions about a passage, as they are written; fewer where `stop` is set.

        The first is the likeliest, the others are drawn with seeds that follow from `seed`, so that the same seed
        gives the same questions. Equal ones are not left out.
        """
        shown = [one.question for one in self.examples]
        prompt = few_shot_prompt(self.examples, passage.text) if self.examples else zero_shot_prompt(passage.text)
        for number in range(count):
            if is_set(stop):
                return
            sampling = GREEDY if number == 0 else replace(WARM, seed=seed + number)
            question = tidy(self._written(prompt, LONGEST, stop, sampling))
            draft = self._answered(question, passage, objection(question, passage.text, passage.language, shown), stop)
            if not is_set(stop):
                yield draft

    def follow_up(
        self, passage: Passage, turns: Sequence[Draft], manner: Manner, stop: StopSignal | None = None
    ) -> Draft:
        """Return the likeliest next question of a conversation, with its answer from the passage."""
        question = tidy(self._written(follow_up_prompt(passage.text, turns, manner), LONGEST, stop, GREEDY))
        wrong = follow_up_objection(question, passage.text, turns)
        return self._answered(question, passage, wrong, stop)

    def _answered(self, question: str, passage: Passage, wrong: Reason | None, stop: StopSignal | None) -> Draft:
        if is_set(stop) or not question or (wrong is not None and not self.keep_all):
            return Draft(question)
        written = self._written(answer_prompt(passage.text, question), ANSWER_TOKENS, stop, GREEDY)
        return Draft(question, tidy_answer(written))

    def _written(self, prompt: str, longest: int, stop: StopSignal | None, sampling: Sampling) -> str:
        messages = [Message("user", prompt)]
        return "".join(complete(self.llm, messages, max_tokens=longest, stop=stop, sampling=sampling))


def tidy_answer(written: str) -> str:
    """Return the first line of what a model wrote for an answer, without a label and quotation marks around it."""
    lines = [_ANSWER_LABEL.sub("", line).strip(_QUOTES) for line in written.splitlines()]
    return next(filter(None, lines), "")


def tidy(written: str) -> str:
    """Return the first question of what a model wrote, without labels, numbers and quotation marks around it.

    What it says before its question ("Here is a query:") is left out, and all behind it. Without a question mark the
    first line is returned, for the guards to judge.
    """
    text = written.partition(SEPARATOR)[0].strip()
    lines = [_LABEL.sub("", line).strip(_QUOTES + "*") for line in text.splitlines()]
    lines = [line for line in lines if line]
    asked = next((line for line in lines if "?" in line), None)
    if asked is None:
        return lines[0] if lines else ""
    first = asked[: asked.index("?") + 1]
    return re.split(r"(?<=[.:!])\s+(?=[\"“'A-Z])", first)[-1].strip(_QUOTES)
