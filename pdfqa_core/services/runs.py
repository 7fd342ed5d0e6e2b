"""Runs of evaluations: questions go through systems, their answers are scored; what is done stays done.

A run goes on behind the last stored answer, whatever ended it. Replies of the language model are kept by prompt, model
and sampling, so that the same prompt is answered once.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path

from pdfqa_core import __version__
from pdfqa_core.errors import ModelError, PdfQAError, StoppedError, UsageError
from pdfqa_core.evaluation_types import Evaluation, Prediction, Run, RunPlan, RunState, RunSummary, RunSystem
from pdfqa_core.interfaces import LLM, StopSignal
from pdfqa_core.json_codec import encode
from pdfqa_core.llm.catalogue import entry, is_path
from pdfqa_core.llm.hardware import memory
from pdfqa_core.metrics.bertscore import TokenEmbedder
from pdfqa_core.metrics.comparison import item_values
from pdfqa_core.models import Models
from pdfqa_core.models.language import engine_settings
from pdfqa_core.models.metrics import token_embedder
from pdfqa_core.protocols import GIVEN, NONE, RECORDED, SEARCH, CaseFile, RunProtocol, Tools, drawn, run_protocols
from pdfqa_core.protocols.base import profile_named, with_gold
from pdfqa_core.protocols.refusal import UNANSWERABLE, with_unanswerable
from pdfqa_core.retrieval import SearchIndex
from pdfqa_core.services.answers import AnswerService
from pdfqa_core.services.documents import DocumentService
from pdfqa_core.services.indexes import IndexService
from pdfqa_core.services.run_asking import ClusterAsking, Outcomes, Pace, ask_here, scored, tools_of
from pdfqa_core.services.run_systems import (
    AskedSystem,
    Remembering,
    RunFiles,
    check_brought,
    language_for,
    load_settings,
    model_hash,
    named,
    repeated,
    same,
    search_models,
    used_models,
    with_defaults,
    with_unset,
)
from pdfqa_core.services.tasks import Tasks
from pdfqa_core.services.training import LeakageCheck
from pdfqa_core.services.versions import MODELS, RETRIEVAL, versions
from pdfqa_core.settings import LLMSettings, Settings
from pdfqa_core.storage import Store
from pdfqa_core.storage.runs import FILENAME, StoredReplies
from pdfqa_core.types import Page, Progress
from pdfqa_core.whole_files import keeping

KEPT = "The answers that were stored are kept: the run goes on from there."
WORK = "run"  # the kind of work that a run is among programs on one database
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What somebody wants to be run. `evidence` and `histories` empty: the protocol's default for this file.

    `systems` are settings by name; those that sample are asked `repeats` times, with `seed` and those after it.
    `options` are the protocol's ("bertscore", "judge", "judge_prompt", "calibrate", "nli", "disambig", "qa_model",
    "ner"); `unanswerable` is a file none of whose questions can be answered.
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


class RunService:
    """The runs of each owner. A model that answers again what it has answered is not asked: its replies are kept."""

    def __init__(
        self,
        store: Store,
        documents: DocumentService,
        indexes: IndexService,
        answers: AnswerService,
        models: Models,
        leakage: LeakageCheck,
        tasks: Tasks,
        opened_with: Settings,
        embedder: Callable[[], TokenEmbedder] = token_embedder,
    ) -> None:
        self._workspace = store.workspace
        self._store = store.runs
        self._files = RunFiles(store.workspace / "run_data")
        self._documents = documents
        self._indexes = indexes
        self._remembering = Remembering(models.language, self._kept_replies)
        self._answers = answers
        self._opened_with = opened_with
        self._models = models
        self._leakage = leakage
        self._tasks = tasks
        self._workers = tasks.workers
        self._embedder = embedder
        self._elsewhere: ClusterAsking | None = None
        if models.cluster is not None:
            self._elsewhere = ClusterAsking(models.cluster, models.language.settings, documents, indexes)
        self._lock = threading.Lock()
        self._replies: StoredReplies | None = None

    # ------------------------------------------------------------ what was run

    def list(self, owner: str) -> tuple[RunSummary, ...]:
        """Return the owner's runs, newest first; one that says it is running while nobody works on it was stopped."""
        elsewhere = self._workers.elsewhere(WORK)
        return tuple(
            replace(one, state=RunState.STOPPED)
            if one.state is RunState.RUNNING and not self._tasks.running(task_of(one.id)) and one.id not in elsewhere
            else one
            for one in self._store.list(owner)
        )

    def elsewhere(self, owner: str) -> tuple[str, ...]:
        """Return the ids of the owner's runs that another program works on."""
        under_way = self._workers.elsewhere(WORK)
        return tuple(one.id for one in self._store.list(owner) if one.id in under_way) if under_way else ()

    def get(self, owner: str, run_id: str) -> Run:
        """Return one run. Raises UsageError if the owner has no such one."""
        return self._store.get(owner, run_id)

    def predictions(self, owner: str, run_id: str) -> dict[tuple[str, str], Prediction]:
        """Return what was predicted so far, by system and item."""
        return self._store.predictions(owner, run_id)

    def rename(self, owner: str, run_id: str, name: str) -> None:
        """Give a run another name."""
        self._store.rename(owner, run_id, name)

    def remove(self, owner: str, run_id: str) -> None:
        """Stop a run and delete it."""
        self._store.get(owner, run_id)
        self._tasks.stop(task_of(run_id))
        self._workers.drop(run_id)
        with self.removing():
            self._store.remove(owner, run_id)

    @contextmanager
    def removing(self) -> Iterator[None]:
        """Delete what only the runs had that are removed within the block: files of data, replies of the model."""
        before = self._store.data()
        yield
        left = self._store.data()
        if before.keys() - left.keys():
            self._files.remove({*chain(*before.values())} - {*chain(*left.values())})
            self.forget_replies()

    def forget_replies(self) -> None:
        """Delete the replies that no run has any more."""
        if (self._workspace / FILENAME).exists():
            self._kept_replies().keep_only(self._store.data().keys())

    def stop(self, run_id: str) -> None:
        """Stop a run; what is done stays."""
        self._tasks.stop(task_of(run_id))

    def seconds_per_answer(self, owner: str, *, asking: bool) -> float | None:
        """Return the mean seconds of an answer in the owner's newest run that measured any; None without one.

        `asking`: of the systems that ask a language model, else of the others.
        """
        for one in self._store.list(owner)[:5]:
            systems = self._store.get(owner, one.id).plan.systems
            names = {system.name for system in systems if bool(system.model) == asking}
            made = self._store.predictions(owner, one.id)
            seconds = [p.seconds for (name, _), p in made.items() if name in names and p.seconds is not None]
            if seconds:
                return sum(seconds) / len(seconds)
        return None

    def suited(self, owner: str, protocol: str, file: CaseFile) -> str:
        """Return what a system may read for an answer where nobody said: what suits the protocol and this file."""
        return self._evidence(owner, run_protocols.get(protocol), file)

    def cases(self, owner: str, plan: RunPlan) -> CaseFile:
        """Return the questions of a run with their gold. Raises UsageError that names file and row."""
        protocol = run_protocols.get(plan.protocol)
        paths = [Path(path) for path in plan.data]
        file = replace(protocol.read(paths[0]), name=plan.dataset)
        if plan.options.get(UNANSWERABLE):
            file = with_unanswerable(file, replace(protocol.read(paths[1]), name=plan.options[UNANSWERABLE]))
        file = drawn(file, plan.limit, plan.seed)
        return self._with_gold(owner, file, paths[0], plan)

    def _with_gold(self, owner: str, file: CaseFile, path: Path, plan: RunPlan) -> CaseFile:
        if all(system.evidence == RECORDED for system in plan.systems):
            return file
        settings = load_settings(plan.systems[0])
        found = self._documents.readable(owner, settings)
        read: dict[str, dict[int, Page]] = {}

        def page(document_id: str, number: int) -> Page | None:
            if document_id not in read:
                read[document_id] = {one.number: one for one in self._documents.text(owner, document_id, settings)}
            return read[document_id].get(number)

        return with_gold(file, path, [document for document, _ in found], page, self._documents.filenames(owner))

    # ------------------------------------------------------------ planning

    def begin(self, owner: str, request: RunRequest, *, anew: bool = False) -> Run:
        """Return the run that was asked for: the one begun earlier with the same data and systems, or a new one.

        `anew`: a new one in any case. Raises UsageError (no system, nothing to read, an unknown name, a wrong file, one
        without gold).
        """
        plan = self._plan(owner, request)
        key = key_of(plan)
        if not anew and (known := self._store.newest(owner, key)):
            return self._store.get(owner, known)
        file = self.cases(owner, plan)
        run_protocols.get(plan.protocol).check(file, plan.options)
        self._check_leakage(owner, plan.systems, file)
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
        self._store.add(owner, run, key)
        return run

    def _plan(self, owner: str, request: RunRequest) -> RunPlan:
        protocol = run_protocols.get(request.protocol)
        profile = profile_named(request.profile)
        file = protocol.read(request.data)
        data, digest, name = self._files.kept(request.data)
        paths, options, hashes = [data], dict(request.options), [digest]
        if request.document_ids:
            options["documents"] = " ".join(request.document_ids)
        if request.unanswerable is not None:
            protocol.read(request.unanswerable)
            other, other_digest, other_name = self._files.kept(request.unanswerable)
            paths.append(other)
            hashes.append(other_digest)
            options[UNANSWERABLE] = other_name
            name = f"{name} + {other_name}"
        evidence = request.evidence or (self._evidence(owner, protocol, file),)
        _check("evidence", evidence, protocol.evidence, request.protocol)
        histories = request.histories or protocol.histories[:1]
        _check("history", histories, protocol.histories, request.protocol)
        if not request.systems:
            raise UsageError("There is no system to run.", "Choose at least one.")
        several = (len(evidence) > 1, len(histories) > 1)
        systems: list[RunSystem] = []
        for label, settings in request.systems.items():
            made = self._system(label, settings, protocol, profile.settings, request.seed)
            ways = ((one, history) for one in evidence if one != RECORDED for history in histories)
            for one, history in ways:
                asks = one == NONE or self._answers.reader_name(load_settings(made)) != "extractive"
                known = made if asks else replace(made, model="", model_hash="")
                system = named(known, settings, one, history, several=several)
                if one == SEARCH:
                    system = replace(system, models=search_models(settings, self._models.files.encoders))
                if all(system.name != other.name for other in systems):  # those that do not search may be the same
                    systems += repeated(system, request.repeats)
        if RECORDED in evidence:
            systems.insert(0, RunSystem("recorded answers", evidence=RECORDED))
        self._check_documents(owner, systems, file)
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

    def _evidence(self, owner: str, protocol: RunProtocol, file: CaseFile) -> str:
        """Return what suits a file where nobody said: recorded answers where all are there, passages that it brings."""
        if RECORDED in protocol.evidence and all(case.recorded is not None for case in file.cases):
            return RECORDED
        first = protocol.evidence[0]
        searched = file.corpus or self._documents.kept.list(owner)
        if first == SEARCH and not searched and GIVEN in protocol.evidence and any(c.contexts for c in file.cases):
            return GIVEN
        if first == GIVEN and not any(case.contexts or case.gold_citations for case in file.cases):
            return SEARCH
        return first

    def _system(
        self,
        name: str,
        settings: Settings,
        protocol: RunProtocol,
        profile: Mapping[str, Mapping[str, object]],
        seed: int,
    ) -> RunSystem:
        settings = with_defaults(with_unset(settings, profile), protocol.overrides)
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

    def _check_documents(self, owner: str, systems: Sequence[RunSystem], file: CaseFile) -> None:
        if not file.corpus and any(system.evidence == SEARCH for system in systems):
            self._documents.require_documents(owner)

    def _check_leakage(self, owner: str, systems: Sequence[RunSystem], file: CaseFile) -> None:
        """Raise UsageError where a system that searches uses a model trained on what the questions are made of."""
        for system in systems:
            if system.evidence == SEARCH:
                self._leakage.check_run(owner, load_settings(system), file)

    # ------------------------------------------------------------ running

    def go(self, owner: str, run_id: str, *, retry: bool = False) -> Iterator[Progress | Evaluation]:
        """Answer what is not answered yet, score all, and yield progress and at last the scores.

        `retry`: what failed is asked again. Raises StoppedError when the task is stopped, ModelError where the model
        does not work, PdfQAError if the run is under way already; what is done is stored in any case.
        """
        run = self._store.get(owner, run_id)
        if run.plan.brought:
            check_brought(run.plan, self._models)
        with self._tasks.start(task_of(run_id)) as stop, keeping("the run", KEPT):
            if retry:
                self._store.forget_failures(owner, run_id)
            self._store.set_state(run_id, RunState.RUNNING)
            self._kept_replies().run = run_id
            state, error = RunState.STOPPED, ""
            try:
                file = self.cases(owner, run.plan)
                yield from self._predicted(owner, run, file, stop)
                results = yield from self._scored(owner, run, file, stop)
                self._store.set_results(run_id, results)
                state = RunState.DONE
            except StoppedError as stopped:
                done = len(self._store.predictions(owner, run_id))
                raise StoppedError(f"Stopped after {done} of {run.total} answers; what is done is kept.") from stopped
            except PdfQAError as failure:
                state, error = RunState.FAILED, str(failure)
                raise
            finally:
                self._store.set_state(run_id, state, error)
            yield results

    def _predicted(self, owner: str, run: Run, file: CaseFile, stop: StopSignal) -> Generator[Progress, None, None]:
        """Put every question that is open to every system; one model after the other, each loaded once."""
        known = self._store.predictions(owner, run.id)
        by_model: dict[str, list[RunSystem]] = {}
        for system in run.plan.systems:
            by_model.setdefault(encode(engine_settings(load_settings(system).llm)), []).append(system)
        corpora: dict[str, SearchIndex] = {}
        pace = Pace(
            run.total - len(known), self.seconds_per_answer(owner, asking=any(one.model for one in run.plan.systems))
        )
        for systems in by_model.values():
            wanted = [one for one in systems if any((one.name, case.id) not in known for case in file.cases)]
            if not wanted:
                continue
            self._check_leakage(owner, wanted, file)  # a model may have been trained since the run began
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
            partial(self._store.put, run.id, system.name),
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
        tools = tools_of(run.plan, self._language_model, self._embedder, protocol.needs, stop)
        found = yield from scored(run, protocol, file, self._store.predictions(owner, run.id), tools)
        models = used_models(run.plan, protocol.needs, self._models.files.encoders)
        return replace(found, settings={**found.settings, **models})

    # ------------------------------------------------------------ models

    def _language_model(self) -> LLM:
        status = self._models.language.status
        if not status.state.usable:
            raise ModelError("The language model is not available.", status.detail)
        return self._remembering()

    def _kept_replies(self) -> StoredReplies:
        with self._lock:
            if self._replies is None:
                self._replies = StoredReplies(self._workspace / FILENAME)
            return self._replies

    def close(self) -> None:
        """Close the file of replies."""
        with self._lock:
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


