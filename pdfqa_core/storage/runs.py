"""Runs of evaluations: what is asked of which systems, and every prediction as soon as it is made.

A prediction is stored in a transaction of its own, so that a run which ends at any moment goes on behind the last one.
"""

from __future__ import annotations

import logging
import math
import sqlite3
import threading
import uuid
from collections.abc import Collection, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from sqlalchemy import Connection, Row, case, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import (
    Evaluation,
    EvaluationSummary,
    Prediction,
    Ranking,
    Run,
    RunPlan,
    RunState,
    RunSummary,
)
from pdfqa_core.json_codec import decode, encode
from pdfqa_core.storage import write_ahead
from pdfqa_core.storage.database import Database, record, row_of
from pdfqa_core.storage.files import in_memory, open_cache
from pdfqa_core.storage.tables import evaluations, predictions, rankings, runs

# ----------------------------------------------------------------------------------------------------
# Evaluations: what was measured, when, and the values of every item. Written once, never changed.
#
# A list reads the summary columns only; what a system found for each item lies apart and is loaded by the item's id.


class Evaluations:
    """The evaluations of each owner.

    All methods raise StorageError, and UsageError where the owner has no such evaluation.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, owner: str, evaluation: Evaluation, found: Mapping[tuple[str, str], Ranking]) -> Evaluation:
        """Store an evaluation and what was found, by system and item, all or nothing; return it with its id.

        Raises UsageError for a value that is not finite, or two items of one id.
        """
        _check(evaluation)
        made = replace(evaluation, id=uuid.uuid4().hex)
        row = {
            "owner": owner,
            "systems": [system.name for system in made.systems],
            "content": encode(made),
            "created_at": made.made_at,
        }
        details = [
            {"evaluation_id": made.id, "system": system, "item_id": item_id, "content": encode(ranking)}
            for (system, item_id), ranking in found.items()
        ]
        with self._database.write() as connection:
            connection.execute(insert(evaluations).values(row_of(evaluations, made) | row))
            if details:
                connection.execute(insert(rankings), details)
        return made

    def list(self, owner: str, protocol: str = "") -> tuple[EvaluationSummary, ...]:
        """Return the owner's evaluations (of one protocol), newest first."""
        table = evaluations.c
        query = select(table.id, table.protocol, table.dataset, table.systems, table.created_at.label("made_at"))
        query = query.where(table.owner == owner).order_by(table.created_at.desc(), table.id)
        if protocol:
            query = query.where(table.protocol == protocol)
        with self._database.read() as connection:
            return tuple(record(EvaluationSummary, row) for row in connection.execute(query))

    def get(self, owner: str, evaluation_id: str) -> Evaluation:
        """Return one evaluation with the values of every item."""
        with self._database.read() as connection:
            return decode(Evaluation, _require_evaluation(connection, owner, evaluation_id).content)

    def rankings(self, owner: str, evaluation_id: str, item_id: str = "") -> dict[tuple[str, str], Ranking]:
        """Return what every system found for one item, or for all, by system and item."""
        query = select(rankings).where(rankings.c.evaluation_id == evaluation_id)
        if item_id:
            query = query.where(rankings.c.item_id == item_id)
        with self._database.read() as connection:
            _require_evaluation(connection, owner, evaluation_id)
            return {(row.system, row.item_id): decode(Ranking, row.content) for row in connection.execute(query)}

    def remove(self, owner: str, evaluation_id: str) -> None:
        """Remove an evaluation with what was found."""
        with self._database.write() as connection:
            _require_evaluation(connection, owner, evaluation_id)
            connection.execute(delete(evaluations).where(evaluations.c.id == evaluation_id))


def _check(evaluation: Evaluation) -> None:
    for system in evaluation.systems:
        if len({item.id for item in system.items}) < len(system.items):
            raise UsageError(f"Two items of {system.name} have one id.", "Give every item its own id.")
        for item in system.items:
            for measure, value in item.metrics.items():
                if value is not None and not math.isfinite(value):
                    raise UsageError(f"{measure} of {item.id!r} is {value}.", "Leave it unscored instead.")


def _require_evaluation(connection: Connection, owner: str, evaluation_id: str) -> Row[Any]:
    query = select(evaluations).where(evaluations.c.id == evaluation_id, evaluations.c.owner == owner)
    row = connection.execute(query).one_or_none()
    if row is None:
        raise UsageError("There is no such evaluation here.", "It may have been deleted.")
    return row


# ----------------------------------------------------------------------------------------------------
# Replies of language models by the hash of what was asked: a file of its own, which may be deleted at any time.
#
# A cache and no truth: it lies apart from the workspace's database, a damaged file is begun anew, and where it
# cannot be written the replies are kept in memory only. A reply stays as long as one of the runs that it was given
# to.

FILENAME = "replies.sqlite"
MOST_REPLIES = 200_000  # the ones kept longest ago go when the file is opened
_log = logging.getLogger(__name__)


