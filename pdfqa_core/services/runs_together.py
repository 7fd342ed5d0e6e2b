"""Stored runs beside each other: the systems of several runs on the same data, as one evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import Evaluation, Prediction, Run, RunSummary, ScoredSystem
from pdfqa_core.storage.runs import Runs


class RunsTogether:
    """Compares the runs of each owner. Methods raise UsageError where the owner has no such run, and StorageError."""

    def __init__(self, store: Runs) -> None:
        self._store = store

    def comparable(self, owner: str, run_id: str) -> tuple[RunSummary, ...]:
        """Return the owner's other runs that are scored by the same protocol on the same data, newest first."""
        mine = self._store.plan(owner, run_id)
        return tuple(
            one for one in self._store.list(owner)
            if one.id != run_id and one.protocol == mine.protocol and one.scored
            and self._store.plan(owner, one.id).data_hash == mine.data_hash
        )  # fmt: skip

    def evaluation(self, owner: str, run_ids: Sequence[str]) -> Evaluation:
        """Return the scores of runs as one evaluation; see `together`."""
        return together([self._store.get(owner, one) for one in run_ids])

    def predictions(self, owner: str, run_ids: Sequence[str]) -> dict[tuple[str, str], Prediction]:
        """Return what was predicted in runs, by system, as `evaluation` names it, and item."""
        runs = [self._store.get(owner, one) for one in run_ids]
        names = _names(runs)
        return {
            (names[run.id, system], item): one
            for run in runs for (system, item), one in self._store.predictions(owner, run.id).items()
        }  # fmt: skip


def together(runs: Sequence[Run]) -> Evaluation:
    """Return the scores of runs on the same data as one evaluation; of one run its own.

    Systems are named by their runs too, where there are several. Kept are the questions and the measures that all runs
    have; a note says what is left out. Raises UsageError where a run has no scores, they are of different data or
    protocols, or they have no question or no measure in common.
    """
    scored = [(run, run.results) for run in runs if run.results is not None]
    if not scored or len(scored) < len(runs):
        missing = next((run.name for run in runs if run.results is None), "")
        raise UsageError(f"“{missing}” has no scores yet." if missing else "No run is chosen.", "Let it finish.")
    first, found = scored[0]
    if len(scored) == 1:
        return found
    for run, _ in scored[1:]:
        if (run.plan.protocol, run.plan.data_hash) != (first.plan.protocol, first.plan.data_hash):
            raise UsageError(
                f"“{first.name}” and “{run.name}” are of different questions or protocols.",
                "Compare runs on the same file.",
            )
    results = [one for _, one in scored]
    names, notes = _names(runs), [note for one in results for note in one.notes]
    measures = tuple(name for name in found.measures if all(name in one.measures for one in results))
    ids = [{item.id for item in one.systems[0].items} for one in results]
    shared = set.intersection(*ids)
    if not measures or not shared:
        what = "measure" if shared else "question"
        raise UsageError(f"“{first.name}” and the others have no {what} in common.", "Run them on the same questions.")
    if left := dict.fromkeys(name for one in results for name in one.measures if name not in measures):
        notes.append(f"Not measured in every run, so not shown: {', '.join(left)}.")
    if any(len(one) > len(shared) for one in ids):
        notes.append(f"Compared on the {len(shared)} questions that all runs have.")
    systems = tuple(
        _kept(system, names[run.id, system.name], shared) for run, one in scored for system in one.systems
    )  # fmt: skip
    order = {item.id: place for place, item in enumerate(systems[0].items)}
    systems = tuple(replace(one, items=tuple(sorted(one.items, key=lambda item: order[item.id]))) for one in systems)
    settings = dict(found.settings)
    for run, one in scored[1:]:
        for key, value in one.settings.items():
            if settings.setdefault(key, value) != value:
                settings[f"{key} ({run.name})"] = value
    versions: Mapping[str, str] = {key: value for one in reversed(results) for key, value in one.versions.items()}
    return replace(
        found, measures=measures, systems=systems, notes=tuple(dict.fromkeys(notes)), settings=settings,
        versions=versions, id="",
    )  # fmt: skip


def _kept(system: ScoredSystem, name: str, ids: set[str]) -> ScoredSystem:
    return replace(system, name=name, items=tuple(item for item in system.items if item.id in ids))


def _names(runs: Sequence[Run]) -> dict[tuple[str, str], str]:
    """Return the systems' names by run and name: with the run's before them, numbered where two would be the same."""
    if len(runs) == 1:
        return {(runs[0].id, system.name): system.name for system in runs[0].plan.systems}
    found: dict[tuple[str, str], str] = {}
    for run in runs:
        for system in run.plan.systems:
            base = f"{run.name}: {system.name}"
            same = (base, *(f"{base} ({number})" for number in range(2, len(found) + 3)))
            found[run.id, system.name] = next(one for one in same if one not in found.values())
    return found
