"""LLM accuracy: a language model says whether an answer means the same as the gold answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, log

from pdfqa_core.errors import UsageError
from pdfqa_core.interfaces import LLM, Message, StopSignal
from pdfqa_core.languages import with_plain_minus
from pdfqa_core.metrics.agreement import Agreement, agreement
from pdfqa_core.metrics.base import Group, measure
from pdfqa_core.metrics.replies import NO, YES, Decision, OnDone, YesNo, for_each, undecided

PROMPT = (
    "Question: {question}\nGold Answer: {gold}\nPredicted Answer: {prediction}\nIs the predicted answer correct? Yes/No"
)

# Asked the other way round: not whether the answer is correct, which a small model says of nearly everything, but
# whether the gold answer follows from it. What the model thinks of the gold answer without any text is taken off.
STRICT_PROMPT = (
    "Text: {prediction}\n\nStatement: {gold}\n\nDoes the text say that the statement is true? Reply Yes or No."
)
NO_TEXT = "There is no text."
PROMPTS: Mapping[str, str] = {"seed": PROMPT, "strict": STRICT_PROMPT}


@dataclass(frozen=True, slots=True)
class JudgeItem:
    """An answer to be judged; several references are accepted answers."""

    question: str
    references: tuple[str, ...]
    prediction: str


def judge_prompt(item: JudgeItem, prompt: str = "seed") -> list[Message]:
    """Return the prompt of this name, of PROMPTS; several references are joined by "or"; a minus is a hyphen."""
    gold, prediction = with_plain_minus(" or ".join(item.references)), with_plain_minus(item.prediction)
    return [Message("user", PROMPTS[prompt].format(question=item.question, gold=gold, prediction=prediction))]


@measure(
    "llm_accuracy",
    "LLM accuracy",
    "1 if the language model finds Yes more probable than No as its verdict on the answer, else 0",
    "prompt after Kamalloo et al. 2023",
    group=Group.JUDGE,
    proportion=True,
)
def judge_answers(
    items: Sequence[JudgeItem],
    llm: LLM,
    *,
    prompt: str = "seed",
    stop: StopSignal | None = None,
    on_done: OnDone | None = None,
) -> tuple[Decision, ...]:
    """Return the verdict on each item, in order; `.score` is 1.0, 0.0 or None. `prompt` is one of PROMPTS.

    An item without references or with an unusable reply is unscored. Raises ModelError if the engine does not work,
    StoppedError.
    """
    decide = YesNo(llm, stop=stop)

    def ask(item: JudgeItem) -> Decision:
        if not item.references:
            return Decision(None, reason="there is no gold answer")
        said = decide(judge_prompt(item, prompt))
        if prompt != "strict" or said.probability is None:
            return said
        return _without_prior(said, decide(judge_prompt(replace(item, prediction=NO_TEXT), prompt)))

    return tuple(for_each(items, ask, undecided, workers=llm.parallel, on_done=on_done))


def _without_prior(said: Decision, prior: Decision) -> Decision:
    """Return a decision by how far the log-odds of Yes are above those of the prior."""
    if prior.probability is None:
        return said
    first, second = (min(max(one.probability or 0.0, 1e-9), 1 - 1e-9) for one in (said, prior))
    odds = log(first / (1 - first)) - log(second / (1 - second))
    return Decision(odds > 0, 1 / (1 + exp(-odds)), said.source)


def agreement_with_people(verdicts: Sequence[Decision], labels: Sequence[bool | None], *, seed: int = 0) -> Agreement:
    """Return the judge's agreement with a person on the items that both decided; `labels` are the person's.

    Raises UsageError if the two differ in length.
    """
    if len(verdicts) != len(labels):
        raise UsageError(f"There are {len(verdicts)} verdicts and {len(labels)} labels.", "Give one for each item.")
    both = [(v.value, label) for v, label in zip(verdicts, labels, strict=True) if v.value is not None]
    shared = [(judged, label) for judged, label in both if label is not None]
    words = {True: YES, False: NO}
    return agreement(
        [words[judged] for judged, _ in shared],
        [words[label] for _, label in shared],
        labels=(YES, NO),
        criterion=judge_answers.name,
        annotators=("model", "person"),
        seed=seed,
    )


measure(
    "judge_probability",
    "Judge's P(Yes)",
    "probability of Yes against No as the model's verdict on the answer",
    "prompt after Kamalloo et al. 2023",
    group=Group.JUDGE,
)(judge_answers.compute)
