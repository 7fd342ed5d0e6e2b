"""The workspace on disk: `pdfqa.sqlite` and `pdfs/`, behind one object."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

from sqlalchemy import URL

from pdfqa_core.storage.accounts import Accounts, Tokens
from pdfqa_core.storage.collections import Collections
from pdfqa_core.storage.conversations import Conversations
from pdfqa_core.storage.database import Database, file_failures
from pdfqa_core.storage.documents import Documents
from pdfqa_core.storage.files import PdfFiles, make_private, private_file
from pdfqa_core.storage.invitations import Invitations
from pdfqa_core.storage.owners import Owners
from pdfqa_core.storage.protocols import Protocols
from pdfqa_core.storage.runs import Evaluations, Runs
from pdfqa_core.storage.studies import Studies
from pdfqa_core.storage.study_changes import StudyChanges
from pdfqa_core.storage.summaries import Summaries
from pdfqa_core.storage.synthetic_questions import SyntheticQuestions

DATABASE_FILE = "pdfqa.sqlite"


class Store:
    """Everything that is kept, by subject. Safe to use from several threads; close it when done."""

    def __init__(self, workspace: Path, database: Database) -> None:
        self.workspace = workspace
        self.database = database
        self.files = PdfFiles(workspace / "pdfs", database)
        self.documents = Documents(database, self.files)
        self.collections = Collections(database)
        self.conversations = Conversations(database)
        self.studies = Studies(database)
        self.invitations = Invitations(database)
        self.study_changes = StudyChanges(database)
        self.protocols = Protocols(database)
        self.evaluations = Evaluations(database)
        self.runs = Runs(database)
        self.summaries = Summaries(database)
        self.synthetic_questions = SyntheticQuestions(database)
        self.tokens = Tokens(database)
        self.owners = Owners(database, self.files)
        self.accounts = Accounts(database)

    @classmethod
    def open(cls, workspace: Path | str, database_url: str = "", *, busy_seconds: float = 10.0) -> Self:
        """Open a workspace, made or brought up to date where necessary.

        PDFs lie in the folder; the database too, unless `database_url` names another, as
        "postgresql://user:password@host/name". `busy_seconds` is how long a write waits for another program.
        Raises StorageError: read-only, locked, full, damaged, or written by a newer version of the program.
        """
        folder = Path(workspace).expanduser()
        with file_failures(folder):
            folder.mkdir(parents=True, exist_ok=True)
            make_private(folder)
            if not database_url:
                private_file(folder / DATABASE_FILE)
        url = database_url or URL.create("sqlite", database=str(folder / DATABASE_FILE))
        return cls(folder, Database(url, busy_seconds=busy_seconds))

    def close(self) -> None:
        """Close the database."""
        self.database.close()
        make_private(self.workspace)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
