"""The values of human evaluation: studies, their items, who rates them, and what they said.

Standard library only; everything is frozen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class AppliesTo(StrEnum):
    """What annotators judge: the turn as a whole, its answer, or each passage that was shown with it."""

    TURN = "turn"
    ANSWER = "answer"
    PASSAGE = "passage"


@dataclass(frozen=True, slots=True)
class Criterion:
    """A question that annotators answer about an item by choosing a value of the scale.

    `scale` holds the values as they are stored and `labels` what their buttons say, both in the order of the buttons;
    without a scale it is answered in words, and may be left out. `keys` are the keys of those buttons; of a criterion
    for passages each of them holds one letter for each passage, by rank, and may end early. `title` and `help` are
    shown with the buttons. `rest_key` is for passages: the key that gives the last value of the scale to all passages
    without a value.
    """

    name: str
    scale: tuple[str, ...]
    labels: tuple[str, ...]
    keys: tuple[str, ...]
    applies_to: AppliesTo
    title: str
    help: str = ""
    rest_key: str = ""

    @property
    def is_text(self) -> bool:
        """Whether it is answered in words."""
        return not self.scale

    def buttons(self, rank: int = 0) -> tuple[tuple[str, str, str], ...]:
        """Return value, label and key of each button; `rank` is that of the passage they are for."""
        keys = [key[rank - 1 : rank] if rank else key for key in self.keys]
        return tuple(zip(self.scale, self.labels, keys, strict=True))

    def label(self, value: str) -> str:
        """Return what the button of a value says; the value itself where it is not on the scale."""
        return self.labels[self.scale.index(value)] if value in self.scale else value


class StudyState(StrEnum):
    """What can be done with a study: rate; look at it; find it again; bring it back or delete it for good."""

    OPEN = "open"
    CLOSED = "closed"
    ARCHIVED = "archived"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class Study:
    """A set of finished turns that annotators rate. `turn_ids` is the set; each annotator has their own order.

    `preset` names what it was made from, `criteria` are what it asks (empty: those of MaHuEval), `guideline` is the
    text that annotators are given. `invited`: only the annotators that it names may sign in. `revealed_at` is when its
    agreement could be seen first: what is changed from then on is a revision.
    """

    id: str
    name: str
    created_at: datetime
    owner: str
    turn_ids: tuple[str, ...]
    seed: int = 0
    preset: str = ""
    criteria: tuple[Criterion, ...] = ()
    guideline: str = ""
    state: StudyState = StudyState.OPEN
    invited: bool = False
    revealed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class GoldPassage:
    """Where a gold answer stands: the text, the file's name, its 1-based page (0: not known), and its document.

    `document_id` is empty where the file is not in the workspace.
    """

    text: str
    filename: str = ""
    page: int = 0
    document_id: str = ""


class ItemRole(StrEnum):
    """What an item is for. Only those without a role are part of agreement and results."""

    RATED = ""
    TRAINING = "training"
    CHECK = "check"


@dataclass(frozen=True, slots=True)
class ItemDetails:
    """What belongs to an item of a study beside its turn.

    `references` are gold answers, `gold` the passages that they stand in. `expected` are the right values by item and
    criterion ("answer", or "passage#2" for the second passage) of a training or check item, `explanation` says why.
    `system` and `document` are what a sample was stratified by. `second` is the other answer of a pair, given by
    `second_system`. The systems' names are never shown to annotators.
    """

    references: tuple[str, ...] = ()
    gold: tuple[GoldPassage, ...] = ()
    role: ItemRole = ItemRole.RATED
    expected: Mapping[str, str] = field(default_factory=dict)
    explanation: str = ""
    system: str = ""
    document: str = ""
    second: str = ""
    second_system: str = ""


class Role(StrEnum):
    """What somebody who is invited to a study does there: rate, or look at what came of it."""

    ANNOTATOR = "annotator"
    VIEWER = "viewer"


MISSED = "missed"  # the criterion of passages that an answer should have been shown; see `missed_item`


def missed_item(turn_id: str, passage_id: str) -> str:
    """Return the item of a rating that says of a passage, which was not shown, that it is relevant to a turn."""
    return f"{turn_id}#+{passage_id}"


@dataclass(frozen=True, slots=True)
class Rating:
    """One judgement. `item_id` is a turn's id, or "TURN#RANK" for the passage with that rank.

    Ratings are appended, never overwritten: of several with the same item, annotator and criterion the last counts,
    but for drafts (not submitted yet) and revisions (made after agreement could be seen). `seconds` is the time the
    annotator looked at the item.
    """

    study_id: str
    item_id: str
    annotator: str
    criterion: str
    value: str
    comment: str
    seconds: float
    rated_at: datetime
    draft: bool = False
    revision: bool = False

    @property
    def turn_id(self) -> str:
        """The turn that the item is, or belongs to."""
        return self.item_id.partition("#")[0]


@dataclass(frozen=True, slots=True)
class Skip:
    """An item that an annotator could not judge, and why."""

    study_id: str
    turn_id: str
    annotator: str
    reason: str
    seconds: float
    skipped_at: datetime


@dataclass(frozen=True, slots=True)
class Adjudication:
    """The agreed value of an item on which the annotators differed.

    `category` is the kind of error that was found, `decided_by` who decided: a third person, or both together.
    """

    study_id: str
    item_id: str
    criterion: str
    value: str
    reason: str
    decided_at: datetime
    category: str = ""
    decided_by: str = ""
