"""Runs of evaluations: what is asked of which systems, and every prediction as soon as it is made.

A prediction is stored in a transaction of its own, so that a run which ends at any moment goes on behind the last one.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Row, case, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import Evaluation, Prediction, Run, RunPlan, RunState, RunSummary
from pdfqa_core.json_codec import decode, encode
from pdfqa_core.storage.database import Database, record
from pdfqa_core.storage.tables import predictions, runs

_NO_RUN = ("There is no such run here.", "It may have been deleted.")


class Runs:
    """The runs of each owner. All methods raise StorageError, and UsageError where the owner has no such run."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, owner: str, run: Run, key: str) -> None:
        """Store a new run; `key` is the same for runs that would predict the same."""
        with self._database.write() as connection:
            connection.execute(insert(runs).values(_row(owner, run, key)))

    def put_copy(self, owner: str, run: Run, key: str, made: Sequence[tuple[str, Prediction]]) -> None:
        """Store a run of another workspace with its predictions by system, all or nothing.

        Raises UsageError if it is here already.
        """
        rows = [
            {"run_id": run.id, "system": system, "item_id": one.item_id, "failed": one.failed, "content": encode(one),
             "made_at": run.changed_at}
            for system, one in made
        ]  # fmt: skip
        with self._database.write() as connection:
            if connection.execute(select(runs.c.id).where(runs.c.id == run.id)).first() is not None:
                raise UsageError("This run is here already.", "Delete it first, if you want it anew.")
            connection.execute(insert(runs).values(_row(owner, run, key)))
            if rows:
                connection.execute(insert(predictions), rows)

    def data(self) -> dict[str, tuple[str, ...]]:
        """Return the data files of everybody's runs by the run's id."""
        with self._database.read() as connection:
            return {
                row.id: decode(RunPlan, row.plan).data for row in connection.execute(select(runs.c.id, runs.c.plan))
            }

    def newest(self, owner: str, key: str) -> str:
        """Return the id of the owner's newest run with this key, "" without one."""
        query = select(runs.c.id).where(runs.c.owner == owner, runs.c.key == key).order_by(runs.c.created_at.desc())
        with self._database.read() as connection:
            return connection.scalar(query.limit(1)) or ""

    def list(self, owner: str) -> tuple[RunSummary, ...]:
        """Return the owner's runs, newest first."""
        counted = (
            select(
                predictions.c.run_id,
                func.count().label("done"),
                func.sum(case((predictions.c.failed, 1), else_=0)).label("failed"),
            )
            .group_by(predictions.c.run_id)
            .subquery()
        )
        table = runs.c
        query = (
            select(
                table.id, table.name, table.protocol, table.dataset, table.total, table.created_at, table.changed_at,
                table.state.label("said"), (table.results != "").label("with_results"),
                func.coalesce(counted.c.done, 0).label("done"), func.coalesce(counted.c.failed, 0).label("failed"),
            )
            .outerjoin(counted, counted.c.run_id == table.id)
            .where(table.owner == owner)
            .order_by(table.created_at.desc(), table.id)
        )  # fmt: skip
        with self._database.read() as connection:
            return tuple(
                record(RunSummary, row, state=RunState(row.said), scored=bool(row.with_results))
                for row in connection.execute(query)
            )

    def get(self, owner: str, run_id: str) -> Run:
        """Return one run."""
        with self._database.read() as connection:
            row = _require(connection, owner, run_id)
        results = decode(Evaluation, row.results) if row.results else None
        return record(
            Run, row, plan=decode(RunPlan, row.plan), state=RunState(row.state), versions=dict(row.versions),
            results=results,
        )  # fmt: skip

    def plan(self, owner: str, run_id: str) -> RunPlan:
        """Return what a run asks, without its scores."""
        query = select(runs.c.plan).where(runs.c.id == run_id, runs.c.owner == owner)
        with self._database.read() as connection:
            found = connection.scalar(query)
        if found is None:
            raise UsageError(*_NO_RUN)
        return decode(RunPlan, found)

    def predictions(self, owner: str, run_id: str) -> dict[tuple[str, str], Prediction]:
        """Return what was predicted so far, by system and item, in the order in which it was."""
        table = predictions.c
        query = select(table.system, table.item_id, table.content).where(table.run_id == run_id)
        query = query.order_by(table.made_at)
        with self._database.read() as connection:
            _require(connection, owner, run_id)
            found = connection.execute(query).all()
        return {(row.system, row.item_id): decode(Prediction, row.content) for row in found}

    def put(self, run_id: str, system: str, prediction: Prediction) -> None:
        """Store a prediction; where another program stored one of the item meanwhile, that one stays."""
        values = {
            "run_id": run_id, "system": system, "item_id": prediction.item_id, "failed": prediction.failed,
            "content": encode(prediction), "made_at": datetime.now(UTC),
        }  # fmt: skip
        table = predictions.c
        there = select(table.run_id).where(
            table.run_id == run_id, table.system == system, table.item_id == prediction.item_id
        )
        with self._database.write() as connection:
            if connection.execute(select(runs.c.id).where(runs.c.id == run_id)).first() is None:
                raise UsageError("The run was deleted meanwhile.", "Begin a new one.")
            if connection.execute(there).first() is not None:
                return
            try:
                with connection.begin_nested():
                    connection.execute(insert(predictions).values(values))
            except IntegrityError:
                return

    def set_state(self, run_id: str, state: RunState, error: str = "") -> None:
        """Say how far a run is; nothing where it was deleted."""
        self._change(run_id, state=state.value, error=error)

    def set_results(self, run_id: str, results: Evaluation) -> None:
        """Store the scores of a run in place of earlier ones."""
        self._change(run_id, results=encode(results))

    def _change(self, run_id: str, **values: Any) -> None:
        change = update(runs).where(runs.c.id == run_id).values(**values, changed_at=datetime.now(UTC))
        with self._database.write() as connection:
            connection.execute(change)

    def rename(self, owner: str, run_id: str, name: str) -> None:
        """Give a run another name. Raises UsageError for an empty one."""
        if not name.strip():
            raise UsageError("The name is empty.", "Type one.")
        with self._database.write() as connection:
            _require(connection, owner, run_id)
            connection.execute(update(runs).where(runs.c.id == run_id).values(name=name.strip()))

    def forget_failures(self, owner: str, run_id: str) -> int:
        """Remove the predictions of which nothing came, so that they are made again; return how many there were."""
        with self._database.write() as connection:
            _require(connection, owner, run_id)
            found = connection.execute(
                delete(predictions).where(predictions.c.run_id == run_id, predictions.c.failed.is_(True))
            )
        return found.rowcount

    def remove(self, owner: str, run_id: str) -> None:
        """Delete a run with its predictions."""
        with self._database.write() as connection:
            _require(connection, owner, run_id)
            connection.execute(delete(runs).where(runs.c.id == run_id))


def _row(owner: str, run: Run, key: str) -> dict[str, Any]:
    return {
        "id": run.id, "owner": owner, "name": run.name, "protocol": run.plan.protocol, "dataset": run.plan.dataset,
        "key": key, "plan": encode(run.plan), "versions": dict(run.versions), "state": run.state.value,
        "error": run.error, "total": run.total, "results": "" if run.results is None else encode(run.results),
        "created_at": run.created_at, "changed_at": run.changed_at,
    }  # fmt: skip


def remove_all(connection: Connection, owner: str) -> None:
    """Delete an owner's runs within a transaction; their predictions go with them."""
    connection.execute(delete(runs).where(runs.c.owner == owner))


def _require(connection: Connection, owner: str, run_id: str) -> Row[Any]:
    row = connection.execute(select(runs).where(runs.c.id == run_id, runs.c.owner == owner)).one_or_none()
    if row is None:
        raise UsageError(*_NO_RUN)
    return row
