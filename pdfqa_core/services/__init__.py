"""The one place that builds concrete objects from Settings, and what the page and the command line call.

`Services` holds eight services, each on those before it, and the models. Parts of a service are its attributes, and so
is what it keeps in the database (`kept`).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from pdfqa_core.extraction.process.limits import OWNERS, of_visitors
from pdfqa_core.extraction.process.outside import hold_to
from pdfqa_core.models import Models
from pdfqa_core.services import recipes
from pdfqa_core.services.accounts import People
from pdfqa_core.services.answers import ANSWER, AnswerService
from pdfqa_core.services.documents import SAMPLE, DocumentService
from pdfqa_core.services.evaluation import EvaluationService, RunRequest
from pdfqa_core.services.indexes import LOCAL_OWNER, IndexService, Preparing
from pdfqa_core.services.overview import SUMMARY
from pdfqa_core.services.pages import PageView, Picture
from pdfqa_core.services.reading_jobs import Batch
from pdfqa_core.services.readings import Claim
from pdfqa_core.services.studies import StudyService
from pdfqa_core.services.tasks import Job, Tasks, job_name
from pdfqa_core.services.training import TrainingService
from pdfqa_core.settings import Settings
from pdfqa_core.storage import (
    Collection,
    ConversationSummary,
    Outcome,
    Reading,
    Store,
    StudyTurn,
    Summary,
    SyntheticQuestion,
)
from pdfqa_core.storage.files import FOLDERS, open_to_others
from pdfqa_core.whole_files import remove_left_over

__all__ = [
    "ANSWER", "LOCAL_OWNER", "SAMPLE", "SUMMARY", "Batch", "Claim", "Collection", "ConversationSummary", "Job",
    "Outcome", "PageView", "Picture", "Preparing", "Reading", "RunRequest", "Services", "StudyTurn",
    "Summary", "SyntheticQuestion", "job_name", "open_to_others",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Services:
    """Everything the program can do, for one workspace. Close it when done."""

    workspace: Path
    models: Models
    tasks: Tasks
    documents: DocumentService
    index: IndexService
    answers: AnswerService
    studies: StudyService
    training: TrainingService
    evaluation: EvaluationService
    people: People
    _opened_with: Settings
    _store: Store

    @classmethod
    def open(cls, workspace: Path, settings: Settings, models: Models | None = None) -> Self:
        """Open a workspace. `models` are the encoder and the language model; by default those of the settings.

        Raises StorageError, and UsageError if the settings name a strategy that does not exist.
        """
        recipes.check(settings)
        demo = settings.server.demo
        hold_to(of_visitors(settings.server.visitor_mb) if demo else OWNERS)
        store = Store.open(workspace, os.environ.get("PDFQA_DATABASE_URL", ""))
        models = models or Models.open(workspace, settings)
        remove_left_over(*(workspace / name for name in FOLDERS), *models.files.folders)
        remove_left_over(workspace, below=False)
        tasks = Tasks(store)
        documents = DocumentService(store, settings, tasks, models.cluster)
        index = IndexService(store, settings, documents, models.encoders, tasks)
        answers = AnswerService(store, documents, index, models.language, tasks)
        studies = StudyService(store, documents)
        training = TrainingService(store, documents, index, models, tasks, demo=demo)
        evaluation = EvaluationService(
            store, settings, documents, index, answers, studies, models, training.leakage, tasks
        )
        people = People(store, demo=demo)
        opened = cls(
            workspace,
            models,
            tasks,
            documents,
            index,
            answers,
            studies,
            training,
            evaluation,
            people,
            settings,
            store,
        )
        tasks.housekeeping.chores += [
            opened.purge,
            index.finding.tidy,
            index.files.tidy,
            evaluation.forget_replies,
            store.database.empty_log,
        ]
        return opened

    @property
    def settings(self) -> Settings:
        """The settings that it was opened with, those of the language model and the encoder as they are now."""
        opened, encoder = self._opened_with, self.models.files.encoders.chosen
        if encoder is not None and encoder != opened.retrieval.embedding_model:
            opened = opened.changed("retrieval", embedding_model=encoder)
        return opened.model_copy(update={"llm": self.models.language.settings})

    def purge(self) -> tuple[str, ...]:
        """Remove the data of demo visitors who were not seen for the time the settings give; return who went."""
        server = self._opened_with.server
        if not server.demo:
            return ()
        with self.evaluation.removing():
            gone = self._store.owners.purge(server.visitor_hours, keep=(LOCAL_OWNER,))
        self.documents.passwords.forget_owners(gone)
        self.documents.room.forget(gone)
        for owner in gone:
            self.index.remove_owner(owner)
        if gone:
            self.index.finding.tidy()
            self.answers.forget_owners(gone)
            self.documents.pages.renderer.forget_gone()
        return gone

    def ask_before_writing(self, may_write: Callable[[], None]) -> None:
        """Have `may_write` called before each change of the database; it raises the error for whoever may not."""
        self._store.database.may_write = may_write

    def close(self) -> None:
        """Remove what is to go, stop what runs, end the child processes and close the database."""
        self.documents.leaving.close()
        self.tasks.close()
        self.evaluation.close()
        self.models.close()
        self.documents.pages.renderer.close()
        self.index.finding.close()
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
