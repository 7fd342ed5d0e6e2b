"""The results of an evaluation as JSON, exactly: what is read back gives the same tables, figures and reports."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from pdfqa_core.errors import UsageError
from pdfqa_core.json_codec import plain, restore
from pdfqa_core.metrics.scored import Cell, Evaluation, ScoredItem, ScoredSystem, Table
from pdfqa_core.metrics.statistics import Summary

_HINT = "Give a file that “evaluate … --save” wrote."


def results_object(evaluation: Evaluation, table: Table) -> dict[str, Any]:
    """Return an evaluation as JSON's own types; the means are those of `table`, the items hold every value."""
    data: dict[str, Any] = plain(evaluation)
    for system in data["systems"]:
        cells = table.cells[system["name"]]
        items = system.pop("items")
        system["metrics"] = {name: asdict(cells[name].summary) for name in table.measures}
        system["items"] = items
    data["comparisons"] = [
        {
            "system": name,
            "baseline": table.baseline,
            "differences": {measure: _difference(cells[measure]) for measure in table.measures},
        }
        for name, cells in table.cells.items()
        if name != table.baseline and table.baseline
    ]
    return data


def _difference(cell: Cell) -> dict[str, Any]:
    return {**asdict(cell.difference or Summary(0, 0, None, None, None)), "p": cell.p}


def write_results(evaluation: Evaluation, table: Table) -> bytes:
    """Return a JSON file of an evaluation. Raises UsageError if a value is not finite, which JSON cannot hold."""
    try:
        text = json.dumps(results_object(evaluation, table), ensure_ascii=False, allow_nan=False, indent=1)
    except ValueError as error:
        raise UsageError(f"A value cannot be written as JSON: {error}.") from error
    return (text + "\n").encode("utf-8", errors="replace")


def read_results(data: bytes, name: str) -> Evaluation:
    """Return the evaluation in a file that `write_results` wrote; `name` is the file's in error messages.

    Raises UsageError that names what is wrong and where: not UTF-8, no JSON, NaN, a missing or wrong field, an item
    without a value for a measure.
    """
    found = _parsed(data, name)
    if not isinstance(found, Mapping) or not isinstance(found.get("systems"), list):
        raise UsageError(f"{name} holds no results.", _HINT)
    measures = found.get("measures")
    if not isinstance(measures, list) or not measures or not all(isinstance(one, str) for one in measures):
        raise UsageError(f"{name}: “measures” is no list of names.", _HINT)
    systems = tuple(_system(one, place, name) for place, one in enumerate(found["systems"], start=1))
    if not systems:
        raise UsageError(f"{name} holds no system.", _HINT)
    try:
        described: Evaluation = restore(Evaluation, {**found, "systems": []})
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise UsageError(f"{name} is not complete: {error}.", _HINT) from error
    return replace(described, systems=systems)


def _parsed(data: bytes, name: str) -> Any:
    def refuse(constant: str) -> Any:
        raise UsageError(f"{name}: {constant} is no value.", "Write null where an item was not scored.")

    try:
        return json.loads(data.decode("utf-8-sig"), parse_constant=refuse)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise UsageError(f"{name}, line {line}: not UTF-8.", _HINT) from error
    except json.JSONDecodeError as error:
        raise UsageError(f"{name}, line {error.lineno}: no valid JSON ({error.msg}).", _HINT) from error
    except RecursionError as error:
        raise UsageError(f"{name} is nested too deeply.", _HINT) from error


def _system(data: Any, place: int, name: str) -> ScoredSystem:
    if not isinstance(data, Mapping) or not isinstance(data.get("name"), str):
        raise UsageError(f"{name}: system {place} has no name.", _HINT)
    items = data.get("items")
    if not isinstance(items, list) or not items:
        raise UsageError(f"{name}: system {data['name']!r} has no items.", _HINT)
    return ScoredSystem(
        data["name"], tuple(_item(one, f"{name}, {data['name']}, item {row}") for row, one in enumerate(items, start=1))
    )


def _item(data: Any, where: str) -> ScoredItem:
    if not isinstance(data, Mapping) or not isinstance(data.get("metrics"), Mapping) or "id" not in data:
        raise UsageError(f"{where}: no id or no metrics.", _HINT)
    for measure, value in data["metrics"].items():
        number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if value is not None and not number:
            raise UsageError(f"{where}: {measure} is {value!r}, not a number.", "Write a number or null.")
    texts = data.get("texts") or {}
    if not isinstance(texts, Mapping) or not all(isinstance(text, str) for text in texts.values()):
        raise UsageError(f"{where}: “texts” are no texts.", _HINT)
    metrics = {str(k): None if v is None else float(v) for k, v in data["metrics"].items()}
    return ScoredItem(str(data["id"]), metrics, dict(texts))
