"""A language model as judge of answers: with the seed's prompt, or with a threshold from labelled rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from pdfqa_core.errors import ModelError, UsageError
from pdfqa_core.evaluation_types import Prediction, ScoredSystem
from pdfqa_core.interfaces import LLM, StopSignal
from pdfqa_core.metrics.against_people import LEAST, Trust, against_people, thresholds_of_folds
from pdfqa_core.metrics.agreement import Agreement
from pdfqa_core.metrics.llm_judge import PROMPTS, JudgeItem, agreement_with_people, judge_answers
from pdfqa_core.metrics.replies import Decision, OnDone
from pdfqa_core.protocols.base import (
    GIVEN,
    NONE,
    RECORDED,
    SEARCH,
    Case,
    CaseFile,
    Pair,
    RunProtocol,
    Tools,
    Values,
    answered,
    labelled,
    pair_of,
    run_protocols,
    scored_system,
)

JUDGED = "llm_accuracy"
PROBABILITY = "judge_probability"
TO_CALIBRATE = (
    f'Give at least {LEAST} rows with "human": true or false, some of each, beside the answer that it is said of; or '
    "leave out --calibrate."
)


def judged(name: str, pairs: Sequence[Pair], llm: LLM, tools: Tools, others: Sequence[Pair] = ()) -> list[Values]:
    """Return the judge's verdict and its probability of Yes by pair.

    With `tools.calibrate` the threshold comes from the pairs that people judged: one of theirs is decided by the
    threshold of the other folds, all others by the median of those. Without, Yes is what is more probable than No.
    Beside it stands how far the verdicts agree with people. Where people judged none of the pairs, `others` are
    answers to the same questions that they did judge. Raises UsageError where there is nothing to calibrate on, for an
    unknown prompt, and for a pair without a question.
    """
    if tools.judge_prompt not in PROMPTS:
        raise UsageError(f"There is no judge's prompt called {tools.judge_prompt!r}.", f"Choose: {', '.join(PROMPTS)}.")
    tools.settings["judge"] = f"{llm.name}, prompt “{tools.judge_prompt}”"
    verdicts = _asked(pairs, llm, tools)
    own = sum(pair.human is not None for pair in pairs) >= max(1, len(others))
    people = pairs if own else others
    known = verdicts if own else _asked(people, llm, tools)
    labels = [pair.human for pair in people]
    if tools.calibrate:
        known, threshold = calibrated(name, known, labels, tools)
        verdicts = known if own else [_above(one, threshold) for one in verdicts]
    if people:
        of = name if own else f"{name}, of the recorded answers"
        found = agreement_with_people(known, labels, seed=tools.seed)
        tools.notes.append(f"{of}: {with_people(found)}{_balanced(known, labels)}")
    else:
        tools.notes.append(f"{name}: no row says what a person thought, so nothing tells whether the judge is right.")
    return [{JUDGED: one.score, PROBABILITY: one.probability} for one in verdicts]


def check_labels(name: str, labels: Sequence[bool | None]) -> None:
    """Raise UsageError where what people thought of answers is not enough to calibrate a judge on."""
    right, wrong = (sum(label is one for label in labels) for one in (True, False))
    if not right or not wrong or right + wrong < LEAST:
        raise UsageError(
            f"{name}: the judge cannot be calibrated: people call {right} answers right and {wrong} wrong.",
            TO_CALIBRATE,
        )


def check_judge(file: CaseFile, options: Mapping[str, str]) -> None:
    """Raise UsageError where the judge is to be calibrated and the file has too few answers that people judged."""
    if options.get("calibrate"):
        check_labels(file.name, [pair.human for pair in labelled(file.cases)])


def score_by_judge(
    pairs: Sequence[Pair], llm: LLM, *, stop: StopSignal | None = None, on_done: OnDone | None = None
) -> list[Values]:
    """Return the judge's verdict by item. Raises UsageError for an item without a question, ModelError."""
    return [{JUDGED: one.score} for one in judge_answers(judge_items(pairs), llm, stop=stop, on_done=on_done)]


def judge_items(pairs: Sequence[Pair]) -> list[JudgeItem]:
    """Return what a judge is shown of each pair. Raises UsageError for one without a question."""
    if missing := next((pair.id for pair in pairs if not pair.question.strip()), ""):
        raise UsageError(
            f"Item {missing!r} has no question, which the judge must know.", 'Give every row a "question".'
        )
    return [JudgeItem(pair.question, pair.references, pair.prediction) for pair in pairs]


