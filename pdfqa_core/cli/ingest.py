"""`pdfqa ingest`: read PDFs, and folders of PDFs, into the workspace and index them."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pdfqa_core.cli import terminal
from pdfqa_core.cli.options import add_common, add_settings, settings_of, workspace_of
from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.ingest import short_name
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.services.collections import PDFS, FolderFiles, LeftOut, files_of
from pdfqa_core.types import Document, DocumentState, Progress

MOST_LISTED = 20  # files that were left out and are named one by one


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    command = subparsers.add_parser("ingest", help="read PDFs into the workspace", description=__doc__)
    command.add_argument("pdf", nargs="+", type=Path, metavar="PDF", help="a PDF, or a folder of PDFs")
    command.add_argument(
        "--include", action="append", metavar="PATTERN", help="of a folder: files named so (repeatable; default: *.pdf)"
    )
    command.add_argument(
        "--exclude", action="append", metavar="PATTERN", help="of a folder: all but files named so (repeatable)"
    )
    command.add_argument(
        "--recursive",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="of a folder: its sub-folders too (default: True)",
    )
    command.add_argument(
        "--collection", default="", metavar="NAME", help="put the documents into this collection, made if there is none"
    )
    command.add_argument("--attached", action="store_true", help="read the PDFs that are attached to them, too")
    add_password(command)
    add_common(command)
    add_settings(command, "extraction", "chunking", "retrieval")
    command.set_defaults(run=run)


def named_file(path: Path) -> Path:
    """Return the path of the one PDF that a command is about. Raises UsageError where it is not there."""
    if not path.is_file():
        raise UsageError(f"There is no such file: {path}.", "Check the path.")
    return path


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
    readings = services.documents.kept.readings(LOCAL_OWNER, document.id)
    return next((reading.confidence for reading in readings if reading.extractor == document.extractor), None)


def _files(arguments: argparse.Namespace) -> FolderFiles:
    """Return the files that the call names, those of its folders among them.

    Raises UsageError for a file that is not there and for patterns without a folder, PdfQAError where nothing is left.
    """
    missing = [str(path) for path in arguments.pdf if not path.exists()]
    if missing:
        raise UsageError(f"There is no such file: {', '.join(missing)}.", "Check the path.")
    folders = [path for path in arguments.pdf if path.is_dir()]
    if not folders and (arguments.include or arguments.exclude or arguments.recursive is not None):
        raise UsageError(
            "--include, --exclude and --recursive choose among the files of a folder, and no folder is named.",
            "Name a folder, or leave them out.",
        )
    chosen, left_out = list[Path](), list[LeftOut]()
    for path in arguments.pdf:
        if path in folders:
            found = files_of(
                path, arguments.include or PDFS, arguments.exclude or (), recursive=arguments.recursive is not False
            )
            chosen += found.chosen
            left_out += [LeftOut(str(path / one.path), one.reason) for one in found.left_out]
        else:
            chosen.append(path)
    if not chosen:
        why = f" {_counted(left_out)}." if left_out else " It holds no files."
        raise PdfQAError(f"There is nothing to read in {', '.join(map(str, folders))}.{why}", "Check --include.")
    return FolderFiles(tuple(dict.fromkeys(chosen)), tuple(left_out))


def _counted(left_out: Sequence[LeftOut]) -> str:
    """Return how many files were left out and why: "Left out: 3 not *.pdf, 1 hidden"."""
    counts = Counter(one.reason for one in left_out)
    return f"Left out: {', '.join(f'{count} {reason}' for reason, count in counts.most_common())}"


def _summary(rows: Sequence[dict[str, Any]], left_out: Sequence[LeftOut], collection: str) -> str:
    """Return what became of a folder's files in a few lines."""
    states = Counter(row["state"] for row in rows)
    lines = [f"{len(rows)} read: {', '.join(f'{count} {state}' for state, count in states.most_common())}."]
    if left_out:
        lines += [f"{_counted(left_out)}.", *(f"  {one.path}: {one.reason}" for one in left_out[:MOST_LISTED])]
    if len(left_out) > MOST_LISTED:
        lines.append(f"  and {len(left_out) - MOST_LISTED} more; --json lists all")
    if collection:
        lines.append(f"In the collection {collection}.")
    return "\n".join(lines)


def _read(services: Services, arguments: argparse.Namespace, files: Sequence[Path]) -> Iterator[Progress | Document]:
    """Yield what ingesting the files yields, and then, where that is asked for, the PDFs attached to them."""
    password, read = password_of(arguments), list[Document]()
    for event in services.documents.ingest(LOCAL_OWNER, files, password=password):
        yield event
        if isinstance(event, Document) and (event.state.usable or event.state is DocumentState.NO_TEXT):
            read.append(event)
    for document in read if arguments.attached else ():
        with services.documents.attached(LOCAL_OWNER, document.id) as found:
            yield from services.documents.ingest(LOCAL_OWNER, found, password=password)


def run(arguments: argparse.Namespace) -> int:
    """Ingest the files; exit status 1 if one of them ended in a state that cannot be searched."""
    files = _files(arguments)
    with Services.open(workspace_of(arguments), settings_of(arguments)) as services:
        rows = []
        for event in _read(services, arguments, files.chosen):
            if isinstance(event, Progress):
                terminal.show(event)
                continue
            terminal.clear()
            passages = (
                len(services.index.passages(LOCAL_OWNER, services.settings, (event.id,))) if event.state.usable else 0
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
        if arguments.collection:
            kept = {document.id for document in services.documents.kept.list(LOCAL_OWNER)}
            ids = [row["document_id"] for row in rows if row["document_id"] in kept]
            services.documents.collections.put_by_name(LOCAL_OWNER, arguments.collection, ids)
        for step in services.index.build(LOCAL_OWNER, services.settings):
            terminal.show(step)
        terminal.clear()
    if arguments.json:
        given = [short_name(path.name) for path in files.chosen]  # they are finished in another order
        rows.sort(key=lambda row: given.index(row["filename"]) if row["filename"] in given else len(given))
        left_out = [{"path": one.path, "reason": one.reason} for one in files.left_out]
        print(json.dumps({"documents": rows, "left_out": left_out}, ensure_ascii=False))
    elif any(path.is_dir() for path in arguments.pdf) or arguments.collection:
        print(_summary(rows, files.left_out, arguments.collection))
    return 0 if all(row["passages"] for row in rows) else 1
