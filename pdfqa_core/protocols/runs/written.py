"""Runs from the files that were written of them: questions and predictions, to be scored again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pdfqa_core.evaluation_types import Prediction
from pdfqa_core.protocols.json_rows import JsonRow, check_ids, check_same_ids, load_rows, peek
from pdfqa_core.protocols.runs.base import CaseFile, run_protocols

_HINT = 'Write a list of {"id": …, "answer": …}.'


@dataclass(frozen=True, slots=True)
class Written:
    """The questions of a run, and what was predicted for them by system and item."""

    file: CaseFile
    predictions: Mapping[tuple[str, str], Prediction]


def said_by(gold: Path) -> tuple[str, str]:
    """Return the protocol and the profile that a file of gold answers says it was written of; "" where it says none."""
    first = peek(gold)
    protocol = str(first.get("protocol") or "")
    return (protocol, str(first.get("profile") or "")) if protocol in run_protocols.names() else ("", "")


def read_written(protocol: str, gold: Path, data: Mapping[str, Path]) -> Written:
    """Return a run of a protocol from its gold answers and the predictions of each system, by name.

    Raises UsageError that names file, row and field, and where two files do not hold the same questions.
    """
    rows = run_protocols.get(protocol).rows
    cases = tuple(map(rows.case, _rows(gold)))
    wanted = dict.fromkeys(case.id for case in cases)
    predictions: dict[tuple[str, str], Prediction] = {}
    for name, path in data.items():
        found = {one.item_id: one for one in map(rows.prediction, _rows(path))}
        check_same_ids(found, wanted, without=("no prediction", "no gold answer"), name=path.name)
        predictions |= {(name, item): one for item, one in found.items()}
    return Written(CaseFile(gold.name, cases), predictions)


def _rows(path: Path) -> list[JsonRow]:
    rows = load_rows(path, "rows", _HINT)
    check_ids(((row.number, str(row.values["id"])) for row in rows if row.values.get("id") is not None), path.name)
    return rows
