"""`pdfqa overview`: title, authors, number of pages and contents of a PDF."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from pdfqa_core.cli import terminal
from pdfqa_core.cli.extract import read_usable
from pdfqa_core.cli.ingest import add_password, named_file, password_of
from pdfqa_core.cli.options import add_common, add_settings, settings_of
from pdfqa_core.extraction.process.properties import read_properties
from pdfqa_core.services.overview import Overview, overview
from pdfqa_core.types import Document


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    command = subparsers.add_parser("overview", help="title, authors and contents of a PDF", description=__doc__)
    command.add_argument("pdf", type=Path, metavar="FILE")
    add_password(command)
    add_common(command)
    add_settings(command, "extraction")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print what the PDF is. Raises DocumentError (exit status 1) where it cannot be read."""
    path = named_file(arguments.pdf)
    password = password_of(arguments)
    result = read_usable(path, settings_of(arguments), password)
    document = Document(
        "",
        result.title,
        path.name,
        result.page_count,
        datetime.now(UTC),
        "",
        result.state,
        result.reason,
        pages_without_text=result.pages_without_text,
        authors=result.authors,
    )
    found = overview(document, result.pages, read_properties(path, password=password).outline)
    return terminal.told(arguments, _row(found), _text(found))


def _row(found: Overview) -> dict[str, object]:
    document = found.document
    return {
        "file": document.filename,
        "title": document.title,
        "authors": found.authors,
        "pages": document.page_count,
        "contents_from": "bookmarks" if found.bookmarks else "headings",
        "contents": [asdict(entry) for entry in found.contents],
        "pictures": list(found.pictures),
    }


def _text(found: Overview) -> str:
    document = found.document
    pages = "1 page" if document.page_count == 1 else f"{document.page_count:,} pages"
    lines = [line for line in (document.title, found.authors, f"{pages}, {document.filename}") if line]
    lines += [document.reason] if document.reason else []
    entries = [f"{'  ' * (entry.level - 1)}{entry.title}  {entry.page}" for entry in found.contents]
    return "\n".join([*lines, *([""] if entries else []), *entries])
