"""`pdfqa evaluate answers`: text and citations of answers against gold answers, from two files."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from pdfqa_core.cli.evaluate.shown import interval, write_file
from pdfqa_core.cli.options import add_common
from pdfqa_core.csv_format import write_csv
from pdfqa_core.metrics.base import measures as known_measures
from pdfqa_core.protocols.answer_files import match, read_rows
from pdfqa_core.protocols.answers import SCORES, AnswerScores, score_answers
from pdfqa_core.services.evaluation_files import summary_row


def add(protocols: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the protocol."""
    command = protocols.add_parser(
        "answers",
        help="are answers and citations right?",
        description="Score answers and their citations against gold answers.",
        epilog='Files: a JSON list or JSONL of {"answer", "citations"}; matched by "id" where both give it, else by '
        "order; a gold answer may be a list of references.",
    )
    command.add_argument(
        "--data", type=Path, required=True, action="append", metavar="FILE", help="predictions; repeatable"
    )
    command.add_argument("--gold", type=Path, required=True, metavar="FILE", help="gold answers")
    command.add_argument("--measures", default=",".join(SCORES), metavar="M,N", help=f"(default: {','.join(SCORES)})")
    command.add_argument("--bootstrap-seed", type=int, default=0, help="seed of the intervals (default: 0)")
    command.add_argument("--csv", type=Path, metavar="FILE", help="write a row per system, item and measure")
    add_common(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Score the files and print the means."""
    names = [name.strip() for name in arguments.measures.split(",") if name.strip()]
    gold = read_rows(arguments.gold, several=True)
    systems = [score_answers(path.stem, match(read_rows(path, several=False), gold), names) for path in arguments.data]
    if arguments.csv:
        write_file(arguments.csv, _csv(systems, names))
    seed = arguments.bootstrap_seed
    if arguments.json:
        rows = [
            {
                "name": system.name,
                "metrics": {name: summary_row(system.summary(name, seed=seed)) for name in names},
                "items": [{"id": item.id, "metrics": dict(item.metrics)} for item in system.items],
            }
            for system in systems
        ]
        print(json.dumps({"systems": rows}, ensure_ascii=False))
        return 0
    for system in systems:
        print(system.name)
        for name in names:
            print(f"  {known_measures.get(name).pretty_name:<32} {interval(system.summary(name, seed=seed))}")
    return 0


def _csv(systems: list[AnswerScores], names: list[str]) -> bytes:
    rows = [
        (system.name, item.id, name, "" if item.metrics[name] is None else repr(item.metrics[name]))
        for system in systems
        for item in system.items
        for name in names
    ]
    return write_csv(("system", "item", "measure", "value"), rows)
