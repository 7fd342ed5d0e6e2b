"""What the ratings of a study show: result tables, for the page and as files, for those who may see them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from pdfqa_core.errors import UsageError
from pdfqa_core.exports import figure
from pdfqa_core.exports.agreement import (
    agreement_figure,
    agreement_frame,
    agreement_html,
    agreement_latex,
    measures_frame,
    measures_latex,
)
from pdfqa_core.exports.frames import FORMATS, write_frame
from pdfqa_core.exports.studies import (
    RatingsFile,
    results_figure,
    results_frame,
    results_latex,
    results_panels,
)
from pdfqa_core.metrics.against_people import Trust
from pdfqa_core.metrics.agreement import Agreement, AgreementOfMany
from pdfqa_core.metrics.human_results import ResultRow
from pdfqa_core.protocols.annotation import AnnotationProgress, Judged, agreement_table, by_annotator, judged
from pdfqa_core.protocols.study_measures import (
    ERROR_CATEGORIES,
    OWN,
    Disagreement,
    Scores,
    disagreements,
    own_scores,
    people_say,
    result_rows,
    study_agreement,
    study_measures,
    titles,
    with_others,
)
from pdfqa_core.storage import StudyTurn
from pdfqa_core.study_types import Adjudication, AppliesTo, Criterion, ItemRole, Role
from pdfqa_core.types import Turn

if TYPE_CHECKING:
    from pdfqa_core.services.studies import RatedStudy, StudyService

# ----------------------------------------------------------------------------------------------------
# Adjudication: what is agreed on afterwards where annotators differ. Names stay hidden while it is decided.

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


def _said(one: Disagreement) -> tuple[tuple[str, int, tuple[str, ...]], ...]:
    scale = one.judged.criterion.scale
    values = sorted(set(one.values), key=lambda value: scale.index(value) if value in scale else len(scale))
    return tuple(
        (
            value,
            one.values.count(value),
            tuple(sorted(c for v, c in zip(one.values, one.comments, strict=True) if v == value and c)),
        )
        for value in values
    )


# ----------------------------------------------------------------------------------------------------
# What the ratings of a study show: result tables, for the page and as files, for those who may see them.

T = TypeVar("T")


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


# By report and form: how files end.
_FIGURES = {kind: kind for kind in figure.FORMATS}
REPORTS: Mapping[str, Mapping[str, str]] = {
    "results": {**FORMATS, **_FIGURES},
    "agreement": {**FORMATS, "html": "html", **_FIGURES},
}
HIDDEN = "The results can be seen once two people or more have signed in and rated everything."
_KEPT = 32  # tables of studies that are remembered


class StudyReports:
    """What the ratings of studies show, and what is decided about them; kept until a rating changes.

    Methods raise UsageError where the study is not the owner's, or its ratings are not open to the viewer yet (see
    `RatedStudy.open_to`); a `viewer` of None is the owner at the command line.
    """

    def __init__(self, studies: StudyService) -> None:
        self._studies = studies
        self._kept: dict[tuple[str, str], tuple[object, object]] = {}
        self._lock = threading.Lock()

    def open_to(self, owner: str, study_id: str, viewer: str | None) -> bool:
        """Return whether the viewer may see the reports."""
        return self._studies.standing(owner, study_id).open_to(viewer)

    def summary(self, owner: str, study_id: str, viewer: str) -> StudyResults:
        """Return the progress of each annotator, and the agreement of two of them if the viewer may see it.

        `viewer` is an annotator, who is one of the two, or empty. Disagreements are those of all.
        """
        standing = self._studies.standing(owner, study_id)
        if not standing.open_to(viewer):
            return StudyResults(tuple(standing.progress.items()), standing.waiting)
        whole = self.opened(owner, study_id, viewer)
        found = whole.counted
        names, steps = list(found.given), tuple(found.progress.items())
        if len(names) < 2:
            return StudyResults(steps, ())
        pair = (names[0], viewer if viewer in names[1:] else names[1])
        rows = {row.criterion: row for one in self._agreed(found) for row in one.pairs if row.annotators == pair}
        criteria = [one for one in found.criteria if not one.is_text]
        nobody = agreement_table({}, {}, criteria, annotators=pair, conversations={})  # under which nobody rated
        label = {one.name: one.label for one in criteria}
        table = tuple(
            replace(row, labels=tuple(map(label[row.criterion], row.labels)))
            for row in (rows.get(one.criterion, one) for one in nobody)
        )
        return StudyResults(steps, (), table, _differing(found), _checks(whole))

    def results(self, owner: str, study_id: str, viewer: str | None) -> tuple[ResultRow, ...]:
        """Return accuracy and HR@k by rater, turn, intent and conversation."""
        found = self.opened(owner, study_id, viewer).counted
        return self._remembered("results", found, lambda: self._results(found))

    def agreement(self, owner: str, study_id: str, viewer: str | None) -> tuple[AgreementOfMany, ...]:
        """Return the agreement under each criterion; empty where fewer than two have rated."""
        return self._agreed(self.opened(owner, study_id, viewer).counted)

    def answers(self, owner: str, study_id: str, viewer: str | None) -> tuple[Turn, ...]:
        """Return the answers that are measured."""
        return tuple(one.turn for one in self.opened(owner, study_id, viewer).counted.turns)

    def measures(
        self,
        owner: str,
        study_id: str,
        viewer: str | None,
        more: Scores | None = None,
    ) -> tuple[Trust, ...]:
        """Return what measures of the answers are worth beside people: what the program says of them, and `more`.

        `more` are scores by measure and item, an item being the id of a turn.
        """
        found = self.opened(owner, study_id, viewer).counted
        answers = next(
            (one for one in found.criteria if {*one.scale} == {"0", "1"} and one.applies_to is AppliesTo.ANSWER), None
        )
        if answers is None:
            raise UsageError("No criterion says whether an answer is correct.", "Add one with the values 1 and 0.")
        turns = [one.turn for one in found.turns]
        labels = people_say(turns, by_annotator(found.ratings), answers.name, found.adjudications)
        scores: dict[str, dict[str, float | None]] = {}
        for turn in turns:
            for name, value in own_scores(turn.answer).items():
                scores.setdefault(name, {})[turn.id] = value
        scores = {name: values for name, values in scores.items() if any(one is not None for one in values.values())}
        talks = {one.turn.id: one.conversation_id for one in found.turns}
        return study_measures(labels, {**scores, **(more or {})}, talks)

    def dispute(self, owner: str, study_id: str, viewer: str | None, turn_id: str) -> DisputedItem:
        """Return an item with what annotators differ on in it. Raises UsageError if there is no such item."""
        found = self.opened(owner, study_id, viewer, CLOSED).counted
        item = next((one for one in found.turns if one.turn.id == turn_id), None)
        if item is None:
            raise UsageError("There is no such item in this study.", "Open the study again.")
        all_of_them = _differing(found)
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
        self,
        owner: str,
        study_id: str,
        viewer: str | None,
        item_id: str,
        criterion: str,
        value: str,
        *,
        reason: str = "",
        category: str = "",
        decided_by: str = "",
    ) -> Adjudication:
        """Save what was agreed on; of several decisions the last counts, all are kept. Raises UsageError.

        `decided_by` names a third person, or both ("Ada and Ben").
        """
        seat = self._studies.standing(owner, study_id).seat
        if seat is not None and seat.role is Role.VIEWER:
            raise UsageError("You were invited to look at the results, so you decide nothing here.", "Ask the owner.")
        shown = self.dispute(owner, study_id, viewer, item_id.partition("#")[0])
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
        self._studies.changes.adjudicate(made)
        return made

    def measures_file(self, owner: str, study_id: str, trust: Sequence[Trust], kind: str) -> RatingsFile:
        """Return measures against people as a file; `kind` is one of FORMATS."""
        study = self._studies.kept.get(owner, study_id).name
        data = measures_latex(study, trust, OWN) if kind == "latex" else write_frame(measures_frame(trust), kind)
        return RatingsFile(file_name("measures", study, FORMATS[kind]), data, len(trust))

    def charts(self, owner: str, study_id: str, viewer: str | None) -> tuple[tuple[str, str], ...]:
        """Return the charts of the results, each with its title, as SVG for a page."""
        found, rows = self.opened(owner, study_id, viewer).counted, self.results(owner, study_id, viewer)
        return self._remembered("charts", found, lambda: results_panels(rows))

    def file(self, owner: str, study_id: str, report: str, kind: str, viewer: str | None) -> RatingsFile:
        """Return a report as a file; `report` and `kind` are keys of REPORTS."""
        forms = REPORTS.get(report, {})
        if kind not in forms:
            raise UsageError(f"The {report} have no {kind} form.", f"Use one of: {', '.join(forms)}.")
        study = self.opened(owner, study_id, viewer).study.name
        if report == "results":
            rows = self.results(owner, study_id, viewer)
            data, count = _results_file(rows, study, kind), len(rows)
        else:
            found = self.agreement(owner, study_id, viewer)
            data, count = _agreement_file(found, study, kind), len(found)
        return RatingsFile(file_name(report, study, forms[kind]), data, count)

    def _agreed(self, found: RatedStudy) -> tuple[AgreementOfMany, ...]:
        talks = {one.turn.id: one.conversation_id for one in found.turns}
        criteria = with_others(found.criteria, found.ratings)
        return self._remembered("agreement", found, lambda: study_agreement(found.given, criteria, talks))

    def _results(self, found: RatedStudy) -> tuple[ResultRow, ...]:
        names = titles([(one.conversation_id, one.conversation_title) for one in found.turns])
        turns = [(names[one.conversation_id], one.turn) for one in found.turns]
        by_name = by_annotator(found.ratings)
        given = {name: by_name.get(name, {}) for name in found.progress}
        own = (
            {}
            if found.roster is None
            else {
                name: {turn.id for one in found.roster.of(name) for turn in one.turns}
                for name in found.roster.plan.evaluators
            }
        )
        details = {one.turn.id: one.details for one in found.turns}
        return result_rows(turns, given, found.criteria, found.adjudications, assigned=own, details=details)

    def opened(self, owner: str, study_id: str, viewer: str | None, hidden: str = HIDDEN) -> RatedStudy:
        """Return a study whose ratings the viewer may see. Raises UsageError with the words of `hidden` before."""
        standing = self._studies.standing(owner, study_id)
        if not standing.open_to(viewer):
            raise UsageError(hidden, "Wait for: " + ", ".join(standing.waiting) if standing.waiting else "")
        if viewer is not None and standing.study.revealed_at is None:
            self._studies.look_if_open(owner, study_id)
        return self._studies.rated(owner, study_id)

    def _remembered(self, what: str, found: RatedStudy, compute: Callable[[], T]) -> T:
        """Return what `compute` makes of a study, computed anew only where the study has changed."""
        turns = tuple(one.turn.id for one in found.turns)
        state = (turns, found.criteria, tuple(found.progress), found.ratings, found.adjudications)
        with self._lock:
            kept = self._kept.pop((what, found.study.id), None)
            value = kept[1] if kept is not None and kept[0] == state else compute()
            self._kept[what, found.study.id] = (state, value)
            while len(self._kept) > _KEPT:
                del self._kept[next(iter(self._kept))]
        return value  # type: ignore[return-value]


def _checks(found: RatedStudy) -> tuple[tuple[str, int, int], ...]:
    """Return how many values of check items each annotator got right, and how many were asked."""
    right = {
        part.key: value
        for one in found.turns
        if one.details.role is ItemRole.CHECK
        for part in judged(one.turn, found.criteria)
        if (
            value := one.details.expected.get(
                f"{part.criterion.name}#{part.rank}" if part.rank else part.criterion.name
            )
        )
    }
    if not right:
        return ()
    by_name = by_annotator(found.ratings)
    return tuple(
        (name, sum(key in given and given[key].value == value for key, value in right.items()), len(right))
        for name in found.progress
        for given in [by_name.get(name, {})]
    )


def _differing(found: RatedStudy) -> tuple[Disagreement, ...]:
    return disagreements([one.turn for one in found.turns], found.given, found.criteria)


def _results_file(rows: Sequence[ResultRow], study: str, kind: str) -> bytes:
    if kind in figure.FORMATS:
        return results_figure(rows, study, kind)
    if kind == "latex":
        return results_latex(rows, study)
    return write_frame(results_frame(rows), kind)


def _agreement_file(found: Sequence[AgreementOfMany], study: str, kind: str) -> bytes:
    pairs = [pair for one in found for pair in one.pairs]
    many = [one for one in found if len(one.annotators) > 2]
    if kind in figure.FORMATS:
        return agreement_figure(study, pairs, kind)
    if kind == "latex":
        return agreement_latex(study, pairs, many)
    if kind == "html":
        return agreement_html(study, datetime.now(UTC), pairs, many)
    return write_frame(agreement_frame(pairs, found), kind)


def file_name(what: str, study: str, suffix: str) -> str:
    """Return what a file of a study is called: "results-Pilot.csv"."""
    name = "".join(c if c.isalnum() else "-" for c in study).strip("-") or "study"
    return f"{what}-{name}.{suffix}"
