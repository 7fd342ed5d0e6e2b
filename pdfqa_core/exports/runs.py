"""A run as JSON: the results of its evaluation, with what was answered, and the scores by turn and type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pdfqa_core.evaluation_types import Prediction
from pdfqa_core.exports.table import difference, interval, measure_of
from pdfqa_core.metrics.groups import ItemGroup

Groups = Mapping[str, Sequence[ItemGroup]]  # by what the items are grouped


def with_answers(
    results: dict[str, Any], run_id: str, predictions: Mapping[tuple[str, str], Prediction], groups: Groups
) -> dict[str, Any]:
    """Return the object of an evaluation's results with the run's id, what was answered, and the groups' means."""
    for system in results["systems"]:
        for item in system["items"]:
            found = predictions.get((system["name"], item["id"]))
            item.update(_answer(found) if found is not None else {})
        own = {by: {one.value: _means(one, system["name"]) for one in parts} for by, parts in groups.items() if parts}
        if own:
            system["groups"] = own
    return {"run": run_id, **results}


def _answer(prediction: Prediction) -> dict[str, Any]:
    failure = {"error": {"what": prediction.error, "hint": prediction.hint}} if prediction.failed else {}
    lines = prediction.quote
    return {
        "answer": prediction.answer,
        "outcome": prediction.outcome.value,
        "refused": prediction.refused,
        "quote": lines and {"filename": lines.filename, "page": lines.page, "quote": lines.quote},
        "citations": [
            {"filename": one.filename, "page": one.page, "verified": one.verified, "id": one.id, "quote": one.quote}
            for one in prediction.citations
        ],
        "seconds": prediction.seconds,
        **({"searched_for": prediction.asked} if prediction.asked else {}),
        **failure,
    }


def _means(group: ItemGroup, system: str) -> dict[str, Any]:
    return {
        measure: asdict(cell.summary)
        | ({"difference": {**asdict(cell.difference), "p": cell.p}} if cell.difference is not None else {})
        for measure, cell in group.cells[system].items()
    }


def groups_text(by: str, groups: Sequence[ItemGroup], measure: str) -> str:
    """Return the means of one measure by group as lines for a terminal, with the differences to the baseline."""
    lines = [f"{measure_of(measure).pretty_name} by {by}"]
    for group in groups:
        for place, (name, cells) in enumerate(group.cells.items()):
            cell = cells[measure]
            change = difference(cell)
            lines.append(
                f"  {group.value if not place else '':<6}  {interval(cell.summary)}  {name}"
                f"{f'  ({change})' if change else ''}"
            )
    return "\n".join(lines)
