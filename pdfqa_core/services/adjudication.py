"""Adjudication: what is agreed on afterwards where annotators differ. Names stay hidden while it is decided."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from pdfqa_core.errors import UsageError
from pdfqa_core.protocols.annotation import Judged
from pdfqa_core.protocols.study_disagreements import ERROR_CATEGORIES, Disagreement, disagreements
from pdfqa_core.services.studies import StudyService
from pdfqa_core.storage import StudyTurn
from pdfqa_core.storage.study_changes import StudyChanges
from pdfqa_core.study_types import Adjudication, Criterion, Role

CLOSED = "Agreement cannot be seen yet, so nothing can be adjudicated."


@dataclass(frozen=True, slots=True)
class Dispute:
    """A judgement on which annotators differ, as it is decided: what was said, without names, and what was decided.

    `said` are (value, how many said so, what they wrote with it), the value of the scale that comes first first.
    """

    judged: Judged
    said: tuple[tuple[str, int, tuple[str, ...]], ...]
    decided: Adjudication | None = None


@dataclass(frozen=True, slots=True)
class DisputedItem:
    """An item that annotators differ on. `next_turn` is the next one with something undecided, empty without one.

    `open_ones` counts the undecided judgements of the whole study, `total` all on which annotators differ.
    """

    item: StudyTurn
    disputes: tuple[Dispute, ...]
    next_turn: str
    open_ones: int
    total: int
    criteria: tuple[Criterion, ...]


class AdjudicationService:
    """Decides about the studies of each owner, once their agreement can be seen. Methods raise UsageError before."""

    def __init__(self, studies: StudyService, changes: StudyChanges) -> None:
        self._studies = studies
        self._changes = changes

    def item(self, owner: str, study_id: str, viewer: str | None, turn_id: str) -> DisputedItem:
        """Return an item with what annotators differ on in it. Raises UsageError if there is no such item."""
        standing = self._studies.standing(owner, study_id)
        if not standing.open_to(viewer):
            raise UsageError(CLOSED, "Wait for: " + ", ".join(standing.waiting) if standing.waiting else "")
        found = self._studies.rated(owner, study_id).counted
        item = next((one for one in found.turns if one.turn.id == turn_id), None)
        if item is None:
            raise UsageError("There is no such item in this study.", "Open the study again.")
        by_name = found.compared(found.ratings)
        given = {name: by_name[name] for name in found.progress if name in by_name}
        all_of_them = disagreements([one.turn for one in found.turns], given, found.criteria)
        decided = {(one.item_id, one.criterion): one for one in found.adjudications}
        undecided = [one for one in all_of_them if one.judged.key not in decided]
        turns = list(dict.fromkeys(one.turn.id for one in undecided if one.turn.id != turn_id))
        order = list(dict.fromkeys(one.turn.id for one in all_of_them))
        here = order.index(turn_id) if turn_id in order else -1
        later = [one for one in turns if order.index(one) > here]
        disputes = tuple(
            Dispute(one.judged, _said(one), decided.get(one.judged.key))
            for one in all_of_them
            if one.turn.id == turn_id
        )
        following = (later or turns or [""])[0]
        return DisputedItem(item, disputes, following, len(undecided), len(all_of_them), found.criteria)

    def decide(
        self, owner: str, study_id: str, viewer: str | None, item_id: str, criterion: str, value: str, *,
        reason: str = "", category: str = "", decided_by: str = "",
    ) -> Adjudication:  # fmt: skip
        """Save what was agreed on; of several decisions the last counts, all are kept. Raises UsageError.

        `decided_by` names a third person, or both ("Ada and Ben").
        """
        seat = self._studies.standing(owner, study_id).seat
        if seat is not None and seat.role is Role.VIEWER:
            raise UsageError("You were invited to look at the results, so you decide nothing here.", "Ask the owner.")
        shown = self.item(owner, study_id, viewer, item_id.partition("#")[0])
        asked = next((one.judged for one in shown.disputes if one.judged.key == (item_id, criterion)), None)
        if asked is None:
            raise UsageError("Annotators do not differ on this.", "Open the study again.")
        if value not in asked.criterion.scale:
            choices = ", ".join(asked.criterion.scale)
            raise UsageError(f"{value!r} is no value of {criterion!r}.", f"Choose one of: {choices}.")
        if category not in ERROR_CATEGORIES:
            raise UsageError(f"{category!r} is no kind of error.", f"Choose one of: {', '.join(ERROR_CATEGORIES)}.")
        made = Adjudication(
            study_id, item_id, criterion, value, reason.strip(), datetime.now(UTC), category, decided_by.strip()
        )
        self._changes.adjudicate(made)
        return made


def _said(one: Disagreement) -> tuple[tuple[str, int, tuple[str, ...]], ...]:
    scale = one.judged.criterion.scale
    values = sorted(set(one.values), key=lambda value: scale.index(value) if value in scale else len(scale))
    return tuple(
        (
            value, one.values.count(value),
            tuple(sorted(c for v, c in zip(one.values, one.comments, strict=True) if v == value and c)),
        )
        for value in values
    )  # fmt: skip
