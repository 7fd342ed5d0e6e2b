"""The rewriters: from a follow-up to what is searched for."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, TypeAlias

from pdfqa_core.interfaces import LLM, History, Message, Rewriter, StopSignal
from pdfqa_core.languages import ENGLISH, snowball_stem, stop_words
from pdfqa_core.registry import Registry
from pdfqa_core.streaming import complete, is_set, result_of
from pdfqa_core.text import bare, sentences, terms
from pdfqa_core.types import Rewritten

# ----------------------------------------------------------------------------------------------------
# The registry of rewriters.

rewriters: Registry[Callable[..., Rewriter]] = Registry("rewriter")


# ----------------------------------------------------------------------------------------------------
# No rewriting: every question is searched for as it was asked.


@rewriters.register("none", "searched as typed")
class NoRewriting:
    """Leaves every question alone."""

    def rewrite(self, question: str, history: History, *, stop: StopSignal | None = None) -> Rewritten:
        """Return the question."""
        return Rewritten(question)


# ----------------------------------------------------------------------------------------------------
# Follow-ups are searched with the turns before them, which weigh less. No language model, no words of any language.

# Texts of questions to an (n, dimension) array of vectors of length 1.
Encode: TypeAlias = Callable[[Sequence[str]], Any]

# What the last question weighs, the new one being 1, and how much of that each one before it keeps. Chosen on the
# conversations of TREC CAsT 2019 and 2020 (docs/experiments.md).
WORDS, MEANING, DECAY = 0.3, 0.2, 0.5
# The sentence of the last answer that is nearest to the question, for words and meaning. Those conversations have no
# answers: chosen on 35 follow-ups about documents that people have. More would lead back to what was shown already.
ANSWER = 0.2
LONGEST_ANSWER = 20  # sentences of an answer that are compared with the question


@rewriters.register("concatenation", "searched with the questions before it")
class Concatenation:
    """Leaves a question as it was typed, and has the turns before it searched for beside it.

    The last `turns` questions count, and of the last answer the sentence that is nearest to the question by `encode`
    (None: the first one). Every question with turns before it is treated alike. `language` is the one of the answers.
    """

    def __init__(self, *, turns: int = 5, encode: Encode | None = None, language: str = ENGLISH) -> None:
        self.turns = turns
        self.encode = encode
        self.language = language

    def rewrite(self, question: str, history: History, *, stop: StopSignal | None = None) -> Rewritten:
        """Return the question with what it is searched with. Raises ModelError if the encoder fails."""
        recent = self.recent(history)
        if not recent or is_set(stop):
            return Rewritten(question)
        lexical, dense = [(question, 1.0)], [(question, 1.0)]
        for age, (asked, _) in enumerate(reversed(recent)):
            lexical.append((asked, WORDS * DECAY**age))
            dense.append((asked, MEANING * DECAY**age))
        if nearest := self._nearest(question, recent[-1][1]):
            lexical.append((nearest, ANSWER))
            dense.append((nearest, ANSWER))
        return Rewritten(question, "", tuple(lexical), tuple(dense))

    def recent(self, history: History) -> History:
        """Return the turns that are looked at."""
        return history[-self.turns :] if self.turns else ()

    def _nearest(self, question: str, answer: str) -> str:
        """Return the sentence of an answer that is nearest to the question; the first without an encoder."""
        found = [answer[start:end] for start, end in sentences(answer, self.language)[:LONGEST_ANSWER]]
        if self.encode is None or len(found) < 2:
            return found[0] if found else ""
        vectors = self.encode([question, *found])
        return found[int((vectors[1:] @ vectors[0]).argmax())]


@rewriters.register("joined", "one text of the questions before it and this one")
class Joined:
    """Puts the last `turns` questions in front of a follow-up, as one text that counts alike: a baseline of papers."""

    def __init__(self, *, turns: int = 5) -> None:
        self.turns = turns

    def rewrite(self, question: str, history: History, *, stop: StopSignal | None = None) -> Rewritten:
        """Return the questions as one text."""
        recent = history[-self.turns :] if self.turns else ()
        return Rewritten(" ".join([*(asked for asked, _ in recent), question]))


# ----------------------------------------------------------------------------------------------------
# Rewriting by the language model, guarded: what it writes, else the concatenation rewriter's.

# As turns of a chat, the conversation last, so that the prompt begins the same every time.
EXAMPLES: tuple[tuple[History, str, str], ...] = (
    (
        (("What is photosynthesis?", "How plants make sugar of light."),),
        "Where does it take place?",
        "Where does photosynthesis take place?",
    ),
    (
        (("What does the basic plan cost?", "$20 a month."), ("Does it cover eye exams?", "Yes, one a year.")),
        "And glasses?",
        "Does the basic plan cover glasses?",
    ),
    (
        (("Who wrote Hamlet?", "Shakespeare did."),),
        "Tell me more about his wife.",
        "Tell me more about the wife of Shakespeare.",
    ),
    (
        (("How do vaccines work?", "They train the immune system."),),
        "Are there any side effects?",
        "Are there any side effects of vaccines?",
    ),
)
INSTRUCTION = "Rewrite the last question so that it can be understood without what was said before it."
LONGEST_EARLIER = 60  # words of an earlier question, and of the last answer, that are shown to the model
COPIED = 7  # words of an answer in a row that count as copied; shorter runs are names and terms
LONGEST_QUESTION = 40  # words of a question that is rewritten: the reply has to hold it and more

# What a rewriting weighs in the search, the question as typed being 1 and the earlier ones as in concatenation. Picked
# on TREC CAsT 2021 with rewritings of people and all results in view (docs/experiments.md).
WRITTEN = 0.5

FALLBACK_NOTE = "Searched for as typed, with the questions before, because the model's rewriting {}."

_LABEL = re.compile(r"^\W*(rewritten|standalone|complete)?\s*(question)?\s*:\s*", re.IGNORECASE)


def conversation(history: History, question: str) -> str:
    """Return the instruction, the questions of one conversation and its last answer as the model sees them."""
    earlier = [f"Question: {' '.join(asked.split()[:LONGEST_EARLIER])}" for asked, _ in history]
    if history and history[-1][1]:
        earlier.append(f"Answer: {' '.join(history[-1][1].split()[:LONGEST_EARLIER])}")
    return "\n".join([INSTRUCTION, "", *earlier, f"Last question: {question}"])


def prompt(history: History, question: str) -> list[Message]:
    """Return the few-shot prompt: each example as a question and its reply, and the conversation."""
    messages: list[Message] = []
    for before, asked, rewritten in EXAMPLES:
        messages += [Message("user", conversation(before, asked)), Message("assistant", rewritten)]
    return [*messages, Message("user", conversation(history, question))]


def beside(follow_up: Rewritten, rewritten: str) -> Rewritten:
    """Return a rewritten question that is searched for beside what the concatenation rewriter made of the follow-up."""
    added = ((rewritten, WRITTEN),)
    return Rewritten(rewritten, "", follow_up.lexical + added, follow_up.dense + added)


def flaw(rewritten: str, question: str, history: History, language: str = ENGLISH) -> str:
    """Return why a rewritten question may not be used, in words that follow "because it"; empty if it may.

    It may not if it is empty, has more than three times the words of the question and 20 more, lacks a word of the
    question that is no stop word, repeats an earlier question, has COPIED words in a row from an answer that no
    question has, or has words that nobody used. Words are compared by their stems.
    """
    if not rewritten:
        return "is empty"
    if len(rewritten.split()) > _longest(question):
        return "is too long"
    written, asked = _stems(rewritten, language), _stems(question, language)
    if asked.keys() - written.keys():
        return f"lacks {_listed(asked, written)}"
    if any(terms(rewritten) == terms(before) for before, _ in history):
        return "repeats an earlier question"
    said = asked.keys() | {stem for pair in history for text in pair for stem in _stems(text, language)}
    if written.keys() - said:
        return f"adds {_listed(written, said)}"
    own = _runs(question) | {run for before, _ in history for run in _runs(before)}
    copied = {run for _, answer in history for run in _runs(answer)}
    return "copies the answer" if (_runs(rewritten) - own) & copied else ""


def _longest(question: str) -> int:
    return 3 * len(question.split()) + 20


def _stems(text: str, language: str) -> dict[str, str]:
    """Return the stems of the words of a text that are no stop words, and how the words are written."""
    left_out = stop_words(language)
    return {snowball_stem(language, bare(term)): term for term in terms(text) if term not in left_out}


def _listed(words: dict[str, str], known: Collection[str]) -> str:
    missing = [f"“{written}”" for word, written in words.items() if word not in known]
    return ", ".join(missing[:3])


def _runs(text: str, length: int = COPIED) -> set[tuple[str, ...]]:
    found = terms(text)
    return {tuple(found[i : i + length]) for i in range(len(found) - length + 1)}


@rewriters.register("llm", "rewritten by the language model")
class LLMRewriter:
    """Asks the language model for a standalone question, and shows it the last `turns` questions and the last answer.

    In automatic conversations (AuEv) that answer is the gold one: what it names can stand in the question.

    What it writes is searched for beside what the concatenation rewriter (`encode` and `language` are its) makes of the
    question. If it is not acceptable, that alone counts, and the result's note says why; if it adds nothing to the
    question, the question stands alone, and no note is needed.
    """

    def __init__(
        self,
        llm: LLM,
        *,
        turns: int = 5,
        max_tokens: int = 96,
        encode: Encode | None = None,
        language: str = ENGLISH,
    ) -> None:
        self.llm = llm
        self.max_tokens = max_tokens
        self.language = language
        self._fallback = Concatenation(turns=turns, encode=encode, language=language)

    def rewrite(self, question: str, history: History, *, stop: StopSignal | None = None) -> Rewritten:
        """Return the model's question if it is acceptable, the concatenation rewriter's otherwise.

        Ends as soon as `stop` is set. Raises ModelError if the model or the encoder fails, StoppedError if `stop` is
        set while the model is loaded.
        """
        recent = self._fallback.recent(history)
        fallback = self._fallback.rewrite(question, recent, stop=stop)
        if not recent or is_set(stop):
            return fallback
        messages, wrong = self._prompt(question, recent, stop)
        written = "" if wrong else self._written(messages, question, stop)
        if is_set(stop) or (
            written and _stems(written, self.language).keys() == _stems(question, self.language).keys()
        ):
            return fallback
        if wrong := wrong or flaw(written, question, recent, self.language):
            return replace(fallback, note=FALLBACK_NOTE.format(wrong))
        return beside(fallback, written)

    def _prompt(self, question: str, earlier: History, stop: StopSignal | None) -> tuple[list[Message], str]:
        """Return the prompt with as many earlier turns as fit, or why none fits."""
        if len(question.split()) > LONGEST_QUESTION:
            return [], f"would have to hold a question of more than {LONGEST_QUESTION} words"
        result_of(self.llm.prepare(stop))  # loads the model, and notices a stop meanwhile
        while self.llm.count_tokens(messages := prompt(earlier, question)) + self.max_tokens > self.llm.context_size:
            earlier = earlier[1:]
            if not earlier:
                return [], "needs a longer context than the model has"
        return messages, ""

    def _written(self, messages: Sequence[Message], question: str, stop: StopSignal | None) -> str:
        """Return the first line of the model's reply."""
        reply = ""
        with closing(complete(self.llm, messages, max_tokens=self.max_tokens, stop=stop)) as pieces:
            for piece in pieces:
                reply += piece
                if "\n" in reply.strip() or len(reply.split()) > _longest(question) + 5:
                    break
        lines = reply.strip().splitlines()
        return _LABEL.sub("", lines[0]).strip(' "“”') if lines else ""
