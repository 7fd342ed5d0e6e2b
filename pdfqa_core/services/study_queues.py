"""In which order somebody rates the items of a study, which of them are finished, and how far everybody is."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from pdfqa_core.protocols import annotation
from pdfqa_core.protocols.annotation import AnnotationProgress
from pdfqa_core.services.rosters import Rosters
from pdfqa_core.storage.studies import Studies
from pdfqa_core.study_types import Criterion, ItemRole, Study


class Queues:
    """Orders and counts; answers are not read for it. `criteria` are asked where a study does not say what it asks."""

    def __init__(self, studies: Studies, criteria: Sequence[Criterion], rosters: Rosters | None = None) -> None:
        self._studies = studies
        self._criteria = tuple(criteria)
        self._rosters = rosters

    def of(self, study: Study, annotator: str) -> tuple[str, ...]:
        """Return the ids of the turns that an annotator rates, in their order."""
        if self._rosters is not None and self._rosters.follows(study.id):
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
            name: annotation.progress_of(done[name], len(skipped.get(name, set()) - done[name].keys()),
                                         len(study.turn_ids))
            for name in names
        }  # fmt: skip
