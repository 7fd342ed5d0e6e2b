"""Conversations: automatic ones, in which a data set asks, and those of MaHuEval, which two evaluators hold and rate.

Automatic (AuEv): turn by turn, with the gold answers or the system's own as the conversation so far. Before each turn
the answer given is replaced by the gold one and the question is rewritten by the system's own rewriter, so that one
wrong answer does not spoil what follows. Scores are grouped by turn depth. Source: Li et al. 2022.

MaHuEval, a guided protocol: which conversations two evaluators hold, what comes next, and how turns are paired.
Round 1: each evaluator holds ten conversations of 8 to 10 turns, from ideas of their own or the first questions of a
data set, and rates the turns of a conversation after it. Round 2: each holds ten more, from the first questions of the
other's ten. So there are forty conversations in twenty pairs that begin with the same question. For agreement the turns
of a pair are compared by their number; later turns may differ in wording, so turn 1 is reported apart.
Source: manual human evaluation (MaHuEval) of conversational question answering over documents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import ClassVar

from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.bertscore import NAMES as BERTSCORE
from pdfqa_core.protocols.annotation import Given, judged
from pdfqa_core.protocols.answers import CITATIONS, HITS, TEXT, Answers
from pdfqa_core.protocols.base import GOLD, PREDICTED, CaseFile, run_protocols
from pdfqa_core.protocols.judging import JUDGED
from pdfqa_core.study_types import AppliesTo, Criterion, Rating
from pdfqa_core.types import Turn

# ----------------------------------------------------------------------------------------------------
# Automatic conversations.


class Conversations(Answers):
    """Questions in the order of their conversations, scored as answers are."""

    title: ClassVar[str] = "Conversations"
    words: ClassVar[str] = "conversations turn by turn, with gold or own answers so far: meaning, by turn depth"
    histories: ClassVar[tuple[str, ...]] = (GOLD, PREDICTED)
    needs: ClassVar[frozenset[str]] = frozenset({"embedder"})
    shown: ClassVar[tuple[str, ...]] = ("bertscore_f1", *TEXT, *BERTSCORE[:2], JUDGED, *CITATIONS, *HITS)

    def read(self, path: Path) -> CaseFile:
        """Return the turns of a file. Raises UsageError where no question follows up another."""
        file = super().read(path)
        if not any(case.history for case in file.cases):
            raise UsageError(
                f"{file.name} holds no conversation: no question follows up another.",
                'Name the turn before in "follow_up_of", or run the protocol answers.',
            )
        return replace(file, cases=tuple(replace(one, conversation=one.conversation or one.id) for one in file.cases))


run_protocols.register("conversations", Conversations.words)(Conversations())

# ----------------------------------------------------------------------------------------------------
# MaHuEval.

ROUNDS = (1, 2)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is agreed before the first conversation: who, how many conversations a round, how many turns in each.

    `questions` are first questions that round 1 may begin with; `document_ids` what is asked about (none: everything).
    """

    evaluators: tuple[str, ...]
    conversations: int = 10
    least: int = 8
    most: int = 10
    questions: tuple[str, ...] = ()
    document_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Held:
    """A conversation that an evaluator holds or has held. `turns` are its turns, `rated` how many are rated."""

    annotator: str
    round: int
    place: int
    conversation_id: str
    first_question: str
    finished: bool = False
    turns: tuple[Turn, ...] = ()
    rated: int = 0


class Doing(StrEnum):
    """What an evaluator does next."""

    BEGIN = "begin"
    HOLD = "hold"
    RATE = "rate"
    WAIT = "wait"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Step:
    """What an evaluator does next: in which round, with which of its conversations.

    `first_question` is the one to begin with, empty where it is free; `held` the conversation that is under way.
    """

    doing: Doing
    round: int = 0
    place: int = 0
    first_question: str = ""
    held: Held | None = None


@dataclass(frozen=True, slots=True)
class Roster:
    """The plan with everything that was held so far, by evaluator, round and place."""

    plan: Plan
    held: tuple[Held, ...] = ()

    def of(self, annotator: str) -> tuple[Held, ...]:
        """Return what one evaluator holds or has held, in order."""
        return tuple(sorted((one for one in self.held if one.annotator == annotator), key=_place))

    def other(self, annotator: str) -> str:
        """Return the other evaluator."""
        return next(name for name in self.plan.evaluators if name != annotator)

    def step(self, annotator: str) -> Step:
        """Return what an evaluator does next. A conversation is rated before the next one begins."""
        plan, own = self.plan, self.of(annotator)
        for one in own:
            if not one.finished:
                return Step(Doing.HOLD, one.round, one.place, one.first_question, one)
            if one.rated < len(one.turns):
                return Step(Doing.RATE, one.round, one.place, one.first_question, one)
        if len(own) == len(ROUNDS) * plan.conversations:
            return Step(Doing.DONE)
        number, place = divmod(len(own), plan.conversations)
        if number == 0:
            return Step(Doing.BEGIN, 1, place + 1)
        begun = [one for one in self.of(self.other(annotator)) if one.round == 1 and one.place == place + 1]
        return Step(Doing.BEGIN, 2, place + 1, begun[0].first_question) if begun else Step(Doing.WAIT, 2, place + 1)

    def left(self, annotator: str) -> int:
        """Return how many conversations an evaluator has still to finish."""
        held = sum(one.finished for one in self.of(annotator))
        return len(ROUNDS) * self.plan.conversations - held

    def pairs(self) -> tuple[tuple[Held, Held], ...]:
        """Return the finished conversations that begin with the same question: (of round 1, of round 2)."""
        by_place = {(one.annotator, one.round, one.place): one for one in self.held if one.finished}
        found = []
        for name in self.plan.evaluators:
            for place in range(1, self.plan.conversations + 1):
                one, other = by_place.get((name, 1, place)), by_place.get((self.other(name), 2, place))
                if one is not None and other is not None:
                    found.append((one, other))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Paired:
    """The ratings of two evaluators, filed under the turns of round 1, so that they can be compared.

    `turns` counts the paired turns, `left_out` those of a pair without a counterpart; `passages` counts the paired
    passages, `passages_left_out` those that only one of the two turns found.
    """

    given: Mapping[str, Given] = field(default_factory=dict)
    turns: int = 0
    left_out: int = 0
    passages: int = 0
    passages_left_out: int = 0


