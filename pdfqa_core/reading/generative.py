"""The generative reader: the best sentences and the question go to a language model, what it writes is checked."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from itertools import pairwise, takewhile

from pdfqa_core.errors import ModelError
from pdfqa_core.interfaces import GREEDY, LLM, History, Message, Sampling, StopSignal, Usage
from pdfqa_core.languages import ENGLISH, of_question, title
from pdfqa_core.reading.checking import Checker, strip_markers
from pdfqa_core.reading.evidence import Evidence, gather
from pdfqa_core.reading.outcomes import DECLINED, declines
from pdfqa_core.reading.prompts import (
    DATA,
    INSUFFICIENT_CONTEXT,
    PLAIN,
    READ,
    Form,
    earlier,
    passages,
    quoted,
    readers,
    turn,
)
from pdfqa_core.reading.tables import taken_from
from pdfqa_core.streaming import EitherStop, is_set
from pdfqa_core.text import sentences, terms
from pdfqa_core.types import Answer, Done, Event, Hit, Progress, Token

# ----------------------------------------------------------------------------------------------------
# A language model writes; whoever waits sees how far it is, and its words.
#
# A text that begins to repeat itself ends there, and citation markers that the model writes itself are held back.

LEAST_WORDS = 4  # shorter sentences may be repeated ("Yes." "See above.")
_TAIL = re.compile(r"(.{6,200}?)\1{2,}\s*$", re.DOTALL)
_SENTENCE_ENDS = frozenset(".!?\n")


def write(
    llm: LLM, messages: list[Message], *, max_tokens: int, sampling: Sampling, stop: StopSignal | None, reading: str
) -> Generator[Event, None, tuple[str, Usage, float | None]]:
    """Yield Progress and a Token per piece; return the text, what it took, and when its first token came.

    `reading` says what is done before the first token. A model that repeats itself is stopped through `stop`, so that
    its tokens are counted to the end.
    """
    text, usage, first_token = "", Usage(), None
    loop = threading.Event()
    pieces = llm.stream(messages, max_tokens=max_tokens, stop=EitherStop(stop, loop), sampling=sampling)
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


def cut_at_loop(text: str) -> str | None:
    """Return the text up to where it begins to repeat itself, None if it does not.

    A loop is a sentence or line that was written before word for word, or a piece of 6 to 200 characters three times
    in a row at the end. Only sentences that are finished count, so call it when one ends.
    """
    seen: set[tuple[str, ...]] = set()
    for line in re.finditer(r"[^\n]+", text):
        for start, end in sentences(line[0]):
            key = tuple(terms(line[0][start:end]))
            if key in seen:
                return text[: line.start() + start].rstrip()
            if len(key) >= LEAST_WORDS:
                seen.add(key)
    tail = _TAIL.search(text[-700:])
    if tail is None or not tail[1].strip():
        return None
    return text[: max(0, len(text) - 700) + tail.start() + len(tail[1])].rstrip(" ,;")


class MarkerFilter:
    """Holds back text from an opening bracket on until it is clear whether a citation marker like [1] follows."""

    LONGEST = 24

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """Return what can be shown now."""
        self._held += piece
        bracket = self._held.rfind("[")
        closed = self._held.rfind("]")
        if bracket < 0 or closed > bracket or len(self._held) - bracket > self.LONGEST:
            return self.flush()
        while bracket > 0 and self._held[bracket - 1].isspace():
            bracket -= 1
        shown, self._held = self._held[:bracket], self._held[bracket:]
        return strip_markers(shown)

    def flush(self) -> str:
        """Return what is still held back."""
        shown, self._held = self._held, ""
        return strip_markers(shown)


# ----------------------------------------------------------------------------------------------------
# Closed book: the language model answers from what it knows, without any passage. A baseline of evaluations.

INSTRUCTION = "Answer the question in one to three sentences."
WHOLE = "{question}"


class ClosedBookReader:
    """Asks the question alone, behind the turn before it where there is one; hits are passed over.

    An instruction with “{question}” in it is the whole prompt.
    """

    def __init__(self, llm: LLM, *, max_tokens: int = 256, sampling: Sampling = GREEDY, instruction: str = "") -> None:
        self.llm = llm
        self.max_tokens = max_tokens
        self.sampling = sampling
        self.instruction = instruction or INSTRUCTION

    def messages(self, question: str, history: History = ()) -> list[Message]:
        """Return the prompt."""
        if WHOLE in self.instruction:
            return [Message("user", self.instruction.replace(WHOLE, quoted(question)))]
        text = READ.fill(passages="", earlier=turn(history), question=quoted(question), instruction=self.instruction)
        return [Message("user", text.strip())]

    def read(
        self, question: str, hits: Sequence[Hit], history: History = (), *, stop: StopSignal | None = None
    ) -> Iterator[Event]:
        """Yield Progress, Token and one Done. Raises ModelError."""
        began = time.perf_counter()
        yield from self.llm.prepare(stop)
        reply, usage, first_token = yield from write(
            self.llm,
            self.messages(question, history),
            max_tokens=self.max_tokens,
            sampling=self.sampling,
            stop=stop,
            reading="reading the question",
        )
        text = strip_markers(reply).strip()
        stopped = is_set(stop)
        refused = declines(text) and not stopped
        seconds = {"read": time.perf_counter() - began}
        if first_token is not None:
            seconds["first_token"] = first_token - began
        yield Done(
            Answer(
                INSUFFICIENT_CONTEXT if refused else text,
                refused=refused,
                stopped=stopped,
                reader="closed book",
                model=self.llm.name,
                seconds=seconds | {"total": seconds["read"]},
                prompt_tokens=usage.prompt_tokens,
                completion_tokens=usage.completion_tokens,
            )
        )


# ----------------------------------------------------------------------------------------------------
# The generative reader: the best sentences and the question go to a language model, what it writes is checked.


@readers.register("generative", "the language model writes")
class GenerativeReader:
    """Writes an answer with a language model.

    Of the first `passages` hits the sentences that fit the question best go into the prompt, as many as `prompt_tokens`
    allow (0: no limit); what does not fit the context beside `max_tokens` for the answer is left out. Behind
    them stand the question before, where the model's `form` says so, the question and an instruction: that of the form,
    or one's own. With `whole` these are whole passages, the best ones that fit.
    `checker` compares the answer with the passages. The answer is refused where the model writes nothing, or that the
    passages do not say it. The model's progress (loading, waiting, reading) is passed on.
    """

    def __init__(
        self,
        llm: LLM,
        *,
        passages: int = 5,
        prompt_tokens: int = 0,
        max_tokens: int = 256,
        sampling: Sampling = GREEDY,
        form: Form = PLAIN,
        instruction: str = "",
        checker: Checker | None = None,
        whole: bool = False,
    ) -> None:
        self.llm = llm
        self.whole = whole
        self.passages = passages
        self.prompt_tokens = prompt_tokens
        self.max_tokens = max_tokens
        self.sampling = sampling
        self.form = form
        self.instruction = instruction
        self.checker = checker or Checker()
        self._fitted: tuple[object, Evidence] | None = None  # the last one: those who judge ask for it again

    def messages(
        self, question: str, evidence: Evidence | None, history: History = (), instruction: str = ""
    ) -> list[Message]:
        """Return the prompt: evidence, the question before, question, and the form's instruction or another."""
        shown = zip(self._headings(evidence), self._texts(evidence), strict=True) if evidence is not None else ()
        texts = [f"{heading}\n{text}" if heading else text for heading, text in shown]
        own = f"{DATA} {self.instruction or self.form.instruction}{_in_its_language(question, evidence)}"
        content = READ.fill(
            passages=passages(texts),
            earlier=earlier(history) if self.form.before else "",
            question=quoted(question),
            instruction=instruction or own,
        )
        return [Message("user", content)]

    def _texts(self, evidence: Evidence) -> list[str]:
        return [hit.passage.text for hit in evidence.in_order()] if self.whole else evidence.texts()

    def _headings(self, evidence: Evidence) -> list[str]:
        """Return the heading of each passage, "" where the form has none."""
        found = [hit.passage for hit in evidence.in_order()]
        if not self.form.headings:
            return [""] * len(found)
        shorter = [
            _section(passage.heading, before.heading) if passage.document_id == before.document_id else passage.heading
            for before, passage in pairwise(found)
        ]
        return [found[0].heading, *shorter] if found else []

    def fitting(self, question: str, hits: Sequence[Hit], history: History = ()) -> Evidence:
        """Return the sentences that go into the prompt.

        Raises ModelError if not even one does beside the question.
        """
        asked = (question, tuple(hits), tuple(history))
        if self._fitted is None or self._fitted[0] != asked:
            self._fitted = asked, self._fitting(question, hits, history)
        return self._fitted[1]

    def _fitting(self, question: str, hits: Sequence[Hit], history: History) -> Evidence:
        asked_before = history[-1][0] if history else ""
        evidence = gather(question, hits, self.checker.meaning, count=self.passages, before=asked_before)
        room = self.llm.context_size - min(self.max_tokens, self.llm.context_size // 2)

        def length(part: Evidence | None) -> int:
            return self.llm.count_tokens(self.messages(question, part, history))

        left: Evidence | None = evidence
        count = len(evidence.hits)
        while self.whole and count > 1 and left is not None and length(left) > room:
            count -= 1
            left = gather(question, hits, count=count)
        if self.prompt_tokens and not self.whole and length(evidence) > (most := length(None) + self.prompt_tokens):
            left = evidence.fitting(lambda part: length(part) <= most) or evidence.best()  # one sentence at least
        if length(left) > room:
            left = evidence.fitting(lambda part: length(part) <= room)
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
        """Yield Progress, Token and one Done; the tokens are the model's words without markers."""
        began = time.perf_counter()
        if not hits:
            yield Done(Answer(INSUFFICIENT_CONTEXT, refused=True, reader="generative", model=self.llm.name))
            return
        yield from self.llm.prepare(stop)
        evidence = self.fitting(question, hits, history)
        reading = "reading 1 passage" if len(evidence.hits) == 1 else f"reading {len(evidence.hits)} passages"
        yield Progress(reading)
        reply, usage, first = yield from write(
            self.llm,
            self.messages(question, evidence, history),
            max_tokens=self.max_tokens,
            sampling=self.sampling,
            stop=stop,
            reading=reading,
        )
        text = strip_markers(reply).strip()
        since = time.perf_counter()
        stopped = is_set(stop)
        declined = not stopped and (declines(text) or not terms(text))
        checked = yield from self.checker.check("" if declined else text, evidence.hits, question, stop=stop)
        notes = [f"{DECLINED} {text}"] if declined and text else []
        notes += taken_from(text, checked.citations, hits)
        if usage.finish_reason == "length":
            tokens = usage.completion_tokens
            notes.append(f"The answer was cut {f'after {tokens} tokens' if tokens else 'by the server'}.")
        check = time.perf_counter() - since
        seconds = {"read": time.perf_counter() - began - check, "check": check}
        if first is not None:
            seconds["first_token"] = first - began
        answer = Answer(
            INSUFFICIENT_CONTEXT if declined else text,
            checked.citations,
            tuple(hits),
            declined,
            stopped,
            reader="generative",
            model=self.llm.name,
            seconds=seconds,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            notes=tuple(notes),
            sentences=checked.sentences,
            read=tuple(hit.rank for hit in evidence.hits),
        )
        yield Done(answer)


def _in_its_language(question: str, evidence: Evidence | None) -> str:
    """Return what the instruction adds for a question asked in the language of passages that are not English."""
    language = evidence.language if evidence is not None else ENGLISH
    asked = of_question(question, {language, ENGLISH}) if language != ENGLISH else ENGLISH
    return "" if asked == ENGLISH else f" Answer in {title(language)}."


def _section(heading: str, before: str) -> str:
    """Return a heading without the title that the one before it, of the same document, begins with too."""
    *titles, own = heading.split(": ")
    known = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(titles, before.split(": "), strict=False)))
    return ": ".join([*titles[known:], own])
