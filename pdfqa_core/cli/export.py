"""`pdfqa export`: ratings as a table or JSON lines; conversations to read, with the cited pages, or as JSON lines."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path

from pdfqa_core.cli.options import add_common, settings_of, workspace_of, write_file
from pdfqa_core.cli.study import study_named
from pdfqa_core.cli.terminal import told
from pdfqa_core.errors import UsageError
from pdfqa_core.exports.studies import FORMATS
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.services.conversation_files import FORMS, conversation_file


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    command = subparsers.add_parser("export", help="ratings or conversations as a file", description=__doc__)
    command.add_argument("what", choices=("ratings", "conversations"))
    command.add_argument("--study", default="", metavar="NAME", help="the study, where there are several")
    command.add_argument(
        "--format",
        choices=tuple(dict.fromkeys((*FORMATS, *FORMS))),
        help=f"ratings: {', '.join(FORMATS)} (default: csv); conversations: jsonl (default, all evidence), "
        "markdown, or with pictures of the cited pages docx, html, zip (Markdown)",
    )
    command.add_argument(
        "--conversation",
        action="append",
        default=[],
        metavar="NAME",
        help="only the conversation of this title or id (repeatable)",
    )
    command.add_argument(
        "--output", type=Path, metavar="FILE", help="where to write; - is standard output (default: the workspace)"
    )
    add_common(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the file and print where it is."""
    forms = tuple(FORMS) if arguments.what == "conversations" else tuple(FORMATS)
    kind = arguments.format or ("jsonl" if arguments.what == "conversations" else forms[0])
    if kind not in forms:
        raise UsageError(f"{arguments.what.capitalize()} have no {kind} form.", f"Use one of: {', '.join(forms)}.")
    workspace = workspace_of(arguments)
    with Services.open(workspace, settings_of(arguments)) as services:
        if arguments.what == "conversations":
            made = conversation_file(
                services.documents, services.answers.conversations, LOCAL_OWNER, kind, arguments.conversation
            )
            data, rows, suffix = made.data, made.rows, FORMS[kind][0]
        else:
            study = study_named(services.studies.list(LOCAL_OWNER), arguments.study)
            file = services.studies.file(LOCAL_OWNER, study.id, kind, None)
            data, rows, suffix = file.data, file.rows, FORMATS[kind]
    if str(arguments.output) == "-":
        if arguments.json:
            raise UsageError("--json and --output - both print on standard output.", "Name a file instead.")
        sys.stdout.buffer.write(data)
        return 0
    moment = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    path = arguments.output or workspace / "exports" / f"{arguments.what}-{moment}.{suffix}"
    write_file(path, data)
    return told(arguments, {"file": str(path), "rows": rows}, f"{rows} rows in {path}")
