"""Reading PDFs in the background, whether or not the page that asked for it is still open.

What is to be read is noted in the database, uploads with a copy of their file in the folder `incoming/` of the
workspace, until it has been read: after the program ended, the next one goes on with it, or another one that runs on
the same database (see `Workers`). Passwords are never noted.
"""

from __future__ import annotations

import json
import logging
import shutil
import threading
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdfqa_core.errors import StorageError, UsageError
from pdfqa_core.ingest import Source, short_name
from pdfqa_core.services.tasks import Job, Tasks
from pdfqa_core.settings import ExtractionSettings
from pdfqa_core.storage.work import Piece
from pdfqa_core.types import Document, Progress
from pdfqa_core.whole_files import DAMAGE, cannot_write, keeping, unfinished

if TYPE_CHECKING:
    from pdfqa_core.services.documents import DocumentService

KIND = "reading"
KEPT = "Documents that were there before are kept."
_log = logging.getLogger(__name__)


class Batch(Job):
    """Files that are read together, and how far they are.

    `documents` are those that are finished, `steps` the last progress of each file in work. `error` is what ended it;
    it is `lost` when another program has it.
    """

    def __init__(
        self, subject: str, owner: str, sources: tuple[Source, ...], extraction: ExtractionSettings, again: bool = False
    ) -> None:
        super().__init__(KIND, owner, subject)
        self.sources = sources
        self.extraction = extraction
        self.again = again
        self.documents: tuple[Document, ...] = ()
        self.steps: tuple[Progress, ...] = ()
        self.lost = False
        self.copies: dict[Path, None] = {}
        self._version = 0

    def take(self, event: Document | Progress, *, last: bool = False) -> None:
        """Note a document that is finished, or how far a file is; of each file only that is kept."""
        with self._changed:
            steps = {_file_of(step): step for step in self.steps}
            if isinstance(event, Document):
                self.documents = (*self.documents, event)
                steps.pop(event.filename, None)
            else:
                steps[_file_of(event)] = event
            self.steps = tuple(steps.values())
            self._version += 1
            self._changed.notify_all()

    def end(self, error: Exception | None = None) -> None:
        """Note that nothing more will happen."""
        self.steps = ()
        super().end(error)

    def events(self) -> Iterator[Progress | Document]:
        """Yield how far it is until it has ended; nobody has to listen. Raises what ended it."""
        seen, version = 0, -1
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._version != version or self._ended)  # noqa: B023
                version, documents, steps, ended = self._version, self.documents, self.steps, self._ended
            yield from documents[seen:]
            seen = len(documents)
            if ended:
                break
            yield from steps
        if self.error is not None:
            raise self.error


def _file_of(step: Progress) -> str:
    return step.phase.partition(" ")[2]  # a phase is a word and the name of its file


