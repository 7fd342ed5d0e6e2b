"""Runs that come and go: as a ZIP for another workspace."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import Run, RunState
from pdfqa_core.exports.methods import methods_text
from pdfqa_core.exports.run_zip import Predicted, RunCopy, opened_run, write_run
from pdfqa_core.json_codec import parse_json
from pdfqa_core.services.run_files import RunFiles
from pdfqa_core.services.runs import key_of
from pdfqa_core.storage.runs import Runs


class RunCopies:
    """Takes the runs of each owner along, and brings them in. Methods raise UsageError and StorageError."""

    def __init__(self, workspace: Path, store: Runs) -> None:
        self._files = RunFiles(workspace / "run_data")
        self._store = store

    def file(self, owner: str, run_id: str) -> bytes:
        """Return a run as a ZIP, with its data and how it was made."""
        run = self._store.get(owner, run_id)
        made = self._store.predictions(owner, run_id)
        paths = [Path(path) for path in run.plan.data]
        try:
            data = {path.name: path.read_bytes() for path in paths}
        except OSError as error:
            raise UsageError(f"The data of the run cannot be read: {error.strerror}.", "Run it again.") from error
        named = replace(run, plan=replace(run.plan, data=tuple(data)))
        listed = tuple(Predicted(system, one) for (system, _), one in made.items())
        return write_run(RunCopy(named, listed), data, methods_text(run))

    def take_in(self, owner: str, source: Path | bytes, filename: str) -> Run:
        """Store the run of a ZIP and return it; where it goes on, this machine's model answers (`check_brought`).

        Raises UsageError: no such file, the run is here already, or its answers belong to no system of it.
        """
        with opened_run(source, filename) as (copy, files):
            _check_settings(copy.run, filename)
            systems = {system.name for system in copy.run.plan.systems}
            keys = {(one.system, one.prediction.item_id) for one in copy.predictions}
            if not {system for system, _ in keys} <= systems or len(keys) < len(copy.predictions):
                raise UsageError(f"{filename}: its answers do not belong to its systems.", "Export it again.")
            paths = tuple(str(self._files.kept(files[name])[0]) for name in copy.run.plan.data)
        state = RunState.STOPPED if copy.run.state is RunState.RUNNING else copy.run.state
        run = replace(copy.run, plan=replace(copy.run.plan, data=paths, brought=True), state=state)
        self._store.put_copy(owner, run, key_of(run.plan), [(one.system, one.prediction) for one in copy.predictions])
        return run


def _check_settings(run: Run, filename: str) -> None:
    """Raise UsageError where the settings of a system are no objects by section, as they were stored."""
    for system in run.plan.systems:
        found = parse_json(system.settings.encode(errors="replace"), f"{filename}, settings of {system.name}")
        if not isinstance(found, dict) or not all(isinstance(section, dict) for section in found.values()):
            raise UsageError(f"{filename}: the settings of {system.name} are no settings.", "Export it again.")
