"""Files that are no questions, but that another command takes: which one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pdfqa_core.csv_format import read_csv
from pdfqa_core.errors import UsageError
from pdfqa_core.extraction.process.outside import read_file
from pdfqa_core.protocols.json_rows import peek

_ASKED = ("question", "query", "input", "ambiguous_question", "data", "turn", "text")


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """What a file holds, and the command that takes it."""

    what: str
    command: str


def elsewhere(path: Path) -> Elsewhere | None:
    """Return which command takes a file that holds no questions; None where it may hold some."""
    if path.suffix.lower() == ".csv":
        return _table(path)
    first = peek(path)
    protocol = str(first.get("protocol") or "answers")
    asked = any(key in first for key in _ASKED)
    told = (
        (
            not asked and isinstance(first.get("answer"), Mapping),
            "predictions for HotpotQA",
            "hotpotqa --data {} --gold ROWS.json",
        ),
        (isinstance(first.get("results"), list), "recorded judgements of claims", "entailment --data {}"),
        ("systems" in first and "measures" in first, "results of an evaluation", protocol + " --load {}"),
        (not asked and ("answer" in first or "prediction" in first), "answers", "answers --data {} --gold GOLD.json"),
        (not asked and _all_texts(first), "answers by id", "asqa --data {} --gold ASQA.json"),
    )
    return next(
        (Elsewhere(what, f"pdfqa evaluate {call.format(path.name)}") for fits, what, call in told if fits), None
    )


def _all_texts(first: Mapping[str, object]) -> bool:
    return len(first) > 1 and all(isinstance(value, str) for value in first.values())


def _table(path: Path) -> Elsewhere | None:
    try:
        header = {name.strip().lower() for name in read_csv(read_file(path)).header}
    except UsageError:  # told in full by the reader of tables
        return None
    if {"item", "annotator", "criterion", "value"} <= header:
        return Elsewhere("ratings", f"pdfqa agreement {path.name}")
    return None
