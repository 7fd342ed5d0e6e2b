"""Studies: answered questions that several people rate, each without seeing what the others say."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.exports.studies import FORMATS, RatingsFile, blinded, rating_rows, write_ratings
from pdfqa_core.protocols import annotation
from pdfqa_core.protocols.annotation import CRITERIA, AnnotationProgress, Given, by_annotator
from pdfqa_core.protocols.conversations import Held, Roster, paired
from pdfqa_core.protocols.study_definition import DEFAULT_PRESET, check_change, preset_named, with_keys
from pdfqa_core.protocols.study_items import GeneratedItem, Source, draw, listed_names, pairs, study_of
from pdfqa_core.services.documents import DocumentService
from pdfqa_core.services.study_files import StudyFiles, StudyPages, read_plan
from pdfqa_core.services.study_reports import StudyReports, file_name
from pdfqa_core.storage import Store
from pdfqa_core.storage.protocols import Protocols
from pdfqa_core.storage.records import SEAT, Annotator, HeldConversation, Seat, StudyTurn
from pdfqa_core.storage.studies import OVER, Studies
from pdfqa_core.study_types import Adjudication, Criterion, GoldPassage, ItemRole, Rating, Role, Skip, Study, StudyState
from pdfqa_core.types import Turn

# ----------------------------------------------------------------------------------------------------
# The rosters of studies that follow a protocol, in which everybody rates the conversations that they held.


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
                one.annotator,
                one.round,
                one.place,
                one.conversation_id,
                one.first_question,
                one.finished_at is not None,
                tuple(known[turn] for turn in one.turn_ids if turn in known),
            )
            for one in self._protocols.held(study.id)
        ]
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
        roster: Roster,
        turns: Sequence[StudyTurn],
        given: Mapping[str, Given],
        criteria: Sequence[Criterion],
        skipped: Mapping[str, Collection[str]],
    ) -> dict[str, AnnotationProgress]:
        """Return how far the evaluators are; a conversation that is not finished yet counts with its least turns."""
        found = {}
        for name in roster.plan.evaluators:
            own = [turn for one in roster.of(name) for turn in one.turns]
            step = annotation.progress(own, given.get(name, {}), criteria, skipped.get(name, ()))
            missing = roster.left(name) * roster.plan.least
            minutes = None if missing else step.minutes_left
            found[name] = replace(step, total=step.total + missing, minutes_left=minutes)
        return found


# ----------------------------------------------------------------------------------------------------
# In which order somebody rates the items of a study, which of them are finished, and how far everybody is.


class Queues:
    """Orders and counts; answers are not read for it. `criteria` are asked where a study does not say what it asks."""

    def __init__(self, studies: Studies, criteria: Sequence[Criterion], rosters: Rosters) -> None:
        self._studies = studies
        self._criteria = tuple(criteria)
        self._rosters = rosters

    def of(self, study: Study, annotator: str) -> tuple[str, ...]:
        """Return the ids of the turns that an annotator rates, in their order."""
        if self._rosters.follows(study.id):
            return self._rosters.own_turns(study, annotator) if annotator else study.turn_ids  # as they were asked
        drawn = next((one.drawn_as for one in self._studies.people(study.id) if one.name == annotator), "")
        planted = self._studies.progress.planted(study.id)
        first = [one for one, details in planted.items() if details.role is ItemRole.TRAINING]
        return annotation.order(study, drawn or annotator, first)

    def finished(
        self, study: Study, turns: Mapping[str, Sequence[str]], *, counting: bool = True
    ) -> dict[str, dict[str, float]]:
        """Return the seconds of each turn that somebody has finished, by name; `turns` are those that they rate.

        Without `counting`, of one person, what is not submitted yet is finished too.
        """
        criteria = study.criteria or self._criteria
        asked = [one.name for one in criteria if not one.is_text]
        only = None if counting else next(iter(turns))
        rated = self._studies.progress.rated(study.id, asked, only)
        passages = self._studies.progress.passages(study.id)
        return {
            name: {
                turn_id: own[turn_id][1]
                for turn_id in mine
                if turn_id in own and own[turn_id][0] >= annotation.parts_needed(passages[turn_id], criteria)
            }
            for name, mine in turns.items()
            for own in [rated.get(name, {})]
        }

    def step(self, study: Study, annotator: str, queue: Sequence[str], skipped: Collection[str]) -> AnnotationProgress:
        """Return how far an annotator is with their queue, what is not submitted yet counted too."""
        done = self.finished(study, {annotator: queue}, counting=False)[annotator]
        return annotation.progress_of(done, sum(one in skipped and one not in done for one in queue), len(queue))

    def skipped(self, study_id: str) -> dict[str, set[str]]:
        """Return the turns that somebody could not judge, by name."""
        found: dict[str, set[str]] = {}
        for one in self._studies.skips(study_id):
            found.setdefault(one.annotator, set()).add(one.turn_id)
        return found

    def progress(self, study: Study) -> dict[str, AnnotationProgress]:
        """Return how far everybody is with what they have submitted, where all rate all items."""
        names = self._studies.annotators(study.id)
        done, skipped = self.finished(study, dict.fromkeys(names, study.turn_ids)), self.skipped(study.id)
        return {
            name: annotation.progress_of(
                done[name], len(skipped.get(name, set()) - done[name].keys()), len(study.turn_ids)
            )
            for name in names
        }


# ----------------------------------------------------------------------------------------------------
# A study as it is handed on: the item that somebody rates, everything that was rated, and who may see what of it.


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
        return (
            given
            if self.roster is None
            else {name: own for name, own in paired(given, self.roster, self.criteria).given.items() if own}
        )

    @property
    def given(self) -> dict[str, Given]:
        """All ratings by annotator, in the order of their progress, as agreement compares them."""
        by_name = self.compared(self.ratings)
        return {name: by_name[name] for name in self.progress if name in by_name}

    @property
    def counted(self) -> RatedStudy:
        """The study without training and check items, as agreement and results take it."""
        turns = tuple(one for one in self.turns if one.details.role is ItemRole.RATED)
        if len(turns) == len(self.turns):
            return self
        known = {one.turn.id for one in turns}
        return replace(
            self,
            turns=turns,
            ratings=tuple(one for one in self.ratings if one.turn_id in known),
            adjudications=tuple(one for one in self.adjudications if one.item_id.partition("#")[0] in known),
        )

    def open_to(self, viewer: str | None) -> bool:
        """Return whether a viewer may see everybody's ratings; see `Standing`."""
        return self.standing.open_to(viewer)

    def visible(self, viewer: str | None) -> tuple[Rating, ...]:
        """Return the ratings that a viewer may see; see `Standing.shows`."""
        return tuple(one for one in self.ratings if self.standing.shows(viewer, one.annotator))


