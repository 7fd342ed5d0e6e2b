"""Evaluations over a workspace: systems are recipes, gold comes from a file."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from functools import lru_cache

from pdfqa_core.background import in_background
from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import Evaluation, GoldItem, IndexCost, Ranking, ScoredSystem
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.metrics.comparison import Comparison, compare
from pdfqa_core.models import Models
from pdfqa_core.protocols.base import DEFAULT, deviations, search_deviations
from pdfqa_core.protocols.gold import GoldFile
from pdfqa_core.protocols.retrieval import DEPTH, MEASURES, ResolvedGold, Scored, resolve, run_system
from pdfqa_core.retrieval import Index, SearchIndex, prepared
from pdfqa_core.services.answers import AnswerService
from pdfqa_core.services.documents import DocumentService
from pdfqa_core.services.finding import MissedPassages
from pdfqa_core.services.indexes import IndexService
from pdfqa_core.services.mahueval import MaHuEval
from pdfqa_core.services.run_export import RunCopies, RunsTogether, RunStudies
from pdfqa_core.services.running import Running
from pdfqa_core.services.runs import RunProgress, RunService
from pdfqa_core.services.studies import StudyService
from pdfqa_core.services.tasks import Tasks
from pdfqa_core.services.training import LeakageCheck
from pdfqa_core.services.versions import RETRIEVAL, versions
from pdfqa_core.settings import Settings
from pdfqa_core.storage import Store
from pdfqa_core.types import Hit, Page, Progress, Query

PROTOCOL = "retrieval"


class EvaluationService:
    """Systems measured on the documents of each owner; what was measured is kept."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        documents: DocumentService,
        indexes: IndexService,
        answers: AnswerService,
        studies: StudyService,
        models: Models,
        leakage: LeakageCheck,
        tasks: Tasks,
    ) -> None:
        self.kept = store.evaluations
        self.runs = RunService(store, documents, indexes, answers, models, leakage, tasks, settings)
        self.running = Running(self.runs, tasks, demo=settings.server.demo)
        self.progress = RunProgress(self.runs)
        self.copies = RunCopies(store.workspace, store.runs)
        self.together = RunsTogether(store.runs)
        self.studies = RunStudies(self.runs, self.together, studies, documents.filenames)
        self.mahueval = MaHuEval(store, studies, answers)
        self.missed = MissedPassages(store.studies, studies, documents, indexes)
        self._documents = documents
        self._indexes = indexes
        self._answers = answers
        self._encoders = models.encoders
        self._leakage = leakage
        self._tasks = tasks
        self._compared = lru_cache(maxsize=64)(self._compare)

    # ------------------------------------------------------------ what was measured

    def compared(self, owner: str, evaluation_id: str, measures: tuple[str, ...], baseline: str) -> Comparison:
        """Return the systems of an evaluation compared with one of them; remembered, for it never changes."""
        return self._compared(owner, evaluation_id, measures, baseline)

    def _compare(self, owner: str, evaluation_id: str, measures: tuple[str, ...], baseline: str) -> Comparison:
        return compare(self.kept.get(owner, evaluation_id), measures=measures, baseline=baseline)

    # ------------------------------------------------------------ measuring

    def gold(self, owner: str, file: GoldFile, settings: Settings, document_ids: Sequence[str] = ()) -> ResolvedGold:
        """Return a file's questions with their gold in the owner's documents (in some of them).

        The documents are taken as the settings read them, because spans point into that text. Raises UsageError if none
        of it is there.
        """
        documents = [document for document, _ in self._documents.readable(owner, settings, document_ids)]
        read: dict[str, dict[int, Page]] = {}

        def page(document_id: str, number: int) -> Page | None:
            if document_id not in read:
                pages = self._documents.text(owner, document_id, settings)
                read[document_id] = {one.number: one for one in pages}
            return read[document_id].get(number)

        return resolve(file, documents, page)

    def evaluate_retrieval(
        self,
        owner: str,
        file: GoldFile,
        systems: Mapping[str, Settings],
        *,
        measures: Sequence[str] = (),
        document_ids: Sequence[str] = (),
        depth: int = DEPTH,
        task: str = "",
    ) -> Iterator[Progress | Evaluation]:
        """Search every question with every system, building the indexes that are missing; yields progress, then all.

        What was measured is stored before it is yielded; `measures` are scored besides the usual ones. `depth` passages
        are looked at, 0: all.

        Follow-up questions are rewritten by each system's own rewriter with the gold answers as history. A file that
        brings its own corpus is searched as it is: the passages of the systems play no part. Raises StoppedError when
        the task is stopped, UsageError where there is nothing to evaluate, or a model was trained on what is asked.
        """
        if not systems:
            raise UsageError("There is no system to evaluate.", "Choose at least one.")
        names = tuple(dict.fromkeys((*MEASURES, *measures)))
        used = versions(RETRIEVAL)
        for settings in systems.values():
            used |= self._encoder_named(settings)
        with self._tasks.start(task) as stop:
            scored, notes = [], list[str]()
            found: dict[tuple[str, str], Ranking] = {}
            corpora: dict[str, SearchIndex] = {}
            for name, settings in systems.items():
                index, seconds = yield from self._system_index(owner, file, settings, corpora, stop)
                gold = self.gold(owner, file, settings, document_ids)
                self._leakage.check(owner, settings, gold.items)
                notes += gold.notes
                ranks = depth or max(1, index.stats.passages)
                made = yield from self._searched(index, name, settings, gold.items, names, document_ids, ranks, stop)
                notes += [
                    *deviations(("MRR",) if ranks < index.stats.passages else (), DEFAULT),
                    *search_deviations(() if file.corpus else (settings,)),
                ]
                found |= {(name, item.id): ranking for item, ranking in made}
                scored.append(
                    ScoredSystem(
                        name,
                        tuple(item for item, _ in made),
                        settings.fingerprint(),
                        settings.model_dump_json(exclude={"server"}),
                        IndexCost(index.stats.passages, seconds, index.stats.bytes),
                    )
                )
            fingerprints = {f"settings fingerprint, {one.name}": one.settings_fingerprint for one in scored}
            evaluation = Evaluation(
                PROTOCOL, file.name, names, tuple(scored), fingerprints, used, tuple(dict.fromkeys(notes))
            )
            yield self.kept.add(owner, evaluation, found)

    def _encoder_named(self, settings: Settings) -> dict[str, str]:
        chosen, named = settings.retrieval, {}
        if self._indexes.needs_embeddings(settings):
            named["encoder"] = self._indexes.encoder(settings).name
        if prepared(chosen.model_dump()):
            named["late_model"] = self._encoders.token_encoder(chosen.late_model).name
        if chosen.reranker:
            named["reranker"] = chosen.reranker
        return named

    def _system_index(
        self, owner: str, file: GoldFile, settings: Settings, corpora: dict[str, SearchIndex], stop: StopSignal
    ) -> Generator[Progress, None, tuple[SearchIndex, float]]:
        """Return the index of a system and how many seconds it took to open or build it.

        `corpora` keeps the indexes of a file that brings its own corpus, by encoder, for the systems that follow.
        """
        began = time.perf_counter()
        if not file.corpus:
            index = yield from self._indexes.opened(owner, settings, stop)
            return index, time.perf_counter() - began
        embeddings = self._indexes.needs_embeddings(settings)
        chosen = settings.retrieval
        key = f"encoder {chosen.embedding_model}, {chosen.embedding_precision}" if embeddings else ""

        def build(report: Callable[[Progress], None]) -> SearchIndex:
            encoder = self._indexes.encoder(settings) if embeddings else None
            return Index.in_memory(file.corpus, encoder, on_progress=report, stop=stop)

        if key not in corpora:
            corpora[key] = yield from in_background(build)
        return corpora[key], time.perf_counter() - began

    def _searched(
        self,
        index: SearchIndex,
        name: str,
        settings: Settings,
        gold: Sequence[GoldItem],
        measures: Sequence[str],
        document_ids: Sequence[str],
        depth: int,
        stop: StopSignal,
    ) -> Generator[Progress, None, tuple[Scored, ...]]:
        rewriter, _ = self._answers.rewriter(settings)
        turns = settings.conversation.turns

        def search(item: GoldItem, k: int) -> Sequence[Hit]:
            history = item.history[-turns:] if turns else ()
            asked = Query(item.question.text)
            query = rewriter.rewrite(asked.text, history, stop=stop).query if history else asked
            return self._indexes.search_in(index, query, settings, document_ids, k)

        if gold:
            prepare = self._indexes.retriever(index, settings).prepare
            yield from in_background(lambda report: prepare(on_progress=report, stop=stop))
            search(gold[0], depth)  # what is loaded on first use is not part of the first question's time
        for event in run_system(name, gold, search, measures=measures, depth=depth, stop=stop):
            if not isinstance(event, Progress):
                return event
            yield event
        return ()