def _asked(pairs: Sequence[Pair], llm: LLM, tools: Tools) -> Sequence[Decision]:
    return judge_answers(judge_items(pairs), llm, prompt=tools.judge_prompt, stop=tools.stop, on_done=tools.on_done)


def calibrated(
    name: str, verdicts: Sequence[Decision], labels: Sequence[bool | None], tools: Tools
) -> tuple[Sequence[Decision], float]:
    """Return verdicts by a threshold on the probability of Yes that is taken from labelled ones, and the threshold."""
    scores = [one.probability for one in verdicts]
    trust: Trust = against_people(
        JUDGED, scores, [None if label is None else float(label) for label in labels], seed=tools.seed
    )
    if trust.threshold is None:
        raise UsageError(f"{name}: the judge cannot be calibrated. {trust.note}", TO_CALIBRATE)
    auroc = "" if trust.auroc.value is None else f", AUROC {trust.auroc.value:.3f}"
    tools.settings["judge’s threshold"] = f"{trust.threshold:.3f} from {trust.n} labelled rows, in five folds{auroc}"
    places = [n for n, score in enumerate(scores) if score is not None and labels[n] is not None]
    x, y = [scores[n] or 0.0 for n in places], [int(labels[n] or 0) for n in places]
    held_out = dict(zip(places, thresholds_of_folds(x, y, places, tools.seed)[1], strict=True))
    return [_above(one, held_out.get(n, trust.threshold)) for n, one in enumerate(verdicts)], trust.threshold


def _above(one: Decision, threshold: float) -> Decision:
    value = None if one.probability is None else one.probability >= threshold
    return Decision(value, one.probability, one.source, one.reason)


def _balanced(verdicts: Sequence[Decision], labels: Sequence[bool | None]) -> str:
    """Return the mean of the shares of right verdicts on answers that people call right and wrong, in words."""
    shares = []
    for wanted in (True, False):
        said = [
            v.value == wanted
            for v, label in zip(verdicts, labels, strict=True)
            if label is wanted and v.value is not None
        ]
        if not said:
            return ""
        shares.append(sum(said) / len(said))
    return f" Balanced accuracy {sum(shares) / 2:.3f} (right answers {shares[0]:.1%}, wrong ones {shares[1]:.1%})."


def with_people(found: Agreement) -> str:
    """Return the judge's agreement with people as a sentence."""
    if found.agreement is None:
        return f"the judge and people share no item. {found.note}"
    kappa = "undefined" if found.kappa is None else f"{found.kappa:.3f}"
    bounds = "" if found.low is None else f" [{found.low:.3f}, {found.high:.3f}]"
    return (
        f"the judge agrees with people on {found.agreement:.1%} of {found.n} items, Cohen's kappa {kappa}{bounds}. "
        f"{found.note}"
    ).strip()


# ----------------------------------------------------------------------------------------------------
# Judge: a language model says whether answers are right; how far it agrees with people stands beside every number.


class Judge(RunProtocol):
    """Answers that stand in the file, or those of a system."""

    title: ClassVar[str] = "Judge"
    words: ClassVar[str] = "a language model judges answers; beside it how far it agrees with people"
    evidence: ClassVar[tuple[str, ...]] = (SEARCH, GIVEN, NONE, RECORDED)
    needs: ClassVar[frozenset[str]] = frozenset({"llm"})
    shown: ClassVar[tuple[str, ...]] = (JUDGED, PROBABILITY)

    def check(self, file: CaseFile, options: Mapping[str, str]) -> None:
        """Raise UsageError without any gold answer, and where the judge cannot be calibrated."""
        super().check(file, options)
        check_judge(file, options)

    def score(
        self, name: str, cases: Sequence[Case], predictions: Mapping[str, Prediction], tools: Tools
    ) -> ScoredSystem:
        """Return the judge's verdicts. Raises ModelError without a language model."""
        if tools.llm is None:
            raise ModelError("No language model is here to judge.", "Choose one on the Models tab.")
        there = answered(cases, predictions)
        pairs = [pair_of(case, one, cited=False) for case, one in there]
        verdicts = judged(name, pairs, tools.llm, tools, labelled(cases))
        values = dict(zip((pair.id for pair in pairs), verdicts, strict=True))
        return scored_system(name, cases, predictions, values)


run_protocols.register("judge", Judge.words)(Judge())