def own_name(seat: Seat) -> str:
    """Return the name that an invited person rates under; empty for who only looks on."""
    return seat.name if seat.role is Role.ANNOTATOR else ""


# ----------------------------------------------------------------------------------------------------
# Studies: answered questions that several people rate, each without seeing what the others say.

LONGEST_NAME = 100  # characters of a question that names a study
PAIRWISE = "pairwise"  # the preset of a study in which two answers are compared


class StudyService:
    """The studies of a workspace: made, rated, kept; `criteria` are asked where a study does not say what it asks.

    Methods raise UsageError where the study is not the owner's, and StorageError.
    """

    def __init__(self, store: Store, documents: DocumentService, criteria: Sequence[Criterion] = CRITERIA) -> None:
        self.kept, self.changes = store.studies, store.study_changes
        self.criteria = tuple(criteria)
        self.rosters = Rosters(store.protocols)
        self.files = StudyFiles(store.studies, self)
        self.pages = StudyPages(store.study_changes, documents.pages)
        self.reports = StudyReports(self)
        self._conversations = store.conversations
        self._documents = documents
        self._queues = Queues(store.studies, self.criteria, self.rosters)
        self._read_last: tuple[object, RatedStudy] | None = None
        documents.while_whole.append(self.pages.before_removal)

    # ------------------------------------------------------------ studies

    def list(self, owner: str, *, deleted: bool = False) -> tuple[Study, ...]:
        """Return the owner's studies, newest first; those that are marked as deleted only where asked for."""
        return tuple(one for one in self.kept.list(owner) if deleted or one.state is not StudyState.DELETED)

    def criteria_of(self, study: Study) -> tuple[Criterion, ...]:
        """Return what a study asks."""
        return study.criteria or self.criteria

    def names(self, owner: str, study_id: str) -> tuple[str, ...]:
        """Return who may sign in by choosing their name: who was invited, and who did before."""
        return self.kept.annotators(self.kept.get(owner, study_id).id)

    def create(self, owner: str, name: str, conversation_ids: Sequence[str]) -> Study:
        """Make a study of all turns of these conversations. Raises UsageError as `Studies.create`."""
        return self.kept.create(owner, name, conversation_ids, int(time.time()))

    def open_studies(self, owner: str) -> tuple[Study, ...]:
        """Return the owner's studies that take more answers, newest first: those of which `add` raises nothing."""
        known = self.kept.list(owner)
        return tuple(one for one in known if one.state is StudyState.OPEN and not self._takes_no_more(owner, one))

    def create_of(self, owner: str, conversation_id: str, turn_id: str = "") -> Study:
        """Make a study of one turn, or of the whole conversation, named after what was asked."""
        conversation = self._conversations.get(owner, conversation_id)
        asked = next((turn.question for turn in conversation.turns if turn.id == turn_id), "")
        title = (" ".join(asked.split()) or conversation.title or "Study")[:LONGEST_NAME]
        studies = self.kept.list(owner)
        taken = {study.name for study in studies}
        numbered = (title if n == 1 else f"{title} ({n})" for n in count(1))
        name = next(name for name in numbered if name not in taken)
        return self.kept.create(owner, name, [conversation_id], len(studies), only=turn_id)

    def add(self, owner: str, study_id: str, turn_id: str) -> Study:
        """Add a turn to a study and return it. Raises UsageError if everybody has finished, or no turn fits into it."""
        if why := self._takes_no_more(owner, self._require_open(owner, study_id)):
            raise UsageError(f"{why}, so it takes no more answers.", "Make a new one.")
        return self.kept.add_turn(owner, study_id, turn_id)

    def _takes_no_more(self, owner: str, study: Study) -> str:
        if self.rosters.follows(study.id):
            return "In this study everybody rates their own conversations"
        if study.preset == PAIRWISE:
            return "This study compares answers in pairs"
        return "Everybody has finished this study" if self.standing(owner, study.id).open_to("") else ""

    def _require_open(self, owner: str, study_id: str) -> Study:
        study = self.kept.get(owner, study_id)
        if study.state is not StudyState.OPEN:
            raise UsageError(f"“{study.name}” is {study.state}: nothing can be rated in it.", "Open it again first.")
        return study

    # ------------------------------------------------------------ what it asks whom about what, for its owner

    def of_conversations(
        self, owner: str, name: str, conversation_ids: Sequence[str], preset: str = DEFAULT_PRESET, names: str = ""
    ) -> Study:
        """Make a study of all turns of these conversations; `names` are those who may rate (empty: anybody)."""
        preset_named(preset)
        if preset == PAIRWISE:
            raise UsageError("A turn has one answer, a pair needs two.", "Give two files of generated answers.")
        study = self.create(owner, name, conversation_ids)
        return self._defined(owner, study, preset, listed_names(names))

    def of_files(self, owner: str, name: str, source: Source, preset: str = "answers", names: str = "") -> Study:
        """Make a study of generated answers; `names` as above. Raises UsageError that names file and row."""
        preset_named(preset)
        return self.of_items(
            owner, name, source.items(), n=source.n, seed=source.seed, by=source.by, preset=preset, names=names
        )

    def of_items(
        self,
        owner: str,
        name: str,
        items: Sequence[GeneratedItem],
        *,
        n: int = 0,
        seed: int = 0,
        by: str = "",
        preset: str = "answers",
        names: str = "",
    ) -> Study:
        """Make a study of answers, `n` of them drawn with `seed` (0: all); `by`, `names` as above."""
        preset_named(preset)
        if preset == PAIRWISE:
            items = pairs(items, seed)
        items = draw(items, n, seed, by)
        copy = study_of(name, items, seed=seed, find=lambda one: self._found(owner, one))
        return self._defined(owner, self.kept.put(owner, copy), preset, listed_names(names))

    def _defined(self, owner: str, study: Study, preset: str, names: Sequence[str]) -> Study:
        chosen = preset_named(preset)
        self.changes.invite(owner, study.id, names)
        return self.changes.change(
            owner,
            study.id,
            preset=preset,
            criteria=with_keys(chosen.criteria),
            guideline=chosen.guideline,
            invited=bool(names),
        )

    def _found(self, owner: str, gold: GoldPassage) -> GoldPassage:
        """Return a gold passage with its document, and its page's text where it has none of its own."""
        wanted = Path(gold.filename).stem.casefold()
        found = [one for one in self._documents.kept.list(owner) if one.state.usable]
        same = [one for one in found if Path(one.filename).stem.casefold() == wanted] if wanted else found
        if len(same) != 1:
            return gold
        document, text = same[0], gold.text
        if not text and 0 < gold.page <= document.page_count:
            try:
                text = self._documents.kept.page(owner, document.id, document.extractor, gold.page).text
            except PdfQAError:
                text = ""
        return GoldPassage(text, document.filename, gold.page, document.id)

    def define(self, owner: str, study_id: str, criteria: Sequence[Criterion]) -> Study:
        """Give a study other criteria. Raises UsageError where somebody has rated by one of them already."""
        found = self.rated(owner, study_id)
        said = self.kept.rated_criteria(study_id)
        check_change(found.criteria, criteria, said)
        return self.changes.change(owner, study_id, criteria=with_keys(criteria))

    def items(self, owner: str, study_id: str) -> tuple[StudyTurn, ...]:
        """Return the items of a study."""
        return self.kept.turns(owner, self.kept.get(owner, study_id).id)

    def plant(
        self, owner: str, study_id: str, turn_id: str, role: str, expected: dict[str, str], explanation: str
    ) -> ItemRole:
        """Make an item a training item (shown first, explained after) or a check item (its right values are known).

        `expected` are right values by criterion. An empty `role` makes it an item like others. Raises UsageError for a
        value that is not on the scale.
        """
        if role not in set(ItemRole):
            raise UsageError(f"{role!r} is no kind of item.", "Choose training or check.")
        criteria = {one.name: one for one in self.criteria_of(self.kept.get(owner, study_id))}
        for name, value in expected.items():
            asked = criteria.get(name.partition("#")[0])
            if asked is None or (asked.scale and value not in asked.scale):
                choices = ", ".join(asked.scale) if asked else "no such criterion"
                raise UsageError(f"{value!r} is no value of {name!r}: {choices}.")
        if role == ItemRole.CHECK and not expected:
            raise UsageError("A check item needs a right value.", "Say what the right value is.")
        item = next((one for one in self.items(owner, study_id) if one.turn.id == turn_id), None)
        if item is None:
            raise UsageError("There is no such item in this study.", "Open the study again.")
        known = expected if role else {}
        details = replace(item.details, role=ItemRole(role), expected=known, explanation=explanation.strip())
        self.changes.describe(owner, study_id, turn_id, details)
        return details.role

    def people(self, owner: str, study_id: str) -> tuple[Annotator, ...]:
        """Return who was invited or signed in, also those who were taken out."""
        return self.kept.people(self.kept.get(owner, study_id).id)

    def invite(self, owner: str, study_id: str, names: str) -> tuple[str, ...]:
        """Let people rate, by names parted by commas; from then on nobody else can sign in. Return who is new."""
        wanted = listed_names(names)
        if not wanted:
            raise UsageError("Write the names of those who rate.", "Ada, Ben")
        added = self.changes.invite(owner, study_id, wanted)
        self.changes.change(owner, study_id, invited=True)
        return added

    def remove_annotator(self, owner: str, study_id: str, name: str) -> int:
        """Take somebody out; return how many ratings do not count any more. They come back with `invite`."""
        count = self.changes.remove(owner, study_id, name)
        self.look_if_open(owner, study_id)
        return count

    # ------------------------------------------------------------ rating

    def sign_in(self, owner: str, study_id: str, name: str) -> str:
        """Return the annotator's name as it was first spelled. Raises UsageError for names that cannot be."""
        if not study_id:
            raise UsageError("There is no study to rate yet.", "Make one below under “New study”.")
        study = self.kept.get(owner, study_id)
        self.check_name(owner, study_id, name)
        if study.state is not StudyState.OPEN and name not in self.kept.annotators(study_id):
            self._require_open(owner, study_id)
        return self.kept.sign_in(study.id, name)

    def page_owner(self, owner: str, study_id: str) -> str:
        """Return whose documents the pages of a study's passages are, for somebody who may read the study."""
        study, seat = self.kept.get(owner, study_id), self.kept.seat(owner)
        return seat.owner if seat is not None and seat.study_id == study.id else owner

    def item(self, owner: str, study_id: str, annotator: str, turn_id: str) -> RatingItem:
        """Return an item of the study for its annotator, no item if there is no such turn."""
        study, queue, skipped = self._own(owner, study_id, annotator)
        criteria = self.criteria_of(study)
        step = self._queues.step(study, annotator, queue, skipped)
        if turn_id not in queue:
            return RatingItem(None, {}, step.done, step, "", criteria, seen=self.kept.last_id(study_id, annotator))
        (item,) = self.kept.turns(owner, study_id, turn_id)
        given = annotation.by_annotator(self.kept.own_ratings(study_id, annotator, turn_id)).get(annotator, {})
        counting = annotation.by_annotator(self.kept.ratings(study_id, annotator, turn_id)).get(annotator, {})
        kept = given.get((turn_id, annotation.commented(criteria).name))
        parts = annotation.needed(item.turn, criteria)
        submitted = bool(parts) and all(part.key in counting for part in parts)
        return RatingItem(
            item,
            given,
            queue.index(turn_id) + 1,
            step,
            kept.comment if kept else "",
            criteria,
            self.kept.earlier(owner, turn_id),
            {
                key: counting[key].value
                for key, one in given.items()
                if one.revision and key in counting and counting[key].value != one.value
            },
            any(rating.draft for rating in given.values()),
            submitted,
            skipped.get(turn_id, ""),
            self.kept.last_id(study_id, annotator),
            study.guideline,
            submitted and not self._is_correction(study, annotator, turn_id),
        )

    def next(self, owner: str, study_id: str, annotator: str, after: str = "") -> str:
        """Return the next turn that the annotator has not submitted, behind `after` first; empty if there is none."""
        study, queue, skipped = self._own(owner, study_id, annotator)
        done = self._queues.finished(study, {annotator: queue})[annotator]
        return annotation.next_open(queue, {*done, *skipped}, after)

    def neighbour(self, owner: str, study_id: str, annotator: str, turn_id: str, by: int) -> str:
        """Return the turn so many places further in the annotator's order; from no turn the last."""
        queue = self._own(owner, study_id, annotator)[1]
        return queue[(queue.index(turn_id) + by) % len(queue)] if turn_id in queue else (queue or ("",))[-1]

    def save(
        self,
        owner: str,
        study_id: str,
        annotator: str,
        turn_id: str,
        values: Mapping[tuple[str, str], str],
        *,
        comment: str = "",
        seconds: float = 0.0,
        draft: bool = False,
        seen: int | None = None,
    ) -> datetime:
        """Save values by item and criterion; return when. The comment goes with the rating that keeps comments.

        A draft counts once the item is submitted. `seen` is that of the RatingItem on the screen. Raises UsageError for
        an item that is not part of the turn, a value off the scale, an annotator unknown here, a study that is not
        open, and ConflictError where another window of the same annotator gave one of them another value.
        """
        if turn_id not in self._own(owner, study_id, annotator)[1] or not annotator:
            raise UsageError("No item is open.", "Sign in, then press “next unrated”.")
        (item,) = self.kept.turns(owner, study_id, turn_id)
        study, now = self._require_open(owner, study_id), datetime.now(UTC)
        ratings = annotation.form_ratings(
            study_id,
            item.turn,
            annotator,
            values,
            self.criteria_of(study),
            rated_at=now,
            comment=comment.strip(),
            seconds=seconds,
            draft=draft,
        )
        self.kept.save_ratings(ratings if draft else self._revised(study, annotator, ratings), seen=seen)
        return now

    def _is_correction(self, study: Study, annotator: str, turn_id: str) -> bool:
        """Return whether submitting a turn again corrects it: the one submitted last, while no agreement is seen."""
        return study.revealed_at is None and self.kept.progress.submitted_last(study.id, annotator) == turn_id

    def _revised(self, study: Study, annotator: str, new: Sequence[Rating]) -> tuple[Rating, ...]:
        """Return ratings that are to count; what changes a first value is marked as a revision.

        The item that was submitted last can be corrected until the next one is, or agreement can be seen. A comment
        alone changes no value: until agreement can be seen it takes the place of the one before.
        """
        turn_ids = {one.turn_id for one in new}
        only = next(iter(turn_ids)) if len(turn_ids) == 1 else ""
        if only and self._is_correction(study, annotator, only):
            return tuple(new)
        first = annotation.by_annotator(self.kept.ratings(study.id, annotator, only)).get(annotator, {})
        said = self.kept.own_ratings(study.id, annotator, only, drafts=False)
        last = annotation.by_annotator(said).get(annotator, {})
        found = []
        for one in new:
            key = one.item_id, one.criterion
            before = first.get(key)
            if before is None:
                found.append(one)
            elif study.revealed_at is None and one.value == before.value == last[key].value:
                found.append(replace(one, seconds=before.seconds, rated_at=before.rated_at))
            else:
                found.append(replace(one, revision=True))
        return tuple(found)

    def take(self, owner: str, study_id: str, ratings: Sequence[Rating], sign_in: Sequence[str] = ()) -> None:
        """Save ratings that were made elsewhere, all or none; those that say nothing new are left out.

        `sign_in` are annotators who are not in the study yet. Raises UsageError as `save`.
        """
        study = self._require_open(owner, study_id)
        counting = annotation.by_annotator(self.kept.ratings(study_id))
        by_name: dict[str, list[Rating]] = {}
        for one in ratings:
            before = counting.get(one.annotator, {}).get((one.item_id, one.criterion))
            if before is None or before.value != one.value or one.comment not in ("", before.comment):
                by_name.setdefault(one.annotator, []).append(one)
        new = [one for name, own in by_name.items() for one in self._revised(study, name, own)]
        self.kept.save_ratings(new, sign_in=sign_in)
        self.look_if_open(owner, study_id)

    def save_rest(
        self,
        owner: str,
        study_id: str,
        annotator: str,
        turn_id: str,
        criterion: str,
        *,
        seconds: float = 0.0,
        draft: bool = False,
    ) -> datetime:
        """Give the last value of a criterion's scale to all passages of the turn that have none yet; return when."""
        shown = self.item(owner, study_id, annotator, turn_id)
        parts = annotation.judged(shown.item.turn, shown.criteria) if shown.item else ()
        values = {
            part.key: part.criterion.scale[-1]
            for part in parts
            if part.criterion.name == criterion and part.key not in shown.given
        }
        return self.save(owner, study_id, annotator, turn_id, values, seconds=seconds, draft=draft)

    def save_comment(
        self,
        owner: str,
        study_id: str,
        annotator: str,
        turn_id: str,
        comment: str,
        *,
        seconds: float = 0.0,
        draft: bool = False,
    ) -> datetime | None:
        """Save a comment that has changed with the rating that keeps it; return when, None if nothing was saved.

        Without that rating it waits in the form.
        """
        key, own = self._commented(owner, study_id, annotator, turn_id)
        if own is None or own.comment == comment.strip():
            return None
        values = {key: own.value}
        return self.save(
            owner, study_id, annotator, turn_id, values, comment=comment, seconds=seconds, draft=draft or own.draft
        )

    def check_comment(self, owner: str, study_id: str, annotator: str, turn_id: str, comment: str) -> None:
        """Raise UsageError if leaving the item would lose its comment: there is no rating yet to keep it with."""
        if not turn_id or not comment.strip():
            return
        key, own = self._commented(owner, study_id, annotator, turn_id)
        if own is None:
            criteria = self.criteria_of(self.kept.get(owner, study_id))
            criterion = next(one for one in criteria if one.name == key[1])
            raise UsageError(
                f"The comment is not saved yet, because it is kept with the {criterion.name}'s rating.",
                f"Choose {' or '.join(criterion.labels)} first, or empty the comment.",
            )

    def _commented(
        self, owner: str, study_id: str, annotator: str, turn_id: str
    ) -> tuple[tuple[str, str], Rating | None]:
        self.check_name(owner, study_id, annotator)
        key = (turn_id, annotation.commented(self.criteria_of(self.kept.get(owner, study_id))).name)
        given = annotation.by_annotator(self.kept.own_ratings(study_id, annotator, turn_id)).get(annotator, {})
        return key, given.get(key)

    def submit(self, owner: str, study_id: str, annotator: str, turn_id: str, *, seconds: float = 0.0) -> bool:
        """Make what an annotator has said of an item count; return whether the item is finished with that.

        While something of it is still open nothing is submitted. After agreement could be seen, what differs from
        before is kept as a revision.
        """
        shown = self.item(owner, study_id, annotator, turn_id)
        if shown.item is None or any(
            part.key not in shown.given for part in annotation.needed(shown.item.turn, shown.criteria)
        ):
            return False
        study, now = self._require_open(owner, study_id), datetime.now(UTC)
        drafts = [one for one in shown.given.values() if one.turn_id == turn_id and one.draft]
        final = [replace(one, draft=False, rated_at=now, seconds=seconds or one.seconds) for one in drafts]
        if final:
            self.kept.save_ratings(self._revised(study, annotator, final))
            if shown.progress.done == shown.progress.total:
                self.look_if_open(owner, study_id)
        return True

    def skip(
        self, owner: str, study_id: str, annotator: str, turn_id: str, reason: str, *, seconds: float = 0.0
    ) -> None:
        """Note that an annotator cannot judge an item: it counts as finished and has no value. Raises UsageError."""
        self._require_open(owner, study_id)
        shown = self.item(owner, study_id, annotator, turn_id)
        if shown.item is None:
            raise UsageError("No item is open.", "Sign in, then press “next unrated”.")
        if shown.submitted:
            raise UsageError("You have submitted this item already.", "Change its ratings instead.")
        if not reason.strip():
            raise UsageError("Say why it cannot be judged.")
        self.kept.skip(Skip(study_id, turn_id, annotator, reason.strip(), seconds, datetime.now(UTC)))
        if shown.progress.done + 1 >= shown.progress.total:
            self.look_if_open(owner, study_id)

    def look_if_open(self, owner: str, study_id: str) -> None:
        """Note it if everybody has finished: from then on a change is a revision."""
        found = self.standing(owner, study_id)
        if found.study.revealed_at is None and found.open_to(""):
            self.kept.reveal(study_id)

    # ------------------------------------------------------------ results

    def standing(self, owner: str, study_id: str) -> Standing:
        """Return how far everybody is, and who may see what; quick, for nothing that was said is read."""
        study = self.kept.get(owner, study_id)
        if self.rosters.follows(study_id):
            return self.rated(owner, study_id).standing
        progress = self._queues.progress(study)
        return self._standing(owner, study, progress)

    def _standing(self, owner: str, study: Study, progress: Mapping[str, AnnotationProgress]) -> Standing:
        seat = self.kept.seat(owner)
        closed = {name for name in progress if seat is None and self.kept.came_by_link(study.id, name)}
        return Standing(study, progress, seat, frozenset(closed))

    def rated(self, owner: str, study_id: str) -> RatedStudy:
        """Return a study with everything that was said of it; who may see what its methods tell.

        What was read last is kept, and read anew once something has changed.
        """
        study = self.kept.get(owner, study_id)
        stamp = (
            owner,
            study,
            self.kept.people(study_id),
            self.kept.progress.stamp(study_id),
            self.kept.progress.planted(study_id),
            self.rosters.held(study_id),
        )
        kept = self._read_last
        if kept is None or kept[0] != stamp:
            kept = self._read_last = (stamp, self._read(owner, study))
        standing = self._standing(owner, study, kept[1].standing.progress)
        return replace(kept[1], standing=standing)

    def _read(self, owner: str, study: Study) -> RatedStudy:
        turns, ratings = self.kept.turns(owner, study.id), self.kept.ratings(study.id)
        given, plain = annotation.by_annotator(ratings), [one.turn for one in turns]
        criteria, skipped = self.criteria_of(study), self._queues.skipped(study.id)
        progress = {
            name: annotation.progress(plain, given.get(name, {}), criteria, skipped.get(name, ()))
            for name in self.kept.annotators(study.id)
        }
        roster = self.rosters.find(owner, study, turns)
        if roster is not None:
            progress |= self.rosters.progress(roster, turns, given, criteria, skipped)
        return RatedStudy(
            Standing(study, progress),
            turns,
            ratings,
            self.kept.adjudications(study.id),
            criteria,
            self.kept.revisions(study.id),
            self.kept.skips(study.id),
            roster,
        )

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
        if found.open_to(viewer):
            rows = rating_rows(found.study, found.turns, ratings, found.adjudications, found.revisions)
        else:  # nothing that was agreed on, and nothing that tells which system answered
            revised = [one for one in found.revisions if one.annotator == viewer]
            rows = tuple(map(blinded, rating_rows(found.study, found.turns, ratings, (), revised)))
        filename = file_name("ratings", found.study.name, FORMATS[kind])
        return RatingsFile(filename, write_ratings(rows, kind), len(rows))

    def _own(self, owner: str, study_id: str, annotator: str) -> tuple[Study, tuple[str, ...], dict[str, str]]:
        """Return a study, the turns that the annotator rates in their order, and what they skipped, with why."""
        self.check_name(owner, study_id, annotator)
        study = self.kept.get(owner, study_id)
        skipped = {one.turn_id: one.reason for one in self.kept.skips(study_id) if one.annotator == annotator}
        return study, self._queues.of(study, annotator), skipped

    def check_name(self, owner: str, study_id: str, name: str) -> None:
        """Raise UsageError unless this name is for whoever asks: who is invited has theirs, and nobody else has it."""
        seat = self.kept.seat(owner)
        if seat is None and owner.startswith(SEAT):
            raise UsageError(*OVER)
        if seat is not None and name != own_name(seat):
            raise UsageError(f"You were invited as “{seat.name}”.", "Open the link that you were sent once more.")
        if seat is None and name and self.kept.came_by_link(study_id, name):
            raise UsageError(f"“{name}” was invited and comes in by their own link.", "Sign in under another name.")
