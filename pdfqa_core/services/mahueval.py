"""MaHuEval in a workspace: studies in which two evaluators hold conversations and rate what they were answered."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.agreement import Agreement
from pdfqa_core.protocols import annotation
from pdfqa_core.protocols.conversations import (
    Doing,
    Held,
    Paired,
    Plan,
    Roster,
    Step,
    check_plan,
    check_question,
    paired,
)
from pdfqa_core.services.answers import AnswerService
from pdfqa_core.services.studies import StudyService
from pdfqa_core.services.study_files import write_plan
from pdfqa_core.services.study_reports import HIDDEN
from pdfqa_core.settings import Settings
from pdfqa_core.storage import Store
from pdfqa_core.study_types import Study
from pdfqa_core.types import Event, Stored, Turn

PRESET = "mahueval"


@dataclass(frozen=True, slots=True)
class Overlap:
    """The agreement over the pairs of conversations: `all` of their turns, and of the `first` turns alone.

    `pairs` is how many pairs of conversations are finished; `counts` says what could be paired and what not.
    """

    pairs: int
    counts: Paired
    all: tuple[Agreement, ...]
    first: tuple[Agreement, ...]


class MaHuEval:
    """The guided protocol. Methods raise UsageError where the study is not the owner's, and StorageError.

    The owner may be an invited person's: conversations are held in the name of the study's owner, on whose documents
    they are, and only the study shows whose they are.
    """

    def __init__(
        self,
        store: Store,
        studies: StudyService,
        answers: AnswerService,
    ) -> None:
        self._protocols = store.protocols
        self._store = store.studies
        self._conversations = store.conversations
        self._studies = studies
        self._answers = answers

    # ------------------------------------------------------------ planning

    def begin(self, owner: str, name: str, plan: Plan) -> Study:
        """Make the study of a plan, without any conversation yet. Raises UsageError: the plan, or its name is taken."""
        plan = replace(
            plan,
            evaluators=tuple(" ".join(one.split()) for one in plan.evaluators if one.strip()),
            questions=tuple(dict.fromkeys(" ".join(one.split()) for one in plan.questions if one.strip())),
        )
        check_plan(plan)
        study = Study(uuid.uuid4().hex, name, datetime.now(UTC), owner, (), int(time.time()), PRESET, invited=True)
        return self._protocols.create(study, plan.evaluators, write_plan(plan))

    def roster(self, owner: str, study_id: str) -> Roster | None:
        """Return the plan and what was held so far; None for a study that follows no protocol."""
        found = self._studies.rated(owner, study_id)
        if found.roster is None:
            return None
        whose = self._studies.page_owner(owner, study_id)
        given = annotation.by_annotator(found.ratings)
        skipped = {(one.annotator, one.turn_id) for one in found.skips}

        def counted(one: Held) -> Held:
            if not one.finished:
                return replace(one, turns=self._conversations.get(whose, one.conversation_id).turns)
            own = given.get(one.annotator, {})
            left = [turn for turn in one.turns if (one.annotator, turn.id) not in skipped]
            done = annotation.progress(left, own, found.criteria).done
            return replace(one, rated=done + len(one.turns) - len(left))

        return replace(found.roster, held=tuple(map(counted, found.roster.held)))

    def step(self, owner: str, study_id: str, annotator: str) -> Step:
        """Return what an evaluator does next. Raises UsageError for anybody else."""
        return self._of(owner, study_id, annotator)[1]

    def suggestions(self, roster: Roster, annotator: str, most: int = 3) -> tuple[str, ...]:
        """Return first questions of the data set that nobody has begun with; each evaluator has a half of their own."""
        begun = {one.first_question for one in roster.held}
        half = roster.plan.evaluators.index(annotator)
        return tuple(one for one in roster.plan.questions[half::2] if one not in begun)[:most]

    # ------------------------------------------------------------ holding conversations

    def ask(self, owner: str, study_id: str, annotator: str, question: str, settings: Settings) -> Iterator[Event]:
        """Ask the next question of an evaluator's conversation; yields the events of `AnswerService.ask`.

        The first question of a conversation of round 2 is the other evaluator's, whatever is given.
        Raises UsageError where no question is due.
        """
        whose, conversation, asked = self._due(owner, study_id, annotator, question)
        yield from self._answers.ask(whose, asked, settings, conversation_id=conversation)

    def record(self, owner: str, study_id: str, annotator: str, turn: Turn) -> Stored:
        """Put a question that was asked and answered elsewhere where `ask` would put it. Raises UsageError likewise."""
        whose, conversation, asked = self._due(owner, study_id, annotator, turn.question)
        return Stored(conversation, self._conversations.append_turn(whose, conversation, replace(turn, question=asked)))

    def _due(self, owner: str, study_id: str, annotator: str, question: str) -> tuple[str, str, str]:
        """Return whose conversation goes on, its id, and the question that is due; begin one where none is open."""
        whose = self._studies.page_owner(owner, study_id)
        roster, step = self._of(owner, study_id, annotator)
        asked = check_question(roster.plan, step, question)
        if step.held is not None:
            return whose, step.held.conversation_id, asked
        title = f"{self._store.get(owner, study_id).name}: {annotator}, round {step.round}, {step.place}"
        conversation = self._conversations.create(whose, title, roster.plan.document_ids).id
        self._protocols.begin(study_id, annotator, step.round, step.place, conversation, asked)
        return whose, conversation, asked

    def finish(self, owner: str, study_id: str, annotator: str) -> Held:
        """End the conversation that an evaluator holds: its turns are to be rated now.

        Raises UsageError where it has too few turns.
        """
        whose = self._studies.page_owner(owner, study_id)
        roster, step = self._of(owner, study_id, annotator)
        if step.doing is not Doing.HOLD or step.held is None:
            raise UsageError("No conversation is under way.", "Ask its first question.")
        count, least = len(step.held.turns), roster.plan.least
        if count < least:
            raise UsageError(
                f"This conversation has {count} of at least {least} turns.",
                f"Ask {least - count} more before you rate.",
            )
        for turn in step.held.turns:
            self._store.add_turn(whose, study_id, turn.id)
        self._protocols.finish(study_id, annotator, step.round, step.place)
        return replace(step.held, finished=True)

    # ------------------------------------------------------------ results

    def overlap(self, owner: str, study_id: str, viewer: str | None) -> Overlap:
        """Return the agreement over the pairs of conversations, once it is open to the viewer. Raises UsageError."""
        found = self._studies.rated(owner, study_id)
        if found.roster is None:
            raise UsageError("This study follows no protocol.", "Its agreement is that of its items.")
        if not found.open_to(viewer):
            raise UsageError(HIDDEN, "Wait for: " + ", ".join(found.standing.waiting) if found.standing.waiting else "")
        given = annotation.by_annotator(found.ratings)
        names = (found.roster.plan.evaluators[0], found.roster.plan.evaluators[1])
        talks = {one.turn.id: one.conversation_id for one in found.turns}

        def agreed(counts: Paired) -> tuple[Agreement, ...]:
            one, other = (counts.given[name] for name in names)
            return annotation.agreement_table(one, other, found.criteria, annotators=names, conversations=talks)

        whole = paired(given, found.roster, found.criteria)
        first = paired(given, found.roster, found.criteria, turn=1)
        return Overlap(len(found.roster.pairs()), whole, agreed(whole), agreed(first))

    def _of(self, owner: str, study_id: str, annotator: str) -> tuple[Roster, Step]:
        self._studies.check_name(owner, study_id, annotator)
        roster = self.roster(owner, study_id)
        if roster is None:
            raise UsageError("This study follows no protocol.", "Rate its items.")
        if annotator not in roster.plan.evaluators:
            who = " and ".join(roster.plan.evaluators)
            raise UsageError(f"The evaluators of this study are {who}.", "Sign in under one of these names.")
        return roster, roster.step(annotator)


def first_questions(rows: Sequence[str]) -> tuple[str, ...]:
    """Return questions in the lines of a text file, each once."""
    return tuple(dict.fromkeys(" ".join(line.split()) for line in rows if line.strip()))
