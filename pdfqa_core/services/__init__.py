"""The one place that builds concrete objects from Settings, and what the page and the command line call.

`Services` holds the parts, which stand side by side and get their collaborators in the constructor.
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
from pdfqa_core.programs import is_gone
from pdfqa_core.services import recipes
from pdfqa_core.services.accounts import AccountService, InvitationService, TokenService
from pdfqa_core.services.answers import Answering, AnswerService
from pdfqa_core.services.collections import CollectionService
from pdfqa_core.services.conversation_files import ConversationFileService
from pdfqa_core.services.documents import SAMPLE, Claim, DocumentService
from pdfqa_core.services.evaluation import EvaluationService
from pdfqa_core.services.finding import FindService, MissedPassages
from pdfqa_core.services.folders import FolderService
from pdfqa_core.services.housekeeping import Housekeeping, VisitorService, give_back
from pdfqa_core.services.indexes import LOCAL_OWNER, IndexService
from pdfqa_core.services.mahueval import MaHuEval
from pdfqa_core.services.overview import OverviewService, SummaryService
from pdfqa_core.services.pages import PageOcr, PageService, PageView, Picture
from pdfqa_core.services.preparation import Preparation, Preparing
from pdfqa_core.services.reading_jobs import Batch, ReadingJobs
from pdfqa_core.services.room import Room
from pdfqa_core.services.run_export import RunCopies, RunsTogether, RunStudies
from pdfqa_core.services.run_systems import Remembering
from pdfqa_core.services.running import Running
from pdfqa_core.services.runs import RunProgress, RunRequest, RunService
from pdfqa_core.services.secret_words import Passwords, Tries
from pdfqa_core.services.studies import Rosters, StudyService
from pdfqa_core.services.study_files import StudyFiles, StudyPages
from pdfqa_core.services.study_reports import AdjudicationService, StudyReports
from pdfqa_core.services.study_setup import StudySetup
from pdfqa_core.services.suggestions import FirstQuestions, FollowUpService
from pdfqa_core.services.synthesis import SynthesisService
from pdfqa_core.services.tasks import Processes, Tasks, Workers
from pdfqa_core.services.train_jobs import TrainJobs
from pdfqa_core.services.training import LeakageCheck, TrainingService
from pdfqa_core.services.under_way import Meters, Written
from pdfqa_core.services.versions import NewerVersionService, Notice
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
from pdfqa_core.storage.conversations import Conversations
from pdfqa_core.storage.files import FOLDERS, open_to_others
from pdfqa_core.storage.work import Work
from pdfqa_core.types import Document
from pdfqa_core.whole_files import remove_left_over

__all__ = [
    "LOCAL_OWNER", "SAMPLE", "Batch", "Claim", "Collection", "ConversationSummary", "Notice", "Outcome", "PageView",
    "Picture", "Preparing", "Reading", "RunRequest", "Services", "StudyTurn", "Summary", "SyntheticQuestion", "Written",
    "open_to_others",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Services:
    """Everything the program can do, for one workspace. Close it when done."""

    workspace: Path
    tasks: Tasks
    documents: DocumentService
    collections: CollectionService
    versions: NewerVersionService
    folders: FolderService
    finding: FindService
    jobs: ReadingJobs
    pages: PageService
    indexes: IndexService
    preparation: Preparation
    models: Models
    answers: AnswerService
    answering: Answering
    follow_ups: FollowUpService
    first_questions: FirstQuestions
    overviews: OverviewService
    summaries: SummaryService
    page_ocr: PageOcr
    conversations: Conversations
    conversation_files: ConversationFileService
    studies: StudyService
    study_setup: StudySetup
    study_pages: StudyPages
    adjudication: AdjudicationService
    study_reports: StudyReports
    study_files: StudyFiles
    invitations: InvitationService
    mahueval: MaHuEval
    missed: MissedPassages
    evaluation: EvaluationService
    runs: RunService
    run_copies: RunCopies
    runs_together: RunsTogether
    run_studies: RunStudies
    run_progress: RunProgress
    running: Running
    synthesis: SynthesisService
    training: TrainingService
    train_jobs: TrainJobs
    visitors: VisitorService
    accounts: AccountService
    tokens: TokenService
    tries: Tries
    meters: Meters
    housekeeping: Housekeeping
    workers: Workers
    processes: Processes
    _opened_with: Settings
    _store: Store

    @classmethod
    def open(cls, workspace: Path, settings: Settings, models: Models | None = None) -> Self:
        """Open a workspace. `models` are the encoder and the language model; by default those of the settings.

        Raises StorageError, and UsageError if the settings name a strategy that does not exist.
        """
        recipes.check(settings)
        hold_to(of_visitors(settings.server.visitor_mb) if settings.server.demo else OWNERS)
        store = Store.open(workspace, os.environ.get("PDFQA_DATABASE_URL", ""))
        tasks, passwords = Tasks(), Passwords()
        models = models or Models.open(workspace, settings)
        remove_left_over(*(workspace / name for name in FOLDERS), *models.files.folders)
        remove_left_over(workspace, below=False)
        room = Room(store, settings.server)
        workers = Workers(Work(store.database, is_gone))
        documents = DocumentService(store, settings, passwords, tasks, room, models.cluster)
        collections, versions = CollectionService(store), NewerVersionService(store, documents)
        finding = FindService(store, documents)
        indexes = IndexService(workspace, documents, models.encoders, tasks)
        preparation = Preparation(indexes)
        documents.when_removed(preparation.forget)
        pages = PageService(documents, settings, passwords)
        studies = StudyService(store.studies, store.conversations, rosters=Rosters(store.protocols))
        study_pages = StudyPages(store.study_changes, pages)
        documents.while_whole(study_pages.before_removal)
        answers = AnswerService(store, documents, collections, indexes, preparation, models.language, tasks)

        overviews = OverviewService(documents)
        first_questions = FirstQuestions(documents, indexes, store.synthetic_questions)

        def answering_with(own: Remembering) -> AnswerService:
            return AnswerService(store, documents, collections, indexes, preparation, own.language, tasks, own)

        leakage = LeakageCheck(models.files, store.synthetic_questions)
        runs = RunService(
            workspace, store.runs, documents, indexes, answering_with, models, leakage, tasks, workers, settings
        )

        visitors = VisitorService(
            store.owners,
            indexes,
            preparation,
            finding,
            runs,
            passwords,
            room,
            settings.server,
            [
                overviews.kept.forget_owners,
                first_questions.kept.forget_owners,
                lambda _: answers.forget_texts(),
                lambda _: pages.forget_gone(),
            ],
        )

        synthesis = SynthesisService(store.synthetic_questions, documents, indexes, models, tasks)
        training = TrainingService(workspace / "training", store.synthetic_questions, indexes, models, tasks)

        def finished(owner: str, document: Document) -> None:
            preparation.want(owner, settings, [document.id])
            finding.take(owner, document)
            versions.look(owner, document)

        jobs = ReadingJobs(workspace / "incoming", documents, tasks, workers, finished)
        setup, together = StudySetup(store.studies, store.study_changes, studies, documents), RunsTogether(store.runs)
        answering = Answering(answers, store.conversations, tasks)

        def work() -> dict[str, float]:
            served, waiting = models.language.calls
            return {
                "answers": answering.count,
                "model calls": served,
                "model calls waiting": waiting,
                "files to read": jobs.left,
            }

        meters = Meters(work, store.documents.counts)
        answers.when_answered(meters.answered, meters.failed)
        return cls(
            workspace=workspace,
            tasks=tasks,
            documents=documents,
            collections=collections,
            versions=versions,
            folders=FolderService(store, documents, collections),
            finding=finding,
            jobs=jobs,
            pages=pages,
            indexes=indexes,
            preparation=preparation,
            models=models,
            answers=answers,
            answering=answering,
            follow_ups=FollowUpService(documents, indexes),
            first_questions=first_questions,
            overviews=overviews,
            summaries=SummaryService(store.summaries, documents, answers, preparation, tasks),
            page_ocr=PageOcr(store.documents, documents, settings, passwords, tasks, models.cluster),
            conversations=store.conversations,
            conversation_files=ConversationFileService(store.conversations, documents, collections, pages),
            studies=studies,
            study_setup=setup,
            study_pages=study_pages,
            adjudication=AdjudicationService(studies, store.study_changes),
            study_reports=StudyReports(studies),
            study_files=StudyFiles(store.studies, studies),
            invitations=InvitationService(store.invitations, store.studies),
            missed=MissedPassages(store.studies, studies, documents, indexes),
            mahueval=MaHuEval(store.protocols, store.studies, store.conversations, studies, answers),
            evaluation=EvaluationService(
                store.evaluations,
                documents,
                indexes,
                answers,
                models.encoders,
                leakage,
                tasks,
            ),
            runs=runs,
            run_copies=RunCopies(workspace, store.runs),
            running=Running(runs, workers, demo=settings.server.demo),
            runs_together=together,
            run_studies=RunStudies(runs, together, setup, documents.filenames),
            run_progress=RunProgress(runs),
            synthesis=synthesis,
            training=training,
            train_jobs=TrainJobs(synthesis, training, tasks, demo=settings.server.demo),
            visitors=visitors,
            accounts=AccountService(store.accounts),
            tokens=TokenService(store.tokens, demo=settings.server.demo),
            tries=Tries(),
            meters=meters,
            housekeeping=Housekeeping(
                visitors.purge,
                finding.tidy,
                indexes.files.tidy,
                runs.forget_replies,
                store.database.empty_log,
                last=give_back,
            ),
            workers=workers,
            processes=Processes(workers),
            _opened_with=settings,
            _store=store,
        )

    @property
    def settings(self) -> Settings:
        """The settings that it was opened with, those of the language model and the encoder as they are now."""
        opened, encoder = self._opened_with, self.models.files.encoders.chosen
        if encoder is not None and encoder != opened.retrieval.embedding_model:
            opened = opened.changed("retrieval", embedding_model=encoder)
        return opened.model_copy(update={"llm": self.models.language.settings})

    @property
    def shared(self) -> bool:
        """Whether the database is a server's, so that other programs may be on it."""
        return not self._store.database.is_sqlite

    def ask_before_writing(self, may_write: Callable[[], None]) -> None:
        """Have `may_write` called before each change of the database; it raises the error for whoever may not."""
        self._store.database.may_write = may_write

    def close(self) -> None:
        """Stop what runs, end the child processes and close the database."""
        self.housekeeping.close()
        self.processes.close()
        self.meters.close()
        self.jobs.let_go()
        self.tasks.stop_all()
        self.answering.close()
        self.running.close()
        self.train_jobs.close()
        self.runs.close()
        self.summaries.close()
        self.jobs.close()
        self.workers.close()
        self.preparation.close()
        self.models.close()
        self.pages.close()
        self.finding.close()
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
