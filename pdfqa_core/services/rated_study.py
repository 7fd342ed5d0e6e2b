"""A study as it is handed on: the item that somebody rates, everything that was rated, and who may see what of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from pdfqa_core.metrics.agreement import Agreement
from pdfqa_core.protocols.annotation import CRITERIA, AnnotationProgress, Given, by_annotator
from pdfqa_core.protocols.mahueval import Roster, paired
from pdfqa_core.protocols.study_disagreements import Disagreement
from pdfqa_core.storage.records import Seat, StudyTurn
from pdfqa_core.study_types import Adjudication, Criterion, ItemRole, Rating, Role, Skip, Study
from pdfqa_core.types import Turn


@dataclass(frozen=True, slots=True)
class RatingItem:
    """The item an annotator has open, None where all are rated, with the annotator's own ratings of it.

    `given` is what they said last of each thing in it, drafts and revisions too; `first` are the values of what they
    have revised since. `position` is its place in the annotator's order, from 1; `comment` is what was saved with it.
    `criteria` are what the study asks. `earlier` are the turns before it in its conversation. `draft`: there is
    something of it that is not submitted; `submitted`: all of it was at least once. `skipped` is why it could not be
    judged. `seen` is what a save compares with, so that another window is not overwritten. `revises`: what is
    submitted from now on is a revision, the first values are settled.
    """

    item: StudyTurn | None
    given: Given
    position: int
    progress: AnnotationProgress
    comment: str
    criteria: tuple[Criterion, ...] = CRITERIA
    earlier: tuple[Turn, ...] = ()
    first: Mapping[tuple[str, str], str] = field(default_factory=dict)
    draft: bool = False
    submitted: bool = False
    skipped: str = ""
    seen: int = 0
    guideline: str = ""
    revises: bool = False


@dataclass(frozen=True, slots=True)
class StudyResults:
    """The progress of each annotator, and what their ratings show, limited to what the viewer may see.

    `waiting` are those who have not finished. `table` and `disagreements` are empty as long as they could influence
    anybody's ratings. `checks` are name, right values and asked values of each annotator in check items.
    """

    progress: tuple[tuple[str, AnnotationProgress], ...]
    waiting: tuple[str, ...]
    table: tuple[Agreement, ...] = ()
    disagreements: tuple[Disagreement, ...] = ()
    checks: tuple[tuple[str, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class RatingsFile:
    """Ratings as a file: its name, its content, and how many ratings it holds."""

    name: str
    data: bytes
    rows: int


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a study is, and who may see what of it.

    `seat` is that of the invited person who asks, `closed` are the names that only others have.
    """

    study: Study
    progress: Mapping[str, AnnotationProgress]
    seat: Seat | None = None
    closed: frozenset[str] = frozenset()

    @property
    def waiting(self) -> tuple[str, ...]:
        """Those who are asked to rate, or have signed in, and have not finished."""
        return tuple(name for name, step in self.progress.items() if step.done < step.total)

    def open_to(self, viewer: str | None) -> bool:
        """Return whether a viewer may see everybody's ratings, and numbers made of them.

        Everybody may once there are two or more and all of them have finished. None is the owner at the command line,
        who always may.
        """
        return (viewer is None and self.seat is None) or (len(self.progress) > 1 and not self.waiting)

    def shows(self, viewer: str | None, annotator: str) -> bool:
        """Return whether a viewer may see what an annotator said. This alone decides it, for results and for files.

        Before ratings are `open_to` the viewer, an annotator sees their own, and whoever is not signed in ("") none.
        """
        if self.open_to(viewer):
            return True
        if viewer in self.closed or (self.seat is not None and viewer != own_name(self.seat)):
            return False
        return annotator == viewer


@dataclass(frozen=True, slots=True)
class RatedStudy:
    """A study with its turns, and the ratings and adjudications that count.

    `criteria` are what it asks, `revisions` what was changed of first values, `skips` what could not be judged.
    `roster` is that of a study in which everybody rates conversations of their own.
    """

    standing: Standing
    turns: tuple[StudyTurn, ...]
    ratings: tuple[Rating, ...]
    adjudications: tuple[Adjudication, ...]
    criteria: tuple[Criterion, ...] = CRITERIA
    revisions: tuple[Rating, ...] = ()
    skips: tuple[Skip, ...] = ()
    roster: Roster | None = None

    @property
    def study(self) -> Study:
        """The study itself."""
        return self.standing.study

    @property
    def progress(self) -> Mapping[str, AnnotationProgress]:
        """How far each annotator is."""
        return self.standing.progress

    def compared(self, ratings: Iterable[Rating]) -> dict[str, Given]:
        """Return ratings by annotator as agreement compares them: under a roster, turn by turn of its pairs."""
        given: dict[str, Given] = {**by_annotator(ratings)}
        return given if self.roster is None else {
            name: own for name, own in paired(given, self.roster, self.criteria).given.items() if own
        }  # fmt: skip

    @property
    def counted(self) -> RatedStudy:
        """The study without training and check items, as agreement and results take it."""
        turns = tuple(one for one in self.turns if one.details.role is ItemRole.RATED)
        if len(turns) == len(self.turns):
            return self
        known = {one.turn.id for one in turns}
        return replace(
            self, turns=turns, ratings=tuple(one for one in self.ratings if one.turn_id in known),
            adjudications=tuple(one for one in self.adjudications if one.item_id.partition("#")[0] in known),
        )  # fmt: skip

    def open_to(self, viewer: str | None) -> bool:
        """Return whether a viewer may see everybody's ratings; see `Standing`."""
        return self.standing.open_to(viewer)

    def visible(self, viewer: str | None) -> tuple[Rating, ...]:
        """Return the ratings that a viewer may see; see `Standing.shows`."""
        return tuple(one for one in self.ratings if self.standing.shows(viewer, one.annotator))


def own_name(seat: Seat) -> str:
    """Return the name that an invited person rates under; empty for who only looks on."""
    return seat.name if seat.role is Role.ANNOTATOR else ""
