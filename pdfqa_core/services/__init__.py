"""The one place that builds concrete objects from Settings, and what the page and the command line call.

`Services` holds the parts, which stand side by side and get their collaborators in the constructor.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from pdfqa_core.models import Models
from pdfqa_core.services import strategies
from pdfqa_core.services.answering import Answering, Written
from pdfqa_core.services.answers import AnswerService
from pdfqa_core.services.conversation_files import ConversationFileService
from pdfqa_core.services.documents import DocumentService
from pdfqa_core.services.evaluation import EvaluationService
from pdfqa_core.services.follow_ups import FollowUpService
from pdfqa_core.services.indexes import LOCAL_OWNER, IndexService
from pdfqa_core.services.pages import PageService, PageView, Picture
from pdfqa_core.services.passwords import Passwords
from pdfqa_core.services.preparation import Preparation, Preparing
from pdfqa_core.services.reading_jobs import Batch, ReadingJobs
from pdfqa_core.services.readings import Claim
from pdfqa_core.services.sample import SAMPLE
from pdfqa_core.services.studies import StudyService
from pdfqa_core.services.study_files import StudyFiles
from pdfqa_core.services.study_reports import StudyReports
from pdfqa_core.services.tasks import Tasks
from pdfqa_core.services.visitors import VisitorService
from pdfqa_core.settings import Settings
from pdfqa_core.storage import ConversationSummary, Reading, Store
from pdfqa_core.storage.conversations import Conversations

__all__ = [
    "LOCAL_OWNER", "SAMPLE", "Batch", "Claim", "ConversationSummary", "PageView", "Picture", "Preparing", "Reading",
    "Services",
    "Written",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Services:
    """Everything the program can do, for one workspace. Close it when done."""

    workspace: Path
    tasks: Tasks
    documents: DocumentService
    jobs: ReadingJobs
    pages: PageService
    indexes: IndexService
    preparation: Preparation
    models: Models
    answers: AnswerService
    answering: Answering
    follow_ups: FollowUpService
    conversations: Conversations
    conversation_files: ConversationFileService
    studies: StudyService
    study_reports: StudyReports
    study_files: StudyFiles
    evaluation: EvaluationService
    visitors: VisitorService
    _opened_with: Settings
    _store: Store

    @classmethod
    def open(cls, workspace: Path, settings: Settings, models: Models | None = None) -> Self:
        """Open a workspace. `models` are the encoder and the language model; by default those of the settings.

        Raises StorageError, and UsageError if the settings name a strategy that does not exist.
        """
        strategies.check(settings)
        store = Store.open(workspace, os.environ.get("PDFQA_DATABASE_URL", ""))
        tasks, passwords = Tasks(), Passwords()
        models = models or Models.open(workspace, settings)
        documents = DocumentService(store, settings, passwords, tasks)
        indexes = IndexService(workspace, documents, models.encoders, tasks)
        preparation = Preparation(indexes)
        documents.when_removed(preparation.forget)
        pages = PageService(documents, settings, passwords)
        studies = StudyService(store.studies, store.conversations)
        answers = AnswerService(store, documents, indexes, preparation, models, tasks)
        jobs = ReadingJobs(
            workspace / "incoming", documents, tasks,
            lambda owner, document: preparation.want(owner, settings, [document.id]),
        )  # fmt: skip
        return cls(
            workspace=workspace,
            tasks=tasks,
            documents=documents,
            jobs=jobs,
            pages=pages,
            indexes=indexes,
            preparation=preparation,
            models=models,
            answers=answers,
            answering=Answering(answers, store.conversations, tasks),
            follow_ups=FollowUpService(documents, indexes),
            conversations=store.conversations,
            conversation_files=ConversationFileService(store.conversations, documents, pages),
            studies=studies,
            study_reports=StudyReports(studies),
            study_files=StudyFiles(store.studies, studies),
            evaluation=EvaluationService(store.evaluations, documents, indexes, answers, models.encoders, tasks),
            visitors=VisitorService(store.owners, indexes, passwords, settings.server),
            _opened_with=settings,
            _store=store,
        )

    @property
    def settings(self) -> Settings:
        """The settings that it was opened with, the language model's as they are now."""
        return self._opened_with.model_copy(update={"llm": self.models.language.settings})

    def close(self) -> None:
        """Stop what runs, end the child processes and close the database."""
        self.jobs.close()
        self.tasks.stop()
        self.answering.close()
        self.preparation.close()
        self.models.close()
        self.pages.close()
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
