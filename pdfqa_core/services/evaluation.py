"""Evaluations over a workspace: systems are recipes, gold comes from a file; and the runs of what is asked.

In a run questions go through systems, and their answers are scored; what is done stays done. A run goes on behind the
last stored answer, whatever ended it. Replies of the language model are kept by prompt, model and sampling, so that the
same prompt is answered once. A run under way is claimed in the database: no other program on it begins with the same
one, and if this one is killed, another one goes on (see `Workers`).
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import time
import uuid
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path

from pdfqa_core import __version__
from pdfqa_core.background import in_background
from pdfqa_core.errors import ModelError, PdfQAError, StoppedError, UsageError
from pdfqa_core.evaluation_types import (
    Evaluation,
    GoldItem,
    IndexCost,
    Prediction,
    Ranking,
    Run,
    RunPlan,
    RunState,
    RunSummary,
    RunSystem,
    ScoredSystem,
)
from pdfqa_core.exports.report import methods_text
from pdfqa_core.exports.runs import Predicted, RunCopy, opened_run, write_run
from pdfqa_core.interfaces import LLM, StopSignal
from pdfqa_core.json_codec import encode
from pdfqa_core.llm.catalogue import entry, is_path
from pdfqa_core.llm.hardware import memory
from pdfqa_core.metrics.agreement import Agreement
from pdfqa_core.metrics.bertscore import TokenEmbedder
from pdfqa_core.metrics.comparison import Comparison, compare, item_values
from pdfqa_core.models import Models
from pdfqa_core.models.language import engine_settings
from pdfqa_core.models.metrics import token_embedder
from pdfqa_core.protocols import (
    GIVEN,
    NONE,
    RECORDED,
    SEARCH,
    CaseFile,
    RunProtocol,
    Tools,
    annotation,
    drawn,
    run_protocols,
)
from pdfqa_core.protocols.base import (
    matching_said,
    over_texts,
    profile_named,
    ranking_deviations,
    search_deviations,
    with_gold,
)
from pdfqa_core.protocols.conversations import (
    Doing,
    Held,
    Paired,
    Plan,
    Roster,
    Step,
    check_plan,
    check_question,
    paired,
)
from pdfqa_core.protocols.gold import GoldFile
from pdfqa_core.protocols.refusal import UNANSWERABLE, with_unanswerable
from pdfqa_core.protocols.retrieval import (
    DEPTH,
    EXACT,
    MATCHES,
    MEASURES,
    ResolvedGold,
    Scored,
    matched,
    resolve,
    run_system,
)
from pdfqa_core.retrieval import SearchIndex, prepared
from pdfqa_core.services.answers import AnswerService
from pdfqa_core.services.documents import DocumentService
from pdfqa_core.services.finding import MissedPassages
from pdfqa_core.services.indexes import IndexService
from pdfqa_core.services.run_asking import (
    TRAINED_ON,
    YES,
    AskedSystem,
    ClusterAsking,
    Outcomes,
    Pace,
    Remembering,
    RunFiles,
    ask_here,
    check_brought,
    language_for,
    load_settings,
    model_hash,
    named,
    opened,
    repeated,
    same,
    scored,
    search_models,
    tools_of,
    used_models,
    with_defaults,
)
from pdfqa_core.services.run_export import check_settings, run_names, study_items, together
from pdfqa_core.services.studies import PAIRWISE, StudyService
from pdfqa_core.services.study_files import write_plan
from pdfqa_core.services.tasks import Job, Tasks, foreseen
from pdfqa_core.services.training import LeakageCheck
from pdfqa_core.services.versions import MODELS, RETRIEVAL, versions
from pdfqa_core.settings import LLMSettings, Settings
from pdfqa_core.storage import Store
from pdfqa_core.storage.runs import FILENAME, StoredReplies
from pdfqa_core.storage.work import Piece
from pdfqa_core.study_types import Study
from pdfqa_core.types import Event, Hit, Page, Passage, Progress, Query, Stored, Turn
from pdfqa_core.whole_files import keeping

PROTOCOL = "retrieval"
MEASURED_ANYWAY = "It was measured with them because that was asked for: its scores are too good."
KEPT = "The answers that were stored are kept: the run goes on from there."
WORK = "run"  # the kind of work that a run is among programs on one database
PAUSE = 4.0  # seconds between two computations of what is known so far of the same run
MOST_MEASURES = 5
_log = logging.getLogger(__name__)


MERGED_ARE_WRONG = (
    "Hits that were merged do not count, even where they hold the right passage; leave them unmerged "
    "(merge_overlaps = false) to rank each passage by itself."
)


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What somebody wants to be run. `evidence` and `histories` empty: the protocol's default for this file.

    `systems` are settings by name; those that sample are asked `repeats` times, with `seed` and those after it.
    `options` are the protocol's ("bertscore", "judge", "judge_prompt", "calibrate", "nli", "disambig", "qa_model",
    "ner", "beta", "bertscore_encoder"), and "trained_on" ("yes": models are measured also with what they were trained
    on, and a note says so); `unanswerable` is a file none of whose questions can be answered;
    `document_ids` are the documents and collections that are searched, empty: all.
    """

    protocol: str
    data: Path
    systems: Mapping[str, Settings]
    evidence: tuple[str, ...] = ()
    histories: tuple[str, ...] = ()
    limit: int = 0
    seed: int = 0
    profile: str = ""
    name: str = ""
    unanswerable: Path | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    document_ids: tuple[str, ...] = ()
    repeats: int = 1


@dataclass(frozen=True, slots=True)
class SoFar:
    """What is known of a system so far: how many of its answers are there, and their means by measure."""

    system: str
    done: int
    total: int
    failed: int
    means: tuple[tuple[str, float | None], ...] = ()


