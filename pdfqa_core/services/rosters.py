"""The rosters of studies that follow a protocol, in which everybody rates the conversations that they held."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace

from pdfqa_core.protocols import annotation
from pdfqa_core.protocols.annotation import AnnotationProgress, Given
from pdfqa_core.protocols.mahueval import Held, Plan, Roster
from pdfqa_core.storage.protocols import Protocols
from pdfqa_core.storage.records import HeldConversation, StudyTurn
from pdfqa_core.study_types import Criterion, Study


class Rosters:
    """What was planned and held for each study. All methods raise StorageError."""

    def __init__(self, protocols: Protocols) -> None:
        self._protocols = protocols

    def follows(self, study_id: str) -> bool:
        """Return whether a study follows a protocol."""
        return bool(self._protocols.plan(study_id))

    def find(self, owner: str, study: Study, turns: Sequence[StudyTurn]) -> Roster | None:
        """Return the roster of a study with the turns that can be rated; None where it follows no protocol."""
        written = self._protocols.plan(study.id)
        if not written:
            return None
        known = {one.turn.id: one.turn for one in turns}
        held = [
            Held(
                one.annotator, one.round, one.place, one.conversation_id, one.first_question,
                one.finished_at is not None, tuple(known[turn] for turn in one.turn_ids if turn in known),
            )
            for one in self._protocols.held(study.id)
        ]  # fmt: skip
        return Roster(read_plan(written), tuple(held))

    def own_turns(self, study: Study, annotator: str) -> tuple[str, ...]:
        """Return the ids of the turns that somebody rates, in the order in which they asked."""
        known = set(study.turn_ids)
        held = sorted(
            (one for one in self._protocols.held(study.id) if one.annotator == annotator),
            key=lambda one: (one.round, one.place),
        )
        return tuple(turn for one in held for turn in one.turn_ids if turn in known)

    def held(self, study_id: str) -> tuple[HeldConversation, ...]:
        """Return what was held so far; nothing where a study follows no protocol."""
        return self._protocols.held(study_id) if self.follows(study_id) else ()

    @staticmethod
    def progress(
        roster: Roster, turns: Sequence[StudyTurn], given: Mapping[str, Given], criteria: Sequence[Criterion],
        skipped: Mapping[str, Collection[str]],
    ) -> dict[str, AnnotationProgress]:  # fmt: skip
        """Return how far the evaluators are; a conversation that is not finished yet counts with its least turns."""
        found = {}
        for name in roster.plan.evaluators:
            own = [turn for one in roster.of(name) for turn in one.turns]
            step = annotation.progress(own, given.get(name, {}), criteria, skipped.get(name, ()))
            missing = roster.left(name) * roster.plan.least
            minutes = None if missing else step.minutes_left
            found[name] = replace(step, total=step.total + missing, minutes_left=minutes)
        return found


def write_plan(plan: Plan) -> str:
    """Return a plan as it is stored."""
    return json.dumps(asdict(plan), ensure_ascii=False)


def read_plan(written: str) -> Plan:
    """Return a plan that was stored."""
    data = json.loads(written)
    lists = {name: tuple(data[name]) for name in ("evaluators", "questions", "document_ids")}
    return Plan(**{**data, **lists})