class StoredReplies(MutableMapping[str, str]):
    """Texts by key in the SQLite file at `path`; threads and processes may share it. Close it when done.

    `run` is the run that replies are given to from now on.
    """

    run = ""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._database = open_cache(path, "replies", _make)

    def __getitem__(self, key: str) -> str:
        with self._lock:
            row = self._database.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        if row is None:
            raise KeyError(key)
        self._note(key)
        return str(row[0])

    def __setitem__(self, key: str, reply: str) -> None:
        clean = reply.encode("utf-8", "replace").decode("utf-8")
        try:
            with self._lock, self._database:
                self._database.execute("INSERT OR REPLACE INTO replies (key, reply) VALUES (?, ?)", (key, clean))
                self._database.execute("INSERT OR IGNORE INTO given VALUES (?, ?)", (key, self.run))
        except sqlite3.Error as error:  # a full disk, a locked file: the reply is asked for again next time
            _log.warning("a reply is not kept: %s", error)

    def _note(self, key: str) -> None:
        try:
            with self._lock, self._database:
                self._database.execute("INSERT OR IGNORE INTO given VALUES (?, ?)", (key, self.run))
        except sqlite3.Error as error:
            _log.warning("to which run a reply was given is not kept: %s", error)

    def keep_only(self, runs: Collection[str]) -> None:
        """Remove the replies that were given to none of these runs, from the file's log too where nobody reads it.

        What cannot be removed now is left to the next call.
        """
        try:
            with self._lock:
                with self._database:
                    there = {run for (run,) in self._database.execute("SELECT DISTINCT run FROM given")}
                    gone = [(run,) for run in there - set(runs)]
                    self._database.executemany("DELETE FROM given WHERE run = ?", gone)
                    self._database.execute("DELETE FROM replies WHERE key NOT IN (SELECT key FROM given)")
                write_ahead.empty(self._database)
        except sqlite3.Error as error:
            _log.warning("replies of runs that were removed stay for now: %s", error)

    def __delitem__(self, key: str) -> None:
        with self._lock, self._database:
            if not self._database.execute("DELETE FROM replies WHERE key = ?", (key,)).rowcount:
                raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        with self._lock:
            rows = self._database.execute("SELECT key FROM replies ORDER BY rowid").fetchall()
        return (str(key) for (key,) in rows)

    def __len__(self) -> int:
        with self._lock:
            return int(self._database.execute("SELECT count(*) FROM replies").fetchone()[0])

    @classmethod
    def of(cls, content: bytes) -> Self:
        """Return replies in memory that begin as a file was, see `copy`."""
        replies = cls.__new__(cls)
        replies._lock, replies._database = threading.Lock(), in_memory(content)
        return replies

    def copy(self) -> bytes:
        """Return the file as it is now."""
        with self._lock:
            return self._database.serialize()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()


def _make(database: sqlite3.Connection) -> None:
    database.execute("CREATE TABLE IF NOT EXISTS replies (key TEXT UNIQUE NOT NULL, reply TEXT NOT NULL)")
    database.execute(
        "CREATE TABLE IF NOT EXISTS given (key TEXT NOT NULL, run TEXT NOT NULL, PRIMARY KEY (key, run)) WITHOUT ROWID"
    )
    oldest = "SELECT rowid FROM replies ORDER BY rowid DESC LIMIT -1 OFFSET ?"
    database.execute(f"DELETE FROM replies WHERE rowid IN ({oldest})", (MOST_REPLIES,))  # noqa: S608


# ----------------------------------------------------------------------------------------------------
# Runs of evaluations: what is asked of which systems, and every prediction as soon as it is made.

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
            {
                "run_id": run.id,
                "system": system,
                "item_id": one.item_id,
                "failed": one.failed,
                "content": encode(one),
                "made_at": run.changed_at,
            }
            for system, one in made
        ]
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
                table.id,
                table.name,
                table.protocol,
                table.dataset,
                table.total,
                table.created_at,
                table.changed_at,
                table.state.label("said"),
                (table.results != "").label("with_results"),
                func.coalesce(counted.c.done, 0).label("done"),
                func.coalesce(counted.c.failed, 0).label("failed"),
            )
            .outerjoin(counted, counted.c.run_id == table.id)
            .where(table.owner == owner)
            .order_by(table.created_at.desc(), table.id)
        )
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
            Run,
            row,
            plan=decode(RunPlan, row.plan),
            state=RunState(row.state),
            versions=dict(row.versions),
            results=results,
        )

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
            "run_id": run_id,
            "system": system,
            "item_id": prediction.item_id,
            "failed": prediction.failed,
            "content": encode(prediction),
            "made_at": datetime.now(UTC),
        }
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
        "id": run.id,
        "owner": owner,
        "name": run.name,
        "protocol": run.plan.protocol,
        "dataset": run.plan.dataset,
        "key": key,
        "plan": encode(run.plan),
        "versions": dict(run.versions),
        "state": run.state.value,
        "error": run.error,
        "total": run.total,
        "results": "" if run.results is None else encode(run.results),
        "created_at": run.created_at,
        "changed_at": run.changed_at,
    }


def _require(connection: Connection, owner: str, run_id: str) -> Row[Any]:
    row = connection.execute(select(runs).where(runs.c.id == run_id, runs.c.owner == owner)).one_or_none()
    if row is None:
        raise UsageError(*_NO_RUN)
    return row
