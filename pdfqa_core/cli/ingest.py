"""`pdfqa ingest`: read PDFs into the workspace and index them."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from pdfqa_core.cli import progress
from pdfqa_core.cli.options import add_common, add_settings, settings_of, workspace_of
from pdfqa_core.errors import UsageError
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.types import Progress


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    command = subparsers.add_parser("ingest", help="read PDFs into the workspace", description=__doc__)
    command.add_argument("pdf", nargs="+", type=Path, metavar="PDF")
    command.add_argument("--password-file", type=Path, help="file whose first line is the password of encrypted PDFs")
    add_common(command)
    add_settings(command, "extraction", "chunking", "retrieval")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Ingest the files; exit status 1 if one of them ended in a state that cannot be searched."""
    missing = [str(path) for path in arguments.pdf if not path.is_file()]
    if missing:
        raise UsageError(f"There is no such file: {', '.join(missing)}.", "Check the path.")
    password = None
    if arguments.password_file:
        try:
            password = arguments.password_file.read_text(encoding="utf-8").split("\n", 1)[0]
        except OSError as error:
            raise UsageError(f"The password file cannot be read: {error}.", "Check --password-file.") from error
    with Services(workspace_of(arguments), settings_of(arguments)) as services:
        rows = []
        for event in services.ingest(LOCAL_OWNER, arguments.pdf, password=password):
            if isinstance(event, Progress):
                progress.show(event)
                continue
            progress.clear()
            passages = len(services.passages(LOCAL_OWNER, services.settings, (event.id,))) if event.state.usable else 0
            rows.append(
                {
                    "filename": event.filename,
                    "document_id": event.id,
                    "state": str(event.state),
                    "reason": event.reason,
                    "pages": event.page_count,
                    "passages": passages,
                }
            )
            if not arguments.json:
                print(f"{event.filename}: {event.state}, {event.page_count} pages, {passages} passages  {event.reason}")
        for step in services.build_index(LOCAL_OWNER, services.settings):
            progress.show(step)
        progress.clear()
    if arguments.json:
        print(json.dumps({"documents": rows}, ensure_ascii=False))
    return 0 if all(row["passages"] for row in rows) else 1
