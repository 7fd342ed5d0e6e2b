"""Rewriting by the language model, guarded: what looks wrong is replaced by the concatenation rewriter's result."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pdfqa_core.conversation.base import rewriters
from pdfqa_core.conversation.concatenation import Concatenation, needs_context, topic_terms
from pdfqa_core.text import terms
from pdfqa_core.types import LLM, Message, StopSignal

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
LONGEST_QUESTION = 60  # words of an earlier question that are shown to the model

_LABEL = re.compile(r"^\W*(rewritten|standalone|complete)?\s*(question)?\s*:\s*", re.IGNORECASE)


def conversation(questions: Sequence[str], question: str) -> str:
    """Return the questions of one conversation as the model sees them, up to where its reply begins."""
    earlier = "\n".join(f"Question: {' '.join(asked.split()[:LONGEST_QUESTION])}" for asked in questions)
    return f"{earlier}\nLast question: {question}\nRewritten question:"


def prompt(questions: Sequence[str], question: str) -> list[Message]:
    """Return the few-shot prompt."""
    shots = "\n\n".join(f"{conversation(before, asked)} {rewritten}" for before, asked, rewritten in EXAMPLES)
    return [Message("user", f"{INSTRUCTION}\n\n{shots}\n\n{conversation(questions, question)}")]


def acceptable(rewritten: str, question: str, history: Sequence[tuple[str, str]]) -> bool:
    """Return whether a rewritten question may be used.

    Not if it is empty, has more than three times the words of the question and 20 more, lacks a topic word of the
    question, repeats an earlier question, has five words in a row from an answer that the question has not, or has
    topic words that nobody used.
    """
    if not rewritten or len(rewritten.split()) > 3 * len(question.split()) + 20:
        return False
    topic, asked = set(topic_terms(rewritten)), set(topic_terms(question))
    if not asked <= topic or any(terms(rewritten) == terms(before) for before, _ in history):
        return False
    said = asked | {term for before, answer in history for term in topic_terms(f"{before} {answer}")}
    if not topic <= said:
        return False
    own = _runs(question) | {run for before, _ in history for run in _runs(before)}
    copied = {run for _, answer in history for run in _runs(answer)}
    return not (_runs(rewritten) - own) & copied


def _runs(text: str, length: int = 5) -> set[tuple[str, ...]]:
    found = terms(text)
    return {tuple(found[i : i + length]) for i in range(len(found) - length + 1)}


@rewriters.register("llm")
class LLMRewriter:
    """Asks the language model for a standalone question; `turns` is how many questions it is shown.

    A question that stands alone is left as it is.
    """

    needs_llm = True

    def __init__(self, llm: LLM, *, turns: int = 3, max_tokens: int = 64) -> None:
        self.llm = llm
        self.turns = turns
        self.max_tokens = max_tokens
        self._fallback = Concatenation(turns=turns)

    def rewrite(self, question: str, history: Sequence[tuple[str, str]], *, stop: StopSignal | None = None) -> str:
        """Return the model's question if it is acceptable, the concatenation rewriter's otherwise."""
        recent = list(history[-self.turns :]) if self.turns else []
        if not recent or not needs_context(question):
            return question
        fallback = self._fallback.rewrite(question, recent, stop=stop)
        messages = prompt([asked for asked, _ in recent], question)
        if self.llm.count_tokens(messages) + self.max_tokens > self.llm.context_size:
            return fallback
        reply = ""
        for piece in self.llm.complete(messages, max_tokens=self.max_tokens, stop=stop):
            reply += piece
            if "\n" in reply.strip():
                break
        if stop is not None and stop.is_set():
            return fallback
        lines = reply.strip().splitlines()
        rewritten = _LABEL.sub("", lines[0]).strip(' "“”') if lines else ""
        return rewritten if acceptable(rewritten, question, recent) else fallback
