"""Follow-ups are searched with the turns before them, which weigh less. No language model, no words of any language."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from pdfqa_core.conversation.base import rewriters
from pdfqa_core.interfaces import History, StopSignal
from pdfqa_core.languages import ENGLISH
from pdfqa_core.streaming import is_set
from pdfqa_core.text import sentences
from pdfqa_core.types import Rewritten

# Texts of questions to an (n, dimension) array of vectors of length 1.
Encode: TypeAlias = Callable[[Sequence[str]], Any]

# What the last question weighs, the new one being 1, and how much of that each one before it keeps. Chosen on the
# conversations of TREC CAsT 2019 and 2020: benchmarks/rewriting_cast2021.py.
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
