"""Whether an answer is a refusal: it says that information is missing, or declines to answer."""

from __future__ import annotations

from collections.abc import Sequence

from pdfqa_core.interfaces import LLM, Message, StopSignal
from pdfqa_core.metrics.base import Group, measure
from pdfqa_core.metrics.replies import Decision, OnDone, YesNo, for_each, undecided
from pdfqa_core.metrics.segments import SplitSentences, segments
from pdfqa_core.text import sentences

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
    answers: Sequence[str], llm: LLM, *, split: SplitSentences = sentences, stop: StopSignal | None = None,
    on_done: OnDone | None = None,
) -> tuple[Decision, ...]:  # fmt: skip
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
    ("answer_refusal", "Answer refusals", "answer"), ("gold_refusal", "Gold answer refusals", "gold answer"),
):  # fmt: skip
    measure(
        _name, _pretty, f"1 if the language model finds the first three segments of the {_of} to be a refusal, else 0",
        "ai-dial-rag-eval", higher_is_better=None, group=Group.MISSING,
    )(classify_refusals)  # fmt: skip
