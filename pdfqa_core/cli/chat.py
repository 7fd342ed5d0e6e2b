"""`pdfqa chat`: a conversation on the terminal; an empty line or Ctrl-D ends it, Ctrl-C stops an answer.

After a question that was not answered, the line /anyway has it answered from the nearest passages.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from pdfqa_core.cli.ask import answered, plain_turn
from pdfqa_core.cli.options import add_common, add_questions, add_settings, scope_of, settings_of, workspace_of
from pdfqa_core.errors import PdfQAError
from pdfqa_core.exports.frames import turn_row
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.types import Turn

ANYWAY = "/anyway"
COMMANDS = f"An empty line or Ctrl-D ends the conversation; {ANYWAY} answers a refused question from the passages."
OFFER = f"Type {ANYWAY} to have it answered from these passages."


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    command = subparsers.add_parser("chat", help="a conversation on the terminal", description=__doc__)
    add_questions(command, conversation=True)
    add_common(command)
    add_settings(command, "chunking", "retrieval", "reading", "conversation", "llm")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Read questions from standard input until it ends. With --json: one object with all turns at the end.

    ANYWAY asks the last question again where it was refused; its answer takes the refusal's place. A question that
    cannot be answered does not end the conversation; it makes the exit status 1.
    """
    turns: list[dict[str, Any]] = []
    conversation, failed = arguments.conversation, False
    refused: Turn | None = None  # the last turn, where it can be answered anyway
    with Services.open(workspace_of(arguments), settings_of(arguments)) as services:
        services.documents.require_documents(LOCAL_OWNER)
        scope = scope_of(services, arguments)
        if conversation:
            services.answers.conversations.get(LOCAL_OWNER, conversation)
        while question := _next_question():
            again = refused if question == ANYWAY else None
            if question == ANYWAY and again is None:
                print("There is no refused question to answer.", file=sys.stderr)
                continue
            if question.startswith("/") and again is None:
                print(f"{question} is no question. {COMMANDS}", file=sys.stderr)
                continue
            try:
                stored = answered(
                    services,
                    again.question if again else question,
                    conversation,
                    scope,
                    anyway=again is not None,
                    replaces=again.id if again else "",
                )
            except PdfQAError as error:
                failed = True
                turns.append({"question": question, "error": {"what": error.what, "hint": error.hint}})
                print(f"{error.what} {error.hint}", file=sys.stderr)
                continue
            turn, conversation = stored.turn, stored.conversation_id
            documents = {document.id: document for document in services.documents.kept.list(LOCAL_OWNER)}
            if again:
                turns = [row for row in turns if row.get("turn_id") != again.id]
            turns.append(turn_row(turn, documents))
            refused = turn if turn.answer.refused and turn.answer.hits else None
            if not arguments.json:
                shown = [plain_turn(turn, documents), *([OFFER] if refused else [])]
                print("\n".join(shown), end="\n\n", flush=True)
    if arguments.json:
        print(json.dumps({"conversation_id": conversation, "turns": turns}, ensure_ascii=False))
    return int(failed)


def _next_question() -> str:
    if sys.stdin.isatty():
        print("> ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip()
