"""What a run predicted as files that `pdfqa evaluate answers` scores again, with the same numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pdfqa_core.evaluation_types import Prediction, Run
from pdfqa_core.protocols.answer_files import Pair
from pdfqa_core.protocols.runs import CaseFile
from pdfqa_core.protocols.runs.base import pair_of

GOLD_FILE = "gold.json"


def answer_files(run: Run, file: CaseFile, predictions: Mapping[tuple[str, str], Prediction]) -> dict[str, bytes]:
    """Return gold.json and a file per system, lists of {"id", "answer", "citations", …}, by name.

    Questions without a gold answer, and those of which something failed, are left out of all of them.
    """
    names = [system.name for system in run.plan.systems]
    cited = any(case.gold_citations for case in file.cases)
    kept = [
        case for case in file.cases
        if pair_of(case, Prediction(case.id), cited=False).references
        and all((name, case.id) in predictions and not predictions[name, case.id].failed for name in names)
    ]  # fmt: skip
    files = {GOLD_FILE: _json([_gold(pair_of(case, Prediction(case.id), cited=cited)) for case in kept])}
    for name in names:
        rows = []
        for case in kept:
            prediction = predictions[name, case.id]
            rows.append(_predicted(pair_of(case, prediction, cited=True), prediction, cited))
        files[_unused(name, files)] = _json(rows)
    return files


def _gold(pair: Pair) -> dict[str, Any]:
    answers = list(pair.references)
    row: dict[str, Any] = {
        "id": pair.id, "question": pair.question, "answer": answers if len(answers) > 1 else answers[0],
        "answerable": pair.answerable,
    }  # fmt: skip
    if pair.gold_citations is not None:
        row["citations"] = list(pair.gold_citations)
    return row | ({} if pair.human is None else {"human": pair.human})


def _predicted(pair: Pair, prediction: Prediction, cited: bool) -> dict[str, Any]:
    """Return a row; without gold citations what is cited goes by another name, for it cannot be scored."""
    return {
        "id": pair.id, "answer": prediction.answer, "citations" if cited else "cited": list(pair.cited or ()),
        "refused": prediction.refused, "searched_for": prediction.asked, "seconds": prediction.seconds,
    }  # fmt: skip


def _json(rows: list[dict[str, Any]]) -> bytes:
    return (json.dumps(rows, ensure_ascii=False, indent=1) + "\n").encode("utf-8", "replace")


def _unused(name: str, taken: Mapping[str, bytes]) -> str:
    stem = re.sub(r"[^\w.-]+", "_", name).strip("_.")[:80] or "system"
    names = (f"{stem}.json", *(f"{stem}_{number}.json" for number in range(2, len(taken) + 3)))
    return next(one for one in names if one not in taken)
