"""Original PDFs in a folder, each under the SHA-256 of its content."""

from __future__ import annotations

import hashlib
import io
import os
import re
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import BinaryIO

from pdfqa_core.errors import UsageError
from pdfqa_core.storage.failures import file_failures

_ID = re.compile(r"[0-9a-f]{64}")
_CHUNK = 1 << 20


class PdfFiles:
    """The folder `pdfs/`. A file is there complete or not at all, whatever happens while it is written.

    A file that was stored but belongs to no document yet is pending: it is kept until `settle` says that the
    document was added, so that another owner's removal of the same file cannot take it away meanwhile.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._pending: Counter[str] = Counter()

    def store(self, source: bytes | Path) -> str:
        """Store a PDF and return its document id (64 hex digits).

        Raises StorageError (full, read-only) and UsageError if `source` cannot be read.
        """
        with file_failures(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            with _open(source) as stream:
                temporary, document_id = self._copy(stream)
            try:
                with self._lock:
                    temporary.replace(self.folder / f"{document_id}.pdf")
                    self._pending[document_id] += 1
                _sync_folder(self.folder)
            finally:
                temporary.unlink(missing_ok=True)
        return document_id

    def path(self, document_id: str) -> Path:
        """Return where the PDF lies (it may have been removed). Raises UsageError if this is no document id."""
        if not _ID.fullmatch(document_id):
            raise UsageError(f"{document_id!r} is not a document id.", "It has 64 hexadecimal digits.")
        return self.folder / f"{document_id}.pdf"

    def settle(self, document_id: str) -> None:
        """Say that the file stored last under this id belongs to a document now."""
        with self._lock:
            if self._pending[document_id] > 0:
                self._pending[document_id] -= 1

    def remove(self, document_id: str) -> None:
        """Delete the PDF unless an upload of the same file is under way. Raises StorageError."""
        with self._lock, file_failures(self.folder):
            if self._pending[document_id] == 0:
                self.path(document_id).unlink(missing_ok=True)

    def remove_strays(self, known: Collection[str], older_than_seconds: float) -> int:
        """Delete files without a document that an interrupted upload left; return how many."""
        with self._lock, file_failures(self.folder):
            limit = time.time() - older_than_seconds
            strays = [
                file
                for file in (self.folder.iterdir() if self.folder.is_dir() else ())
                if (file.suffix == ".tmp" or (file.suffix == ".pdf" and _ID.fullmatch(file.stem)))
                and file.stem not in known
                and self._pending[file.stem] == 0
                and file.stat().st_mtime < limit
            ]
            for file in strays:
                file.unlink(missing_ok=True)
        return len(strays)

    def _copy(self, stream: BinaryIO) -> tuple[Path, str]:
        digest = hashlib.sha256()
        descriptor, name = tempfile.mkstemp(suffix=".tmp", dir=self.folder)
        try:
            with os.fdopen(descriptor, "wb") as target:
                while chunk := stream.read(_CHUNK):
                    digest.update(chunk)
                    target.write(chunk)
                target.flush()
                os.fsync(target.fileno())
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        return Path(name), digest.hexdigest()


def _open(source: bytes | Path) -> BinaryIO:
    if isinstance(source, bytes):
        return io.BytesIO(source)
    try:
        return source.open("rb")
    except OSError as error:
        raise UsageError(f"{source} cannot be read: {error.strerror}.", "Check the path.") from error


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return  # Windows cannot sync a folder; its file system journals the rename
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
