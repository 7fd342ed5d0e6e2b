"""PDF files into the workspace: hash, read in child processes, store. Every file ends in exactly one state."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from pdfqa_core.errors import StoppedError
from pdfqa_core.extraction.process.worker import ReadResult
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.languages import composed
from pdfqa_core.streaming import TimeLeft, is_set
from pdfqa_core.types import Document, DocumentState, Page, Progress
from pdfqa_core.whole_files import file_sha256, keeping


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read and the name to show for it."""

    path: Path
    filename: str


class DocumentStore(Protocol):
    """What this module needs of the storage of documents."""

    def list(self, owner: str) -> tuple[Document, ...]:
        """Return the owner's documents."""
        ...

    def add(self, document: Document, extractor: str = "", read_pages: Sequence[Page] = ()) -> None:
        """Store a document with its pages, all or nothing, replacing an earlier reading of it."""
        ...


Read = Callable[[Source, str, int, Callable[[Progress], None]], ReadResult]
"""Reads the file with this id, knowing how many files of the call are not finished, and reports how far it is."""

KEPT = "The documents that were finished before are kept, this one is not."
_LONGEST_NAME = 120  # characters
_MOST_NAMES = 20  # of one document
_NAME_END = 20
_POLL = 0.2  # seconds between looks at whether anybody still waits


def short_name(name: str) -> str:
    """Return a file name that can be shown and stored: no control or broken characters, at most 120 of them.

    Of a longer name the beginning and the end stay.
    """
    name = composed(name)  # macOS gives decomposed ones
    shown = "".join(c if c.isprintable() else "\ufffd" if "\ud800" <= c <= "\udfff" else " " for c in name[:10_000])
    shown = " ".join((shown if len(name) <= 10_000 else shown + name[-_NAME_END:]).split()) or "unnamed"
    if len(shown) <= _LONGEST_NAME:
        return shown
    return f"{shown[: _LONGEST_NAME - _NAME_END - 1].rstrip()}…{shown[-_NAME_END:].lstrip()}"


def ingest(
    sources: Sequence[Source],
    documents: DocumentStore,
    store_pdf: Callable[[Path], str],
    read: Read,
    *,
    owner: str,
    extractor: str,
    max_bytes: int,
    again: bool = False,
    tried: Collection[str] | None = None,
    workers: int = 1,
    stop: StopSignal | None = None,
) -> Iterator[Progress | Document]:
    """Yield the progress of each file and its Document when it is finished; one bad file does not stop the others.

    Up to `workers` files are read side by side, each in a thread that calls `read`. Their progress comes out mixed: a
    phase is a word and the file's (shortened) name, its seconds are those that all files may still take. Documents are
    stored in the thread of the caller.

    A file whose hash is known and that can be used already is read again only if `again` is set or `tried` lacks it
    (the ids that have been read under the name `extractor`; None: all). Files over `max_bytes` are not copied into the
    workspace; one that cannot be opened yields a Document without an id, which is not stored. When `stop` is set, no
    further file is begun, what `read` raises is passed on, and nothing is kept of the files that are not finished.
    """
    known = {d.id: d for d in documents.list(owner) if tried is None or d.id in tried}
    batch = _Batch(read, known, owner, extractor, max_bytes, again, stop)
    waiting = [replace(source, filename=short_name(source.filename)) for source in sources]
    try:
        while waiting:
            twins = []
            for event in batch.run(waiting, workers):
                if isinstance(event, Progress):
                    yield event
                elif event.document is None:
                    twins.append(event.source)
                    event.taken.set()
                else:
                    yield from _finish(event, event.document, batch, documents, store_pdf)
            waiting = twins
    finally:
        batch.abandoned.set()


def _finish(
    outcome: _Outcome, document: Document, batch: _Batch, documents: DocumentStore, store_pdf: Callable[[Path], str]
) -> Iterator[Progress | Document]:
    """Store how a file ended, and yield its document."""
    result = outcome.result
    if result is not None:
        if batch.ended():
            outcome.taken.set()
            return
        yield Progress(f"storing {document.filename}", result.page_count, result.page_count)
        with keeping(document.filename, KEPT):
            store_pdf(outcome.source.path)
            documents.add(document, document.extractor, result.pages)
    elif outcome.changed is not None:
        with keeping(document.filename, KEPT):
            documents.add(outcome.changed)
    batch.keep(document, outcome)
    yield document


@dataclass(frozen=True, slots=True)
class _Outcome:
    """How a file ended; its thread goes on when this is `taken`.

    `document` is None for a file with the same bytes as another one that is being read. The pages of `result` are
    stored with the document; without a result, what is `changed` is stored.
    """

    source: Source
    document: Document | None
    result: ReadResult | None = None
    changed: Document | None = None
    taken: threading.Event = field(default_factory=threading.Event)