@dataclass(frozen=True, slots=True)
class RunEstimate:
    """What the open answers of a run take.

    `seconds` is None where no earlier run tells the pace. `memory` is what the largest model takes in bytes, None where
    none is asked here or that is not known; `free` is what is free now.
    """

    questions: int
    systems: int
    open: int
    seconds: float | None
    memory: int | None
    free: int


class EvaluationService:
    """Systems measured on the documents of each owner, and the runs of what they are asked; all of it is kept.

    `kept` are the stored evaluations of retrieval, `runs` the stored runs. A run under way goes on in a thread of its
    own, whether or not a page looks on, one at a time for all owners: they share the language model. Methods raise
    UsageError where the owner has no such evaluation or run, and StorageError.
    """

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
        self.kept, self.runs = store.evaluations, store.runs
        self.mahueval = MaHuEval(store, studies, answers)
        self.missed = MissedPassages(store.studies, studies, documents, indexes)
        self.embedder: Callable[[str], TokenEmbedder] = token_embedder
        self._workspace = store.workspace
        self._files = RunFiles(store.workspace / "run_data")
        self._documents = documents
        self._indexes = indexes
        self._answers = answers
        self._studies = studies
        self._opened_with = settings
        self._models = models
        self._leakage = leakage
        self._tasks = tasks
        self._workers = tasks.workers
        self._remembering = Remembering(models.language, self._kept_replies)
        self._elsewhere: ClusterAsking | None = None
        if models.cluster is not None:
            self._elsewhere = ClusterAsking(models.cluster, models.language.settings, documents, indexes)
        self._replies: StoredReplies | None = None
        self._case_files: dict[str, CaseFile] = {}
        self._so_far: dict[str, tuple[int, float, tuple[SoFar, ...]]] = {}
        self._jobs: dict[str, Job] = {}  # by the run's id
        self._progress: Progress | None = None
        self._lock, self._scoring, self._opening = threading.Lock(), threading.Lock(), threading.Lock()
        self.compared = lru_cache(maxsize=64)(self._compared)
        may = not settings.server.demo
        self._workers.register(WORK, self._take, self.stop, lambda: may and not self._busy())

    # ------------------------------------------------------------ retrieval

    def _compared(self, owner: str, evaluation_id: str, measures: tuple[str, ...], baseline: str) -> Comparison:
        """Return the systems of an evaluation compared with one of them; remembered, for it never changes."""
        return compare(self.kept.get(owner, evaluation_id), measures=measures, baseline=baseline)

    def gold(self, owner: str, file: GoldFile, settings: Settings, document_ids: Sequence[str] = ()) -> ResolvedGold:
        """Return a file's questions with their gold in the owner's documents (in some of them).

        The documents are taken as the settings read them, because spans point into that text. Raises UsageError if none
        of it is there.
        """
        documents = [document for document, _ in self._documents.readable(owner, settings, document_ids)]
        return resolve(file, documents, self._pages(owner, settings))

    def _pages(self, owner: str, settings: Settings) -> Callable[[str, int], Page | None]:
        """Return what gives a page of a document by id and number, as these settings read it."""
        read: dict[str, dict[int, Page]] = {}

        def page(document_id: str, number: int) -> Page | None:
            if document_id not in read:
                read[document_id] = {one.number: one for one in self._documents.text(owner, document_id, settings)}
            return read[document_id].get(number)

        return page

    def evaluate_retrieval(
        self,
        owner: str,
        file: GoldFile,
        systems: Mapping[str, Settings],
        *,
        measures: Sequence[str] = (),
        document_ids: Sequence[str] = (),
        depth: int | None = None,
        gold_match: str = "",
        profile: str = "",
        trained_on: bool = False,
        task: str = "",
    ) -> Iterator[Progress | Evaluation]:
        """Search every question with every system, building the indexes that are missing; yields progress, then all.

        What was measured is stored before it is yielded; `measures` are scored besides the usual ones. `depth` passages
        are looked at, 0: all; `gold_match` is one of MATCHES. Where these two are not given, the profile decides.

        Follow-up questions are rewritten by each system's own rewriter with the gold answers as history. A file that
        brings its own corpus is searched as it is: the passages of the systems play no part. Raises StoppedError when
        the task is stopped, UsageError where there is nothing to evaluate, or a model was trained on what is asked;
        with `trained_on` such a model is measured all the same, and a note says so.
        """
        if not systems:
            raise UsageError("There is no system to evaluate.", "Choose at least one.")
        chosen = profile_named(profile)
        match = gold_match or chosen.gold_match
        _check("gold match", (match,), tuple(MATCHES), PROTOCOL)
        depth = (0 if chosen.all_passages else DEPTH) if depth is None else depth
        names = tuple(dict.fromkeys((*MEASURES, *measures)))
        software = versions(RETRIEVAL)
        for settings in systems.values():
            software |= self._encoder_named(settings)
        with self._tasks.start(task) as stop:
            scored, notes = [], list[str]()
            found: dict[tuple[str, str], Ranking] = {}
            corpora: dict[str, SearchIndex] = {}
            searching: dict[str, Settings] = {}
            for name, settings in systems.items():
                began = time.perf_counter()
                index = yield from opened(self._indexes, owner, settings, file.corpus, corpora, stop)
                seconds = time.perf_counter() - began
                gold = self.gold(owner, file, settings, document_ids)
                notes += _warned(name, partial(self._leakage.check, owner, settings, gold.items), anyway=trained_on)
                items, unmatched = matched(gold.items, match, partial(_passages_on, index))
                ranks = depth or max(1, index.stats.passages)
                made = yield from self._searched(index, name, settings, items, names, document_ids, ranks, stop)
                used = over_texts(settings) if file.corpus else settings
                notes += [
                    *gold.notes,
                    *unmatched,
                    *((MERGED_ARE_WRONG,) if match == EXACT and settings.retrieval.merge_overlaps else ()),
                    *ranking_deviations(match, all_passages=ranks >= index.stats.passages),
                    *search_deviations((used,)),
                ]
                searching[name] = used
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
            notes += chosen.overruled(searching.values())
            said = {
                **matching_said(match, searching),
                **chosen.said(searching.values()),
                **{f"settings fingerprint, {one.name}": one.settings_fingerprint for one in scored},
            }
            evaluation = Evaluation(
                PROTOCOL, file.name, names, tuple(scored), said, software, tuple(dict.fromkeys(notes))
            )
            yield self.kept.add(owner, evaluation, found)

    def _encoder_named(self, settings: Settings) -> dict[str, str]:
        chosen, named = settings.retrieval, {}
        if self._indexes.needs_embeddings(settings):
            named["encoder"] = self._indexes.encoder(settings).name
        if prepared(chosen.model_dump()):
            named["late_model"] = self._models.encoders.token_encoder(chosen.late_model).name
        if chosen.reranker:
            named["reranker"] = chosen.reranker
        return named

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

    # ------------------------------------------------------------ what was run

    def list_runs(self, owner: str) -> tuple[RunSummary, ...]:
        """Return the owner's runs, newest first; one that says it is running while nobody works on it was stopped."""
        elsewhere = self._workers.elsewhere(WORK)
        return tuple(
            replace(one, state=RunState.STOPPED)
            if one.state is RunState.RUNNING and not self._tasks.running(task_of(one.id)) and one.id not in elsewhere
            else one
            for one in self.runs.list(owner)
        )

    def elsewhere(self, owner: str) -> tuple[str, ...]:
        """Return the ids of the owner's runs that another program works on."""
        under_way = self._workers.elsewhere(WORK)
        return tuple(one.id for one in self.runs.list(owner) if one.id in under_way) if under_way else ()

    def remove_run(self, owner: str, run_id: str) -> None:
        """Stop a run and delete it."""
        self.runs.get(owner, run_id)
        self.stop(run_id)
        self._workers.drop(run_id)
        with self.removing():
            self.runs.remove(owner, run_id)

    @contextmanager
    def removing(self) -> Iterator[None]:
        """Delete what only the runs had that are removed within the block: files of data, replies of the model."""
        before = self.runs.data()
        yield
        left = self.runs.data()
        if before.keys() - left.keys():
            self._files.remove({*chain(*before.values())} - {*chain(*left.values())})
            self.forget_replies()

    def forget_replies(self) -> None:
        """Delete the replies that no run has any more."""
        if (self._workspace / FILENAME).exists():
            self._kept_replies().keep_only(self.runs.data().keys())

    def stop(self, run_id: str) -> None:
        """Stop a run; what is done stays."""
        self._tasks.stop(task_of(run_id))

    def suited(self, owner: str, protocol: str, file: CaseFile) -> str:
        """Return what a system may read for an answer where nobody said: what suits the protocol and this file.

        That is recorded answers where all are there, passages that it brings, else what the protocol names first.
        """
        evidence = run_protocols.get(protocol).evidence
        if RECORDED in evidence and all(case.recorded is not None for case in file.cases):
            return RECORDED
        searched = file.corpus or self._documents.kept.list(owner)
        if evidence[0] == SEARCH and not searched and GIVEN in evidence and any(c.contexts for c in file.cases):
            return GIVEN
        if evidence[0] == GIVEN and not any(case.contexts or case.gold_citations for case in file.cases):
            return SEARCH
        return evidence[0]

    def cases(self, owner: str, plan: RunPlan) -> CaseFile:
        """Return the questions of a run with their gold. Raises UsageError that names file and row."""
        protocol = run_protocols.get(plan.protocol)
        paths = [Path(path) for path in plan.data]
        file = replace(protocol.read(paths[0]), name=plan.dataset)
        if plan.options.get(UNANSWERABLE):
            file = with_unanswerable(file, replace(protocol.read(paths[1]), name=plan.options[UNANSWERABLE]))
        file = drawn(file, plan.limit, plan.seed)
        if all(system.evidence == RECORDED for system in plan.systems):
            return file
        settings = load_settings(plan.systems[0])
        searched = plan.options.get("documents", "").split()
        documents = [document for document, _ in self._documents.readable(owner, settings, searched)]
        pages = self._pages(owner, settings)
        return with_gold(file, paths[0], documents, pages, self._documents.filenames(owner))

    def estimate(self, owner: str, run: Run) -> RunEstimate:
        """Return what the open answers of a run take, at the pace of earlier runs of the owner."""
        systems = run.plan.systems
        questions = run.total // max(1, len(systems))
        known = [name for name, _ in self.runs.predictions(owner, run.id)]
        left = {one: questions - known.count(one.name) for one in systems}
        answers = {asking: sum(n for one, n in left.items() if _is(one, asking=asking)) for asking in (True, False)}
        asked = [load_settings(one).llm for one, number in left.items() if number and one.model]
        return RunEstimate(
            questions,
            len(systems),
            sum(left.values()),
            self.seconds_for(owner, answers[True], answers[False]),
            memory_for(asked),
            memory().free,
        )

    def seconds_for(self, owner: str, asked: int, quoted: int) -> float | None:
        """Return the seconds that answers of a language model and others take, None where no earlier run tells."""
        found = 0.0
        for number, asking in ((asked, True), (quoted, False)):
            pace = self._seconds_per_answer(owner, asking=asking) if number else 0.0
            if pace is None:
                return None
            found += number * pace
        return found

    def _seconds_per_answer(self, owner: str, *, asking: bool) -> float | None:
        """Return the mean seconds of an answer in the owner's newest run that measured any; None without one.

        `asking`: of the systems that ask a language model, else of the others.
        """
        for one in self.runs.list(owner)[:5]:
            systems = self.runs.get(owner, one.id).plan.systems
            names = {system.name for system in systems if bool(system.model) == asking}
            made = self.runs.predictions(owner, one.id)
            seconds = [p.seconds for (name, _), p in made.items() if name in names and p.seconds is not None]
            if seconds:
                return sum(seconds) / len(seconds)
        return None

    def so_far(self, owner: str, run_id: str) -> tuple[SoFar, ...]:
        """Return what is known of each system, in the order of the run; without means where scoring needs a model."""
        run = self.runs.get(owner, run_id)
        predictions = self.runs.predictions(owner, run_id)
        with self._scoring:
            done, when, found = self._so_far.get(run_id, (-1, 0.0, ()))
            if done == len(predictions) or (done > 0 and time.monotonic() - when < PAUSE):
                return found
            found = self._systems_so_far(owner, run, predictions)
            self._so_far = {
                **dict(list(self._so_far.items())[-3:]),
                run_id: (len(predictions), time.monotonic(), found),
            }
        return found

    def _systems_so_far(
        self, owner: str, run: Run, predictions: dict[tuple[str, str], Prediction]
    ) -> tuple[SoFar, ...]:
        total = run.total // max(1, len(run.plan.systems))
        protocol = run_protocols.get(run.plan.protocol)
        file = self._file(owner, run) if predictions and "llm" not in protocol.needs else None
        found = []
        for system in run.plan.systems:
            own = {item: one for (name, item), one in predictions.items() if name == system.name}
            means = _means(run, protocol, file, system.name, own) if file is not None and own else ()
            found.append(SoFar(system.name, len(own), total, sum(one.failed for one in own.values()), means))
        return tuple(found)

    def _file(self, owner: str, run: Run) -> CaseFile | None:
        if run.id not in self._case_files:
            try:
                self._case_files = {run.id: self.cases(owner, run.plan)}
            except PdfQAError:
                return None  # the run itself says what is wrong with its data
        return self._case_files[run.id]

    # ------------------------------------------------------------ planning

    def begin(self, owner: str, request: RunRequest, *, anew: bool = False) -> Run:
        """Return the run that was asked for: the one begun earlier with the same data and systems, or a new one.

        `anew`: a new one in any case. Raises UsageError (no system, nothing to read, an unknown name, a wrong file, one
        without gold).
        """
        plan = self._plan(owner, request)
        key = key_of(plan)
        if not anew and (known := self.runs.newest(owner, key)):
            return self.runs.get(owner, known)
        file = self.cases(owner, plan)
        run_protocols.get(plan.protocol).check(file, plan.options)
        self._check_leakage(owner, plan, plan.systems, file)
        now = datetime.now(UTC)
        name = request.name or f"{run_protocols.get(plan.protocol).title}: {plan.dataset}"
        run = Run(
            uuid.uuid4().hex,
            name,
            plan,
            RunState.STOPPED,
            len(file.cases) * len(plan.systems),
            now,
            now,
            versions(dict.fromkeys((*RETRIEVAL, *MODELS))),
        )
        self.runs.add(owner, run, key)
        return run

    def _plan(self, owner: str, request: RunRequest) -> RunPlan:
        protocol = run_protocols.get(request.protocol)
        profile_named(request.profile)
        file = protocol.read(request.data)
        data, digest, name = self._files.kept(request.data)
        paths, options, hashes = [data], dict(request.options), [digest]
        if searched := self._documents.collections.searched(owner, request.document_ids).document_ids:
            options["documents"] = " ".join(searched)
        if request.unanswerable is not None:
            protocol.read(request.unanswerable)
            other, other_digest, other_name = self._files.kept(request.unanswerable)
            paths.append(other)
            hashes.append(other_digest)
            options[UNANSWERABLE] = other_name
            name = f"{name} + {other_name}"
        evidence = request.evidence or (self.suited(owner, request.protocol, file),)
        _check("evidence", evidence, protocol.evidence, request.protocol)
        histories = request.histories or protocol.histories[:1]
        _check("history", histories, protocol.histories, request.protocol)
        if not request.systems:
            raise UsageError("There is no system to run.", "Choose at least one.")
        several = (len(evidence) > 1, len(histories) > 1)
        systems: list[RunSystem] = []
        for label, settings in request.systems.items():
            made = self._system(label, settings, protocol, request.seed)
            ways = ((one, history) for one in evidence if one != RECORDED for history in histories)
            for one, history in ways:
                if one == NONE and request.profile:
                    alone = with_defaults(settings, protocol.closed_book)
                    made = self._system(label, alone, protocol, request.seed)
                asks = one == NONE or self._answers.reader_name(load_settings(made)) != "extractive"
                known = made if asks else replace(made, model="", model_hash="")
                system = named(known, settings, one, history, several=several)
                if one == SEARCH:
                    system = replace(system, models=search_models(settings, self._models.files.encoders))
                if all(system.name != other.name for other in systems):  # those that do not search may be the same
                    systems += repeated(system, request.repeats)
        if RECORDED in evidence:
            systems.insert(0, RunSystem("recorded answers", evidence=RECORDED))
        if not file.corpus and any(system.evidence == SEARCH for system in systems):
            self._documents.require_documents(owner)
        return RunPlan(
            request.protocol,
            name,
            tuple(map(str, paths)),
            " ".join(hashes),
            tuple(systems),
            request.limit,
            request.seed,
            request.profile,
            options,
        )

    def _system(self, name: str, settings: Settings, protocol: RunProtocol, seed: int) -> RunSystem:
        settings = with_defaults(settings, protocol.overrides)
        if seed:
            settings = settings.changed("llm", seed=seed)
        llm = self._models.language.named(settings.llm)
        return RunSystem(
            name,
            settings.model_dump_json(exclude={"server": True, "llm": {"models_folder"}}),
            settings.fingerprint(),
            model=llm.model or llm.url,
            model_hash=model_hash(llm, self._models.language.file),
        )

    def _check_leakage(self, owner: str, plan: RunPlan, systems: Sequence[RunSystem], file: CaseFile) -> list[str]:
        """Return a warning for each system that searches by a model trained on what the questions are made of.

        Raises UsageError instead where the plan does not let it be measured all the same.
        """
        anyway, notes = plan.options.get(TRAINED_ON) == YES, list[str]()
        for one in systems:
            if one.evidence == SEARCH:
                check = partial(self._leakage.check_run, owner, load_settings(one), file)
                notes += _warned(one.name, check, anyway=anyway)
        return notes

    # ------------------------------------------------------------ running

    def go(self, owner: str, run_id: str, *, retry: bool = False) -> Iterator[Progress | Evaluation]:
        """Answer what is not answered yet, score all, and yield progress and at last the scores.

        `retry`: what failed is asked again. Raises StoppedError when the task is stopped, ModelError where the model
        does not work, PdfQAError if the run is under way already; what is done is stored in any case.
        """
        run = self.runs.get(owner, run_id)
        if run.plan.brought:
            check_brought(run.plan, self._models)
        with self._tasks.start(task_of(run_id)) as stop, keeping("the run", KEPT):
            if retry:
                self.runs.forget_failures(owner, run_id)
            self.runs.set_state(run_id, RunState.RUNNING)
            self._kept_replies().run = run_id
            state, error = RunState.STOPPED, ""
            try:
                file = self.cases(owner, run.plan)
                yield from self._predicted(owner, run, file, stop)
                results = yield from self._scored(owner, run, file, stop)
                self.runs.set_results(run_id, results)
                state = RunState.DONE
            except StoppedError as stopped:
                done = len(self.runs.predictions(owner, run_id))
                raise StoppedError(f"Stopped after {done} of {run.total} answers; what is done is kept.") from stopped
            except PdfQAError as failure:
                state, error = RunState.FAILED, str(failure)
                raise
            finally:
                self.runs.set_state(run_id, state, error)
            yield results

    def _predicted(self, owner: str, run: Run, file: CaseFile, stop: StopSignal) -> Generator[Progress, None, None]:
        """Put every question that is open to every system; one model after the other, each loaded once."""
        known = self.runs.predictions(owner, run.id)
        by_model: dict[str, list[RunSystem]] = {}
        for system in run.plan.systems:
            by_model.setdefault(encode(engine_settings(load_settings(system).llm)), []).append(system)
        corpora: dict[str, SearchIndex] = {}
        pace = Pace(
            run.total - len(known), self._seconds_per_answer(owner, asking=any(one.model for one in run.plan.systems))
        )
        for systems in by_model.values():
            wanted = [one for one in systems if any((one.name, case.id) not in known for case in file.cases)]
            if not wanted:
                continue
            self._check_leakage(owner, run.plan, wanted, file)  # a model may have been trained since the run began
            shared = self._models.language
            asking = next((one for one in wanted if one.model), None)
            with language_for(shared, self._settings(run, asking).llm if asking else shared.settings) as language:
                remembering = self._remembering
                if language is not shared:
                    yield from language.llm().prepare(stop)
                    remembering = Remembering(language, self._kept_replies)
                for system in wanted:
                    yield from self._asked(owner, run, system, file, known, corpora, pace, remembering, stop)

    def _settings(self, run: Run, system: RunSystem) -> Settings:
        """Return the settings that a system is asked with; of a run that came in a file, its recipe alone is taken."""
        settings = load_settings(system)
        if not run.plan.brought:
            return settings
        here = self._opened_with.model_copy(update={"llm": self._models.language.settings})
        return here.with_recipe(settings)

    def _asked(
        self,
        owner: str,
        run: Run,
        system: RunSystem,
        file: CaseFile,
        known: Mapping[tuple[str, str], Prediction],
        corpora: dict[str, SearchIndex],
        pace: Pace,
        remembering: Remembering,
        stop: StopSignal,
    ) -> Generator[Progress, None, None]:
        language = remembering.language
        settings = language.running(self._settings(run, system))
        answers = self._answers.with_model(remembering.language, remembering)
        asked = AskedSystem(
            system,
            settings,
            file,
            owner,
            answers,
            self._indexes,
            self._documents.filenames(owner),
            lambda: remembering.last,
            run.plan.options.get("documents", "").split(),
        )
        yield Progress(f"{system.name}: getting ready")
        yield from asked.prepared(corpora, stop)
        outcomes = Outcomes(
            partial(self.runs.put, run.id, system.name),
            {item: one for (name, item), one in known.items() if name == system.name},
            pace,
        )
        if self._elsewhere is not None and self._elsewhere.can(asked):
            mark, replies = remembering().mark, self._kept_replies()
            yield from self._elsewhere.ask(asked, file, outcomes, mark, language.key(settings.llm.url), replies, stop)
        else:
            check = same(language)
            yield from ask_here(asked, file, outcomes, stop, check if system.model else None)
        outcomes.end()

    def _scored(self, owner: str, run: Run, file: CaseFile, stop: StopSignal) -> Generator[Progress, None, Evaluation]:
        protocol = run_protocols.get(run.plan.protocol)
        tools = tools_of(run.plan, self._language_model, self.embedder, protocol.needs, stop)
        found = yield from scored(run, protocol, file, self.runs.predictions(owner, run.id), tools)
        models = used_models(run.plan, protocol.needs, self._models.files.encoders)
        asked_for = TRAINED_ON in run.plan.options
        warnings = self._check_leakage(owner, run.plan, run.plan.systems, file) if asked_for else []
        return replace(found, settings={**found.settings, **models}, notes=(*warnings, *found.notes))

    # ------------------------------------------------------------ under way, in a thread of its own

    def start(self, owner: str, run_id: str, *, retry: bool = False) -> None:
        """Go on with a run. Raises PdfQAError while another one is under way, and on a demo."""
        self._check_demo()
        with self._lock:
            if self._busy():
                raise PdfQAError("Another run is under way.", "Wait for it, or stop it.")
            self._workers.begin(Piece(run_id, WORK, owner, json.dumps({"retry": retry})))
            self._go(owner, run_id, retry)

    def _busy(self) -> bool:
        return self._tasks.count(WORK) > 0

    def _go(self, owner: str, run_id: str, retry: bool) -> None:
        self._progress = Progress("getting ready")
        self._jobs[run_id] = Job(WORK, owner, run_id, name=task_of(run_id))
        self._tasks.begin(self._jobs[run_id], lambda: self._worked(owner, run_id, retry))

    def _take(self, piece: Piece) -> None:
        """Go on with a run that this program has claimed, since the one that worked on it died."""
        _log.warning("a run goes on that another program left")
        with self._lock:
            if self._busy():
                self._workers.release(piece.id)
            else:
                self._go(piece.owner, piece.id, retry=False)

    def launch(self, owner: str, request: RunRequest) -> Run:
        """Begin the run that was asked for, or go on with it, and return it. Raises as `start` does, and UsageError."""
        self._check_demo()
        run = self.begin(owner, request)
        self.start(owner, run.id)
        return run

    def _check_demo(self) -> None:
        if self._opened_with.server.demo:
            raise PdfQAError(
                "Visitors of a demo cannot run evaluations: they share its model.",
                "Run the app on your own computer.",
            )

    def _worked(self, owner: str, run_id: str, retry: bool) -> None:
        try:
            for event in self.go(owner, run_id, retry=retry):
                if isinstance(event, Progress):
                    self._progress = event
        except Exception as error:  # noqa: BLE001 - whatever happens, the page must not wait for ever
            raise foreseen(error, "a run") from None
        finally:
            try:
                self._workers.finish(run_id)
            except PdfQAError as error:
                _log.warning("a run that ended was not let go: %s", error)

    def under_way(self, owner: str) -> tuple[str, Progress | None]:
        """Return the owner's run that is under way with its progress; "" and None without one."""
        found = next((one.subject for one in [*self._jobs.values()] if one.owner == owner and not one.ended), "")
        return found, self._progress if found else None

    def said(self, run_id: str) -> str:
        """Return what ended a run before it was finished; "" where nothing did."""
        job = self._jobs.get(run_id)
        return str(job.error) if job is not None and job.error is not None else ""

    def stop_under_way(self, owner: str) -> None:
        """Stop the owner's run, in whichever program it is under way; what is done stays."""
        for elsewhere in self.elsewhere(owner):
            self._workers.drop(elsewhere)
        run_id, _ = self.under_way(owner)
        if run_id:
            self._tasks.stop(task_of(run_id))

    # ------------------------------------------------------------ copies, comparisons, studies

    def exported(self, owner: str, run_id: str) -> bytes:
        """Return a run as a ZIP, with its data and how it was made."""
        run = self.runs.get(owner, run_id)
        made = self.runs.predictions(owner, run_id)
        paths = [Path(path) for path in run.plan.data]
        try:
            data = {path.name: path.read_bytes() for path in paths}
        except OSError as error:
            raise UsageError(f"The data of the run cannot be read: {error.strerror}.", "Run it again.") from error
        named = replace(run, plan=replace(run.plan, data=tuple(data)))
        listed = tuple(Predicted(system, one) for (system, _), one in made.items())
        return write_run(RunCopy(named, listed), data, methods_text(run))

    def take_in(self, owner: str, source: Path | bytes, filename: str) -> Run:
        """Store the run of a ZIP and return it; where it goes on, this machine's model answers (`check_brought`).

        Raises UsageError: no such file, the run is here already, or its answers belong to no system of it.
        """
        with opened_run(source, filename) as (copy, files):
            check_settings(copy.run, filename)
            systems = {system.name for system in copy.run.plan.systems}
            keys = {(one.system, one.prediction.item_id) for one in copy.predictions}
            if not {system for system, _ in keys} <= systems or len(keys) < len(copy.predictions):
                raise UsageError(f"{filename}: its answers do not belong to its systems.", "Export it again.")
            paths = tuple(str(self._files.kept(files[name])[0]) for name in copy.run.plan.data)
        state = RunState.STOPPED if copy.run.state is RunState.RUNNING else copy.run.state
        run = replace(copy.run, plan=replace(copy.run.plan, data=paths, brought=True), state=state)
        self.runs.put_copy(owner, run, key_of(run.plan), [(one.system, one.prediction) for one in copy.predictions])
        return run

    def comparable(self, owner: str, run_id: str) -> tuple[RunSummary, ...]:
        """Return the owner's other runs that are scored by the same protocol on the same data, newest first."""
        mine = self.runs.plan(owner, run_id)
        return tuple(
            one
            for one in self.runs.list(owner)
            if one.id != run_id
            and one.protocol == mine.protocol
            and one.scored
            and self.runs.plan(owner, one.id).data_hash == mine.data_hash
        )

    def together(self, owner: str, run_ids: Sequence[str]) -> Evaluation:
        """Return the scores of runs as one evaluation; see `run_export.together`."""
        return together([self.runs.get(owner, one) for one in run_ids])

    def predicted(self, owner: str, run_ids: Sequence[str]) -> dict[tuple[str, str], Prediction]:
        """Return what was predicted in runs, by system, as `together` names it, and item."""
        runs = [self.runs.get(owner, one) for one in run_ids]
        names = run_names(runs)
        return {
            (names[run.id, system], item): one
            for run in runs
            for (system, item), one in self.runs.predictions(owner, run.id).items()
        }

    def study_of(
        self,
        owner: str,
        name: str,
        run_ids: Sequence[str],
        *,
        item_ids: Collection[str] = (),
        systems: Collection[str] = (),
        n: int = 0,
        seed: int = 0,
        by: str = "system",
        preset: str = "answers",
        names: str = "",
    ) -> Study:
        """Make a study of the answers of runs, `n` of them drawn with `seed` (0: all).

        `item_ids` and `systems` (as `together` names them) choose the answers; empty: all. Each system gives its
        share of the n, or with `by` "document" each document, with "" neither. With the preset "pairwise" an item is a
        pair of two systems' answers. Raises UsageError where no answer is left, or a pair has not two systems.
        """
        file, filenames = self.cases(owner, self.runs.get(owner, run_ids[0]).plan), self._documents.filenames(owner)
        items = study_items(file, self.predicted(owner, run_ids), filenames, item_ids, systems)
        if not items:
            raise UsageError("There is no answer to rate.", "Choose other questions, or let the run go on.")
        by = "" if preset == PAIRWISE and by == "system" else by
        return self._studies.of_items(owner, name, items, n=n, seed=seed, by=by, preset=preset, names=names)

    # ------------------------------------------------------------ models

    def _language_model(self) -> LLM:
        status = self._models.language.status
        if not status.state.usable:
            raise ModelError("The language model is not available.", status.detail)
        return self._remembering()

    def _kept_replies(self) -> StoredReplies:
        with self._opening:
            if self._replies is None:
                self._replies = StoredReplies(self._workspace / FILENAME)
            return self._replies

    def close(self) -> None:
        """Close the file of replies."""
        with self._opening:
            if self._replies is not None:
                self._replies.close()
                self._replies = None


