"""`pdfqa study make`: a study of generated answers beside gold answers, or of a table."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from pdfqa_core.cli.options import add_common, settings_of, workspace_of
from pdfqa_core.protocols.study_definition import PRESETS
from pdfqa_core.protocols.study_items import STRATA
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.services.study_setup import Source


def add(parts: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the part of the command."""
    words = "a study of generated answers beside gold answers"
    command = parts.add_parser("make", help=words, description=words, epilog="Generated answers: a JSON list of "
                               '{"id", "answer"}, or what “pdfqa evaluate run --json” prints.')  # fmt: skip
    command.add_argument("name", metavar="NAME", help="what to call it")
    command.add_argument("--predictions", type=Path, action="append", default=[], metavar="FILE",
                         help="generated answers, a file for each system (repeatable)")  # fmt: skip
    command.add_argument("--gold", type=Path, metavar="FILE", help="questions with gold answers and their places")
    command.add_argument("--table", type=Path, metavar="FILE", help="a CSV with question and answer instead of both")
    command.add_argument("--preset", choices=tuple(PRESETS), default="answers", help="what is asked (default: answers)")
    command.add_argument("--n", type=int, default=100, help="how many items are drawn, 0: all (default: 100)")
    command.add_argument("--seed", type=int, default=0, help="the same draws the same (default: 0)")
    command.add_argument("--by", choices=tuple(filter(None, STRATA)), default="", help="each stratum gives its share")
    command.add_argument("--annotators", default="", metavar="A,B", help="who rates (default: anybody who signs in)")
    add_common(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Make the study."""
    source = Source(
        tuple(arguments.predictions), arguments.gold, arguments.table, arguments.n, arguments.seed, arguments.by
    )
    with Services.open(workspace_of(arguments), settings_of(arguments)) as services:
        study = services.study_setup.of_files(
            LOCAL_OWNER, arguments.name, source, arguments.preset, arguments.annotators
        )
        names = services.studies.names(LOCAL_OWNER, study.id)
    if arguments.json:
        print(json.dumps({"study": study.name, "items": len(study.turn_ids), "annotators": names}, ensure_ascii=False))
    else:
        count = len(study.turn_ids)
        print(f"{study.name}: {count} item{'s' if count > 1 else ''} for {', '.join(names) or 'anybody'}")
    return 0
