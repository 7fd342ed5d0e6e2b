"""Questions in conversations, and what is kept of their answers."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Self

from pdfqa_core.conversation import rewriters
from pdfqa_core.errors import LockedError, ModelError, PdfQAError, StoppedError, UsageError
from pdfqa_core.interfaces import LLM, History, Reader, Rewriter, Sampling, StopSignal
from pdfqa_core.languages import ENGLISH, rules_of
from pdfqa_core.llm.catalogue import OWN_WORDS, entry, is_path, profile
from pdfqa_core.llm.hardware import physical_cores
from pdfqa_core.models import LanguageModel
from pdfqa_core.pipeline import ask
from pdfqa_core.reading import Checker, Meaning, answerability, readers
from pdfqa_core.reading.checking import with_sources
from pdfqa_core.reading.evidence import gather
from pdfqa_core.reading.extractive import best_sentence
from pdfqa_core.reading.generative import ClosedBookReader
from pdfqa_core.reading.prompts import FORMS
from pdfqa_core.reading.summary import SummaryReader, asks_for_summary
from pdfqa_core.registry import Registry
from pdfqa_core.retrieval import confidence
from pdfqa_core.services.documents import DocumentService
from pdfqa_core.services.finding import Hits
from pdfqa_core.services.indexes import IndexService
from pdfqa_core.services.overview import OverviewService
from pdfqa_core.services.suggestions import Suggestions
from pdfqa_core.services.tasks import Job, Tasks, job_name
from pdfqa_core.settings import BY_MODEL, LLMSettings, Settings
from pdfqa_core.storage import Store
from pdfqa_core.text import clean
from pdfqa_core.types import (
    Answer,
    Citation,
    Conversation,
    Done,
    Event,
    Hit,
    Query,
    Retrieved,
    Rewritten,
    Stored,
    Token,
    Turn,
)
from pdfqa_core.whole_files import keeping

# ----------------------------------------------------------------------------------------------------
# A question as it was asked, and its answer in the making.


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as it was asked, with the conversation it belongs to.

    `document_ids` limits the search (empty: all documents), `scope` is what was chosen to that end, collections
    included; `history` are the (question, answer) pairs before it, the oldest first; `conversation_id` is empty for the
    first question of a conversation, `replaces` the id of the turn whose place the new one takes. `anyway`: it is
    answered even if the evidence does not seem to. `began`: since when somebody waits, by `time.perf_counter`.
    """

    owner: str
    question: str
    settings: Settings
    history: tuple[tuple[str, str], ...] = ()
    document_ids: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    conversation_id: str = ""
    replaces: str = ""
    anyway: bool = False
    began: float = field(default_factory=time.perf_counter, compare=False)

    @property
    def questions(self) -> tuple[str, ...]:
        """The question and those before it in its conversation."""
        return (*(asked for asked, _ in self.history), self.question)


@dataclass(slots=True)
class Draft:
    """An answer in the making."""

    searched: str
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
        """Note what has happened."""
        match event:
            case Rewritten(question=question, note=note):
                self.searched, self.rewriting = question, note
            case Retrieved(hits=hits):
                self.hits = hits
            case Token(text=piece):
                self.text += piece

    def noted(self, answer: Answer) -> Answer:
        """Return the answer with notes on how it was made."""
        rewriting = " ".join(part for part in (self.rewriter_missing, answer.rewriting) if part)
        return replace(answer, notes=(*self.notes, *answer.notes), rewriting=rewriting)

    def unfinished(self, *notes: str) -> Answer:
        """Return the answer as far as it is written."""
        return Answer(
            self.text.strip(),
            hits=self.hits,
            stopped=True,
            reader=self.reader,
            model=self.model,
            settings_fingerprint=self.settings_fingerprint,
            notes=notes,
        )


# ----------------------------------------------------------------------------------------------------
# Questions in conversations, and what is kept of their answers.

