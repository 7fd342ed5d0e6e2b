"""Answers that are written whether or not a page looks on: one that is loaded again finds its answer going on."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

from pdfqa_core.characters import clean
from pdfqa_core.errors import PdfQAError
from pdfqa_core.services.answers import AnswerService
from pdfqa_core.services.tasks import Tasks
from pdfqa_core.settings import Settings
from pdfqa_core.storage.conversations import Conversations
from pdfqa_core.types import Event, Stored

PATIENCE = 10.0  # seconds that the end of the program waits for an answer to be stored as far as it is written


class Written:
    """An answer that is being written, with all that has happened so far. Several pages may look on at once."""

    def __init__(self, owner: str, conversation_id: str, question: str) -> None:
        self.owner = owner
        self.conversation_id = conversation_id
        self.question = question
        self._so_far: list[Event] = []
        self._ended = False
        self._error: BaseException | None = None
        self._watching: set[str] = set()
        self._changed = threading.Condition()

    @property
    def ended(self) -> bool:
        """Whether the answer is stored, or failed."""
        with self._changed:
            return self._ended

    @property
    def so_far(self) -> tuple[Event, ...]:
        """What has happened until now."""
        with self._changed:
            return tuple(self._so_far)

    def events(self) -> Iterator[Event]:
        """Yield what has happened, then what happens, Stored at last. Raises what ended it."""
        seen = 0
        while new := self._after(seen):
            yield from new
            seen += len(new)

    def _after(self, seen: int) -> list[Event]:
        """Wait for what comes after so many events and return it, nothing at the end. Raises what ended it."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._so_far) > seen or self._ended)
            new = self._so_far[seen:]
            if not new and self._error is not None:
                raise self._error
            return new

    def watch(self, page: str) -> bool:
        """Note that a page looks on; False if it does already."""
        with self._changed:
            known = page in self._watching
            self._watching.add(page)
            return not known

    def leave(self, page: str) -> None:
        """Note that a page no longer looks on."""
        with self._changed:
            self._watching.discard(page)

    def take(self, event: Event) -> None:
        """Note what has happened."""
        with self._changed:
            self._so_far.append(event)
            self._ended = self._ended or isinstance(event, Stored)
            self._changed.notify_all()

    def end(self, error: BaseException | None = None) -> None:
        """Note that nothing more will happen."""
        with self._changed:
            self._ended, self._error = True, error
            self._changed.notify_all()


class Answering:
    """The answers under way, one at a time in a conversation, each in a thread of its own."""

    def __init__(self, answers: AnswerService, conversations: Conversations, tasks: Tasks) -> None:
        self._answers = answers
        self._conversations = conversations
        self._tasks = tasks
        self._under_way: dict[tuple[str, str], tuple[Written, threading.Thread]] = {}
        self._lock = threading.Lock()

    def ask(
        self, owner: str, question: str, settings: Settings, *, conversation_id: str = "",
        document_ids: Sequence[str] = (), replace_turn: str = "", anyway: bool = False,
    ) -> Written:  # fmt: skip
        """Begin to answer a question, see `AnswerService.ask`.

        Without an id it is asked in a new conversation, which is there at once and goes if nothing comes of it.
        Raises UsageError (empty question), PdfQAError (no documents, the conversation is still being answered).
        """
        question = clean(question)
        if self.of(owner, conversation_id) is not None:
            raise PdfQAError("This conversation is still being answered.", "Wait for the answer, or press Stop.")
        begun = "" if conversation_id else self._answers.begin(owner, question, document_ids)
        written = Written(owner, conversation_id or begun, question)
        key = (owner, written.conversation_id)

        def work() -> None:
            error: BaseException | None = None
            try:
                for event in self._answers.ask(
                    owner, question, settings, conversation_id=written.conversation_id, document_ids=document_ids,
                    replace_turn=replace_turn, anyway=anyway, task=_task(*key),
                ):  # fmt: skip
                    written.take(event)
            except BaseException as raised:  # noqa: BLE001 - raised again in the threads that look on
                error = raised
            finally:
                if begun and error is not None:
                    self._drop_empty(owner, begun)
                with self._lock:
                    self._under_way.pop(key, None)
                written.end(error)

        thread = threading.Thread(target=work, name="answer", daemon=True)
        with self._lock:
            if key in self._under_way:
                raise PdfQAError("This conversation is still being answered.", "Wait for the answer, or press Stop.")
            self._under_way[key] = (written, thread)
        thread.start()
        return written

    def of(self, owner: str, conversation_id: str) -> Written | None:
        """Return the answer that is being written in a conversation, None where there is none."""
        with self._lock:
            written, _ = self._under_way.get((owner, conversation_id), (None, None))
        return written if written is not None and not written.ended else None

    def stop(self, owner: str, conversation_id: str) -> None:
        """Stop the answer of a conversation; it is stored as far as it is written."""
        if conversation_id:
            self._tasks.stop(_task(owner, conversation_id))

    def close(self) -> None:
        """Stop all, and wait until what is written is stored."""
        with self._lock:
            under_way = dict(self._under_way)
        for key in under_way:
            self.stop(*key)
        for _, thread in under_way.values():
            thread.join(PATIENCE)

    def _drop_empty(self, owner: str, conversation_id: str) -> None:
        """Remove a conversation whose first question failed before a word was written."""
        known = next((one for one in self._conversations.list(owner) if one.id == conversation_id), None)
        if known is not None and not known.turn_count:
            self._conversations.delete(owner, conversation_id)


def _task(owner: str, conversation_id: str) -> str:
    return f"answer {owner} {conversation_id}"
