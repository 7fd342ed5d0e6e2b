"""Evaluations as a whole: a summary, the values of every item, and apart from them what was found for each."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

import sqlalchemy as sa
from alembic import op

from pdfqa_core.storage.migrations.columns import moment, texts

revision = "0006"
down_revision = "0005"

MEASURES = ("HR@1", "HR@3", "HR@5", "HR@10", "MRR", "R@5", "R@10", "nDCG@10")


def upgrade() -> None:
    """Create the tables, bring the stored runs into them, and drop theirs."""
    evaluations = op.create_table(
        "evaluations",
        *texts("id", "owner", "protocol", "dataset", "systems", "content"),
        moment("created_at"),
        sa.PrimaryKeyConstraint("id", name="pk_evaluations"),
    )
    op.create_index("ix_evaluations_owner", "evaluations", ["owner"])
    rankings = op.create_table(
        "rankings",
        *texts("evaluation_id", "system", "item_id", "content"),
        sa.PrimaryKeyConstraint("evaluation_id", "system", "item_id", name="pk_rankings"),
        sa.ForeignKeyConstraint(
            ["evaluation_id"], ["evaluations.id"], name="fk_rankings_evaluation_id_evaluations", ondelete="CASCADE"
        ),
    )
    connection = op.get_bind()
    names = ("id", "owner", "protocol", "dataset", "system", "settings_fingerprint", "settings", "versions", "details")
    created_at = sa.column("created_at", sa.DateTime(timezone=True))
    runs = sa.table("runs", *map(sa.column, names), created_at)
    order = (runs.c.owner, runs.c.protocol, runs.c.created_at, runs.c.dataset, runs.c.id)
    stored = connection.execute(sa.select(runs).order_by(*order)).all()
    for (owner, protocol, made_at, dataset), group in groupby(stored, lambda run: (run[1], run[2], run[9], run[3])):
        found = list(group)
        systems, measures = [], dict.fromkeys(MEASURES if protocol == "retrieval" else ())
        details: dict[tuple[str, str], dict[str, Any]] = {}
        for run in found:
            items = _items(connection, run, details)
            measures |= dict.fromkeys(name for item in items for name in item["metrics"])
            systems.append(_system(run, items))
        content = {
            "protocol": protocol, "dataset": dataset, "measures": list(measures), "systems": systems,
            "settings": {f"settings fingerprint, {one['name']}": one["settings_fingerprint"] for one in systems},
            "versions": {name: version for run in found for name, version in json.loads(run.versions).items()},
            "made_at": _utc(made_at).isoformat(), "id": found[0].id,
        }  # fmt: skip
        row = {"id": found[0].id, "owner": owner, "protocol": protocol, "dataset": dataset, "created_at": made_at}
        listed = json.dumps([one["name"] for one in systems])
        connection.execute(sa.insert(evaluations).values(**row, systems=listed, content=json.dumps(content)))
        for (system, item), one in details.items():
            values = {"evaluation_id": found[0].id, "system": system, "item_id": item, "content": json.dumps(one)}
            connection.execute(sa.insert(rankings).values(**values))
    op.drop_table("scores")
    op.drop_index("ix_runs_owner", "runs")
    op.drop_table("runs")


def downgrade() -> None:
    """Make a run of each system of an evaluation, and drop the tables. Notes and published results go."""
    connection = op.get_bind()
    runs = op.create_table(
        "runs",
        *texts(
            "id", "owner", "protocol", "dataset", "system", "settings_fingerprint", "settings", "versions", "details"
        ),
        moment("created_at"),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
    )
    op.create_index("ix_runs_owner", "runs", ["owner"])
    scores = op.create_table(
        "scores",
        *texts("run_id", "item_id", "metric"),
        sa.Column("value", sa.Float),
        sa.PrimaryKeyConstraint("run_id", "item_id", "metric", name="pk_scores"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_scores_run_id_runs", ondelete="CASCADE"),
    )
    names = ("id", "owner", "protocol", "dataset", "content")
    evaluations = sa.table("evaluations", *map(sa.column, names), sa.column("created_at", sa.DateTime(timezone=True)))
    for evaluation in connection.execute(sa.select(evaluations)).all():
        content = json.loads(evaluation.content)
        found = _found(connection, evaluation.id)
        for place, system in enumerate(content["systems"]):
            run_id = evaluation.id if place == 0 else f"{evaluation.id}-{place:03}"
            row = {name: getattr(evaluation, name) for name in ("owner", "protocol", "dataset", "created_at")}
            row |= {name: system.get(name) or "" for name in ("settings_fingerprint", "settings")}
            row |= {"system": system["name"], "versions": json.dumps(content.get("versions") or {})}
            connection.execute(sa.insert(runs).values(id=run_id, details=_old_details(system, found), **row))
            values = [
                {"run_id": run_id, "item_id": item["id"], "metric": metric, "value": value}
                for item in system["items"]
                for metric, value in item["metrics"].items()
            ]
            if values:
                connection.execute(sa.insert(scores), values)
    op.drop_table("rankings")
    op.drop_table("evaluations")


def _found(connection: Any, evaluation_id: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Return what every system found for each item, by system and item."""
    rankings = sa.table("rankings", *map(sa.column, ("evaluation_id", "system", "item_id", "content")))
    rows = connection.execute(sa.select(rankings).where(rankings.c.evaluation_id == evaluation_id))
    return {(row.system, row.item_id): json.loads(row.content) for row in rows}