def task_of(run_id: str) -> str:
    """Return the name of the task that a run goes on under."""
    return f"run {run_id}"


def key_of(plan: RunPlan) -> str:
    """Return what is the same for runs that would predict the same."""
    return hashlib.sha256(f"{__version__} {encode(replace(plan, data=(), brought=False))}".encode()).hexdigest()


def _check(what: str, given: Sequence[str], known: Sequence[str], protocol: str) -> None:
    wrong = next((one for one in given if one not in known), "")
    if wrong:
        raise UsageError(f"{protocol} knows no {what} called {wrong!r}.", f"Choose among: {', '.join(known)}.")


def _warned(name: str, check: Callable[[], None], *, anyway: bool) -> list[str]:
    """Return what the check of a system says against measuring it, as a warning; raise UsageError unless `anyway`."""
    try:
        check()
    except UsageError as error:
        if not anyway:
            raise
        return [f"{name}: {error.what} {MEASURED_ANYWAY}"]
    return []


def _means(
    run: Run, protocol: RunProtocol, file: CaseFile, name: str, own: dict[str, Prediction]
) -> tuple[tuple[str, float | None], ...]:
    tools = Tools(profile=profile_named(run.plan.profile))
    try:
        system = protocol.score(name, file.cases, own, tools)
    except PdfQAError:
        return ()  # when all is answered, the page says what cannot be scored
    found = []
    for measure in protocol.measures([system], tools)[:MOST_MEASURES]:
        scored = [one for one in item_values(system, measure) if one is not None]
        found.append((measure, sum(scored) / len(scored) if scored else None))
    return tuple(found)


