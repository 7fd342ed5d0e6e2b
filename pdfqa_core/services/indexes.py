"""Passages and indexes of each owner's documents, the reading of their meaning in the background, and search."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import threading
import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

from pdfqa_core import languages
from pdfqa_core.background import in_background
from pdfqa_core.chunking import with_headings
from pdfqa_core.errors import ModelError, PdfQAError, StoppedError, StorageError, UsageError
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.models import Encoders, PassageEncoder
from pdfqa_core.retrieval import (
    AUTO_LANGUAGE,
    Embedding,
    EmbeddingCache,
    Encoder,
    Index,
    IndexStats,
    PageRange,
    Searcher,
    SearchIndex,
    Spelling,
    adds_words,
    file_stem,
    forget,
    forget_stems,
    in_both_spellings,
    index_text,
    make_retriever,
    needs_embeddings,
    prepared,
    stems,
    text_key,
)
from pdfqa_core.retrieval.encoder import Vectors
from pdfqa_core.retrieval.lance import LanceIndex, forget_document, installed
from pdfqa_core.services import recipes
from pdfqa_core.services.documents import DocumentService
from pdfqa_core.services.finding import FindService
from pdfqa_core.services.tasks import Job, Tasks
from pdfqa_core.settings import Settings
from pdfqa_core.storage import Reading, Store
from pdfqa_core.streaming import EitherStop, TimeLeft
from pdfqa_core.types import Document, Hit, Passage, Progress, Query

_log = logging.getLogger(__name__)

# ----------------------------------------------------------------------------------------------------
# The meaning of new passages, read in the background while no answer is written.
#
# The documents that are asked about come first. Nothing depends on it: what is missing is made when it is needed. What
# it has made lies on disk, so that it goes on where it was when the page is loaded again or the program starts again.

ENDING = 10.0  # seconds that a removal waits for the reading of meaning to end


@dataclass(frozen=True, slots=True)
class Preparing:
    """How far the meaning of a document is read: passages done and in all, seconds left where they can be told.

    `stopped`: a person stopped it; a question is then answered by words alone for the rest.
    """

    done: int
    total: int
    seconds_left: float | None = None
    stopped: bool = False


class Preparation:
    """Encodes the passages of each owner's documents, one document at a time, and opens the index when all are done."""

    def __init__(self, indexes: IndexService, tasks: Tasks) -> None:
        self._indexes = indexes
        self._tasks = tasks
        self._changed = threading.Condition()
        self._wanted: dict[str, Settings] = {}  # by owner, who came first at the front
        self._first: dict[str, tuple[str, ...]] = {}  # by owner, the documents asked about, the latest first
        self._states: dict[str, dict[str, Preparing]] = {}  # by owner and document
        self._stopped: set[tuple[str, str]] = set()
        self._answering = 0
        self._working = False
        self._interrupt = threading.Event()  # of the document in work
        self._current = ("", "")

    # ------------------------------------------------------------ what is wanted

    def want(self, owner: str, settings: Settings, first: Sequence[str] = ()) -> None:
        """Have all documents of an owner prepared for a recipe, these first. Returns at once."""
        if not owner or not self._indexes.needs_embeddings(settings):
            return
        with self._changed:
            self._wanted[owner] = settings
            self._put_first(owner, first)
            if not self._working and not self._tasks.closing.is_set():
                self._working = True
                self._tasks.begin(Job("preparation", ""), self._work)

    def _put_first(self, owner: str, documents: Sequence[str]) -> None:
        self._first[owner] = tuple(dict.fromkeys((*documents, *self._first.get(owner, ()))))
        working, document = self._current
        if documents and working == owner and document not in documents:
            self._interrupt.set()  # what is done of it is kept

    def stop(self, owner: str, document_id: str) -> None:
        """Stop reading the meaning of a document until `go_on`, or until the program starts again."""
        with self._changed:
            self._stopped.add((owner, document_id))
            if self._current == (owner, document_id):
                self._interrupt.set()

    def go_on(self, owner: str, document_id: str, settings: Settings) -> None:
        """Go on with a document that was stopped."""
        with self._changed:
            self._stopped.discard((owner, document_id))
        self.want(owner, settings, (document_id,))

    def forget(self, owner: str, document_id: str) -> bool:
        """Keep nothing of a removed document; return whether its meaning was being read, which is over then."""
        with self._changed:
            self._stopped.discard((owner, document_id))
            self._states.get(owner, {}).pop(document_id, None)
            if self._current != (owner, document_id):
                return False
            self._interrupt.set()
            self._changed.wait_for(lambda: self._current != (owner, document_id), timeout=ENDING)
            return True

    def forget_owner(self, owner: str) -> None:
        """Keep nothing of a removed visitor, also if the meaning of a document of theirs is being read."""
        with self._changed:
            self._wanted.pop(owner, None)
            self._first.pop(owner, None)
            self._states.pop(owner, None)
            self._stopped = {key for key in self._stopped if key[0] != owner}
            if self._current[0] == owner:
                self._interrupt.set()
                self._changed.wait_for(lambda: self._current[0] != owner, timeout=ENDING)

    def states(self, owner: str) -> dict[str, Preparing]:
        """Return how far each of the owner's documents is that is not ready yet."""
        with self._changed:
            return dict(self._states.get(owner, {}))

    @contextmanager
    def answering(self, owner: str, document_ids: Sequence[str] = ()) -> Iterator[None]:
        """Let the processor work for an answer alone; the documents that are asked about come first afterwards."""
        with self._changed:
            self._answering += 1
            if document_ids:
                self._put_first(owner, document_ids)
        try:
            yield
        finally:
            with self._changed:
                self._answering -= 1
                self._changed.notify_all()

    # ------------------------------------------------------------ the work

    def _work(self) -> None:
        while True:
            with self._changed:
                if not self._wanted or self._tasks.closing.is_set():
                    self._working = False
                    return
                owner, settings = next(iter(self._wanted.items()))
            try:
                self._prepare(owner, settings)
            except StoppedError:
                continue  # another document goes first, or the program ends
            except PdfQAError as error:
                self._give_up(owner, settings, error)
            except Exception as error:  # noqa: BLE001 - the thread must live; whoever needs the index meets the same error
                _log.exception("preparing the documents of %s failed", owner)
                self._give_up(owner, settings, error)

    def _give_up(self, owner: str, settings: Settings, error: Exception) -> None:
        _log.warning("the meaning of passages is not read in the background: %s", error)
        self._done(owner, settings)

    def _done(self, owner: str, settings: Settings) -> None:
        with self._changed:
            if self._wanted.get(owner) is settings:
                self._wanted.pop(owner)
            if owner in self._states:  # not removed meanwhile
                self._states[owner] = {key: one for key, one in self._states[owner].items() if one.stopped}

    def _prepare(self, owner: str, settings: Settings) -> None:
        """Prepare the next document of an owner, or open the index when all are done."""
        waiting = self._indexes.waiting(owner, settings)
        with self._changed:
            if owner not in self._wanted:  # removed meanwhile
                return
            before = self._states.get(owner, {})
            self._states[owner] = {
                document: Preparing(total - missing, total, None, (owner, document) in self._stopped)
                for document, (missing, total) in waiting.items()
            }
            self._estimate(owner, before)
            order = [i for i in self._first.get(owner, ()) if i in waiting]
            order += [i for i in reversed(waiting) if i not in order]
            todo = [i for i in order if (owner, i) not in self._stopped]
            self._interrupt = interrupt = threading.Event()
            self._current = (owner, todo[0]) if todo else ("", "")
            began = self._states[owner][todo[0]] if todo else Preparing(0, 0)
        if not todo:
            if not waiting:
                for _ in self._indexes.opened(owner, settings, self._tasks.closing):
                    pass
            self._done(owner, settings)
            return
        left = TimeLeft([1])
        left.begin()

        def report(step: Progress) -> None:
            self._wait_for_answers(interrupt)
            left.step(0, step.done - began.done, step.total - began.done)
            with self._changed:
                if owner in self._states:  # not removed meanwhile
                    self._states[owner][todo[0]] = Preparing(
                        step.done, step.total, left.seconds() or began.seconds_left
                    )

        try:
            self._indexes.encode(owner, settings, todo[0], report, EitherStop(interrupt, self._tasks.closing))
        finally:
            with self._changed:
                self._current = ("", "")
                self._changed.notify_all()

    def _estimate(self, owner: str, before: dict[str, Preparing]) -> None:
        """Fill in the seconds left of documents that wait, by the speed that was seen."""
        for document, state in self._states[owner].items():
            seconds = (state.total - state.done) / self._indexes.rate
            kept = before.get(document)
            known = kept.seconds_left if kept is not None and kept.done == state.done else None
            self._states[owner][document] = Preparing(state.done, state.total, known or seconds, state.stopped)

    def _wait_for_answers(self, interrupt: threading.Event) -> None:
        with self._changed:
            while self._answering and not self._tasks.closing.is_set() and not interrupt.is_set():
                self._changed.wait(timeout=1.0)


