"""`pdfqa agreement`: raw agreement, Cohen's kappa and its companions from a CSV of ratings."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from pdfqa_core.cli.options import add_common
from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.agreement import Agreement, agreement_by_criterion
from pdfqa_core.metrics.long_format import read_judgements


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    command = subparsers.add_parser("agreement", help="Cohen's kappa of two annotators", description=__doc__)
    command.add_argument("file", type=Path, metavar="FILE.csv", help="columns item, annotator, criterion, value")
    command.add_argument(
        "--annotators", nargs=2, metavar="NAME", help="the two to compare, where more than two have rated"
    )
    command.add_argument("--seed", type=int, default=0, help="seed of the bootstrap interval (default: 0)")
    add_common(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the agreement for each criterion."""
    try:
        data = arguments.file.read_bytes()
    except OSError as error:
        raise UsageError(f"{arguments.file} cannot be read: {error.strerror}.", "Check the path.") from error
    pair = (arguments.annotators[0], arguments.annotators[1]) if arguments.annotators else None
    results = agreement_by_criterion(read_judgements(data), pair, seed=arguments.seed)
    if arguments.json:
        print(json.dumps({"criteria": {row.criterion: _row(row) for row in results}}, ensure_ascii=False))
        return 0
    for row in results:
        print(f"{row.criterion}  ({row.annotators[0]} and {row.annotators[1]}, n = {row.n})")
        print(f"  raw agreement  {_number(row.agreement)}")
        interval = f"  95 % interval {_number(row.low)} to {_number(row.high)}" if row.low is not None else ""
        print(f"  Cohen's kappa  {_number(row.kappa)}{interval}  {row.words}")
        print(f"  PABAK {_number(row.pabak)}  AC1 {_number(row.ac1)}")
        if row.note:
            print(f"  {row.note}")
    return 0


def _number(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4f}"


def _row(row: Agreement) -> dict[str, Any]:
    return {
        "n": row.n,
        "agreement": row.agreement,
        "kappa": row.kappa,
        "low": row.low,
        "high": row.high,
        "pabak": row.pabak,
        "ac1": row.ac1,
        "prevalence_index": row.prevalence_index,
        "bias_index": row.bias_index,
        "labels": list(row.labels),
        "confusion": [list(counts) for counts in row.confusion],
        "annotators": list(row.annotators),
        "words": row.words,
        "note": row.note,
    }
