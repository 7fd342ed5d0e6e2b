"""Runs: what was measured, when, with which settings, and the score of every item. Written once, never changed."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select

from pdfqa_core.errors import UsageError
from pdfqa_core.storage.database import Database
from pdfqa_core.storage.tables import runs, scores
from pdfqa_core.types import Run, Score


class Runs:
    """The runs of each owner. All methods raise StorageError, and UsageError where the owner has no such run."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, run: Run, values: Iterable[Score]) -> None:
        """Store a run with its scores, all or nothing.

        Raises UsageError for a score that is not finite, or given twice for one item and metric.
        """
        rows = [
            {"run_id": run.id, "item_id": s.item_id, "metric": s.metric, "value": s.value} for s in values
        ]  # fmt: skip
        for row in rows:
            value = row["value"]
            if isinstance(value, float) and not math.isfinite(value):
                raise UsageError(f"{row['metric']} of {row['item_id']!r} is {value}.", "Leave it unscored instead.")
        if len({(row["item_id"], row["metric"]) for row in rows}) != len(rows):
            raise UsageError("A run holds two scores of one item and metric.", "Give every item its own id.")
        with self._database.write() as connection:
            connection.execute(insert(runs).values(_values(run)))
            if rows:
                connection.execute(insert(scores), rows)

    def list(self, owner: str, protocol: str = "") -> tuple[Run, ...]:
        """Return the owner's runs (of one protocol), newest first."""
        query = select(runs).where(runs.c.owner == owner).order_by(runs.c.created_at.desc(), runs.c.id)
        if protocol:
            query = query.where(runs.c.protocol == protocol)
        with self._database.read() as connection:
            return tuple(_run(row) for row in connection.execute(query))

    def get(self, owner: str, run_id: str) -> Run:
        """Return one run."""
        with self._database.read() as connection:
            return _run(_require(connection, owner, run_id))

    def scores(self, owner: str, run_id: str) -> tuple[Score, ...]:
        """Return the scores of a run by item and metric."""
        query = select(scores).where(scores.c.run_id == run_id).order_by(scores.c.item_id, scores.c.metric)
        with self._database.read() as connection:
            _require(connection, owner, run_id)
            return tuple(Score(row.item_id, row.metric, row.value) for row in connection.execute(query))

    def remove(self, owner: str, run_ids: Sequence[str]) -> None:
        """Remove runs with their scores."""
        with self._database.write() as connection:
            for run_id in run_ids:
                _require(connection, owner, run_id)
                connection.execute(delete(runs).where(runs.c.id == run_id))


def remove_all(connection: Connection, owner: str) -> None:
    """Delete an owner's runs within a transaction; their scores go with them."""
    connection.execute(delete(runs).where(runs.c.owner == owner))


def _require(connection: Connection, owner: str, run_id: str) -> Row[Any]:
    row = connection.execute(select(runs).where(runs.c.id == run_id, runs.c.owner == owner)).one_or_none()
    if row is None:
        raise UsageError(f"There is no run {run_id[:12]!r} here.", "It may have been removed.")
    return row


def _values(run: Run) -> dict[str, Any]:
    return {
        "id": run.id,
        "owner": run.owner,
        "protocol": run.protocol,
        "dataset": run.dataset,
        "system": run.system,
        "settings_fingerprint": run.settings_fingerprint,
        "settings": run.settings,
        "versions": json.dumps(dict(run.versions)),
        "details": run.details,
        "created_at": run.created_at,
    }


def _run(row: Row[Any]) -> Run:
    return Run(
        id=row.id,
        protocol=row.protocol,
        dataset=row.dataset,
        system=row.system,
        settings_fingerprint=row.settings_fingerprint,
        created_at=row.created_at,
        owner=row.owner,
        settings=row.settings,
        versions=json.loads(row.versions),
        details=row.details,
    )
