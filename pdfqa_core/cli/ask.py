"""`pdfqa ask`: answer one question with citations."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from pdfqa_core.cli import terminal
from pdfqa_core.cli.options import add_common, add_questions, add_settings, scope_of, settings_of, workspace_of
from pdfqa_core.cli.terminal import stopping
from pdfqa_core.errors import PdfQAError, StoppedError
from pdfqa_core.exports.conversations import paragraphs
from pdfqa_core.exports.frames import filename_of, turn_row
from pdfqa_core.reading.outcomes import notes_below, own_words
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.types import Document, Progress, Stored, Turn


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    command = subparsers.add_parser("ask", help="answer one question", description=__doc__)
    command.add_argument("question", metavar="QUESTION")
    add_questions(command, conversation=True)
    command.add_argument(
        "--anyway", action="store_true", help="answer even if the passages do not seem to hold the answer"
    )
    add_common(command)
    add_settings(command, "chunking", "retrieval", "reading", "conversation", "llm")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Answer the question and print the answer with its sources.

    Raises StoppedError after Ctrl-C; what was written by then is in the conversation.
    """
    with Services.open(workspace_of(arguments), settings_of(arguments)) as services:
        scope = scope_of(services, arguments)
        stored = answered(services, arguments.question, arguments.conversation, scope, anyway=arguments.anyway)
        turn = stored.turn
        if turn.answer.stopped:
            raise StoppedError
        documents = {document.id: document for document in services.documents.kept.list(LOCAL_OWNER)}
    row = {**turn_row(turn, documents), "conversation_id": stored.conversation_id}
    return terminal.told(arguments, row, plain_turn(turn, documents))


def answered(
    services: Services,
    question: str,
    conversation: str,
    scope: Sequence[str],
    *,
    anyway: bool = False,
    replaces: str = "",
) -> Stored:
    """Answer one question with progress; Ctrl-C stops the answer, not the program, and keeps what was written.

    `anyway`: whatever the evidence; `replaces` is the id of the last turn where the new one takes its place.
    """
    events = services.answers.ask(
        LOCAL_OWNER,
        question,
        services.settings,
        conversation_id=conversation,
        document_ids=scope or None,
        replace_turn=replaces,
        anyway=anyway,
    )
    try:
        with stopping(services):
            for event in events:
                if isinstance(event, Progress):
                    terminal.show(event)
                elif isinstance(event, Stored):
                    return event
    finally:
        terminal.clear()
    raise PdfQAError("The question was not answered.", "Ask again.")


def plain_turn(turn: Turn, documents: Mapping[str, Document]) -> str:
    """Return an answer for a terminal: text with markers, then the passages it cites.

    One that is not sure stands behind the lines that match the question best. Where nothing was found, the nearest
    lines and all passages that were found are shown.
    """
    answer = turn.answer
    shown = {hit.rank for hit in answer.hits} if answer.refused else {one.number for one in answer.citations}
    lines = [f'(searched for: "{turn.standalone_question}")'] if turn.standalone_question != turn.question else []
    lines += [f"({answer.rewriting})"] if answer.rewriting else []
    lines += paragraphs(answer, {one.id: one.filename for one in documents.values()})
    lines += ["The nearest passages:"] if answer.refused and answer.hits else []
    for hit in answer.hits:
        if hit.rank in shown and (answer.refused or own_words(answer)):
            pages = ", ".join(map(str, hit.passage.pages))
            lines.append(f"[{hit.rank}] {filename_of(hit.passage.document_id, documents)}, p. {pages}")
    return "\n".join([*lines, *notes_below(answer)])
