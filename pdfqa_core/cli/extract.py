"""`pdfqa extract`: the pages of a PDF as Markdown, JSON with places, or plain text, beside the workspace."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from pdfqa_core.cli import terminal
from pdfqa_core.cli.ingest import add_password, named_file, password_of
from pdfqa_core.cli.options import add_common, add_settings, settings_of, write_file
from pdfqa_core.errors import DocumentError, UsageError
from pdfqa_core.exports import extracted
from pdfqa_core.extraction.process.worker import ReadResult
from pdfqa_core.retrieval import PageRange, page_range
from pdfqa_core.services.readings import read_pdf
from pdfqa_core.settings import Settings
from pdfqa_core.types import DocumentState, Page

_SUFFIXES = {".md": "markdown", ".markdown": "markdown", ".json": "json", ".txt": "txt"}
HINTS = {
    DocumentState.ENCRYPTED: "--password-file FILE gives the password.",
    DocumentState.NO_TEXT: "--extractor visual reads pictures by OCR.",
}


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    command = subparsers.add_parser("extract", help="a PDF as Markdown, JSON or text", description=__doc__)
    command.add_argument("pdf", type=Path, metavar="FILE")
    command.add_argument(
        "--to", choices=tuple(extracted.WRITERS), help="default: by the name of --output, else markdown"
    )
    command.add_argument(
        "--pages", type=page_ranges, metavar="3-7,9", help="only these pages of the file, counted from 1 (default: all)"
    )
    command.add_argument("--output", type=Path, metavar="FILE", help="where to write (default: standard output)")
    add_password(command)
    add_common(command)
    add_settings(command, "extraction")
    command.set_defaults(run=run)


def page_ranges(text: str) -> tuple[PageRange, ...]:
    """Return the (first, last) of "3-7,9". Raises UsageError."""
    return tuple(page_range(part) for part in text.split(","))


def read_usable(path: Path, settings: Settings, password: str | None) -> ReadResult:
    """Return a PDF as it was read, with progress. Raises DocumentError where it has no pages to read."""
    result = read_pdf(path, settings.extraction, password, terminal.show)
    terminal.clear()
    if not result.state.usable:
        raise DocumentError(result.state, result.reason, HINTS.get(result.state, ""))
    return result


def run(arguments: argparse.Namespace) -> int:
    """Read the file and write its pages. Raises DocumentError (exit status 1) where it has none to read."""
    path = named_file(arguments.pdf)
    settings = settings_of(arguments)
    result = read_usable(path, settings, password_of(arguments))
    form = arguments.to or _SUFFIXES.get(arguments.output.suffix.lower() if arguments.output else "", "markdown")
    read = extracted.ReadFile(
        path.name,
        result.title,
        result.authors,
        settings.extraction.extractor,
        result.state.value,
        result.reason,
        result.page_count,
        _chosen(result.pages, arguments.pages, path.name),
    )
    data = extracted.WRITERS[form](read)
    if arguments.output:
        write_file(arguments.output, data)
    if arguments.json:
        content = extracted.document(read) if form == "json" else data.decode()
        made = {"file": str(arguments.output)} if arguments.output else {"content": content}
        row = {"state": read.state, "reason": read.reason, "pages": len(read.pages), **made}
        print(json.dumps(row, ensure_ascii=False))
        return 0
    warnings = [one for page in read.pages for one in page.warnings if " has no text" not in one]
    for said in dict.fromkeys(filter(None, (read.reason, *warnings))):
        print(f"pdfqa: {said}", file=sys.stderr)
    if arguments.output:
        print(f"{len(read.pages)} pages in {arguments.output}")
    else:
        sys.stdout.buffer.write(data)
    return 0


def _chosen(pages: tuple[Page, ...], ranges: Sequence[PageRange] | None, name: str) -> tuple[Page, ...]:
    """Return the pages within the ranges, all where none are given. Raises UsageError for one that is not there."""
    if ranges is None:
        return pages
    beyond = next((last for _, last in ranges if last > len(pages)), 0)
    if beyond:
        raise UsageError(f"{name} has no page {beyond}.", f"Choose pages from 1 to {len(pages)}.")
    return tuple(page for page in pages if any(first <= page.number <= last for first, last in ranges))