def _old_details(system: dict[str, Any], found: dict[tuple[str, str], dict[str, Any]]) -> str:
    """Return what a run keeps of a system's items; without any where nothing was ranked."""
    if not any((system["name"], item["id"]) in found for item in system["items"]):
        return "{}"
    items = []
    for item in system["items"]:
        ranking = found.get((system["name"], item["id"]), {})
        items.append({
            "id": item["id"], "question": item.get("texts", {}).get("question", ""), "seconds": item.get("seconds"),
            "entries": ranking.get("places", []), "gold": ranking.get("gold", []), "hits": ranking.get("hits", []),
        })  # fmt: skip
    cost = system.get("index") or {}
    known = {"passages": "passages", "build_seconds": "build_seconds", "index_bytes": "bytes"}
    return json.dumps({"items": items} | {name: cost.get(key, 0) for name, key in known.items()})


def _details(run: Any) -> dict[str, Any]:
    """Return what a run found; of one that cannot be read, nothing: its scores are kept."""
    try:
        found = json.loads(run.details)
    except ValueError:
        return {}
    return found if isinstance(found, dict) and isinstance(found.get("items"), list) else {}


def _items(connection: Any, run: Any, details: dict[tuple[str, str], dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a run's items with their scores, in the order of the data; what was found goes into `details`."""
    scores = sa.table("scores", *map(sa.column, ("run_id", "item_id", "metric", "value")))
    query = sa.select(scores).where(scores.c.run_id == run.id).order_by(scores.c.item_id)
    metrics: dict[str, dict[str, float | None]] = {}
    for score in connection.execute(query):
        metrics.setdefault(score.item_id, {})[score.metric] = score.value
    listed = {item["id"]: item for item in _details(run).get("items", [])} or {name: {} for name in metrics}
    items = []
    for name, item in listed.items():
        places = item.get("entries", [])
        rank = next((n for n, place in enumerate(places, start=1) if place["gain"] > 0), None)
        if item:
            details[run.system, name] = {"places": places, "gold": item["gold"], "hits": item["hits"]}
        texts = {"question": item["question"], "rank": "–" if rank is None else str(rank)} if item else {}
        items.append(
            {"id": name, "metrics": metrics.get(name, {}), "texts": texts, "rank": rank, "seconds": item.get("seconds")}
        )
    return items


def _system(run: Any, items: list[dict[str, Any]]) -> dict[str, Any]:
    known = _details(run)
    cost = {
        "passages": known.get("passages", 0), "build_seconds": known.get("build_seconds", 0.0),
        "bytes": known.get("index_bytes", 0),
    }  # fmt: skip
    return {
        "name": run.system, "items": items, "settings_fingerprint": run.settings_fingerprint, "settings": run.settings,
        "index": cost if known else None,
    }  # fmt: skip


def _utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