# ----------------------------------------------------------------------------------------------------
# Scores of a run that is not finished: of what is answered so far, by the measures that need no model.

PAUSE = 4.0  # seconds between two computations for the same run
MOST_MEASURES = 5


@dataclass(frozen=True, slots=True)
class SoFar:
    """What is known of a system so far: how many of its answers are there, and their means by measure."""

    system: str
    done: int
    total: int
    failed: int
    means: tuple[tuple[str, float | None], ...] = ()


class RunProgress:
    """Scores what runs have answered so far; kept until more is answered. Raises as `RunService.get` does."""

    def __init__(self, runs: RunService) -> None:
        self._runs = runs
        self._lock = threading.Lock()
        self._files: dict[str, CaseFile] = {}
        self._known: dict[str, tuple[int, float, tuple[SoFar, ...]]] = {}

    def of(self, owner: str, run_id: str) -> tuple[SoFar, ...]:
        """Return what is known of each system, in the order of the run; without means where scoring needs a model."""
        run = self._runs.get(owner, run_id)
        predictions = self._runs.predictions(owner, run_id)
        with self._lock:
            done, when, found = self._known.get(run_id, (-1, 0.0, ()))
            if done == len(predictions) or (done > 0 and time.monotonic() - when < PAUSE):
                return found
            found = self._scored(owner, run, predictions)
            self._known = {**dict(list(self._known.items())[-3:]), run_id: (len(predictions), time.monotonic(), found)}
        return found

    def _scored(self, owner: str, run: Run, predictions: dict[tuple[str, str], Prediction]) -> tuple[SoFar, ...]:
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
        if run.id not in self._files:
            try:
                self._files = {run.id: self._runs.cases(owner, run.plan)}
            except PdfQAError:
                return None  # the run itself says what is wrong with its data
        return self._files[run.id]


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


