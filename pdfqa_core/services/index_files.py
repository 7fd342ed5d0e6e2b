"""Where each owner's indexes lie, and that nothing of what was removed stays there."""

from __future__ import annotations

import hashlib
import logging
import shutil
import threading
from pathlib import Path

from pdfqa_core.errors import ModelError, StorageError
from pdfqa_core.retrieval import file_stem, forget, forget_stems, stems
from pdfqa_core.retrieval.lance import forget_document
from pdfqa_core.services.documents import DocumentService

LOCAL_OWNER = "local"  # the person at this computer; visitors of a demo have names of their own
LEFT_OVER = (
    "The text of what was removed is found no more, but files of the index that hold it could not be deleted. That is "
    "tried again at the next removal and every few minutes; the program's log says why."
)
_log = logging.getLogger(__name__)


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
        owned = self._documents.owned()  # after the files: what is added meanwhile is not taken for left over
        known = {self.root(owner): {file_stem(one) for one in ids} for owner, ids in owned.items()}
        for root, there in found.items() if known else ():
            try:
                forget_stems(root, there - known.get(root, set()))
                if root not in known and root.parent.parent == visitors:
                    shutil.rmtree(root.parent)
            except OSError as error:
                _log.warning("passages of removed documents stay in %s: %s", root, error)
