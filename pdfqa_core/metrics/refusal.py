"""Whether an answer is a refusal: it says that information is missing, or declines to answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from pdfqa_core.interfaces import LLM, Message, StopSignal
from pdfqa_core.metrics.base import Group, measure
from pdfqa_core.metrics.replies import Decision, OnDone, YesNo, for_each, undecided
from pdfqa_core.text import sentences

# ----------------------------------------------------------------------------------------------------
# Texts as segments: the units that entailment is decided for.
#
# Sentences; one of over 500 characters is split at blank lines, what is still longer at line ends, then every 500
# characters; then a segment of under 20 characters is joined to the following one, a short last one to the previous.
# Source: ai-dial-rag-eval.

SplitSentences: TypeAlias = Callable[[str], list[tuple[int, int]]]

LONGEST = 500
SHORTEST = 20
_BLANK_LINE = re.compile(r"\n[ \t]*\n\s*")
_LINE_END = re.compile(r"\n")


class Segment(NamedTuple):
    """The characters `text[start:end]`, which are `piece`."""

    start: int
    end: int
    piece: str


def segments(text: str, split: SplitSentences = sentences) -> tuple[Segment, ...]:
    """Return the segments of a text in order, none for an empty one; white space around a segment is not part of it.

    `split` gives (start, end) of each sentence.
    """
    trimmed = [span for start, end in split(text) if (span := _stripped(text, start, end))]
    found = _joined([part for span in trimmed for part in _split(text, *span)])
    return tuple(Segment(start, end, text[start:end]) for start, end in found)


def _split(text: str, start: int, end: int) -> list[tuple[int, int]]:
    parts = [(start, end)]
    for separator in (_BLANK_LINE, _LINE_END):
        parts = [piece for a, b in parts for piece in (_cut(text, a, b, separator) if b - a > LONGEST else [(a, b)])]
    return [(a, min(a + LONGEST, end)) for start, end in parts for a in range(start, end, LONGEST)]


def _cut(text: str, start: int, end: int, separator: re.Pattern[str]) -> list[tuple[int, int]]:
    bounds = [start]
    for match in separator.finditer(text, start, end):
        bounds += [match.start(), match.end()]
    bounds.append(end)
    return [span for a, b in zip(bounds[::2], bounds[1::2], strict=True) if (span := _stripped(text, a, b))]


def _stripped(text: str, start: int, end: int) -> tuple[int, int] | None:
    piece = text[start:end]
    if not piece.strip():
        return None
    return start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip())


def _joined(parts: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    waiting: int | None = None
    for start, end in parts:
        first = start if waiting is None else waiting
        if end - first < SHORTEST:
            waiting = first
        else:
            found.append((first, end))
            waiting = None
    if waiting is not None:
        first = found.pop()[0] if found else waiting
        found.append((first, parts[-1][1]))
    return found


# ----------------------------------------------------------------------------------------------------
# Whether an answer is a refusal: it says that information is missing, or declines to answer.

FIRST_SEGMENTS = 3
PROMPT = (
    "Answer: {answer}\n\n"
    "An answer refusal explicitly says that information is missing or insufficient, or declines to answer.\n"
    "Is the answer above an answer refusal? Yes/No"
)


def refusal_prompt(answer: str, split: SplitSentences = sentences) -> list[Message]:
    """Return the prompt about the first three segments of an answer."""
    pieces = segments(answer, split)[:FIRST_SEGMENTS]
    start = answer[pieces[0].start : pieces[-1].end] if pieces else ""
    return [Message("user", PROMPT.format(answer=start))]


def classify_refusals(
    answers: Sequence[str],
    llm: LLM,
    *,
    split: SplitSentences = sentences,
    stop: StopSignal | None = None,
    on_done: OnDone | None = None,
) -> tuple[Decision, ...]:
    """Return for each answer whether it is a refusal; an empty one is, without asking.

    Raises ModelError if the engine does not work, StoppedError.
    """
    decide = YesNo(llm, stop=stop)

    def ask(answer: str) -> Decision:
        if not answer.strip():
            return Decision(True, source="empty", reason="the answer is empty")
        return decide(refusal_prompt(answer, split))

    return tuple(for_each(answers, ask, undecided, workers=llm.parallel, on_done=on_done))


for _name, _pretty, _of in (
    ("answer_refusal", "Answer refusals", "answer"),
    ("gold_refusal", "Gold answer refusals", "gold answer"),
):
    measure(
        _name,
        _pretty,
        f"1 if the language model finds the first three segments of the {_of} to be a refusal, else 0",
        "ai-dial-rag-eval",
        higher_is_better=None,
        group=Group.MISSING,
    )(classify_refusals)
