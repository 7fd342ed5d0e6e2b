"""Rewriting by the language model, guarded: what it writes, else what it chooses, else the concatenation rewriter's."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cache
from typing import Any

from pdfqa_core.conversation.base import rewriters
from pdfqa_core.conversation.candidates import candidates
from pdfqa_core.conversation.concatenation import Concatenation
from pdfqa_core.conversation.relation import NEW_TOPIC, Encode, Relation, topic_terms
from pdfqa_core.errors import ModelError
from pdfqa_core.interfaces import LLM, History, Message, StopSignal
from pdfqa_core.languages import ENGLISH
from pdfqa_core.streaming import complete, is_set, result_of
from pdfqa_core.text import terms
from pdfqa_core.types import Rewritten

# As turns of a chat, the conversation last, so that the prompt begins the same every time.
EXAMPLES = (
    (("What is photosynthesis?",), "Where does it take place?", "Where does photosynthesis take place?"),
    (
        ("What does the basic plan cost?", "Does it cover eye exams?"),
        "And glasses?",
        "Does the basic plan cover glasses?",
    ),
    (
        ("Who wrote Hamlet?", "When was he born?"),
        "Tell me more about his wife.",
        "Tell me more about the wife of the author of Hamlet.",
    ),
    (("How do vaccines work?",), "Are there any side effects?", "Are there any side effects of vaccines?"),
)
INSTRUCTION = "Rewrite the last question so that it can be understood without the questions before it."
LONGEST_EARLIER = 60  # words of an earlier question that are shown to the model
LONGEST_QUESTION = 40  # words of a question that is rewritten: the reply has to hold it and more

# What a rewriting weighs in the search, the question as typed being 1 and the earlier ones as in concatenation. Picked
# on TREC CAsT 2021 with all results in view, WRITTEN with rewritings of people, CHOSEN with those that SmolLM2-135M
# chose; both find more this way than alone: benchmarks/rewriting_cast2021.py.
WRITTEN, CHOSEN = 0.5, 0.2

CHOSEN_NOTE = "Completed with words of the questions before that the model chose, because its own rewriting {}."
FALLBACK_NOTE = "The words of earlier questions were added, because the model's rewriting {}."

ENGLISH_ONLY_NOTE = "The words of earlier questions were added: the model rewrites English questions only."

_LABEL = re.compile(r"^\W*(rewritten|standalone|complete)?\s*(question)?\s*:\s*", re.IGNORECASE)


def conversation(questions: Sequence[str], question: str) -> str:
    """Return the instruction and the questions of one conversation as the model sees them."""
    earlier = "\n".join(f"Question: {' '.join(asked.split()[:LONGEST_EARLIER])}" for asked in questions)
    return f"{INSTRUCTION}\n\n{earlier}\nLast question: {question}"


def prompt(questions: Sequence[str], question: str) -> list[Message]:
    """Return the few-shot prompt: each example as a question and its reply, and the conversation."""
    messages: list[Message] = []
    for before, asked, rewritten in EXAMPLES:
        messages += [Message("user", conversation(before, asked)), Message("assistant", rewritten)]
    return [*messages, Message("user", conversation(questions, question))]


def beside(follow_up: Rewritten, rewritten: str, weight: float = WRITTEN, note: str = "") -> Rewritten:
    """Return a rewritten question that is searched for beside what the concatenation rewriter made of the follow-up."""
    added = ((rewritten, weight),)
    return Rewritten(rewritten, note, follow_up.lexical + added, follow_up.dense + added)


def flaw(rewritten: str, question: str, history: History) -> str:
    """Return why a rewritten question may not be used, in words that follow "because it"; empty if it may.

    It may not if it is empty, has more than three times the words of the question and 20 more, lacks a topic word of
    the question or has no others, repeats an earlier question, has five words in a row from an answer that no question
    has, or has topic words that nobody used. Words are compared by their stems (Snowball, English).
    """
    if not rewritten:
        return "is empty"
    if len(rewritten.split()) > _longest(question):
        return "is too long"
    topic, asked = _stems(rewritten), _stems(question)
    if asked.keys() - topic.keys():
        return f"lacks {_listed(asked, topic)}"
    if not topic.keys() - asked.keys():
        return "leaves the question as it was"
    return _borrowed(rewritten, question, history)


def _borrowed(rewritten: str, question: str, history: History) -> str:
    """Return why what a rewritten question adds may not be used; empty if it may."""
    if any(terms(rewritten) == terms(before) for before, _ in history):
        return "repeats an earlier question"
    topic = _stems(rewritten)
    said = {term for text in (question, *(text for pair in history for text in pair)) for term in _stems(text)}
    if topic.keys() - said:
        return f"adds {_listed(topic, said)}"
    own = _runs(question) | {run for before, _ in history for run in _runs(before)}
    copied = {run for _, answer in history for run in _runs(answer)}
    return "copies the answer" if (_runs(rewritten) - own) & copied else ""


def _longest(question: str) -> int:
    return 3 * len(question.split()) + 20


def _stems(text: str) -> dict[str, str]:
    """Return the stems of the topic words of a text, and how the words are written."""
    return {_stemmer().stem(re.sub(r"['’]s$", "", term)): term for term in topic_terms(text)}


@cache
def _stemmer() -> Any:
    from nltk.stem.snowball import SnowballStemmer

    return SnowballStemmer("english")


def _listed(words: dict[str, str], known: Collection[str]) -> str:
    missing = [f"“{written}”" for word, written in words.items() if word not in known]
    return ", ".join(missing[:3])


def _runs(text: str, length: int = 5) -> set[tuple[str, ...]]:
    found = terms(text)
    return {tuple(found[i : i + length]) for i in range(len(found) - length + 1)}


@rewriters.register("llm", "rewritten by the language model")
class LLMRewriter:
    """Asks the language model for a standalone question; `turns` is how many questions it is shown.

    Only follow-ups are sent to the model; what stands alone or opens a new topic is treated as the concatenation
    rewriter does (`encode` and `new_topic` are its). Where what the model writes is not acceptable, it chooses among
    `candidates`; where there are none, the concatenation rewriter's result counts. The result's note says why. What it
    writes or chooses is searched for beside the question as typed and the earlier ones.
    """

    def __init__(
        self, llm: LLM, *, turns: int = 5, max_tokens: int = 96, encode: Encode | None = None,
        new_topic: float = NEW_TOPIC, language: str = ENGLISH,
    ) -> None:  # fmt: skip
        self.llm = llm
        self.max_tokens = max_tokens
        self._fallback = Concatenation(turns=turns, encode=encode, new_topic=new_topic, language=language)

    def rewrite(self, question: str, history: History, *, stop: StopSignal | None = None) -> Rewritten:
        """Return the model's question if it is acceptable, the concatenation rewriter's otherwise.

        Ends as soon as `stop` is set. Raises ModelError if the model or the encoder fails, StoppedError if `stop` is
        set while the model is loaded.
        """
        recent = self._fallback.recent(history)
        if not recent or is_set(stop):
            return Rewritten(question)
        related, fallback = self._fallback.related(question, recent)
        if related is not Relation.FOLLOW_UP:
            return fallback
        if self._fallback.language != ENGLISH:
            return replace(fallback, note=ENGLISH_ONLY_NOTE)
        found = self._by_model(question, recent, fallback, stop)
        return fallback if is_set(stop) else found

    def _by_model(self, question: str, recent: History, fallback: Rewritten, stop: StopSignal | None) -> Rewritten:
        """Return the follow-up with what the model writes or chooses; `fallback` and the reason if it does neither."""
        messages, wrong = self._prompt(question, [asked for asked, _ in recent], stop)
        if wrong:
            return replace(fallback, note=FALLBACK_NOTE.format(wrong))
        written = self._written(messages, question, stop)
        wrong = flaw(written, question, recent)
        if not wrong or is_set(stop):
            return beside(fallback, written)
        chosen = self._chosen(messages, question, recent, stop)
        if not chosen:
            return replace(fallback, note=FALLBACK_NOTE.format(wrong))
        return beside(fallback, chosen, CHOSEN, CHOSEN_NOTE.format(wrong))

    def _prompt(self, question: str, earlier: list[str], stop: StopSignal | None) -> tuple[list[Message], str]:
        """Return the prompt with as many earlier questions as fit, or why there is none."""
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

    def _chosen(self, messages: Sequence[Message], question: str, recent: History, stop: StopSignal | None) -> str:
        """Return the candidate that the model writes when it may write nothing else; empty if there is none."""
        made = candidates(question, [asked for asked, _ in recent])
        accepted = [candidate for candidate in made if not flaw(candidate, question, recent)]
        if not accepted:
            return ""
        schema = {"type": "string", "enum": accepted}
        stream = complete(self.llm, messages, max_tokens=self.max_tokens, stop=stop, schema=schema)
        try:
            chosen = json.loads("".join(stream))
        except (ValueError, ModelError):  # cut off; a server that cannot obey the schema
            return ""
        return chosen if chosen in accepted else ""
