"""Questions in conversations, what is kept of their answers, and studies made of them."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from pdfqa_core.conversation import rewriters
from pdfqa_core.errors import ModelError, PdfQAError, StoppedError, UsageError
from pdfqa_core.loaded_models import Models
from pdfqa_core.pipeline import Judge, ask
from pdfqa_core.reading import Checker, Meaning, answerability, readers
from pdfqa_core.retrieval import Index, confidence
from pdfqa_core.services.documents import LOCAL_OWNER
from pdfqa_core.services.models import ModelServices
from pdfqa_core.settings import LLMSettings, Settings
from pdfqa_core.types import (
    LLM,
    Answer,
    Done,
    Event,
    Hit,
    Reader,
    Retrieved,
    Rewriter,
    Rewritten,
    Sampling,
    StopSignal,
    Stored,
    Study,
    Token,
    Turn,
)

LONGEST_TITLE = 60  # characters of a question that become the title of its conversation


@dataclass(slots=True)
class _Draft:
    """What is known of an answer while it is made. `keep` stores it as a turn; nothing is stored twice."""

    searched: str
    keep: Callable[[Answer, str], Stored]
    settings_fingerprint: str
    reader: str = ""
    model: str = ""
    notes: tuple[str, ...] = ()
    rewriter_missing: str = ""
    rewriting: str = ""
    hits: tuple[Hit, ...] = ()
    text: str = ""
    stored: Stored | None = None

    def take(self, event: Event) -> None:
        match event:
            case Rewritten(question=question, note=note):
                self.searched, self.rewriting = question, note
            case Retrieved(hits=hits):
                self.hits = hits
            case Token(text=piece):
                self.text += piece

    def store(self, answer: Answer) -> Stored:
        rewriting = " ".join(part for part in (self.rewriter_missing, self.rewriting) if part)
        answer = replace(answer, notes=(*self.notes, *answer.notes), rewriting=rewriting)
        self.stored = self.keep(answer, self.searched)
        return self.stored

    def unfinished(self) -> Answer:
        return Answer(
            self.text.strip(), hits=self.hits, stopped=True, reader=self.reader, model=self.model,
            settings_fingerprint=self.settings_fingerprint,
        )  # fmt: skip


def _sampling(llm: LLMSettings) -> Sampling:
    return Sampling(llm.temperature, llm.seed, llm.top_k, llm.top_p, llm.min_p, llm.repeat_penalty)


class AnswerServices(ModelServices):
    """A workspace with its conversations and studies."""

    def __init__(self, workspace: Path, settings: Settings, models: Models | None = None) -> None:
        super().__init__(workspace, settings, models)
        self._meanings: dict[str, Meaning] = {}  # by encoder

    # ------------------------------------------------------------ readers and rewriters

    def _llm(self) -> LLM:
        status = self.models.status
        if status.state == "missing":
            raise ModelError("The language model is not available.", status.detail)
        return self.models.llm()

    def _reader(self, settings: Settings) -> tuple[Reader, str, tuple[str, ...]]:
        """Return the reader and its name: that of the settings, or where there is no model the extractive one."""
        reading, llm = settings.reading, settings.llm
        checker = self._checker(settings)
        strategy: Any = readers.get(reading.reader)
        if not strategy.needs_llm:
            return strategy(passages=reading.passages, checker=checker), reading.reader, ()
        try:
            reader: Reader = strategy(
                self._llm(), passages=reading.passages, prompt_tokens=reading.prompt_tokens, max_tokens=llm.max_tokens,
                sampling=_sampling(llm), type_of=None if reading.question_type == "auto" else reading.question_type,
                instruction=reading.instruction, checker=checker,
            )  # fmt: skip
        except ModelError as error:
            note = f"Answered word for word from the passages, because there is no language model: {error}"
            fallback: Any = readers.get("extractive")
            return fallback(passages=reading.passages, checker=checker), "extractive", (note,)
        return reader, reading.reader, ()

    def _checker(self, settings: Settings) -> Checker:
        """Return what compares answers with passages: by meaning too where the retriever has an encoder."""
        reading = settings.reading
        meaning = self._meaning(settings) if reading.check_meaning else None
        return Checker(meaning=meaning, supported=reading.citation_threshold, partly=reading.partly_threshold)

    def _meaning(self, settings: Settings) -> Meaning | None:
        """Return the vectors of texts that questions and answers share; None where the retriever has no encoder."""
        model = settings.retrieval.embedding_model
        if not self._needs_embeddings(settings):
            return None
        encoder = self.models.encoder(model)
        with self._lock:
            return self._meanings.setdefault(model, Meaning(encoder.encode))

    def _judge(self, settings: Settings, reader: Reader) -> Judge | None:
        """Return what decides before reading whether the evidence answers the question; None: nothing does.

        Sentences are compared by meaning with the bundled encoder only: the confidence is calibrated on its cosines.
        The model is asked only where the reader uses one.
        """
        refusal = settings.reading.refusal
        if refusal == "none":
            return None
        meaning = None if settings.retrieval.embedding_model else self._meaning(settings)
        vectors = meaning.vectors if meaning is not None else None
        retrieval = partial(confidence, vectors=vectors, language=settings.retrieval.language)
        asked: Any = reader if hasattr(reader, "llm") else None
        return answerability.Judge(refusal, retrieval, asked)

    def _rewriter(self, settings: Settings) -> tuple[Rewriter, str]:
        """Return the rewriter of the settings, or where there is no model the concatenation one and why."""
        chosen = settings.conversation
        strategy: Any = rewriters.get(chosen.rewriter)
        options: dict[str, Any] = {"turns": chosen.turns, "new_topic": chosen.new_topic}
        if self._needs_embeddings(settings):
            encoder = self.models.encoder(settings.retrieval.embedding_model)
            options["encode"] = partial(encoder.encode, question=True)
        if not strategy.needs_llm:
            return strategy(**options), ""
        try:
            return strategy(self._llm(), **options), ""
        except ModelError as error:
            fallback: Any = rewriters.get("concatenation")
            note = f"Completed with words of the questions before, because there is no language model: {error}"
            return fallback(**options), note

    # ------------------------------------------------------------ questions

    def answer(
        self, owner: str, question: str, settings: Settings, *, conversation_id: str = "",
        document_ids: Sequence[str] | None = None, replace_turn: str = "", run: str = "",
    ) -> Iterator[Event]:  # fmt: skip
        """Answer a question in a conversation (a new one if no id is given) and store the turn.

        Yields the progress of indexing, the events of `pipeline.ask`, and last Stored. `document_ids` limits the search
        (empty: all documents; None: those of the conversation). With `replace_turn`, the last turn, the new one takes
        its place. A stopped answer is stored as far as it was written, an abandoned one if anything was written.
        Raises UsageError (empty question, unknown conversation, no last turn to replace), PdfQAError (no documents, a
        run of this name under way) and what the parts raise.
        """
        question = question.strip()
        if not question:
            raise UsageError("The question is empty.", "Type a question.")
        settings = self.running(settings)
        with self._runs.start(run) as stop:
            turns: tuple[Turn, ...] = ()
            if conversation_id:
                conversation = self.store.conversations.get(owner, conversation_id)
                turns = conversation.turns
                document_ids = conversation.document_ids if document_ids is None else document_ids
            if replace_turn and (not turns or turns[-1].id != replace_turn):
                raise UsageError("Only the last question of a conversation can be asked again.", "Ask a new one.")
            self.require_documents(owner)
            earlier = turns[:-1] if replace_turn else turns
            history = [(turn.question, "" if turn.answer.refused else turn.answer.text) for turn in earlier]
            scope = tuple(document_ids or ())

            def keep(answer: Answer, standalone: str) -> Stored:
                return self._keep(owner, question, standalone, answer, conversation_id, scope, bool(replace_turn))

            draft = _Draft(question, keep, settings.fingerprint())
            try:
                with closing(self._asked(owner, question, settings, history, scope, draft, stop)) as events:
                    yield from events
            except StoppedError:
                left = draft.unfinished()
                stored = draft.store(left)
                yield Done(left)
                yield stored
            except PdfQAError as error:
                if draft.text.strip() and draft.stored is None:
                    draft.store(replace(draft.unfinished(), notes=(f"The answer breaks off here: {error.what}",)))
                raise
            finally:
                if draft.text.strip() and draft.stored is None:
                    draft.store(draft.unfinished())

    def _asked(
        self, owner: str, question: str, settings: Settings, history: Sequence[tuple[str, str]], scope: Sequence[str],
        draft: _Draft, stop: StopSignal,
    ) -> Generator[Event, None, None]:  # fmt: skip
        """Index what is missing, ask, and yield what happens; the finished answer is stored before it is told."""
        index = yield from self._opened(owner, settings, stop)
        reader, draft.reader, notes = self._reader(settings)
        rewriter, missing = self._rewriter(settings)
        draft.notes = notes
        draft.rewriter_missing = missing if history else ""
        draft.model = str(getattr(getattr(reader, "llm", None), "name", ""))
        turns = settings.conversation.turns
        with closing(
            self._events(index, question, history[-turns:] if turns else (), settings, rewriter, reader, scope, stop)
        ) as events:
            for event in events:
                draft.take(event)
                if isinstance(event, Done):
                    stored = draft.store(event.answer)
                    yield replace(event, answer=stored.turn.answer)
                    yield stored
                else:
                    yield event

    def _events(
        self, index: Index, question: str, history: Sequence[tuple[str, str]], settings: Settings, rewriter: Rewriter,
        reader: Reader, scope: Sequence[str], stop: StopSignal,
    ) -> Generator[Event, None, None]:  # fmt: skip
        yield from ask(
            question, history, rewriter=rewriter, retrieve=lambda q, k: self._search(index, q, settings, scope, k),
            reader=reader, judge=self._judge(settings, reader), k=settings.retrieval.k,
            threshold=settings.reading.confidence_threshold, settings_fingerprint=settings.fingerprint(), stop=stop,
        )  # fmt: skip

    def _keep(
        self, owner: str, question: str, standalone: str, answer: Answer, conversation_id: str,
        document_ids: Sequence[str], replacing: bool,
    ) -> Stored:  # fmt: skip
        conversations = self.store.conversations
        if not conversation_id:
            title = question if len(question) <= LONGEST_TITLE else question[: LONGEST_TITLE - 3] + "…"
            conversation_id = conversations.create(owner, title, document_ids).id
        store = conversations.replace_last_turn if replacing else conversations.append_turn
        return Stored(
            conversation_id, store(owner, conversation_id, Turn(uuid.uuid4().hex, 0, question, standalone, answer))
        )

    # ------------------------------------------------------------ studies

    def study_of(self, owner: str, conversation_id: str, turn_id: str) -> Study:
        """Return a study that holds the turn; one of its whole conversation is made if there is none."""
        studies = self.store.studies.list(owner)
        for study in studies:
            if turn_id in study.turn_ids:
                return study
        title = self.store.conversations.get(owner, conversation_id).title
        taken = {study.name for study in studies}
        numbered = (title if n == 1 else f"{title} ({n})" for n in count(1))
        name = next(name for name in numbered if name not in taken)
        return self.store.studies.create(owner, name, [conversation_id], len(studies))

    # ------------------------------------------------------------ housekeeping

    def purge_visitors(self) -> tuple[str, ...]:
        """Remove the data of demo visitors who were not seen for the time the settings give; return who went."""
        if not self.settings.server.demo:
            return ()
        gone = self.store.owners.purge(self.settings.server.visitor_hours, keep=(LOCAL_OWNER,))
        self._passwords.forget_owners(gone)
        for owner in gone:
            shutil.rmtree(self._owner_folder(owner), ignore_errors=True)
        with self._lock:
            self._indexes = {key: index for key, index in self._indexes.items() if key[0] not in gone}
        return gone
