"""What a run predicted as files that `pdfqa evaluate answers` scores again, with the same numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pdfqa_core.evaluation_types import Prediction, Run
from pdfqa_core.protocols.runs import CaseFile, run_protocols

GOLD_FILE = "gold.json"
NOT_ASKED = "It was not asked yet."


def answer_files(run: Run, file: CaseFile, predictions: Mapping[tuple[str, str], Prediction]) -> dict[str, bytes]:
    """Return gold.json and a file per system, lists of {"id", "answer", "citations", …}, by name.

    All questions are in all of them; what failed, or was not asked yet, says so ("error"). Every gold row names the
    protocol, and the profile if there is one.
    """
    rows = run_protocols.get(run.plan.protocol).rows
    made_by = {"protocol": run.plan.protocol} | ({"profile": run.plan.profile} if run.plan.profile else {})
    cited = any(case.gold_citations for case in file.cases)
    files = {GOLD_FILE: _json([rows.gold(case) | made_by for case in file.cases])}
    for system in run.plan.systems:
        made = (predictions.get((system.name, one.id), Prediction(one.id, error=NOT_ASKED)) for one in file.cases)
        files[_unused(system.name, files)] = _json(
            [rows.predicted(case, one, cited=cited) for case, one in zip(file.cases, made, strict=True)]
        )
    return files


def _json(rows: list[dict[str, Any]]) -> bytes:
    return (json.dumps(rows, ensure_ascii=False, indent=1) + "\n").encode("utf-8", "replace")


def _unused(name: str, taken: Mapping[str, bytes]) -> str:
    stem = re.sub(r"[^\w.-]+", "_", name).strip("_.")[:80] or "system"
    names = (f"{stem}.json", *(f"{stem}_{number}.json" for number in range(2, len(taken) + 3)))
    return next(one for one in names if one not in taken)