def _passages_on(index: SearchIndex, document_id: str, page: int) -> Sequence[Passage]:
    """Return the passages of an index that are on a page of a document, in order."""
    near = index.at(index.rows(frozenset([document_id]), (page, page)).tolist())
    return [one for one in near if page in one.pages]


def _is(system: RunSystem, *, asking: bool) -> bool:
    """Return whether a system answers, and asks a language model for it or not."""
    return system.evidence != RECORDED and bool(system.model) == asking


def memory_for(models: Iterable[LLMSettings]) -> int | None:
    """Return the bytes that the largest of these language models takes; None where none is here or known."""
    needed = []
    for llm in models:
        if llm.engine == "openai" or is_path(llm.model):
            continue
        try:
            needed.append(entry(llm.model).memory(llm.context_size, llm.batch_size))
        except PdfQAError:  # a model that the catalogue does not know: the run itself says what is wrong with it
            continue
    return max(needed, default=None)


# ----------------------------------------------------------------------------------------------------
# MaHuEval in a workspace: studies in which two evaluators hold conversations and rate what they were answered.

PRESET = "mahueval"


@dataclass(frozen=True, slots=True)
class Overlap:
    """The agreement over the pairs of conversations: `all` of their turns, and of the `first` turns alone.

    `pairs` is how many pairs of conversations are finished; `counts` says what could be paired and what not.
    """

    pairs: int
    counts: Paired
    all: tuple[Agreement, ...]
    first: tuple[Agreement, ...]


