"""Rewriting by the language model, guarded: what looks wrong is replaced by the concatenation rewriter's result."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from pdfqa_core.conversation.base import rewriters
from pdfqa_core.conversation.concatenation import NEW_TOPIC_NOTE, Concatenation
from pdfqa_core.conversation.relation import NEW_TOPIC, Encode, Relation, topic_terms
from pdfqa_core.text import terms
from pdfqa_core.types import LLM, Message, Rewritten, StopSignal

# Examples first and the conversation last, so that the prompt begins the same every time.
EXAMPLES = (
    (
        ("Who designed the Eiffel Tower?",),
        "When was it finished?",
        "When was the Eiffel Tower finished?",
    ),
    (
        ("What does the basic plan cost?", "Does it cover eye exams?"),
        "And glasses?",
        "Does the basic plan cover glasses?",
    ),
    (
        ("How many days of leave do new employees get?",),
        "How do they apply for it?",
        "How do new employees apply for days of leave?",
    ),
)
INSTRUCTION = "Rewrite the last question so that it can be understood without the questions before it."
LONGEST_EARLIER = 60  # words of an earlier question that are shown to the model
LONGEST_QUESTION = 40  # words of a question that is rewritten: the reply has to hold it and more

_LABEL = re.compile(r"^\W*(rewritten|standalone|complete)?\s*(question)?\s*:\s*", re.IGNORECASE)


def conversation(questions: Sequence[str], question: str) -> str:
    """Return the questions of one conversation as the model sees them, up to where its reply begins."""
    earlier = "\n".join(f"Question: {' '.join(asked.split()[:LONGEST_EARLIER])}" for asked in questions)
    return f"{earlier}\nLast question: {question}\nRewritten question:"


def prompt(questions: Sequence[str], question: str) -> list[Message]:
    """Return the few-shot prompt."""
    shots = "\n\n".join(f"{conversation(before, asked)} {rewritten}" for before, asked, rewritten in EXAMPLES)
    return [Message("user", f"{INSTRUCTION}\n\n{shots}\n\n{conversation(questions, question)}")]


def flaw(rewritten: str, question: str, history: Sequence[tuple[str, str]]) -> str:
    """Return why a rewritten question may not be used, in words that follow "because it"; empty if it may.

    It may not if it is empty, has more than three times the words of the question and 20 more, lacks a topic word of
    the question, repeats an earlier question, has five words in a row from an answer that no question has, or has topic
    words that nobody used. Words are compared without the s of a plural.
    """
    if not rewritten:
        return "is empty"
    if len(rewritten.split()) > _longest(question):
        return "is too long"
    topic, asked = _singular(rewritten), _singular(question)
    if asked.keys() - topic.keys():
        return f"lacks {_listed(asked, topic)}"
    if any(terms(rewritten) == terms(before) for before, _ in history):
        return "repeats an earlier question"
    said = asked.keys() | {term for pair in history for text in pair for term in _singular(text)}
    if topic.keys() - said:
        return f"adds {_listed(topic, said)}"
    own = _runs(question) | {run for before, _ in history for run in _runs(before)}
    copied = {run for _, answer in history for run in _runs(answer)}
    return "copies the answer" if (_runs(rewritten) - own) & copied else ""


def _longest(question: str) -> int:
    return 3 * len(question.split()) + 20


def _singular(text: str) -> dict[str, str]:
    """Return the topic words of a text without the s of a plural, and how they are written."""
    return {re.sub(r"(['’]s|(?<=\w\w\w)s)$", "", term): term for term in topic_terms(text)}


def _listed(words: dict[str, str], known: object) -> str:
    missing = [f"“{written}”" for word, written in words.items() if word not in known]  # type: ignore[operator]
    return ", ".join(missing[:3])


def _runs(text: str, length: int = 5) -> set[tuple[str, ...]]:
    found = terms(text)
    return {tuple(found[i : i + length]) for i in range(len(found) - length + 1)}


@rewriters.register("llm")
class LLMRewriter:
    """Asks the language model for a standalone question; `turns` is how many questions it is shown.

    Only follow-ups are sent to the model; what stands alone or opens a new topic is treated as the concatenation
    rewriter does (`encode` and `new_topic` are its), and so is a follow-up that the model does not rewrite acceptably:
    the result's note says why.
    """

    needs_llm = True

    def __init__(
        self, llm: LLM, *, turns: int = 5, max_tokens: int = 96, encode: Encode | None = None,
        new_topic: float = NEW_TOPIC,
    ) -> None:  # fmt: skip
        self.llm = llm
        self.max_tokens = max_tokens
        self._fallback = Concatenation(turns=turns, encode=encode, new_topic=new_topic)

    def rewrite(
        self, question: str, history: Sequence[tuple[str, str]], *, stop: StopSignal | None = None
    ) -> Rewritten:
        """Return the model's question if it is acceptable, the concatenation rewriter's otherwise.

        Ends as soon as `stop` is set. Raises ModelError if the model or the encoder fails, StoppedError if `stop` is
        set while the model is loaded.
        """
        recent = self._fallback.recent(history)
        if not recent or _is_set(stop):
            return Rewritten(question)
        related = self._fallback.relation(question, recent)
        if related is Relation.NEW_TOPIC:
            return Rewritten(question, NEW_TOPIC_NOTE)
        fallback = self._fallback.beside(question, recent, related)
        if related is Relation.SAME_TOPIC:
            return fallback
        rewritten, wrong = self._asked(question, recent, stop)
        if _is_set(stop):
            return fallback
        wrong = wrong or flaw(rewritten, question, recent)
        if not wrong:
            return Rewritten(rewritten)
        note = f"The words of earlier questions were added, because the model's rewriting {wrong}."
        return replace(fallback, note=note)

    def _asked(self, question: str, recent: Sequence[tuple[str, str]], stop: StopSignal | None) -> tuple[str, str]:
        """Return the model's question, or why there is none."""
        if len(question.split()) > LONGEST_QUESTION:
            return "", f"would have to hold a question of more than {LONGEST_QUESTION} words"
        prepare = getattr(self.llm, "prepare", None)  # loads the model, and notices a stop meanwhile
        for _ in prepare(stop) if prepare is not None else ():
            pass
        earlier = [asked for asked, _ in recent]
        while self.llm.count_tokens(messages := prompt(earlier, question)) + self.max_tokens > self.llm.context_size:
            earlier = earlier[1:]
            if not earlier:
                return "", "needs a longer context than the model has"
        reply = ""
        for piece in self.llm.complete(messages, max_tokens=self.max_tokens, stop=stop):
            reply += piece
            if "\n" in reply.strip() or len(reply.split()) > _longest(question) + 5:
                break
        lines = reply.strip().splitlines()
        return (_LABEL.sub("", lines[0]).strip(' "“”') if lines else ""), ""


def _is_set(stop: StopSignal | None) -> bool:
    return stop is not None and stop.is_set()