def check_plan(plan: Plan) -> None:
    """Raise UsageError where a plan cannot be carried out."""
    if len(plan.evaluators) != 2 or len({name.strip().casefold() for name in plan.evaluators}) != 2:
        raise UsageError("MaHuEval has two evaluators.", "Name two different people.")
    if not 1 <= plan.conversations <= 100:
        raise UsageError(f"A round cannot have {plan.conversations} conversations.", "Choose 1 to 100, usually 10.")
    if not 1 <= plan.least <= plan.most <= 50:
        raise UsageError(f"{plan.least} to {plan.most} turns cannot be.", "Choose 1 to 50, usually 8 to 10.")


def check_question(plan: Plan, step: Step, question: str) -> str:
    """Return the question to ask now. Raises UsageError where none, or another one, is due."""
    question = " ".join(question.split())
    if step.doing is Doing.RATE:
        raise UsageError("Rate the turns of the conversation before you begin the next one.", "They are on the right.")
    if step.doing is Doing.WAIT:
        raise UsageError("The other evaluator has not begun the conversation that this one starts from.", "Come back.")
    if step.doing is Doing.DONE:
        raise UsageError("You have held all your conversations.")
    if step.doing is Doing.HOLD and step.held is not None and len(step.held.turns) >= plan.most:
        raise UsageError(f"This conversation has its {plan.most} turns.", "Finish it and rate them.")
    first = not (step.held is not None and step.held.turns)
    if first and step.first_question:
        return step.first_question  # round 2, or a first question that was not answered
    if not question:
        raise UsageError("The question is empty.", "Type a question.")
    return question


def paired(given: Mapping[str, Given], roster: Roster, criteria: Sequence[Criterion], turn: int = 0) -> Paired:
    """Return the ratings of pairs of conversations by the turns of round 1; of turn number `turn` only, if given.

    Turns are paired by number, passages where both turns found the same one, at whatever rank. What is rated on one
    side only stays on that side, and agreement leaves it out.
    """
    found: dict[str, dict[tuple[str, str], Rating]] = {name: {} for name in roster.plan.evaluators}
    turns = left_out = passages = missing = 0
    whole = [one for one in criteria if one.applies_to is not AppliesTo.PASSAGE]
    each = [one for one in criteria if one.applies_to is AppliesTo.PASSAGE]
    for first, second in roster.pairs():
        left = {one.number: one for one in first.turns if turn in (0, one.number)}
        right = {one.number: one for one in second.turns if turn in (0, one.number)}
        left_out += len(set(left) ^ set(right))
        for number in sorted(set(left) & set(right)):
            one, other = left[number], right[number]
            turns += 1
            same = {one.id: one.id, other.id: one.id}
            ranks = {hit.passage.id: hit.rank for hit in one.answer.hits}
            shared = 0
            for hit in other.answer.hits:
                if hit.passage.id in ranks:
                    same[f"{other.id}#{hit.rank}"] = same[f"{one.id}#{ranks[hit.passage.id]}"] = (
                        f"{one.id}#{ranks[hit.passage.id]}"
                    )
                    shared += 1
            passages += shared
            missing += len(one.answer.hits) + len(other.answer.hits) - 2 * shared
            for held, asked in ((first, one), (second, other)):
                ratings = given.get(held.annotator, {})
                for part in judged(asked, (*whole, *each)):
                    rating = ratings.get(part.key)
                    if rating is not None and part.item_id in same:
                        item = same[part.item_id]
                        found[held.annotator][item, part.criterion.name] = replace(rating, item_id=item)
    return Paired(found, turns, left_out, passages, missing)


def step_words(step: Step, plan: Plan) -> str:
    """Return what an evaluator does next, in words."""
    where = f"round {step.round}, conversation {step.place} of {plan.conversations}"
    match step.doing:
        case Doing.BEGIN if step.first_question:
            return f"next: {where}, from “{step.first_question}”"
        case Doing.BEGIN:
            return f"next: {where}"
        case Doing.HOLD:
            count = len(step.held.turns) if step.held else 0
            return f"now: {where}, {count} turns so far"
        case Doing.RATE:
            return f"now: rate the turns of {where}"
        case Doing.WAIT:
            return f"waits: {where} begins with a question that the other one has not asked yet"
    return "done"


def _place(one: Held) -> tuple[int, int]:
    return one.round, one.place
