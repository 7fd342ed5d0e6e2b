"""An owner's documents as a database of their own, for computers that do not reach the workspace's.

There it is opened in memory: nothing of it is left on a disk, however the program ends.
"""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from sqlalchemy import and_, insert, select

from pdfqa_core.storage.database import Database
from pdfqa_core.storage.files import in_memory
from pdfqa_core.storage.store import DATABASE_FILE, Store
from pdfqa_core.storage.tables import documents, pages, readings
from pdfqa_core.whole_files import temporary_folder

NOWHERE = Path("no-workspace")  # where a copy's PDFs would lie, which it does not have


def copied(database: Database, owner: str, used: Mapping[str, str]) -> bytes:
    """Return an SQLite file with an owner's documents, and of each the text of the reading that `used` names for it.

    Of these documents nothing else is in it: no PDF, no conversation, nobody else's. Raises StorageError.
    """
    with temporary_folder() as folder:
        with Store.open(folder) as copy, database.read() as source, copy.database.write() as target:
            for document_id, extractor in used.items():
                whose = (
                    and_(documents.c.owner == owner, documents.c.id == document_id),
                    and_(
                        readings.c.owner == owner,
                        readings.c.document_id == document_id,
                        readings.c.extractor == extractor,
                    ),
                    and_(pages.c.document_id == document_id, pages.c.extractor == extractor),
                )
                for table, wanted in zip((documents, readings, pages), whose, strict=True):
                    rows = [dict(row) for row in source.execute(select(table).where(wanted)).mappings()]
                    if rows:
                        target.execute(insert(table), rows)
        return (folder / DATABASE_FILE).read_bytes()


class CopiedDocuments:
    """What `copied` returned, opened in memory as `store`. Close it when done."""

    def __init__(self, content: bytes) -> None:
        name = f"file:pdfqa-{uuid.uuid4().hex}?mode=memory&cache=shared"
        self._keeps = sqlite3.connect(name, uri=True, check_same_thread=False)  # it is there while somebody has it open
        with closing(in_memory(content)) as source:
            source.backup(self._keeps)
        self.store = Store(NOWHERE, Database(f"sqlite:///{name}&uri=true"))

    def close(self) -> None:
        """Free the memory."""
        self.store.database.close()
        self._keeps.close()
