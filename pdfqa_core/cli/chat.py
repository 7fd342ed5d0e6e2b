"""`pdfqa chat`: a conversation on the terminal; an empty line or Ctrl-D ends it, Ctrl-C stops an answer."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from pdfqa_core.cli.ask import answered, plain_turn, turn_row
from pdfqa_core.cli.options import add_common, add_questions, add_settings, settings_of, workspace_of
from pdfqa_core.errors import PdfQAError
from pdfqa_core.services import LOCAL_OWNER, Services


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    command = subparsers.add_parser("chat", help="a conversation on the terminal", description=__doc__)
    add_questions(command, conversation=True)
    add_common(command)
    add_settings(command, "chunking", "retrieval", "reading", "conversation", "llm")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Read questions from standard input until it ends. With --json: one object with all turns at the end.

    A question that cannot be answered does not end the conversation; it makes the exit status 1.
    """
    turns: list[dict[str, Any]] = []
    conversation, failed = arguments.conversation, False
    with Services.open(workspace_of(arguments), settings_of(arguments)) as services:
        services.documents.require_documents(LOCAL_OWNER)
        scope = services.documents.document_ids(LOCAL_OWNER, arguments.document)
        if conversation:
            services.conversations.get(LOCAL_OWNER, conversation)
        while question := _next_question():
            try:
                stored = answered(services, question, conversation, scope)
            except PdfQAError as error:
                failed = True
                turns.append({"question": question, "error": {"what": error.what, "hint": error.hint}})
                print(f"{error.what} {error.hint}", file=sys.stderr)
                continue
            turn, conversation = stored.turn, stored.conversation_id
            documents = {document.id: document for document in services.documents.list(LOCAL_OWNER)}
            turns.append(turn_row(turn, documents))
            if not arguments.json:
                print(plain_turn(turn, documents), end="\n\n", flush=True)
    if arguments.json:
        print(json.dumps({"conversation_id": conversation, "turns": turns}, ensure_ascii=False))
    return int(failed)


def _next_question() -> str:
    if sys.stdin.isatty():
        print("> ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip()
