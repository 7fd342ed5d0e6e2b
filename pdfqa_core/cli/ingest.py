"""`pdfqa ingest`: read PDFs into the workspace and index them."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from pdfqa_core.cli import progress
from pdfqa_core.cli.options import add_common, add_settings, settings_of, workspace_of
from pdfqa_core.errors import UsageError
from pdfqa_core.ingest import short_name
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.types import Document, Progress


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    command = subparsers.add_parser("ingest", help="read PDFs into the workspace", description=__doc__)
    command.add_argument("pdf", nargs="+", type=Path, metavar="PDF")
    add_password(command)
    add_common(command)
    add_settings(command, "extraction", "chunking", "retrieval")
    command.set_defaults(run=run)


def add_password(parser: argparse.ArgumentParser) -> None:
    """Add --password-file."""
    parser.add_argument("--password-file", type=Path, help="file whose first line is the password of encrypted PDFs")


def password_of(arguments: argparse.Namespace) -> str | None:
    """Return the password that the call names a file for, None without one. Raises UsageError as `read_password`."""
    return read_password(arguments.password_file) if arguments.password_file else None


def read_password(file: Path) -> str:
    """Return the first line of a password file. Raises UsageError if it cannot be read or is empty."""
    try:
        password = file.read_text(encoding="utf-8-sig").partition("\n")[0].rstrip("\r")
    except OSError as error:
        raise UsageError(f"The password file cannot be read: {error}.", "Check --password-file.") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"The password file {file} is not UTF-8 text.", "Save it as UTF-8.") from error
    if not password:
        raise UsageError(f"The first line of the password file {file} is empty.", "Write the password there.")
    return password


def _confidence(services: Services, document: Document) -> float | None:
    """Return the mean confidence of OCR in 0..1; None where nothing was read by OCR."""
    if not document.state.usable:
        return None
    readings = services.documents.readings(LOCAL_OWNER, document.id)
    return next((reading.confidence for reading in readings if reading.extractor == document.extractor), None)


def run(arguments: argparse.Namespace) -> int:
    """Ingest the files; exit status 1 if one of them ended in a state that cannot be searched."""
    missing = [str(path) for path in arguments.pdf if not path.is_file()]
    if missing:
        raise UsageError(f"There is no such file: {', '.join(missing)}.", "Check the path.")
    password = password_of(arguments)
    with Services.open(workspace_of(arguments), settings_of(arguments)) as services:
        rows = []
        for event in services.documents.ingest(LOCAL_OWNER, arguments.pdf, password=password):
            if isinstance(event, Progress):
                progress.show(event)
                continue
            progress.clear()
            passages = (
                len(services.indexes.passages(LOCAL_OWNER, services.settings, (event.id,))) if event.state.usable else 0
            )
            rows.append(
                {
                    "filename": event.filename,
                    "document_id": event.id,
                    "state": str(event.state),
                    "reason": event.reason,
                    "pages": event.page_count,
                    "passages": passages,
                    "extractor": event.extractor,
                    "authors": event.authors,
                    "confidence": _confidence(services, event),
                }
            )
            if not arguments.json:
                print(f"{event.filename}: {event.state}, {event.page_count} pages, {passages} passages  {event.reason}")
        for step in services.indexes.build(LOCAL_OWNER, services.settings):
            progress.show(step)
        progress.clear()
    if arguments.json:
        given = [short_name(path.name) for path in arguments.pdf]  # they are finished in another order
        rows.sort(key=lambda row: given.index(row["filename"]) if row["filename"] in given else len(given))
        print(json.dumps({"documents": rows}, ensure_ascii=False))
    return 0 if all(row["passages"] for row in rows) else 1
