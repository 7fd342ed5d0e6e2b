"""The results of an evaluation as JSON, exactly: what is read back gives the same tables, figures and reports."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import Evaluation, IndexCost, ScoredItem, ScoredSystem
from pdfqa_core.json_codec import checked, parse_json, plain
from pdfqa_core.metrics.comparison import Cell, Comparison, latency
from pdfqa_core.metrics.statistics import Summary

_HINT = "Give a file that “evaluate … --save” wrote."


def results_object(evaluation: Evaluation, comparison: Comparison) -> dict[str, Any]:
    """Return an evaluation as JSON's own types; the means are those of `comparison`, the items hold every value."""
    return {
        "protocol": evaluation.protocol,
        "dataset": evaluation.dataset,
        "measures": list(comparison.measures),
        "systems": [_system_object(system, comparison) for system in evaluation.systems],
        "settings": dict(evaluation.settings),
        "versions": dict(evaluation.versions),
        "notes": list(evaluation.notes),
        "published": plain(evaluation.published),
        "made_at": evaluation.made_at.isoformat(),
        "comparisons": [
            {
                "system": name,
                "baseline": comparison.baseline,
                "differences": {measure: _difference(cells[measure]) for measure in comparison.measures},
                **dict(zip(("wins", "losses"), plain(comparison.changes.get(name, ())), strict=False)),
            }
            for name, cells in comparison.cells.items()
            if name != comparison.baseline and comparison.baseline
        ],
    }


def _system_object(system: ScoredSystem, comparison: Comparison) -> dict[str, Any]:
    cells, seconds, index = comparison.cells[system.name], latency(system), system.index
    data: dict[str, Any] = {"name": system.name}
    if system.settings_fingerprint:
        data["settings_fingerprint"] = system.settings_fingerprint
    if system.repeat_of:
        data["repeat_of"] = system.repeat_of
    data["metrics"] = {name: asdict(cells[name].summary) for name in comparison.measures}
    if index is not None:
        data |= {"passages": index.passages, "build_seconds": index.build_seconds, "index_bytes": index.bytes}
    if seconds is not None:
        data["seconds"] = dict(zip(("p50", "p95"), seconds, strict=True))
    data["items"] = [
        {
            "id": item.id,
            "metrics": {name: item.metrics[name] for name in comparison.measures if name in item.metrics},
            "texts": dict(item.texts),
            **({} if item.seconds is None else {"rank": item.rank, "seconds": item.seconds}),
            **({"conversation": item.conversation} if item.conversation else {}),
        }
        for item in system.items
    ]
    return data


def _difference(cell: Cell) -> dict[str, Any]:
    return {**asdict(cell.difference or Summary(0, 0, None, None, None)), "p": cell.p}


def write_results(evaluation: Evaluation, comparison: Comparison) -> bytes:
    """Return a JSON file of an evaluation. Raises UsageError if a value is not finite, which JSON cannot hold."""
    try:
        text = json.dumps(results_object(evaluation, comparison), ensure_ascii=False, allow_nan=False, indent=1)
    except ValueError as error:
        raise UsageError(f"A value cannot be written as JSON: {error}.") from error
    return (text + "\n").encode("utf-8", errors="replace")


def read_results(data: bytes, name: str) -> Evaluation:
    """Return the evaluation in a file that `write_results` wrote; `name` is the file's in error messages.

    Raises UsageError that names what is wrong and where: not UTF-8, no JSON, NaN, a missing or wrong field, an item
    without a value for a measure.
    """
    found = parse_json(data, name)
    if not isinstance(found, Mapping) or not isinstance(found.get("systems"), list):
        raise UsageError(f"{name} holds no results.", _HINT)
    measures = found.get("measures")
    if not isinstance(measures, list) or not measures or not all(isinstance(one, str) for one in measures):
        raise UsageError(f"{name}: “measures” is no list of names.", _HINT)
    systems = tuple(_system(one, place, name) for place, one in enumerate(found["systems"], start=1))
    if not systems:
        raise UsageError(f"{name} holds no system.", _HINT)
    described = checked(Evaluation, {**found, "systems": []}, name, _HINT)
    return replace(described, systems=systems)


def _system(data: Any, place: int, name: str) -> ScoredSystem:
    if not isinstance(data, Mapping) or not isinstance(data.get("name"), str):
        raise UsageError(f"{name}: system {place} has no name.", _HINT)
    items = data.get("items")
    if not isinstance(items, list) or not items:
        raise UsageError(f"{name}: system {data['name']!r} has no items.", _HINT)
    where = f"{name}, {data['name']}"
    scored = tuple(_item(one, f"{where}, item {row}") for row, one in enumerate(items, start=1))
    cost = [_number(data, key, where) for key in ("passages", "build_seconds", "index_bytes")]
    index = None if None in cost else IndexCost(int(cost[0] or 0), cost[1] or 0.0, int(cost[2] or 0))
    fingerprint, repeated = str(data.get("settings_fingerprint", "")), str(data.get("repeat_of", ""))
    return ScoredSystem(data["name"], scored, fingerprint, index=index, repeat_of=repeated)


def _item(data: Any, where: str) -> ScoredItem:
    if not isinstance(data, Mapping) or not isinstance(data.get("metrics"), Mapping) or "id" not in data:
        raise UsageError(f"{where}: no id or no metrics.", _HINT)
    metrics = {str(name): _number(data["metrics"], name, where) for name in data["metrics"]}
    texts = data.get("texts") or {}
    if not isinstance(texts, Mapping) or not all(isinstance(text, str) for text in texts.values()):
        raise UsageError(f"{where}: “texts” are no texts.", _HINT)
    rank = _number(data, "rank", where)
    return ScoredItem(
        str(data["id"]), metrics, dict(texts), None if rank is None else int(rank), _number(data, "seconds", where),
        str(data.get("conversation", "")),
    )  # fmt: skip


def _number(data: Mapping[str, Any], key: str, where: str) -> float | None:
    value = data.get(key)
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise UsageError(f"{where}: {key} is {value!r}, not a number.", "Write a number or null.")
    return float(value)