class MaHuEval:
    """The guided protocol. Methods raise UsageError where the study is not the owner's, and StorageError.

    The owner may be an invited person's: conversations are held in the name of the study's owner, on whose documents
    they are, and only the study shows whose they are.
    """

    def __init__(
        self,
        store: Store,
        studies: StudyService,
        answers: AnswerService,
    ) -> None:
        self._protocols = store.protocols
        self._store = store.studies
        self._conversations = store.conversations
        self._studies = studies
        self._answers = answers

    # ------------------------------------------------------------ planning

    def begin(self, owner: str, name: str, plan: Plan) -> Study:
        """Make the study of a plan, without any conversation yet. Raises UsageError: the plan, or its name is taken."""
        plan = replace(
            plan,
            evaluators=tuple(" ".join(one.split()) for one in plan.evaluators if one.strip()),
            questions=tuple(dict.fromkeys(" ".join(one.split()) for one in plan.questions if one.strip())),
        )
        check_plan(plan)
        study = Study(uuid.uuid4().hex, name, datetime.now(UTC), owner, (), int(time.time()), PRESET, invited=True)
        return self._protocols.create(study, plan.evaluators, write_plan(plan))

    def roster(self, owner: str, study_id: str) -> Roster | None:
        """Return the plan and what was held so far; None for a study that follows no protocol."""
        found = self._studies.rated(owner, study_id)
        if found.roster is None:
            return None
        whose = self._studies.page_owner(owner, study_id)
        given = annotation.by_annotator(found.ratings)
        skipped = {(one.annotator, one.turn_id) for one in found.skips}

        def counted(one: Held) -> Held:
            if not one.finished:
                return replace(one, turns=self._conversations.get(whose, one.conversation_id).turns)
            own = given.get(one.annotator, {})
            left = [turn for turn in one.turns if (one.annotator, turn.id) not in skipped]
            done = annotation.progress(left, own, found.criteria).done
            return replace(one, rated=done + len(one.turns) - len(left))

        return replace(found.roster, held=tuple(map(counted, found.roster.held)))

    def step(self, owner: str, study_id: str, annotator: str) -> Step:
        """Return what an evaluator does next. Raises UsageError for anybody else."""
        return self._of(owner, study_id, annotator)[1]

    def suggestions(self, roster: Roster, annotator: str, most: int = 3) -> tuple[str, ...]:
        """Return first questions of the data set that nobody has begun with; each evaluator has a half of their own."""
        begun = {one.first_question for one in roster.held}
        half = roster.plan.evaluators.index(annotator)
        return tuple(one for one in roster.plan.questions[half::2] if one not in begun)[:most]

    # ------------------------------------------------------------ holding conversations

    def ask(self, owner: str, study_id: str, annotator: str, question: str, settings: Settings) -> Iterator[Event]:
        """Ask the next question of an evaluator's conversation; yields the events of `AnswerService.ask`.

        The first question of a conversation of round 2 is the other evaluator's, whatever is given.
        Raises UsageError where no question is due.
        """
        whose, conversation, asked = self._due(owner, study_id, annotator, question)
        yield from self._answers.ask(whose, asked, settings, conversation_id=conversation)

    def record(self, owner: str, study_id: str, annotator: str, turn: Turn) -> Stored:
        """Put a question that was asked and answered elsewhere where `ask` would put it. Raises UsageError likewise."""
        whose, conversation, asked = self._due(owner, study_id, annotator, turn.question)
        return Stored(conversation, self._conversations.append_turn(whose, conversation, replace(turn, question=asked)))

    def _due(self, owner: str, study_id: str, annotator: str, question: str) -> tuple[str, str, str]:
        """Return whose conversation goes on, its id, and the question that is due; begin one where none is open."""
        whose = self._studies.page_owner(owner, study_id)
        roster, step = self._of(owner, study_id, annotator)
        asked = check_question(roster.plan, step, question)
        if step.held is not None:
            return whose, step.held.conversation_id, asked
        title = f"{self._store.get(owner, study_id).name}: {annotator}, round {step.round}, {step.place}"
        conversation = self._conversations.create(whose, title, roster.plan.document_ids).id
        self._protocols.begin(study_id, annotator, step.round, step.place, conversation, asked)
        return whose, conversation, asked

    def finish(self, owner: str, study_id: str, annotator: str) -> Held:
        """End the conversation that an evaluator holds: its turns are to be rated now.

        Raises UsageError where it has too few turns.
        """
        whose = self._studies.page_owner(owner, study_id)
        roster, step = self._of(owner, study_id, annotator)
        if step.doing is not Doing.HOLD or step.held is None:
            raise UsageError("No conversation is under way.", "Ask its first question.")
        count, least = len(step.held.turns), roster.plan.least
        if count < least:
            raise UsageError(
                f"This conversation has {count} of at least {least} turns.",
                f"Ask {least - count} more before you rate.",
            )
        for turn in step.held.turns:
            self._store.add_turn(whose, study_id, turn.id)
        self._protocols.finish(study_id, annotator, step.round, step.place)
        return replace(step.held, finished=True)

    # ------------------------------------------------------------ results

    def overlap(self, owner: str, study_id: str, viewer: str | None) -> Overlap:
        """Return the agreement over the pairs of conversations, once it is open to the viewer. Raises UsageError."""
        found = self._studies.reports.opened(owner, study_id, viewer)
        if found.roster is None:
            raise UsageError("This study follows no protocol.", "Its agreement is that of its items.")
        given = annotation.by_annotator(found.ratings)
        names = (found.roster.plan.evaluators[0], found.roster.plan.evaluators[1])
        talks = {one.turn.id: one.conversation_id for one in found.turns}

        def agreed(counts: Paired) -> tuple[Agreement, ...]:
            one, other = (counts.given[name] for name in names)
            return annotation.agreement_table(one, other, found.criteria, annotators=names, conversations=talks)

        whole = paired(given, found.roster, found.criteria)
        first = paired(given, found.roster, found.criteria, turn=1)
        return Overlap(len(found.roster.pairs()), whole, agreed(whole), agreed(first))

    def _of(self, owner: str, study_id: str, annotator: str) -> tuple[Roster, Step]:
        self._studies.check_name(owner, study_id, annotator)
        roster = self.roster(owner, study_id)
        if roster is None:
            raise UsageError("This study follows no protocol.", "Rate its items.")
        if annotator not in roster.plan.evaluators:
            who = " and ".join(roster.plan.evaluators)
            raise UsageError(f"The evaluators of this study are {who}.", "Sign in under one of these names.")
        return roster, roster.step(annotator)


def first_questions(rows: Sequence[str]) -> tuple[str, ...]:
    """Return questions in the lines of a text file, each once."""
    return tuple(dict.fromkeys(" ".join(line.split()) for line in rows if line.strip()))