class ReadingJobs:
    """Batches of each owner, read one after the other."""

    def __init__(self, folder: Path, documents: DocumentService, tasks: Tasks) -> None:
        self._folder = folder
        self._documents = documents
        self._tasks = tasks
        self._workers = tasks.workers
        self._workers.register(KIND, self._take, self._lost, lambda: True)
        self._lock = threading.Lock()
        self._batches: list[Batch] = []
        tasks.meters.work["files to read"] = lambda: self.left

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
        self._documents.room.reserve(batch.subject, owner, sources)
        try:
            with keeping(f"the uploads in {self._folder}", KEPT):
                if keep:
                    self._will_keep(batch)
                self._workers.begin(Piece(batch.subject, KIND, owner, _noted(batch, batch.sources)))
                for copy, source in zip(batch.copies, sources, strict=False):  # noted before: nothing unknown is left
                    with unfinished(copy) as draft:
                        shutil.move(source.path, draft)
        except (StorageError, OSError) as error:
            self._forget(batch)
            self._documents.room.release(batch.subject)
            if isinstance(error, StorageError):
                raise
            hint = "Check the permissions of the folder, and add the files again."
            raise cannot_write(f"the uploads in {self._folder}", error, KEPT, hint) from error
        self._start(batch, password)
        return batch

    def _will_keep(self, batch: Batch) -> None:
        """Say where the files of a batch will lie."""
        self._folder.mkdir(parents=True, exist_ok=True)
        kept = [self._folder / f"{batch.subject}-{number}.pdf" for number in range(len(batch.sources))]
        batch.copies = dict.fromkeys(kept)
        batch.sources = tuple(Source(path, one.filename) for path, one in zip(kept, batch.sources, strict=True))

    def _start(self, batch: Batch, password: str | None = None) -> None:
        with self._lock:
            self._batches = [one for one in self._batches if not one.ended or one.owner != batch.owner] + [batch]
        self._tasks.begin(batch, lambda: self._run(batch, password), line=f"{KIND} {batch.owner}")

    def of(self, owner: str) -> tuple[Batch, ...]:
        """Return the owner's batches that have not ended, in their order, or the last one."""
        with self._lock:
            mine = [batch for batch in self._batches if batch.owner == owner]
        return tuple(batch for batch in mine if not batch.ended) or tuple(mine[-1:])

    @property
    def left(self) -> int:
        """How many files of everybody are still to be read."""
        with self._lock:
            return sum(len(one.sources) - len(one.documents) for one in self._batches if not one.ended)

    def stop(self, owner: str) -> None:
        """Stop reading for an owner; documents that were finished stay."""
        for batch in self.of(owner):
            self._tasks.stop(batch.name)

    # ------------------------------------------------------------ the work

    def _run(self, batch: Batch, password: str | None) -> None:
        closing = self._tasks.closing
        try:
            if not batch.stop.is_set() and not closing.is_set():
                self._read(batch, password)
        finally:
            if closing.is_set() and not batch.lost:
                self._leave(batch)
            elif not batch.lost:
                self._forget(batch)
            self._documents.room.release(batch.subject)

    def _read(self, batch: Batch, password: str | None) -> None:
        for event in self._documents.ingest(
            batch.owner,
            batch.sources,
            password=password,
            again=batch.again,
            extraction=batch.extraction,
            task=batch.name,
            reserved=True,
        ):
            batch.take(event)
            if isinstance(event, Document):
                self._read_already(batch, event)
                for noted in self._documents.when_read:
                    noted(batch.owner, event)

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
            mine = self._workers.change(batch.subject, _noted(batch, left))
        except StorageError as error:
            _log.warning("what is left to read is not noted: %s", error)
        else:
            if not mine:
                self._lost(batch.subject)

    def _forget(self, batch: Batch) -> None:
        try:
            for file in batch.copies:
                file.unlink(missing_ok=True)
            self._workers.finish(batch.subject)
        except (OSError, StorageError) as error:
            _log.warning("files that were read stay in %s: %s", self._folder, error)

    def _leave(self, batch: Batch) -> None:
        """Leave what is not finished to the next program."""
        try:
            self._workers.release(batch.subject)
        except StorageError as error:
            _log.warning("what is left to read was not let go: %s", error)

    def resume(self) -> None:
        """Begin with what a program that ended left to be read; what cannot be read is left out with a warning."""
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
            if batch.subject == batch_id and not batch.ended:
                _log.warning("another program goes on with reading %d files", len(batch.sources))
                batch.lost = True
                self._tasks.stop(batch.name)

    def _from(self, name: str, row: dict[str, Any]) -> Batch:
        sources = [Source(Path(one["path"]), str(one["filename"])) for one in row["files"]]
        there = tuple(source for source in sources if source.path.is_file())
        extraction = ExtractionSettings(**row["extraction"])
        batch = Batch(name, str(row["owner"]), there, extraction, bool(row["again"]))
        named = [*(source.path for source in there), *(Path(one) for one in row.get("copies", []))]
        batch.copies = {path: None for path in named if path.parent == self._folder}
        return batch


def _noted(batch: Batch, left: Sequence[Source]) -> str:
    """Return what has to be known to read what is left of a batch."""
    files = [{"path": str(source.path), "filename": source.filename} for source in left]
    extraction = batch.extraction.model_dump(mode="json")
    copies = [str(path) for path in batch.copies]
    return json.dumps(
        {"owner": batch.owner, "again": batch.again, "files": files, "copies": copies, "extraction": extraction}
    )
