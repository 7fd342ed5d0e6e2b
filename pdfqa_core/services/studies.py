"""Studies: answered questions that several people rate, each without seeing what the others say."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count

from pdfqa_core.errors import UsageError
from pdfqa_core.exports.ratings import FORMATS, blinded, rating_rows, write_ratings
from pdfqa_core.metrics.agreement import Agreement
from pdfqa_core.protocols import annotation
from pdfqa_core.protocols.annotation import CRITERIA, AnnotationProgress, Disagreement, Given
from pdfqa_core.storage.conversations import Conversations
from pdfqa_core.storage.records import SEAT, Seat, StudyTurn
from pdfqa_core.storage.seats import OVER
from pdfqa_core.storage.studies import Studies
from pdfqa_core.types import Adjudication, Criterion, Rating, Role, Study

LONGEST_NAME = 100  # characters of a question that names a study


@dataclass(frozen=True, slots=True)
class RatingItem:
    """The item an annotator has open, None where all are rated, with the annotator's own ratings of the study.

    `position` is its place in the annotator's order, from 1; `comment` is what was saved with it.
    """

    item: StudyTurn | None
    given: Given
    position: int
    progress: AnnotationProgress
    comment: str


@dataclass(frozen=True, slots=True)
class StudyResults:
    """The progress of each annotator, and what their ratings show, limited to what the viewer may see.

    `waiting` are those who have not finished. `table` and `disagreements` are empty as long as they could influence
    anybody's ratings.
    """

    progress: tuple[tuple[str, AnnotationProgress], ...]
    waiting: tuple[str, ...]
    table: tuple[Agreement, ...] = ()
    disagreements: tuple[Disagreement, ...] = ()


@dataclass(frozen=True, slots=True)
class RatingsFile:
    """Ratings as a file: its name, its content, and how many ratings it holds."""

    name: str
    data: bytes
    rows: int


@dataclass(frozen=True, slots=True)
class RatedStudy:
    """A study with its turns, the ratings and adjudications that count, and the progress of each annotator.

    Annotators are those who have signed in or are invited. `seat` is that of the invited person who asks, `closed` are
    the names that only others have.
    """

    study: Study
    turns: tuple[StudyTurn, ...]
    ratings: tuple[Rating, ...]
    adjudications: tuple[Adjudication, ...]
    progress: Mapping[str, AnnotationProgress]
    seat: Seat | None = None
    closed: frozenset[str] = frozenset()

    @property
    def waiting(self) -> tuple[str, ...]:
        """Those who have signed in and not finished."""
        return tuple(name for name, step in self.progress.items() if step.done < step.total)

    def open_to(self, viewer: str | None) -> bool:
        """Return whether a viewer may see everybody's ratings, and numbers made of them.

        Everybody may once there are two or more and all of them have finished. None is the owner at the command line,
        who always may.
        """
        return (viewer is None and self.seat is None) or (len(self.progress) > 1 and not self.waiting)

    def visible(self, viewer: str | None) -> tuple[Rating, ...]:
        """Return the ratings that a viewer may see. This alone decides it, for results and for files.

        Before they are `open_to` the viewer, an annotator sees their own, and whoever is not signed in ("") none.
        """
        if self.open_to(viewer):
            return self.ratings
        if viewer in self.closed or (self.seat is not None and viewer != own_name(self.seat)):
            return ()
        return tuple(rating for rating in self.ratings if rating.annotator == viewer)


def own_name(seat: Seat) -> str:
    """Return the name that an invited person rates under; empty for who only looks on."""
    return seat.name if seat.role is Role.ANNOTATOR else ""


class StudyService:
    """The studies of a workspace; `criteria` are what annotators are asked.

    Methods raise UsageError where the study is not the owner's, and StorageError.
    """

    def __init__(
        self, studies: Studies, conversations: Conversations, criteria: Sequence[Criterion] = CRITERIA
    ) -> None:
        self._studies = studies
        self._conversations = conversations
        self.criteria = tuple(criteria)

    # ------------------------------------------------------------ studies

    def list(self, owner: str) -> tuple[Study, ...]:
        """Return the owner's studies, newest first."""
        return self._studies.list(owner)

    def create(self, owner: str, name: str, conversation_ids: Sequence[str]) -> Study:
        """Make a study of all turns of these conversations. Raises UsageError as `Studies.create`."""
        return self._studies.create(owner, name, conversation_ids, int(time.time()))

    def open_studies(self, owner: str) -> tuple[Study, ...]:
        """Return the owner's studies that take more answers, newest first: those whose agreement nobody sees yet."""
        return tuple(study for study in self._studies.list(owner) if self._is_open(owner, study.id))

    def create_of(self, owner: str, conversation_id: str, turn_id: str = "") -> Study:
        """Make a study of one turn, or of the whole conversation, named after what was asked."""
        conversation = self._conversations.get(owner, conversation_id)
        asked = next((turn.question for turn in conversation.turns if turn.id == turn_id), "")
        title = (" ".join(asked.split()) or conversation.title or "Study")[:LONGEST_NAME]
        studies = self._studies.list(owner)
        taken = {study.name for study in studies}
        numbered = (title if n == 1 else f"{title} ({n})" for n in count(1))
        name = next(name for name in numbered if name not in taken)
        return self._studies.create(owner, name, [conversation_id], len(studies), only=turn_id)

    def add(self, owner: str, study_id: str, turn_id: str) -> Study:
        """Add a turn to a study and return it. Raises UsageError if the study's agreement can be seen already."""
        if not self._is_open(owner, study_id):
            raise UsageError("Everybody has finished this study, so it takes no more answers.", "Make a new one.")
        return self._studies.add_turn(owner, study_id, turn_id)

    def take_out(self, owner: str, study_id: str, turn_ids: Sequence[str]) -> None:
        """Undo `add`, or with all its turns `create_of`. Raises UsageError if one of them has been rated."""
        self._studies.take_out(owner, study_id, turn_ids)

    def _is_open(self, owner: str, study_id: str) -> bool:
        return not self.rated(owner, study_id).open_to("")

    # ------------------------------------------------------------ rating

    def sign_in(self, owner: str, study_id: str, name: str) -> str:
        """Return the annotator's name as it was first spelled. Raises UsageError for names that cannot be."""
        if not study_id:
            raise UsageError("There is no study to rate yet.", "Make one below under “New study”.")
        study_id = self._studies.get(owner, study_id).id
        self._check_name(owner, study_id, name)
        return self._studies.sign_in(study_id, name)

    def page_owner(self, owner: str, study_id: str) -> str:
        """Return whose documents the pages of a study's passages are, for somebody who may read the study."""
        study, seat = self._studies.get(owner, study_id), self._studies.seat(owner)
        return seat.owner if seat is not None and seat.study_id == study.id else owner

    def item(self, owner: str, study_id: str, annotator: str, turn_id: str) -> RatingItem:
        """Return an item of the study for its annotator, no item if there is no such turn."""
        turns, given = self._own(owner, study_id, annotator)
        step = annotation.progress([one.turn for one in turns], given, self.criteria)
        item = next((one for one in turns if one.turn.id == turn_id), None)
        queue = self._queue(owner, study_id, annotator)
        kept = given.get((turn_id, annotation.commented(self.criteria).name))
        position = queue.index(turn_id) + 1 if item else step.done
        return RatingItem(item, given, position, step, kept.comment if kept else "")

    def next(self, owner: str, study_id: str, annotator: str, after: str = "") -> str:
        """Return the next turn that the annotator has not finished, behind `after` first; empty if there is none."""
        turns, given = self._own(owner, study_id, annotator)
        queue = self._queue(owner, study_id, annotator)
        return annotation.next_unrated([one.turn for one in turns], given, self.criteria, queue, after)

    def neighbour(self, owner: str, study_id: str, annotator: str, turn_id: str, by: int) -> str:
        """Return the turn so many places further in the annotator's order; from no turn the last."""
        queue = self._queue(owner, study_id, annotator)
        return queue[(queue.index(turn_id) + by) % len(queue)] if turn_id in queue else queue[-1]

    def save(
        self, owner: str, study_id: str, annotator: str, turn_id: str, values: Mapping[tuple[str, str], str], *,
        comment: str = "", seconds: float = 0.0,
    ) -> datetime:  # fmt: skip
        """Save values by item and criterion; return when. The comment goes with the rating that keeps comments.

        Raises UsageError for an item that is not part of the turn, a value off the scale, an annotator unknown here.
        """
        turns, _ = self._own(owner, study_id, annotator)
        item = next((one for one in turns if one.turn.id == turn_id), None)
        if item is None or not annotator:
            raise UsageError("No item is open.", "Sign in, then press “next unrated”.")
        now = datetime.now(UTC)
        ratings = annotation.form_ratings(
            study_id, item.turn, annotator, values, self.criteria, rated_at=now, comment=comment.strip(),
            seconds=seconds,
        )  # fmt: skip
        self._studies.save_ratings(ratings)
        return now

    def save_rest(
        self, owner: str, study_id: str, annotator: str, turn_id: str, criterion: str, *, seconds: float = 0.0
    ) -> datetime:
        """Give the last value of a criterion's scale to all passages of the turn that have none yet; return when."""
        shown = self.item(owner, study_id, annotator, turn_id)
        parts = annotation.judged(shown.item.turn, self.criteria) if shown.item else ()
        values = {
            part.key: part.criterion.scale[-1]
            for part in parts
            if part.criterion.name == criterion and part.key not in shown.given
        }
        return self.save(owner, study_id, annotator, turn_id, values, seconds=seconds)

    def save_comment(
        self, owner: str, study_id: str, annotator: str, turn_id: str, comment: str, *, seconds: float = 0.0
    ) -> datetime | None:
        """Save a comment that has changed with the rating that keeps it; return when, None if nothing was saved.

        Without that rating it waits in the form.
        """
        key = (turn_id, annotation.commented(self.criteria).name)
        own = self._own(owner, study_id, annotator)[1].get(key)
        if own is None or own.comment == comment.strip():
            return None
        values = {key: own.value}
        return self.save(owner, study_id, annotator, turn_id, values, comment=comment, seconds=seconds)

    def check_comment(self, owner: str, study_id: str, annotator: str, turn_id: str, comment: str) -> None:
        """Raise UsageError if leaving the item would lose its comment: there is no rating yet to keep it with."""
        criterion = annotation.commented(self.criteria)
        given = self._own(owner, study_id, annotator)[1]
        if turn_id and comment.strip() and (turn_id, criterion.name) not in given:
            raise UsageError(
                f"The comment is not saved yet, because it is kept with the {criterion.name}'s rating.",
                f"Choose {' or '.join(criterion.labels)} first, or empty the comment.",
            )

    # ------------------------------------------------------------ results

    def rated(self, owner: str, study_id: str) -> RatedStudy:
        """Return a study with everything that was said of it; who may see what its methods tell."""
        study, turns = self._studies.get(owner, study_id), self._studies.turns(owner, study_id)
        ratings = self._studies.ratings(study_id)
        given, plain = annotation.by_annotator(ratings), [one.turn for one in turns]
        progress = {
            name: annotation.progress(plain, given.get(name, {}), self.criteria)
            for name in self._studies.annotators(study_id)
        }
        seat = self._studies.seat(owner)
        closed = {name for name in progress if seat is None and self._studies.came_by_link(study_id, name)}
        return RatedStudy(
            study, turns, ratings, self._studies.adjudications(study_id), progress, seat, frozenset(closed)
        )

    def results(self, owner: str, study_id: str, viewer: str) -> StudyResults:
        """Return the progress of each annotator, and the agreement of two of them if the viewer may see it.

        `viewer` is an annotator, who is one of the two, or empty.
        """
        found = self.rated(owner, study_id)
        by_name = annotation.by_annotator(found.visible(viewer))
        names = [name for name in found.progress if name in by_name]
        steps = tuple(found.progress.items())
        if len(names) < 2:
            return StudyResults(steps, found.waiting)
        pair = (names[0], viewer if viewer in names[1:] else names[1])
        one, other = by_name[pair[0]], by_name[pair[1]]
        talks = {turn.turn.id: turn.conversation_id for turn in found.turns}
        table = annotation.agreement_table(one, other, self.criteria, annotators=pair, conversations=talks)
        turns = [turn.turn for turn in found.turns]
        return StudyResults(steps, found.waiting, table, annotation.disagreements(turns, one, other, self.criteria))

    def file(self, owner: str, study_id: str, kind: str, viewer: str | None) -> RatingsFile:
        """Return the ratings that the viewer may see, in one of their FORMATS; `viewer` None is the owner: all.

        Raises UsageError if the viewer is not signed in and may not see any yet.
        """
        found = self.rated(owner, study_id)
        ratings = found.visible(viewer)
        if viewer == "" and not ratings:
            raise UsageError(
                "All ratings can be seen once two people or more have signed in and rated everything.",
                "Sign in to download your own, or use: pdfqa export ratings",
            )
        blind = not found.open_to(viewer)
        rows = rating_rows(found.study, found.turns, ratings, () if blind else found.adjudications)
        if blind:
            rows = tuple(blinded(row) for row in rows)
        name = "".join(c if c.isalnum() else "-" for c in found.study.name).strip("-") or "study"
        return RatingsFile(f"ratings-{name}.{FORMATS[kind]}", write_ratings(rows, kind), len(rows))

    def _own(self, owner: str, study_id: str, annotator: str) -> tuple[tuple[StudyTurn, ...], Given]:
        """Return the turns of a study and the annotator's own ratings. An invited person has no others' name."""
        self._check_name(owner, study_id, annotator)
        ratings = self._studies.ratings(study_id, annotator)
        return self._studies.turns(owner, study_id), annotation.by_annotator(ratings).get(annotator, {})

    def _check_name(self, owner: str, study_id: str, name: str) -> None:
        """Raise UsageError unless this name is for whoever asks: who is invited has theirs, and nobody else has it."""
        seat = self._studies.seat(owner)
        if seat is None and owner.startswith(SEAT):
            raise UsageError(*OVER)
        if seat is not None and name != own_name(seat):
            raise UsageError(f"You were invited as “{seat.name}”.", "Open the link that you were sent once more.")
        if seat is None and name and self._studies.came_by_link(study_id, name):
            raise UsageError(f"“{name}” was invited and comes in by their own link.", "Sign in under another name.")

    def _queue(self, owner: str, study_id: str, annotator: str) -> tuple[str, ...]:
        return annotation.order(self._studies.get(owner, study_id), annotator)
