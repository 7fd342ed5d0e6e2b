"""Reading PDFs in the background, whether or not the page that asked for it is still open.

What is to be read is noted in the database, uploads with a copy of their file in the folder `incoming/` of the
workspace, until it has been read: after the program ended, the next one goes on with it, or another one that runs on
the same database (see `workers`). Passwords are never noted.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pdfqa_core.errors import ConflictError, StorageError, UsageError
from pdfqa_core.ingest import Source, short_name
from pdfqa_core.services.documents import DocumentService
from pdfqa_core.services.tasks import Tasks, Workers
from pdfqa_core.settings import ExtractionSettings
from pdfqa_core.storage.work import Piece
from pdfqa_core.types import Document, Progress
from pdfqa_core.whole_files import DAMAGE, cannot_write, keeping, unfinished

NOTE = ".json"  # of files in which earlier versions noted what is to be read
KIND = "reading"
KEPT = "Documents that were there before are kept."
PATIENCE = 10.0  # seconds that closing waits for reading processes to end
_log = logging.getLogger(__name__)


@dataclass(eq=False)
class Batch:
    """Files that are read together, and how far they are. Read it under no lock: its values are replaced whole.

    `documents` are those that are finished, `steps` the last progress of each file in work. `error` is what ended it;
    it is `lost` when another program has it.
    """

    id: str
    owner: str
    sources: tuple[Source, ...]
    extraction: ExtractionSettings
    again: bool = False
    documents: tuple[Document, ...] = ()
    steps: tuple[Progress, ...] = ()
    error: Exception | None = None
    stopped: bool = False
    lost: bool = False
    done: bool = False
    version: int = 0
    copies: dict[Path, None] = field(default_factory=dict)

    @property
    def task(self) -> str:
        """The name under which it is stopped."""
        return f"reading-{self.id}"


class ReadingJobs:
    """Batches of each owner, read one after the other; `finished(owner, document)` is told of each document."""

    def __init__(
        self,
        folder: Path,
        documents: DocumentService,
        tasks: Tasks,
        workers: Workers,
        finished: Callable[[str, Document], None],
    ) -> None:
        self._folder = folder
        self._documents = documents
        self._tasks = tasks
        self._workers = workers
        workers.register(KIND, self._take, self._lost, lambda: True)
        self._finished = finished
        self._changed = threading.Condition()
        self._batches: list[Batch] = []
        self._locks: dict[str, threading.Lock] = {}
        self._threads: list[threading.Thread] = []
        self._closing = threading.Event()

    # ------------------------------------------------------------ beginning and following

    def begin(
        self,
        owner: str,
        files: Sequence[Path | Source],
        *,
        keep: bool = False,
        password: str | None = None,
        again: bool = False,
        extraction: ExtractionSettings,
    ) -> Batch:
        """Begin to read files; `keep` moves them into the workspace first, since they are somebody's uploads.

        Returns at once. Raises StorageError if they cannot be kept, PdfQAError where a visitor has no room for them,
        UsageError without an owner.
        """
        sources = tuple(one if isinstance(one, Source) else Source(one, one.name) for one in files)
        batch = Batch(uuid.uuid4().hex, owner, sources, extraction, again)
        if not owner:
            raise UsageError("This page does not know whose documents these are.", "Open it again.")
        self._documents.room.reserve(batch.id, owner, sources)
        try:
            with keeping(f"the uploads in {self._folder}", KEPT):
                if keep:
                    self._will_keep(batch)
                self._workers.begin(Piece(batch.id, KIND, owner, _noted(batch, batch.sources)))
                for copy, source in zip(batch.copies, sources, strict=False):  # noted before: nothing unknown is left
                    with unfinished(copy) as draft:
                        shutil.move(source.path, draft)
        except (StorageError, OSError) as error:
            self._forget(batch)
            self._documents.room.release(batch.id)
            if isinstance(error, StorageError):
                raise
            hint = "Check the permissions of the folder, and add the files again."
            raise cannot_write(f"the uploads in {self._folder}", error, KEPT, hint) from error
        self._start(batch, password)
        return batch

    def _will_keep(self, batch: Batch) -> None:
        """Say where the files of a batch will lie."""
        self._folder.mkdir(parents=True, exist_ok=True)
        kept = [self._folder / f"{batch.id}-{number}.pdf" for number in range(len(batch.sources))]
        batch.copies = dict.fromkeys(kept)
        batch.sources = tuple(Source(path, one.filename) for path, one in zip(kept, batch.sources, strict=True))

    def _start(self, batch: Batch, password: str | None = None) -> None:
        thread = threading.Thread(target=self._run, args=(batch, password), name="reading", daemon=True)
        with self._changed:
            self._batches = [one for one in self._batches if not one.done or one.owner != batch.owner] + [batch]
            self._threads = [one for one in self._threads if one.is_alive()] + [thread]
        thread.start()

    def follow(self, batch: Batch) -> Iterator[Progress | Document]:
        """Yield how far a batch is until it is done; nobody has to listen. Raises what ended it."""
        seen, version = 0, -1
        while True:
            with self._changed:
                self._changed.wait_for(lambda: batch.version != version or batch.done)  # noqa: B023
                version, documents, steps, done = batch.version, batch.documents, batch.steps, batch.done
            yield from documents[seen:]
            seen = len(documents)
            if done:
                break
            yield from steps
        if batch.error is not None:
            raise batch.error

    def of(self, owner: str) -> tuple[Batch, ...]:
        """Return the owner's batches that are not done, in their order, or the last one."""
        with self._changed:
            mine = [batch for batch in self._batches if batch.owner == owner]
        return tuple(batch for batch in mine if not batch.done) or tuple(mine[-1:])

    @property
    def left(self) -> int:
        """How many files of everybody are still to be read."""
        with self._changed:
            return sum(len(one.sources) - len(one.documents) for one in self._batches if not one.done)

    def stop(self, owner: str) -> None:
        """Stop reading for an owner; documents that were finished stay."""
        with self._changed:
            stopped = [batch for batch in self._batches if batch.owner == owner and not batch.done]
            for batch in stopped:
                batch.stopped = True
        for batch in stopped:
            self._tasks.stop(batch.task)

    # ------------------------------------------------------------ the work

    def _run(self, batch: Batch, password: str | None) -> None:
        with self._changed:
            lock = self._locks.setdefault(batch.owner, threading.Lock())
        with lock:
            if not batch.stopped and not self._closing.is_set():
                try:
                    self._read(batch, password)
                except Exception as error:  # noqa: BLE001 - whoever follows it is told
                    batch.error = error
        if self._closing.is_set() and not batch.lost:
            self._leave(batch)
        elif not batch.lost:
            self._forget(batch)
        self._documents.room.release(batch.id)
        with self._changed:
            batch.done, batch.steps = True, ()
            self._changed.notify_all()

    def _read(self, batch: Batch, password: str | None) -> None:
        steps: dict[str, Progress] = {}
        for event in self._documents.ingest(
            batch.owner,
            batch.sources,
            password=password,
            again=batch.again,
            extraction=batch.extraction,
            task=batch.task,
            reserved=True,
        ):
            if batch.stopped:  # before its task had begun
                self._tasks.stop(batch.task)
            if isinstance(event, Document):
                steps.pop(event.filename, None)
                batch.documents = (*batch.documents, event)
                self._read_already(batch, event)
                self._finished(batch.owner, event)
            else:
                steps[event.phase.partition(" ")[2]] = event  # a phase is a word and the name of its file
            with self._changed:
                batch.steps = tuple(steps.values())
                batch.version += 1
                self._changed.notify_all()

    # ------------------------------------------------------------ what outlives the program

    def _read_already(self, batch: Batch, document: Document) -> None:
        """Note that a file of a batch need not be read again."""
        names = [short_name(source.filename) for source in batch.sources]
        if document.filename not in names:
            return
        done = batch.sources[names.index(document.filename)]
        left = tuple(source for source in batch.sources if source is not done)
        if not left:
            return  # the whole note goes at once
        try:
            mine = self._workers.change(batch.id, _noted(batch, left))
        except StorageError as error:
            _log.warning("what is left to read is not noted: %s", error)
        else:
            if not mine:
                self._lost(batch.id)

    def _forget(self, batch: Batch) -> None:
        try:
            for file in batch.copies:
                file.unlink(missing_ok=True)
            self._workers.finish(batch.id)
        except (OSError, StorageError) as error:
            _log.warning("files that were read stay in %s: %s", self._folder, error)

    def _leave(self, batch: Batch) -> None:
        """Leave what is not finished to the next program."""
        try:
            self._workers.release(batch.id)
        except StorageError as error:
            _log.warning("what is left to read was not let go: %s", error)

    def resume(self) -> None:
        """Begin with what a program that ended left to be read; what cannot be read is left out with a warning."""
        for note in sorted(self._folder.glob(f"*{NOTE}"), key=os.path.getmtime):
            try:
                batch = self._from(note.stem, json.loads(note.read_bytes()))
                self._workers.begin(Piece(batch.id, KIND, batch.owner, _noted(batch, batch.sources)))
                self._start(batch)
            except ConflictError:  # another program took it up
                continue
            except DAMAGE as error:
                _log.warning("%s cannot be taken up again: %s", note, error)
            note.unlink(missing_ok=True)
        self._workers.take_up()

    def _take(self, piece: Piece) -> None:
        """Begin with a piece of work that this program has claimed."""
        try:
            batch = self._from(piece.id, json.loads(piece.content))
        except DAMAGE as error:
            _log.warning("a note of what is to be read is damaged and left out: %s", error)
            self._workers.finish(piece.id)
            return
        self._start(batch)

    def _lost(self, batch_id: str) -> None:
        """Stop a batch that another program has taken over: it is slow here, or was thought dead."""
        for batch in self._batches:
            if batch.id == batch_id and not batch.done:
                _log.warning("another program goes on with reading %d files", len(batch.sources))
                batch.lost = batch.stopped = True
                self._tasks.stop(batch.task)

    def _from(self, name: str, row: dict[str, Any]) -> Batch:
        sources = [Source(Path(one["path"]), str(one["filename"])) for one in row["files"]]
        there = tuple(source for source in sources if source.path.is_file())
        extraction = ExtractionSettings(**row["extraction"])
        batch = Batch(name, str(row["owner"]), there, extraction, bool(row["again"]))
        named = [*(source.path for source in there), *(Path(one) for one in row.get("copies", []))]
        batch.copies = {path: None for path in named if path.parent == self._folder}
        return batch

    def let_go(self) -> None:
        """Have the work end; what is not finished is taken up by the next program."""
        self._closing.set()
        for batch in list(self._batches):
            if not batch.done:
                self._tasks.stop(batch.task)

    def close(self) -> None:
        """End the work and wait for its end."""
        self.let_go()
        for thread in list(self._threads):
            thread.join(timeout=PATIENCE)


def _noted(batch: Batch, left: Sequence[Source]) -> str:
    """Return what has to be known to read what is left of a batch."""
    files = [{"path": str(source.path), "filename": source.filename} for source in left]
    extraction = batch.extraction.model_dump(mode="json")
    copies = [str(path) for path in batch.copies]
    return json.dumps(
        {"owner": batch.owner, "again": batch.again, "files": files, "copies": copies, "extraction": extraction}
    )
