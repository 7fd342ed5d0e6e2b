"""`pdfqa cite`: a PDF as an entry of a bibliography, of what the file itself says."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from pdfqa_core.cli.ingest import add_password, named_file, password_of
from pdfqa_core.cli.options import add_common, write_file
from pdfqa_core.errors import PdfQAError
from pdfqa_core.exports.citing import FORMS, Source, source_of
from pdfqa_core.extraction.process.properties import read_properties


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    command = subparsers.add_parser("cite", help="a PDF as BibTeX or CSL-JSON", description=__doc__)
    command.add_argument("pdf", type=Path, metavar="FILE")
    command.add_argument("--to", choices=tuple(FORMS), default="bibtex", help="default: bibtex")
    command.add_argument("--output", type=Path, metavar="FILE", help="where to write (default: standard output)")
    add_password(command)
    add_common(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the entry. Raises PdfQAError (exit status 1) where the file does not say enough for one."""
    path = named_file(arguments.pdf)
    source = source_of(read_properties(path, password=password_of(arguments)), path.name)
    if source.missing:
        raise PdfQAError(f"{path.name} cannot be cited. {source.missing_words}", _hint(source))
    if not source.arxiv:
        print("The date is the day the file was made: check that it was published then.", file=sys.stderr)
    entry = FORMS[arguments.to]([source])
    if arguments.output:
        write_file(arguments.output, entry.encode())
    if arguments.json:
        print(json.dumps({"file": str(arguments.output)} if arguments.output else {"entry": entry}, ensure_ascii=False))
    else:
        print(f"1 entry in {arguments.output}" if arguments.output else entry, end="\n" if arguments.output else "")
    return 0


def _hint(source: Source) -> str:
    """Return what the file does say, and where the rest may be found."""
    known = {
        "title": f"“{source.title}”" if source.title else "",
        "author": ", ".join(author.words for author in source.authors),
        "date": "-".join(f"{part:02d}" for part in source.date),
    }
    said = "; ".join(f"{name} {value}" for name, value in known.items() if value)
    where = f"Take the entry from {source.url}" if source.url else "Write it into the document properties"
    return f"{where}.{f' It does say: {said}.' if said else ''}"