Find = Callable[[Query, int], list[Hit]]
_log = logging.getLogger(__name__)
KEPT = "The conversation is kept as it was before the question; this answer is not."
LONGEST_LOCK = 300.0  # seconds that a finished answer waits for a locked database
ANSWER = "answer"  # the kind of such jobs
STILL_ANSWERED = ("This conversation is still being answered.", "Wait for the answer, or press Stop.")
LONGEST_TITLE = 60  # characters of a question that become the title of its conversation


@dataclass(frozen=True, slots=True)
class _Source:
    """What finds the passages of a question, and what is known about it; see `pipeline.ask`.

    `reader` reads them where they stand for whole documents; None: the reader of the settings does.
    """

    find: Find
    language: str = ENGLISH
    passages: int | None = None
    note: Callable[[], str] = str
    reader: SummaryReader | None = None


def _sampling(llm: LLMSettings) -> Sampling:
    return Sampling(llm.temperature, llm.seed, llm.top_k, llm.top_p, llm.min_p, llm.repeat_penalty)


class AnswerService:
    """Answers to the questions of each owner, kept as turns of conversations."""

    def __init__(
        self,
        store: Store,
        documents: DocumentService,
        indexes: IndexService,
        language: LanguageModel,
        tasks: Tasks,
        remember: Callable[[LLM], LLM] | None = None,
    ) -> None:
        self.conversations = store.conversations
        self.suggestions = Suggestions(documents, indexes, store.synthetic_questions)
        self.overviews = OverviewService(store.summaries, documents, indexes, self, tasks)
        self._remember = remember  # what a language model's replies are kept by, where they are
        self._documents = documents
        self._indexes = indexes
        self._language = language
        self._tasks = tasks
        self._meanings: dict[tuple[str, str], Meaning] = {}  # by encoder and precision
        self._lock = threading.Lock()
        tasks.meters.work |= {
            "answers": lambda: tasks.count(ANSWER),
            "model calls": lambda: language.calls[0],
            "model calls waiting": lambda: language.calls[1],
        }

    def with_model(self, language: LanguageModel, remember: Callable[[LLM], LLM]) -> Self:
        """Return the same service with another language model, whose replies `remember` keeps."""
        other = copy(self)
        other._language, other._remember = language, remember
        return other

    def forget_owners(self, owners: Collection[str]) -> None:
        """Forget what memory keeps of these owners, and all vectors of questions, answers and passages."""
        self.overviews.kept.forget(owners)
        self.suggestions.kept.forget(owners)
        with self._lock:
            known = list(self._meanings.values())
        for one in known:
            one.forget()

    # ------------------------------------------------------------ readers and rewriters

    def _llm(self) -> LLM:
        status = self._language.status
        if not status.state.usable:
            raise ModelError("The language model is not available.", status.detail)
        llm: LLM = self._language.llm()
        return llm if self._remember is None else self._remember(llm)

    def closed_book(self, settings: Settings) -> ClosedBookReader:
        """Return who answers from what the model knows. Raises ModelError without a model."""
        llm, reading = settings.llm, settings.reading
        return ClosedBookReader(
            self._llm(), max_tokens=llm.max_tokens, sampling=_sampling(llm), instruction=reading.instruction
        )

    def _made(
        self, registry: Registry[Any], name: str, offered: Mapping[str, Any], fallback: str
    ) -> tuple[Any, str, str]:
        """Return a strategy and its name; where it needs a language model and there is none, the fallback and why."""
        why = ""
        if "llm" in registry.parameters(name):
            try:
                offered = {**offered, "llm": self._llm()}
            except ModelError as error:
                name, why = fallback, str(error)
        return registry.get(name)(**registry.accepted(name, offered)), name, why

    def reader_name(self, settings: Settings) -> str:
        """Return the name of the reader that answers: the chosen one, else the one that suits the language model."""
        if settings.reading.reader != BY_MODEL:
            return settings.reading.reader
        llm = self._language.running(settings).llm
        known = llm.engine != "openai" and not is_path(llm.model)
        return entry(llm.model).reader if known else OWN_WORDS

    def _reader(self, settings: Settings) -> tuple[Reader, str, tuple[str, ...]]:
        """Return the reader and its name. Where there is no model it is the extractive one, and a note says why."""
        reading, llm = settings.reading, settings.llm
        suited = profile(llm.engine, llm.model, llm.threads or physical_cores(), llm.gpu_layers)
        offered = {
            "passages": reading.passages or suited.passages,
            "prompt_tokens": reading.prompt_tokens or suited.tokens,
            "max_tokens": llm.max_tokens,
            "form": FORMS[suited.prompts],
            "sampling": _sampling(llm),
            "instruction": reading.instruction,
            "checker": self._checker(settings),
            "whole": reading.plain,
        }
        reader, name, why = self._made(readers, self.reader_name(settings), offered, "extractive")
        note = f"Answered word for word from the passages, because there is no language model: {why}"
        return reader, name, (note,) if why else ()

    def _checker(self, settings: Settings) -> Checker:
        """Return what compares answers with passages: by meaning too where the retriever has an encoder."""
        reading = settings.reading
        meaning = self._meaning(settings) if reading.check_meaning else None
        return Checker(meaning=meaning, supported=reading.citation_threshold, partly=reading.partly_threshold)

    def _meaning(self, settings: Settings) -> Meaning | None:
        """Return the vectors of texts that questions and answers share; None where the retriever has no encoder."""
        if not self._indexes.needs_embeddings(settings):
            return None
        key = (settings.retrieval.embedding_model, settings.retrieval.embedding_precision)
        with self._lock:
            return self._meanings.setdefault(key, Meaning(partial(self._indexes.unit_vectors, settings)))

    def _own_meaning(self, settings: Settings) -> Meaning | None:
        """Return the vectors where they are those of the bundled encoder, on which weights were fitted."""
        return None if settings.retrieval.embedding_model else self._meaning(settings)

    def _judge(self, settings: Settings, reader: Reader) -> answerability.Judge | None:
        """Return what decides before reading whether the evidence answers the question; None: nothing does.

        Sentences are compared by meaning with the bundled encoder only: the confidence is calibrated on its cosines.
        The model is asked only where the reader uses one, and where its answer makes a difference.
        """
        reading = settings.reading
        if reading.plain or reading.refusal == "none":
            return None
        refusal = reading.refusal if reading.confidence_threshold or reading.sure_threshold else answerability.RETRIEVAL
        meaning = self._own_meaning(settings)
        vectors = meaning.vectors if meaning is not None else None
        retrieval = partial(confidence, vectors=vectors, language=settings.retrieval.language)
        asked: Any = reader if reader.llm is not None else None
        return answerability.Judge(refusal, retrieval, asked)

    def rewriter(self, settings: Settings, language: str = ENGLISH) -> tuple[Rewriter, str]:
        """Return the rewriter of the settings for a language; where there is no model the concatenation one and why."""
        chosen = settings.conversation
        name = "joined" if settings.reading.plain else chosen.rewriter
        offered: dict[str, Any] = {"turns": chosen.turns, "language": rules_of(language)}
        if self._indexes.needs_embeddings(settings):
            offered["encode"] = partial(self._indexes.unit_vectors, settings, question=True)
        rewriter, _, why = self._made(rewriters, name, offered, "concatenation")
        note = f"Searched for as typed, with the questions before, because there is no language model: {why}"
        return rewriter, note if why else ""

    # ------------------------------------------------------------ questions

    def begin(
        self,
        owner: str,
        question: str,
        settings: Settings,
        *,
        conversation_id: str = "",
        document_ids: Sequence[str] = (),
        replace_turn: str = "",
        anyway: bool = False,
    ) -> Job:
        """Begin to answer a question in the background, see `ask`; the job's subject is the conversation.

        Without an id it is asked in a new conversation, which is there at once and goes if nothing comes of it. Each
        conversation answers one question at a time. Raises UsageError (empty question), PdfQAError (no documents, the
        conversation is still being answered).
        """
        began = time.perf_counter()
        question = clean(question)
        if self._tasks.job(job_name(ANSWER, owner, conversation_id)) is not None:
            raise PdfQAError(*STILL_ANSWERED)
        begun = "" if conversation_id else self._conversation(owner, question, document_ids)
        job = Job(ANSWER, owner, conversation_id or begun, question)

        def write() -> None:
            try:
                for event in self.ask(
                    owner,
                    question,
                    settings,
                    conversation_id=job.subject,
                    document_ids=document_ids,
                    replace_turn=replace_turn,
                    anyway=anyway,
                    task=job.name,
                    began=began,
                ):
                    job.take(event, last=isinstance(event, Stored))
            except BaseException:
                if begun:
                    self._drop_empty(owner, begun)
                raise

        return self._tasks.begin(job, write, STILL_ANSWERED)

    def _drop_empty(self, owner: str, conversation_id: str) -> None:
        """Remove a conversation whose first question failed before a word was written."""
        known = next((one for one in self.conversations.list(owner) if one.id == conversation_id), None)
        if known is not None and not known.turn_count:
            self.conversations.delete(owner, conversation_id)

    def _conversation(self, owner: str, question: str, document_ids: Sequence[str] = ()) -> str:
        """Store a conversation that is named by its first question and has no turn yet; return its id."""
        question = _not_empty(question)
        self._documents.require_documents(owner)
        conversation = Conversation(
            uuid.uuid4().hex, _title(question), datetime.now(UTC), owner, tuple(document_ids), ()
        )
        self.conversations.put(conversation)
        return conversation.id

    def ask(
        self,
        owner: str,
        question: str,
        settings: Settings,
        *,
        conversation_id: str = "",
        document_ids: Sequence[str] | None = None,
        replace_turn: str = "",
        anyway: bool = False,
        task: str = "",
        began: float | None = None,
    ) -> Iterator[Event]:
        """Answer a question in a conversation (a new one if no id is given) and store the turn.

        Yields the progress of indexing, the events of `pipeline.ask`, and last Stored. `document_ids` limits the search
        to documents and collections (empty: all documents; None: those of the conversation). With `replace_turn`, the
        last turn, the new one takes its place, unless another turn was added meanwhile: then it stands behind that one.
        With `anyway` the reader is asked however little the evidence speaks for an answer. A stopped answer is stored
        as far as it was written, an abandoned one if anything was written. Its seconds count from `began`, a time of
        `perf_counter` (None: now).
        Raises UsageError (empty question, unknown conversation, no last turn to replace), PdfQAError (no documents, an
        empty collection, a task of this name under way) and what the parts raise.
        """
        began = time.perf_counter() if began is None else began
        question = _not_empty(question)
        with self._tasks.start(task) as stop:
            asked = self._asked(owner, question, self._language.running(settings), conversation_id, replace_turn)
            asked = replace(asked, anyway=anyway, began=began)
            if document_ids is not None:
                asked = replace(asked, scope=tuple(document_ids))
            self._documents.require_documents(owner)
            scope = self._documents.collections.searched(owner, asked.scope)
            asked = replace(asked, scope=scope.chosen, document_ids=scope.document_ids)
            draft = Draft(question, asked.settings.fingerprint(), notes=scope.notes)
            try:
                with (
                    self._indexes.preparation.answering(owner, asked.document_ids),
                    closing(self._answered(asked, draft, stop)) as events,
                ):
                    yield from events
            except StoppedError:
                left = draft.unfinished()
                stored = self._store(asked, draft, left)
                yield Done(left)
                yield stored
            except PdfQAError as error:
                self._tasks.meters.failed()
                if draft.text.strip() and draft.stored is None:
                    self._store(asked, draft, draft.unfinished(f"The answer breaks off here: {error.what}"))
                raise
            finally:
                if draft.text.strip() and draft.stored is None:
                    self._store(asked, draft, draft.unfinished())

    def _asked(self, owner: str, question: str, settings: Settings, conversation_id: str, replaces: str) -> Asked:
        """Return the question with what its conversation adds to it."""
        conversation = self.conversations.get(owner, conversation_id) if conversation_id else None
        turns = conversation.turns if conversation else ()
        if replaces and (not turns or turns[-1].id != replaces):
            raise UsageError("Only the last question of a conversation can be asked again.", "Ask a new one.")
        if conversation is None:
            return Asked(owner, question, settings)
        turns = turns[:-1] if replaces else turns
        history = tuple((turn.question, "" if turn.answer.refused else turn.answer.text) for turn in turns)
        about = conversation.document_ids
        return Asked(
            owner, question, settings, history, scope=about, conversation_id=conversation_id, replaces=replaces
        )

    def answer(self, asked: Asked, stop: StopSignal, find: Find | None = None) -> Iterator[Event]:
        """Answer a question and store nothing, Done at last; with `find` in what that finds, not in the documents.

        Raises what the parts raise.
        """
        draft = Draft(asked.question, asked.settings.fingerprint())
        with closing(self._events(asked, draft, stop, find)) as events:
            for event in events:
                draft.take(event)
                yield replace(event, answer=draft.noted(event.answer)) if isinstance(event, Done) else event

    def _answered(self, asked: Asked, draft: Draft, stop: StopSignal) -> Generator[Event, None, None]:
        """Ask, and yield what happens; the finished answer is stored before it is yielded."""
        with closing(self._events(asked, draft, stop)) as events:
            for event in events:
                draft.take(event)
                if isinstance(event, Done):
                    stored = self._store(asked, draft, event.answer)
                    yield replace(event, answer=stored.turn.answer)
                    yield stored
                else:
                    yield event

    def _events(
        self, asked: Asked, draft: Draft, stop: StopSignal, find: Find | None = None
    ) -> Generator[Event, None, None]:
        """Index what is missing, ask, and yield what happens."""
        settings = asked.settings
        reader, draft.reader, notes = self._reader(settings)
        draft.notes += notes
        draft.model = reader.llm.name if reader.llm is not None else ""
        checker = self._checker(settings)
        if find is None:
            source = yield from self._in_documents(asked, draft, reader, stop)
        else:
            source = _Source(find, language=settings.retrieval.language)
        rewriter, missing = self.rewriter(settings, source.language)
        draft.rewriter_missing = missing if asked.history else ""
        turns = settings.conversation.turns
        yield from ask(
            asked.question,
            asked.history[-turns:] if turns else (),
            rewriter=rewriter,
            reader=source.reader or reader,
            retrieve=source.find,
            k=settings.retrieval.k,
            judge=None if source.reader else self._judge(settings, reader),
            threshold=0.0 if asked.anyway else settings.reading.confidence_threshold,
            sure_from=settings.reading.sure_threshold,
            lines=None if settings.reading.plain else partial(_lines, meaning=checker.meaning),
            passages=source.passages,
            note=source.note,
            settings_fingerprint=settings.fingerprint(),
            stop=stop,
            began=asked.began,
        )

    def _in_documents(
        self, asked: Asked, draft: Draft, reader: Reader, stop: StopSignal
    ) -> Generator[Event, None, _Source]:
        """Index what is missing, and return what finds passages for the question in the owner's documents.

        Of a request for a summary these are spread over the documents, and read as a whole.
        """
        settings = asked.settings
        index, by_words = yield from self._indexes.opened_in_time(asked.owner, settings, stop)
        if by_words:
            self._indexes.preparation.want(asked.owner, settings, asked.document_ids)
            draft.notes += (by_words,)
        hits = Hits(self._documents, self._indexes, index, asked.owner, settings, asked.document_ids)
        language = self._indexes.language(index, asked.question, settings, asked.document_ids)
        count = len(index.rows(frozenset(asked.document_ids) if asked.document_ids else None))
        if settings.reading.plain:
            return _Source(hits.plain, language, count)
        meaning = self._own_meaning(settings)
        if meaning is not None and asks_for_summary(asked.question, meaning):
            return _Source(
                lambda query, k: hits.spread(asked.question, quoted=reader.llm is None),
                language,
                count,
                reader=self._summary_reader(settings, reader, hits.titles(asked.question)),
            )
        words = self._indexes.respelt(index, asked.question, settings)
        respelt = f"Searched for {', '.join(f'“{word}”' for word in words.values())} too." if words else ""
        return _Source(hits.retrieve, language, count, lambda: " ".join(filter(None, (respelt, hits.searched))))

    def _store(self, asked: Asked, draft: Draft, answer: Answer) -> Stored:
        """Store an answer as a turn, a first one together with its conversation; nothing is stored twice.

        A refusal says so if only some of the documents were searched. While another program writes to the database, it
        waits: what is written is not given up for that.
        """
        if answer.refused and asked.document_ids:
            there = sum(one.state.usable for one in self._documents.kept.list(asked.owner))
            if there > (few := len(set(asked.document_ids))):
                note = f"Only {few} of your {there} documents {'was' if few == 1 else 'were'} searched."
                answer = replace(answer, notes=(*answer.notes, note))
        give_up = time.monotonic() + LONGEST_LOCK
        while True:
            try:
                with keeping("the answer", KEPT):
                    return self._stored(asked, draft, answer)
            except LockedError as error:
                if time.monotonic() > give_up:
                    raise
                _log.warning("an answer waits to be stored: %s", error.what)

    def _stored(self, asked: Asked, draft: Draft, answer: Answer) -> Stored:
        said = with_sources(draft.noted(answer), asked.questions, self._documents.filenames(asked.owner))
        turn = Turn(uuid.uuid4().hex, 1, asked.question, draft.searched, said)
        conversation_id = asked.conversation_id
        if not conversation_id:
            conversation_id = uuid.uuid4().hex
            title, now = _title(asked.question), datetime.now(UTC)
            self.conversations.put(Conversation(conversation_id, title, now, asked.owner, asked.scope, (turn,)))
        else:
            turn = self.conversations.append_turn(asked.owner, conversation_id, turn, replaces=asked.replaces)
        draft.stored = Stored(conversation_id, turn)
        self._tasks.meters.answered(turn.answer)
        self._language.note_speed(turn.answer)
        return draft.stored

    def summary_reader(self, settings: Settings, title: str) -> tuple[SummaryReader, tuple[str, ...]]:
        """Return who summarises a document, in own words where questions are answered so, and notes for the user."""
        settings = self._language.running(settings)
        reader, _, notes = self._reader(settings)
        return self._summary_reader(settings, reader, title), notes

    def _summary_reader(self, settings: Settings, reader: Reader, title: str) -> SummaryReader:
        checker, llm = self._checker(settings), settings.llm
        return SummaryReader(reader.llm, title, max_tokens=llm.max_tokens, sampling=_sampling(llm), checker=checker)

    def best_sentence(self, turn: Turn, text: str, settings: Settings) -> Citation | None:
        """Return the sentence of the turn's hits that matches a piece of its answer best; None if none does."""
        return best_sentence(text, turn.answer.hits, self._checker(settings).meaning)


def _not_empty(question: str) -> str:
    if not question.strip():
        raise UsageError("The question is empty.", "Type a question.")
    return clean(question.strip())


def _lines(question: str, hits: Sequence[Hit], before: History, meaning: Meaning | None) -> tuple[Citation, ...]:
    """Return the lines of the hits that fit a question best, the better ones first."""
    return gather(question, hits, meaning, before=before[-1][0] if before else "").lines()


def _title(question: str) -> str:
    return question if len(question) <= LONGEST_TITLE else question[: LONGEST_TITLE - 3] + "…"
