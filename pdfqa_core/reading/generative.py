"""The generative reader: the best passages and the question go to a language model, its sentences are checked."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing

from pdfqa_core.errors import ModelError
from pdfqa_core.reading.base import INSUFFICIENT_CONTEXT, readers
from pdfqa_core.reading.checking import Checked, Checker
from pdfqa_core.reading.citations import strip_markers
from pdfqa_core.reading.declining import declines
from pdfqa_core.reading.evidence import Evidence, best, gather
from pdfqa_core.reading.prompts import INSTRUCTIONS, PASSAGE, READ, quoted
from pdfqa_core.reading.question_type import QuestionType, question_type
from pdfqa_core.reading.stream import MarkerFilter, cut_at_loop
from pdfqa_core.streaming import EitherStop, is_set
from pdfqa_core.types import (
    GREEDY,
    LLM,
    Answer,
    Done,
    Event,
    History,
    Hit,
    Message,
    Progress,
    Sampling,
    StopSignal,
    Token,
    Usage,
)

_SENTENCE_ENDS = frozenset(".!?\n")


@readers.register("generative", "the language model writes")
class GenerativeReader:
    """Writes an answer with a language model.

    The first `passages` hits go into the prompt, in the order of their place in the documents; of them the sentences
    that fit the question best, where `prompt_tokens` (0: no limit) sets how many tokens they may have. What does not
    fit the context beside `max_tokens` for the answer is left out from the end. The history is not part of the prompt:
    the question is expected to stand alone. The instruction depends on the type of the question (`type_of`, None: found
    by a rule) unless there is an `instruction`. `checker` compares the answer with the passages.
    The model's progress (loading, waiting, reading) is passed on.
    """

    def __init__(
        self, llm: LLM, *, passages: int = 2, prompt_tokens: int = 0, max_tokens: int = 256,
        sampling: Sampling = GREEDY, type_of: QuestionType | None = None, instruction: str = "",
        checker: Checker | None = None,
    ) -> None:  # fmt: skip
        self.llm = llm
        self.passages = passages
        self.prompt_tokens = prompt_tokens
        self.max_tokens = max_tokens
        self.sampling = sampling
        self.type_of = type_of
        self.instruction = instruction
        self.checker = checker or Checker()

    def messages(self, question: str, evidence: Evidence | None) -> list[Message]:
        """Return the prompt for the question: evidence, question, instruction, in this order."""
        texts = evidence.texts() if evidence is not None else []
        passages = "\n\n".join(PASSAGE.fill(number=str(n), text=quoted(text)) for n, text in enumerate(texts, 1))
        instruction = self.instruction or INSTRUCTIONS[self.type_of or question_type(question)]
        content = READ.fill(passages=passages, question=quoted(question), instruction=instruction)
        return [Message("user", content)]

    def fitting(self, question: str, hits: Sequence[Hit]) -> Evidence:
        """Return the sentences that go into the prompt.

        Raises ModelError if not even one does beside the question.
        """
        evidence = gather(hits[: self.passages])
        room = self.llm.context_size - min(self.max_tokens, self.llm.context_size // 2)

        def length(part: Evidence | None) -> int:
            return self.llm.count_tokens(self.messages(question, part))

        left: Evidence | None = evidence
        if self.prompt_tokens:
            most = min(room, length(None) + self.prompt_tokens)
            if length(evidence) > most:
                left = best(question, evidence, lambda part: length(part) <= most, self.checker.meaning)
            left = left or Evidence(evidence.sentences, evidence.places[:1])  # one sentence at least
        while left is not None and length(left) > room:
            left = left.without_last()
        if left is None:
            raise ModelError(
                f"The question and one sentence of a passage do not fit the context of {self.llm.name} "
                f"({self.llm.context_size:,} tokens).",
                "Ask a shorter question, make passages shorter, or set a larger context.",
            )
        return left

    def read(
        self, question: str, hits: Sequence[Hit], history: History = (), *, stop: StopSignal | None = None
    ) -> Iterator[Event]:
        """Yield Progress, Token and one Done; the tokens are the model's words, the answer in Done is cleaned."""
        began = time.perf_counter()
        if not hits:
            yield Done(Answer(INSUFFICIENT_CONTEXT, refused=True, reader="generative", model=self.llm.name))
            return
        yield from self.llm.prepare(stop)
        evidence = self.fitting(question, hits)
        notes = self._left_out(evidence)
        passages = "1 passage" if len(evidence.hits) == 1 else f"{len(evidence.hits)} passages"
        yield Progress(f"reading {passages}")
        reply, usage, first_token = yield from self._write(question, evidence, f"reading {passages}", stop)
        stopped = is_set(stop)
        seconds = {"read": time.perf_counter() - began}
        if first_token is not None:
            seconds["first_token"] = first_token - began
        if usage.finish_reason == "length":
            tokens = usage.completion_tokens
            notes.append(f"The answer was cut {f'after {tokens} tokens' if tokens else 'by the server'}.")
        text, markers = strip_markers(reply.strip())
        text = text.strip()
        refused = not stopped and (not text or declines(text))
        if refused and text and text != INSUFFICIENT_CONTEXT:
            notes.append(f"The model declined: {text}")
        began = time.perf_counter()
        ranks = {number: hit.rank for number, hit in enumerate(evidence.in_order(), 1)}  # by the prompt's numbers
        named = [(place, ranks[number]) for place, number in markers if number in ranks]
        checked = Checked()
        if not refused:
            checked = yield from self.checker.check(text, evidence.hits, named, question, stop=stop)
        seconds["check"] = time.perf_counter() - began
        answer = Answer(
            INSUFFICIENT_CONTEXT if refused else text, checked.citations, tuple(hits), refused, stopped,
            reader="generative", model=self.llm.name, seconds=seconds, prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens, notes=tuple(notes), sentences=checked.sentences,
        )  # fmt: skip
        yield Done(answer)

    def _left_out(self, evidence: Evidence) -> list[str]:
        """Return a note for the user if sentences did not fit the context; trimming that was asked for needs none."""
        if self.prompt_tokens or len(evidence.places) == len(evidence.sentences):
            return []
        gone = len({quote.hit.rank for quote in evidence.sentences}) - len(evidence.hits)
        what = f"{gone} of the passages" if gone else f"{len(evidence.sentences) - len(evidence.places)} sentences"
        return [f"{what} did not fit the model's context and were left out."]

    def _write(
        self, question: str, evidence: Evidence, reading: str, stop: StopSignal | None
    ) -> Generator[Event, None, tuple[str, Usage, float | None]]:
        """Write the reply; return its text, what it took, and when its first token came.

        A model that repeats itself is stopped through `stop`, so that its tokens are counted to the end.
        """
        text, usage, first_token = "", Usage(), None
        loop = threading.Event()
        pieces = self.llm.stream(
            self.messages(question, evidence), max_tokens=self.max_tokens, stop=EitherStop(stop, loop),
            sampling=self.sampling,
        )  # fmt: skip
        shown = MarkerFilter()
        with closing(pieces):
            for piece in pieces:
                if isinstance(piece, Usage):
                    usage = piece
                elif isinstance(piece, Progress):
                    yield _worded(piece, reading)
                elif not loop.is_set():
                    if first_token is None:
                        first_token = time.perf_counter()
                        yield Progress("writing")
                    text += piece
                    if ready := shown.feed(piece):
                        yield Token(ready)
                    if _SENTENCE_ENDS & set(piece) and (cut := cut_at_loop(text)) is not None:
                        text = cut
                        loop.set()
        if not loop.is_set() and (ready := shown.flush()):
            yield Token(ready)
        return text, usage, first_token


def _worded(progress: Progress, reading: str) -> Progress:
    """Return an engine's progress in the words a user reads."""
    if progress.phase == "waiting":
        others = "1 other answer" if progress.total == 1 else f"{progress.total} other answers"
        return Progress(f"waiting for {others}")
    return Progress(reading, progress.done, progress.total) if progress.phase == "reading" else progress
