"""Answers that are written whether or not a page looks on: one that is loaded again finds its answer going on."""

from __future__ import annotations

import time
from collections.abc import Sequence

from pdfqa_core.characters import clean
from pdfqa_core.services.answers import AnswerService
from pdfqa_core.services.tasks import Tasks
from pdfqa_core.services.under_way import UnderWay, Written
from pdfqa_core.settings import Settings
from pdfqa_core.storage.conversations import Conversations

BUSY = "This conversation is still being answered."


class Answering:
    """The answers under way, one at a time in a conversation, each in a thread of its own."""

    def __init__(self, answers: AnswerService, conversations: Conversations, tasks: Tasks) -> None:
        self._answers = answers
        self._conversations = conversations
        self._under_way = UnderWay("answer", BUSY, "Wait for the answer, or press Stop.", tasks)

    def ask(
        self, owner: str, question: str, settings: Settings, *, conversation_id: str = "",
        document_ids: Sequence[str] = (), replace_turn: str = "", anyway: bool = False,
    ) -> Written:  # fmt: skip
        """Begin to answer a question, see `AnswerService.ask`.

        Without an id it is asked in a new conversation, which is there at once and goes if nothing comes of it.
        Raises UsageError (empty question), PdfQAError (no documents, the conversation is still being answered).
        """
        began = time.perf_counter()
        question = clean(question)
        self._under_way.check_free(owner, conversation_id)
        begun = "" if conversation_id else self._answers.begin(owner, question, document_ids)
        written = Written(owner, conversation_id or begun, question)

        def write() -> None:
            for event in self._answers.ask(
                owner, question, settings, conversation_id=written.subject, document_ids=document_ids,
                replace_turn=replace_turn, anyway=anyway, task=self._under_way.task(owner, written.subject),
                began=began,
            ):  # fmt: skip
                written.take(event)

        def failed() -> None:
            if begun:
                self._drop_empty(owner, begun)

        self._under_way.start(written, write, failed)
        return written

    @property
    def count(self) -> int:
        """How many answers are being written, or wait for the model."""
        return self._under_way.count

    def of(self, owner: str, conversation_id: str) -> Written | None:
        """Return the answer that is being written in a conversation, None where there is none."""
        return self._under_way.of(owner, conversation_id)

    def stop(self, owner: str, conversation_id: str) -> None:
        """Stop the answer of a conversation; it is stored as far as it is written."""
        self._under_way.stop(owner, conversation_id)

    def close(self) -> None:
        """Stop all, and wait until what is written is stored."""
        self._under_way.close()

    def _drop_empty(self, owner: str, conversation_id: str) -> None:
        """Remove a conversation whose first question failed before a word was written."""
        known = next((one for one in self._conversations.list(owner) if one.id == conversation_id), None)
        if known is not None and not known.turn_count:
            self._conversations.delete(owner, conversation_id)
