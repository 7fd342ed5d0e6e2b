"""`pdfqa search`: the passages that a retriever finds for a question."""

from __future__ import annotations

import argparse

from pdfqa_core.cli import terminal
from pdfqa_core.cli.options import add_common, add_questions, add_settings, scope_of, settings_of, workspace_of
from pdfqa_core.exports.frames import hit_row
from pdfqa_core.retrieval import page_range
from pdfqa_core.services import LOCAL_OWNER, Services


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    command = subparsers.add_parser("search", help="find passages, no language model involved", description=__doc__)
    command.add_argument("question", metavar="QUESTION")
    add_questions(command)
    command.add_argument(
        "--pages", type=page_range, metavar="FIRST-LAST", help="only passages that touch these pages, such as 3-9 or 7"
    )
    add_common(command)
    add_settings(command, "chunking", "retrieval")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Search and print the hits."""
    settings = settings_of(arguments)
    with Services.open(workspace_of(arguments), settings) as services:
        services.documents.require_documents(LOCAL_OWNER)
        scope = services.documents.collections.searched(LOCAL_OWNER, scope_of(services, arguments)).document_ids
        for step in services.index.build(LOCAL_OWNER, settings):
            terminal.show(step)
        terminal.clear()
        hits = services.index.search(
            LOCAL_OWNER, arguments.question, settings, document_ids=scope, pages=arguments.pages
        )
        documents = {document.id: document for document in services.documents.kept.list(LOCAL_OWNER)}
    rows = [hit_row(hit, documents) for hit in hits]
    lines = [
        f"{row['rank']}. {row['filename']}, p. {', '.join(map(str, row['pages']))}  (score {row['score']:.3f})\n"
        f"   {' '.join(row['text'].split())}\n"
        for row in rows
    ]
    return terminal.told(arguments, {"hits": rows}, *(lines or ["Nothing was found."]))