# ----------------------------------------------------------------------------------------------------
# What a run will take: how many answers are open, and about how long they take and how much memory.


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


def run_estimate(runs: RunService, owner: str, run: Run) -> RunEstimate:
    """Return what the open answers of a run take, at the pace of earlier runs of the owner."""
    systems = run.plan.systems
    questions = run.total // max(1, len(systems))
    known = [name for name, _ in runs.predictions(owner, run.id)]
    left = {one: questions - known.count(one.name) for one in systems}
    answers = {asking: sum(n for one, n in left.items() if _is(one, asking=asking)) for asking in (True, False)}
    asked = [load_settings(one).llm for one, number in left.items() if number and one.model]
    return RunEstimate(
        questions,
        len(systems),
        sum(left.values()),
        seconds_for(runs, owner, answers[True], answers[False]),
        memory_for(asked),
        memory().free,
    )


def _is(system: RunSystem, *, asking: bool) -> bool:
    """Return whether a system answers, and asks a language model for it or not."""
    return system.evidence != RECORDED and bool(system.model) == asking


def seconds_for(runs: RunService, owner: str, asked: int, quoted: int) -> float | None:
    """Return the seconds that answers of a language model and such without take, None where no earlier run tells."""
    found = 0.0
    for number, asking in ((asked, True), (quoted, False)):
        pace = runs.seconds_per_answer(owner, asking=asking) if number else 0.0
        if pace is None:
            return None
        found += number * pace
    return found


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
