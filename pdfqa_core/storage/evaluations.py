"""Evaluations: what was measured, when, and the values of every item. Written once, never changed.

A list reads the summary columns only; what a system found for each item lies apart and is loaded by the item's id.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import Evaluation, EvaluationSummary, Ranking
from pdfqa_core.json_codec import decode, encode
from pdfqa_core.storage.database import Database, record, row_of
from pdfqa_core.storage.tables import evaluations, rankings


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
            "owner": owner, "systems": [system.name for system in made.systems], "content": encode(made),
            "created_at": made.made_at,
        }  # fmt: skip
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
            return decode(Evaluation, _require(connection, owner, evaluation_id).content)

    def rankings(self, owner: str, evaluation_id: str, item_id: str = "") -> dict[tuple[str, str], Ranking]:
        """Return what every system found for one item, or for all, by system and item."""
        query = select(rankings).where(rankings.c.evaluation_id == evaluation_id)
        if item_id:
            query = query.where(rankings.c.item_id == item_id)
        with self._database.read() as connection:
            _require(connection, owner, evaluation_id)
            return {(row.system, row.item_id): decode(Ranking, row.content) for row in connection.execute(query)}

    def remove(self, owner: str, evaluation_id: str) -> None:
        """Remove an evaluation with what was found."""
        with self._database.write() as connection:
            _require(connection, owner, evaluation_id)
            connection.execute(delete(evaluations).where(evaluations.c.id == evaluation_id))


def remove_all(connection: Connection, owner: str) -> None:
    """Delete an owner's evaluations within a transaction; what was found goes with them."""
    connection.execute(delete(evaluations).where(evaluations.c.owner == owner))


def _check(evaluation: Evaluation) -> None:
    for system in evaluation.systems:
        if len({item.id for item in system.items}) < len(system.items):
            raise UsageError(f"Two items of {system.name} have one id.", "Give every item its own id.")
        for item in system.items:
            for measure, value in item.metrics.items():
                if value is not None and not math.isfinite(value):
                    raise UsageError(f"{measure} of {item.id!r} is {value}.", "Leave it unscored instead.")


def _require(connection: Connection, owner: str, evaluation_id: str) -> Row[Any]:
    query = select(evaluations).where(evaluations.c.id == evaluation_id, evaluations.c.owner == owner)
    row = connection.execute(query).one_or_none()
    if row is None:
        raise UsageError("There is no such evaluation here.", "It may have been deleted.")
    return row