# ----------------------------------------------------------------------------------------------------
# What is kept in memory of documents until it is needed again, the last of it.

Value = TypeVar("Value")


class Kept(Generic[Value]):
    """The last `most` values, by keys that begin with the owner or document; for any thread."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[tuple[str, ...], Value] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: tuple[str, ...]) -> Value | None:
        """Return what is kept under this key, or None."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def keep(self, key: tuple[str, ...], value: Value) -> None:
        """Keep a value, which may push out the one that was not asked for the longest."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > self._most:
                self._values.popitem(last=False)

    def forget(self, first: Collection[str]) -> None:
        """Forget what is kept of these owners or documents."""
        with self._lock:
            for key in [key for key in self._values if key[0] in first]:
                del self._values[key]


# ----------------------------------------------------------------------------------------------------
# Where each owner's indexes lie, and that nothing of what was removed stays there.

LOCAL_OWNER = "local"  # the person at this computer; visitors of a demo have names of their own
LEFT_OVER = (
    "The text of what was removed is found no more, but files of the index that hold it could not be deleted. That is "
    "tried again at the next removal and every few minutes; the program's log says why."
)


class IndexFiles:
    """The folders of all indexes."""

    def __init__(self, workspace: Path, documents: DocumentService) -> None:
        self._workspace = workspace
        self._documents = documents
        self._lock = threading.Lock()
        self._told: set[str] = set()  # owners who are to be told that something could not be deleted
        self._left: set[tuple[str, str]] = set()  # owner and document of which something may still be there

    def root(self, owner: str) -> Path:
        """Return the folder of all indexes of an owner."""
        return self._folder(owner) / "indexes"

    def _folder(self, owner: str) -> Path:
        if owner == LOCAL_OWNER:
            return self._workspace
        return self._workspace / "visitors" / hashlib.sha256(owner.encode()).hexdigest()[:16]

    def forget(self, owner: str, document_id: str) -> None:
        """Delete what was derived from a removed document; what cannot be deleted now is left to `tidy`."""
        root = self.root(owner)
        try:
            forget(root, document_id)
            forget_document(root, document_id)
        except (OSError, ModelError, StorageError) as error:
            _log.warning("passages of a removed document stay in %s: %s", root, error)
            with self._lock:
                self._told.add(owner)
                self._left.add((owner, document_id))
        else:
            with self._lock:
                self._left.discard((owner, document_id))

    def left_over(self, owner: str) -> str:
        """Say it if text of a document that was removed since the last call could not be deleted from the index."""
        with self._lock:
            if owner not in self._told:
                return ""
            self._told.discard(owner)
        return LEFT_OVER

    def remove_owner(self, owner: str) -> None:
        """Delete the indexes of a removed visitor."""
        shutil.rmtree(self._folder(owner), ignore_errors=True)

    def tidy(self) -> None:
        """Delete what is left of documents that nobody has any more: that failed, or the program was killed.

        Nothing is deleted where the database has no documents: it may be a new one in the place of another.
        """
        for owner, document_id in tuple(self._left):
            if not self._documents.still_there(owner, [document_id]):
                self.forget(owner, document_id)
        visitors = self._workspace / "visitors"
        found = {root: stems(root) for root in (self.root(LOCAL_OWNER), *visitors.glob("*/indexes"))}
        owned = self._documents.kept.owned()  # after the files: what is added meanwhile is not taken for left over
        known = {self.root(owner): {file_stem(one) for one in ids} for owner, ids in owned.items()}
        for root, there in found.items() if known else ():
            try:
                forget_stems(root, there - known.get(root, set()))
                if root not in known and root.parent.parent == visitors:
                    shutil.rmtree(root.parent)
            except OSError as error:
                _log.warning("passages of removed documents stay in %s: %s", root, error)


# ----------------------------------------------------------------------------------------------------
# Passages and indexes of each owner's documents, and search in them.

PASSAGES_PER_SECOND = 27.0  # MiniLM with torch on two cores: what is expected before anything was encoded
PATIENCE = 2.0  # seconds; a question waits so long for vectors that are missing, else it is answered without them
ENOUGH_PASSAGES = 32  # after so many their pace is known
BY_WORDS = (
    "The meaning of {:,} of {:,} passages has not been read yet: these were found by their words alone. Ask again when "
    "the documents are ready."
)
AUTO, LANCE = "auto", "lance"
MOST_IN_MEMORY = 500_000  # passages; from there on `auto` searches on disk
PASSAGES_PER_PAGE = 4  # about as many as windows of 120 words make of a page of 400
OPEN_INDEXES = 8  # of each owner
CACHED_DOCUMENTS = 500  # documents whose passages are kept in memory


class IndexService:
    """Passages, indexes and search over each owner's documents. Indexes are built when they are asked for.

    What is read from now on is prepared for `settings`, and its words can be found.
    """

    def __init__(
        self, store: Store, settings: Settings, documents: DocumentService, encoders: Encoders, tasks: Tasks
    ) -> None:
        self.files = IndexFiles(store.workspace, documents)
        self.preparation = Preparation(self, tasks)
        self.finding = FindService(store, documents)
        self._settings = settings
        self._documents = documents
        self._encoders = encoders
        self._tasks = tasks
        self._lock = threading.Lock()
        self._open: defaultdict[str, Kept[SearchIndex]] = defaultdict(lambda: Kept(OPEN_INDEXES))  # by owner
        self._passages: Kept[tuple[Passage, ...]] = Kept(CACHED_DOCUMENTS)
        self._counts: dict[tuple[str, str], int] = {}
        self._encoded: set[tuple[str, tuple[str, str], str]] = set()  # owner, passages, model: all vectors are there
        self.rate = PASSAGES_PER_SECOND  # passages encoded in a second, as far as is known
        documents.when_read.append(self._read)
        documents.when_removed.append(self.forget)

    def _read(self, owner: str, document: Document) -> None:
        self.preparation.want(owner, self._settings, [document.id])
        self.finding.take(owner, document)

    def encoder(self, settings: Settings) -> PassageEncoder:
        """Return the encoder of a recipe."""
        return self._encoders.encoder(settings.retrieval.embedding_model, settings.retrieval.embedding_precision)

    def unit_vectors(self, settings: Settings, texts: Sequence[str], *, question: bool = False) -> Vectors:
        """Return vectors of length 1 by a recipe's encoder, whatever it was made for: texts are compared by cosine."""
        found = self.encoder(settings).encode(texts, question=question)
        return np.asarray(found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12))

    # ------------------------------------------------------------ passages

    def passages(self, owner: str, settings: Settings, document_ids: Sequence[str] = ()) -> list[Passage]:
        """Return the passages that the settings make of the owner's documents (of some of them)."""
        found: list[Passage] = []
        for document, reading in self._documents.readable(owner, settings, document_ids):
            found += self._passages_of(document, reading, settings)
        return found

    def _passages_of(self, document: Document, reading: Reading, settings: Settings) -> tuple[Passage, ...]:
        key = _made_of(document, reading, settings)
        known = self._passages.get(key)
        if known is not None:
            return known
        pages = self._documents.pages_of(document, reading)
        chunker = recipes.chunker(settings, lambda text: self.encoder(settings).token_spans(text))
        made = chunker.chunk(pages, languages.rules_of(reading.language))
        if settings.chunking.headings:
            made = with_headings(made, pages, document.title)
        self._passages.keep(key, tuple(made))
        with self._lock:
            self._counts[key] = len(made)
        return tuple(made)

    def passage_counts(self, owner: str, settings: Settings) -> dict[str, int]:
        """Return the number of passages by document id."""
        found = {}
        for document, reading in self._documents.readable(owner, settings):
            known = self._counts.get(_made_of(document, reading, settings))
            found[document.id] = len(self._passages_of(document, reading, settings)) if known is None else known
        return found

    # ------------------------------------------------------------ indexes

    def _key(self, owner: str, settings: Settings) -> str:
        """Return what names the index of a recipe over an owner's documents as they are now."""
        documents = sorted((d.id, _source(d, reading)) for d, reading in self._documents.readable(owner, settings))
        chosen = settings.retrieval
        model = [chosen.embedding_model, chosen.embedding_precision] if self.needs_embeddings(settings) else "none"
        recipe = recipes.fingerprint(settings, self._documents.wanted_reading(settings))
        more = prepared(settings.retrieval.model_dump())
        kind = [LANCE] if self.on_disk(owner, settings) else []
        return hashlib.sha256(json.dumps([recipe, model, more, documents, *kind]).encode()).hexdigest()

    def _opened_index(self, owner: str, settings: Settings) -> SearchIndex | None:
        return self._opened_of(owner).get((self._key(owner, settings),))

    def _opened_of(self, owner: str) -> Kept[SearchIndex]:
        with self._lock:
            return self._open[owner]

    @staticmethod
    def needs_embeddings(settings: Settings) -> bool:
        """Whether the recipe compares meanings by an encoder."""
        return needs_embeddings(settings.retrieval.model_dump())

    def on_disk(self, owner: str, settings: Settings) -> bool:
        """Whether passages are searched on disk by LanceDB: where the settings say so, or there are too many."""
        chosen = settings.retrieval.index
        if chosen != AUTO:
            return chosen == LANCE
        pages = sum(document.page_count for document, _ in self._documents.readable(owner, settings))
        return pages * PASSAGES_PER_PAGE >= MOST_IN_MEMORY and installed()

    def ready(self, owner: str, settings: Settings) -> bool:
        """Whether the index of these settings and the owner's documents is open, and every document read for it."""
        return not self._documents.unread(owner, settings) and self._opened_index(owner, settings) is not None

    def seconds(self, owner: str, settings: Settings) -> float:
        """Return a rough estimate of how long building takes on two cores; 0 if the index is open or empty."""
        encoded = self.needs_embeddings(settings) or prepared(settings.retrieval.model_dump())
        if self.ready(owner, settings) or not encoded:
            return 0.0
        return sum(self.passage_counts(owner, settings).values()) / self.rate

    def build(self, owner: str, settings: Settings, *, task: str = "") -> Iterator[Progress]:
        """Open the index of these settings, building what is missing; yields progress.

        Documents that have not been read as the recipe wants are read first, once; `reading_notes` of the documents
        tells which could not be. Raises StoppedError when the task is stopped; the documents that were finished are
        kept.
        """
        with self._tasks.start(task) as stop:
            yield from self.opened(owner, settings, stop)

    def opened(self, owner: str, settings: Settings, stop: StopSignal) -> Generator[Progress, None, SearchIndex]:
        """Yield the progress of `build` and return the index."""
        yield from self._documents.read_missing(owner, settings, stop)
        found = self._opened_index(owner, settings)
        if found is not None:
            return found
        key = self._key(owner, settings)
        index = yield from in_background(lambda report: self._build(owner, settings, report, stop))
        self._opened_of(owner).keep((key,), index)
        return index

    def take(self, owner: str, settings: Settings, index: SearchIndex) -> None:
        """Search an index of the owner's documents that was made elsewhere."""
        self._opened_of(owner).keep((self._key(owner, settings),), index)

    def _build(
        self, owner: str, settings: Settings, report: Callable[[Progress], None], stop: StopSignal
    ) -> SearchIndex:
        index = self._opened_as_is(owner, settings, self._timed(report), stop)
        if index.passages:
            self.retriever(index, settings).prepare(on_progress=report, stop=stop)
        return index

    def _opened_as_is(
        self,
        owner: str,
        settings: Settings,
        report: Callable[[Progress], None],
        stop: StopSignal,
        *,
        so_far: bool = False,
    ) -> SearchIndex:
        documents = self._documents.readable(owner, settings)
        embeddings = self.needs_embeddings(settings)
        providers: dict[str, Callable[[], Sequence[Passage]]] = {
            document.id: partial(self._passages_of, document, reading, settings) for document, reading in documents
        }
        encoder = self.encoder(settings) if embeddings else None
        root, sources = self.files.root(owner), {d.id: _source(d, reading) for d, reading in documents}
        recipe = recipes.fingerprint(settings, self._documents.wanted_reading(settings))
        if self.on_disk(owner, settings):
            return LanceIndex.open_or_build(
                root,
                recipe,
                providers,
                encoder=encoder,
                sources=sources,
                on_progress=report,
                stop=stop,
            )
        return Index.open_or_build(
            root,
            recipe,
            providers,
            encoder=encoder,
            embeddings=embeddings,
            sources=sources,
            so_far=so_far,
            on_progress=report,
            stop=stop,
        )

    # ------------------------------------------------------------ what is not encoded yet

    def waiting(self, owner: str, settings: Settings) -> dict[str, tuple[int, int]]:
        """Return by document how many of its passages have no vector yet, and how many it has; only where any waits."""
        model, found = self.encoder(settings).model_hash, {}
        cache = EmbeddingCache(self.files.root(owner), model)
        for document, reading in self._documents.readable(owner, settings):
            key = (owner, _made_of(document, reading, settings), model)
            if key in self._encoded:
                continue
            texts = [index_text(passage) for passage in self._passages_of(document, reading, settings)]
            known = cache.load(document.id)
            missing = sum(text_key(text) not in known for text in texts)
            if missing:
                found[document.id] = (missing, len(texts))
            else:
                self._encoded.add(key)
        return found

    def encode(
        self, owner: str, settings: Settings, document_id: str, report: Callable[[Progress], None], stop: StopSignal
    ) -> None:
        """Make the vectors of a document's passages that are missing, and keep them for the index.

        Raises StoppedError (what is done is kept), ModelError.
        """
        encoder = self.encoder(settings)
        cache = EmbeddingCache(self.files.root(owner), encoder.model_hash)
        for document, reading in self._documents.readable(owner, settings, (document_id,)):
            texts = [index_text(passage) for passage in self._passages_of(document, reading, settings)]
            for _ in Embedding(encoder, cache, self._timed(report), stop).run({document.id: texts}):
                pass

    def _timed(self, report: Callable[[Progress], None]) -> Callable[[Progress], None]:
        """Return `report`, noting how fast passages are encoded; time that `report` itself takes does not count."""
        seen: list[tuple[float, int]] = []  # when the step before was told, and how many were done then
        work = [0.0, 0]

        def timed(step: Progress) -> None:
            if step.phase == Encoder.phase and seen and step.done > seen[0][1]:
                work[0] += time.perf_counter() - seen[0][0]
                work[1] += step.done - seen[0][1]
                if work[1] >= ENOUGH_PASSAGES:
                    self.rate = work[1] / work[0]
            report(step)
            seen[:] = [(time.perf_counter(), step.done)]

        return timed

    def opened_in_time(
        self, owner: str, settings: Settings, stop: StopSignal
    ) -> Generator[Progress, None, tuple[SearchIndex, str]]:
        """Yield progress and return the index for a question, with a note where it is not whole yet.

        Where encoding the rest would take more than `PATIENCE`, passages without vectors are found by words alone; an
        index on disk is always finished first.
        """
        whole = self.on_disk(owner, settings) or not adds_words(settings.retrieval.model_dump())
        if whole or self.ready(owner, settings):
            return (yield from self.opened(owner, settings, stop)), ""
        yield from self._documents.read_missing(owner, settings, stop)
        waiting = self.waiting(owner, settings)
        left = sum(missing for missing, _ in waiting.values())
        if left / self.rate <= PATIENCE:
            return (yield from self.opened(owner, settings, stop)), ""
        index = yield from in_background(lambda report: self._opened_as_is(owner, settings, report, stop, so_far=True))
        lacking = int(index.waiting.sum()) if index.waiting is not None else 0
        return index, BY_WORDS.format(lacking, len(index.passages)) if lacking else ""

    def stats(self, owner: str, settings: Settings) -> IndexStats | None:
        """Return what the open index of these settings holds; None if it is not open."""
        index = self._opened_index(owner, settings)
        return index.stats if index else None

    def forget(self, owner: str, document_id: str) -> None:
        """Drop what was derived from a removed document, also while it is being prepared."""
        self._forget(owner, document_id)
        if self.preparation.forget(owner, document_id):
            self._forget(owner, document_id)
        self.finding.forget(document_id)

    def _forget(self, owner: str, document_id: str) -> None:
        with self._lock:
            self._open.pop(owner, None)
            self._encoded = {key for key in self._encoded if (key[0], key[1][0]) != (owner, document_id)}
            self._counts = {key: count for key, count in self._counts.items() if key[0] != document_id}
        self._passages.forget([document_id])
        self.files.forget(owner, document_id)

    def remove_owner(self, owner: str) -> None:
        """Delete the indexes of a removed visitor, and what is kept in memory of their documents."""
        self.preparation.forget_owner(owner)
        with self._lock:
            self._open.pop(owner, None)
            self._encoded = {key for key in self._encoded if key[0] != owner}
            self._passages = Kept(CACHED_DOCUMENTS)  # those of others are made again when they are needed
            self._counts.clear()
        self.files.remove_owner(owner)

    # ------------------------------------------------------------ search

    def search(
        self,
        owner: str,
        question: str,
        settings: Settings,
        *,
        document_ids: Sequence[str] = (),
        k: int | None = None,
        pages: PageRange | None = None,
    ) -> list[Hit]:
        """Return the hits for a question in the open index, of these documents (none given: of all) and pages.

        Raises PdfQAError if the index is not built, UsageError if the question is empty.
        """
        if not question.strip():
            raise UsageError("The question is empty.", "Type a question.")
        index = self._opened_index(owner, settings)
        if index is None:
            raise PdfQAError("The index of this recipe is not built yet.", "Build it first.")
        return self.search_in(index, question, settings, document_ids, k or settings.retrieval.k, pages)

    def retriever(self, index: SearchIndex, settings: Settings) -> Searcher:
        """Return the retriever of the settings over an index."""
        return make_retriever(index, settings.retrieval.model_dump(), self._encoders)

    @staticmethod
    def language(index: SearchIndex, question: str, settings: Settings, document_ids: Sequence[str] = ()) -> str:
        """Return the language of a question: the one that is set, else which of the documents' it is in.

        "" where that cannot be told.
        """
        if settings.retrieval.language != AUTO_LANGUAGE:
            return settings.retrieval.language
        return languages.of_question(question, index.languages_of(frozenset(document_ids) or None))

    def respelt(self, index: SearchIndex, text: str, settings: Settings) -> dict[str, str]:
        """Return how the documents spell the misspelt words of a text, where the settings say so and it is English."""
        if not settings.retrieval.spelling or self.language(index, text, settings) != languages.ENGLISH:
            return {}
        try:
            tokens = self._encoders.encoder("").token_spans
            spelling = index.shared(
                "spelling", lambda: Spelling(index.passages_by_term, lambda word: len(tokens(word)) == 1)
            )
            return spelling.corrections(text)
        except ModelError:  # no bundled encoder, and so nothing that tells words from misspelt ones
            return {}

    def search_in(
        self,
        index: SearchIndex,
        question: str | Query,
        settings: Settings,
        document_ids: Sequence[str],
        k: int,
        pages: PageRange | None = None,
    ) -> list[Hit]:
        """Return at most `k` hits of an index, of these documents (none given: of all) and pages.

        Misspelt words are searched for as the documents spell them too, see `respelt`.
        """
        documents = frozenset(document_ids) if document_ids else None
        query = in_both_spellings(Query.of(question), lambda text: self.respelt(index, text, settings))
        query = replace(query, language=query.language or self.language(index, query.text, settings, document_ids))
        return self.retriever(index, settings).search(query, k, documents, pages=pages)


def _made_of(document: Document, reading: Reading, settings: Settings) -> tuple[str, str]:
    """Return what passages of a document are kept under."""
    return document.id, recipes.fingerprint(settings, _source(document, reading))


def _source(document: Document, reading: Reading) -> str:
    """Return a name for what passages are made of: the text of a reading, its language, and the title above them.

    English goes without saying, so that indexes of earlier versions are used on.
    """
    rules = languages.rules_of(reading.language)
    named = [rules] if rules != languages.ENGLISH else []
    return json.dumps([reading.extractor, reading.version, document.title, *named])