@dataclass
class _Batch:
    """Files that are read in threads; their progress and their outcomes are handed to one generator.

    `known` are the owner's documents by id, those that this call has read too.
    """

    read: Read
    known: dict[str, Document]
    owner: str
    extractor: str
    max_bytes: int
    again: bool
    stop: StopSignal | None
    abandoned: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._begun: set[str] = set()
        self._unfinished = 0
        self._events: queue.SimpleQueue[Progress | _Outcome | BaseException | None] = queue.SimpleQueue()
        self._time = TimeLeft(())

    def ended(self) -> bool:
        """Whether no further file may be begun."""
        return self.abandoned.is_set() or is_set(self.stop)

    def keep(self, document: Document, outcome: _Outcome) -> None:
        """Remember a document that is finished."""
        with self._lock:
            if outcome.result is not None:
                self.known[document.id] = document
            elif outcome.changed is not None:
                self.known[document.id] = outcome.changed
            self._begun.discard(document.id)
        outcome.taken.set()

    def run(self, sources: Sequence[Source], workers: int) -> Iterator[Progress | _Outcome]:
        """Yield the progress and the outcome of each file. Raises what `read` raises."""
        self._unfinished = len(sources)
        self._time = TimeLeft([_size(source.path) for source in sources])
        threading.Thread(target=self._work, args=(sources, workers), name="ingest", daemon=True).start()
        stopped: StoppedError | None = None
        while (event := self._events.get()) is not None:
            if isinstance(event, StoppedError):  # so are the other files: wait until they have ended
                stopped = event
            elif isinstance(event, BaseException):
                raise event
            elif stopped is None:
                yield event
            elif isinstance(event, _Outcome):
                event.taken.set()
        if stopped is not None:
            raise stopped

    def _work(self, sources: Sequence[Source], workers: int) -> None:
        from joblib import Parallel, delayed

        def tasks() -> Iterator[Any]:
            for number, source in enumerate(sources):
                if self.ended():
                    return
                self._events.put(Progress(f"checking {source.filename}"))
                yield delayed(self._one)(number, source)

        try:
            # Threads, since all the work is done in child processes that each thread starts, watches and may kill.
            Parallel(n_jobs=workers, backend="threading", pre_dispatch="n_jobs", batch_size=1)(tasks())
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            self._events.put(error)
        finally:
            self._events.put(None)

    def _one(self, number: int, source: Source) -> None:
        try:
            if self.ended():
                return
            outcome = self._outcome(number, source)
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            self._events.put(error)
            return
        finally:
            self._time.finish(number)
            with self._lock:
                self._unfinished -= 1
        self._events.put(outcome)
        while not outcome.taken.wait(_POLL) and not self.abandoned.is_set():
            continue

    def _outcome(self, number: int, source: Source) -> _Outcome:
        filename = source.filename
        try:
            document_id, size = file_sha256(source.path), source.path.stat().st_size
        except OSError as error:
            return _Outcome(source, _unreadable(filename, self.owner, error))
        with self._lock:
            if document_id in self._begun:
                return _Outcome(source, None)
            known = self.known.get(document_id)
            if known is not None and known.state.usable and not self.again:
                as_what = "" if known.filename == filename else f" as {known.filename}"
                found = replace(known, reason=f"{filename} is already there{as_what}.")
                return _Outcome(source, found, changed=_also_named(known, filename))
            self._begun.add(document_id)
            unfinished = self._unfinished
        document = Document(
            document_id,
            Path(filename).stem,
            filename,
            0,
            datetime.now(UTC),
            self.owner,
            size=size,
            extractor=self.extractor,
        )
        if size > self.max_bytes:
            reason = f"{filename} has {size / 1e6:.1f} MB, the limit is {self.max_bytes / 1e6:g} MB. Split the file."
            document = replace(document, state=DocumentState.TOO_LARGE, reason=reason)
            return _Outcome(source, document, changed=document)

        def report(progress: Progress) -> None:
            if progress.total:
                self._time.step(number, progress.done, progress.total)
            self._events.put(replace(progress, seconds_left=self._time.seconds()))

        self._time.begin()
        result = self.read(source, document_id, unfinished, report)
        document = replace(
            document,
            title=result.title or document.title,
            page_count=result.page_count,
            state=result.state,
            reason=result.reason,
            pages_without_text=result.pages_without_text,
            authors=result.authors,
        )
        return _Outcome(source, document, result)


def _also_named(document: Document, filename: str) -> Document | None:
    """Return a document with one more name; None where it has that name, or names enough."""
    names = document.other_names
    if filename in (document.filename, *names) or len(names) == _MOST_NAMES:
        return None
    return replace(document, other_names=(*names, filename))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _unreadable(filename: str, owner: str, error: OSError) -> Document:
    reason = f"{filename} cannot be read: {error.strerror}. Check the file and its permissions."
    title = Path(filename).stem
    return Document("", title, filename, 0, datetime.now(UTC), owner, state=DocumentState.BROKEN, reason=reason)
