"""`pdfqa collections`: the collections of documents, with what is in each."""

from __future__ import annotations

import argparse
from typing import Any

from pdfqa_core.cli.options import add_common, settings_of, workspace_of
from pdfqa_core.cli.terminal import told
from pdfqa_core.services import LOCAL_OWNER, Services


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    command = subparsers.add_parser("collections", help="list the collections of documents", description=__doc__)
    add_common(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print each collection and the files in it."""
    with Services.open(workspace_of(arguments), settings_of(arguments)) as services:
        names = services.documents.filenames(LOCAL_OWNER)
        rows: list[dict[str, Any]] = [
            {"name": one.name, "id": one.id, "documents": [names[i] for i in one.document_ids if i in names]}
            for one in services.documents.collections.kept.list(LOCAL_OWNER)
        ]
    lines = ["\n  ".join([row["name"], *(row["documents"] or ["(no documents)"])]) for row in rows]
    none = "There are no collections. Make one with: pdfqa ingest FOLDER --collection NAME"
    return told(arguments, {"collections": rows}, *(lines or [none]))
