"""Retrievers fine-tuned on an owner's accepted questions: data, estimate, training, and the model that comes of it."""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

from pdfqa_core.errors import PdfQAError, StoppedError, StorageError, UsageError
from pdfqa_core.evaluation_types import Evaluation, GoldItem
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.json_codec import encode, restore
from pdfqa_core.llm.hardware import memory
from pdfqa_core.metrics.comparison import compare
from pdfqa_core.models import ModelFiles, Models, TrainedModel
from pdfqa_core.models.files import encoder_entry, is_encoder
from pdfqa_core.models.trained import EMBEDDING, check_name, keep_trained, note_people, stated_licence
from pdfqa_core.protocols.base import Case, CaseFile
from pdfqa_core.protocols.retrieval import shared_characters
from pdfqa_core.retrieval import SearchIndex, index_text, needs_embeddings, prepared
from pdfqa_core.retrieval.encoder import parts_of
from pdfqa_core.services.documents import DocumentService
from pdfqa_core.services.indexes import IndexService
from pdfqa_core.services.synthesis import Advice, Made, SynthesisPlan, SynthesisResult, SynthesisService
from pdfqa_core.services.tasks import Job, Tasks, foreseen
from pdfqa_core.services.versions import MODELS, versions
from pdfqa_core.settings import Settings, load
from pdfqa_core.storage import Store
from pdfqa_core.storage.records import Outcome, SyntheticQuestion
from pdfqa_core.storage.synthetic_questions import SyntheticQuestions
from pdfqa_core.training import (
    BI_ENCODER,
    DPR,
    KINDS,
    LATE_INTERACTION,
    MARGIN,
    NOTHING_HELD_OUT,
    TRAINEES,
    Checkpoint,
    Compared,
    Estimate,
    Example,
    Generated,
    Pair,
    RoundRecord,
    Scored,
    State,
    Step,
    TrainedOn,
    Trainee,
    TrainingData,
    TrainingEvent,
    TrainingRecord,
    TrainingSettings,
    check_leakage,
    compared,
    disk_bytes,
    distractors,
    estimate,
    joined,
    made_of,
    mine,
    precision_on,
    split_by_documents,
    train_in_rounds,
    words_hash,
)
from pdfqa_core.training.record import Row
from pdfqa_core.types import GENERATED, Passage, Progress, Question, Span
from pdfqa_core.whole_files import cannot_write, write_atomically

# ----------------------------------------------------------------------------------------------------
# What a training is asked to do, what it begins with, and what was asked of one that was stopped.

PLAN = "plan.json"


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """What is trained on what.

    `kind` is one of KINDS, `name` what the model will be called ("": the first free one). `base` is a path, a hub name
    or a name known here ("": what the settings name). Hard negatives are among the first `k` of the settings'
    retriever; `margin` filters them.
    `held_out` is the share of questions whose documents are held out; with 0 the last weights are kept, since nothing
    chooses. `unreviewed` takes questions nobody has looked at besides those accepted. `restart` forgets a run that was
    stopped. No `document_ids`: all documents.
    """

    kind: str = BI_ENCODER
    name: str = ""
    base: str = ""
    settings: TrainingSettings = field(default_factory=TrainingSettings)
    k: int = 20
    margin: float = MARGIN
    held_out: float = 0.2
    unreviewed: bool = False
    restart: bool = False
    device: str = ""
    document_ids: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise UsageError where it cannot be carried out."""
        if self.kind not in KINDS:
            raise UsageError(f"There is no kind of model called {self.kind!r}.", f"Choose one of: {', '.join(KINDS)}.")
        if self.name:
            check_name(self.name)
        if self.k < 1 or not 0 <= self.margin <= 1 or not 0 <= self.held_out < 1:
            raise UsageError(
                f"k is {self.k}, margin {self.margin} and the share held out {self.held_out}.",
                "k is 1 or more, the margin 0 to 1, and the share 0 or more and below 1.",
            )
        if self.kind == LATE_INTERACTION and self.settings.similarity != "cosine":
            raise UsageError("Late interaction compares tokens by cosine.", "Choose another kind, or cosine.")
        self.settings.check()

    @property
    def carried_out(self) -> TrainingPlan:
        """The plan with what follows from its kind and from nothing being held out."""
        changes: dict[str, Any] = {"similarity": "dot"} if self.kind == DPR else {}
        changes |= {} if self.held_out else {"keep": "last"}
        return replace(self, settings=replace(self.settings, **changes))


@dataclass(frozen=True, slots=True)
class Prepared:
    """What training starts with: counts, what it will take at most, and sentences that the user should know."""

    name: str
    questions: int
    held_out: int
    passages: int
    negatives: int
    estimate: Estimate
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A training that was stopped or broken off. `state` is where it stands, None where no step was kept."""

    owner: str
    plan: TrainingPlan
    settings: Settings
    state: State | None


def keep_plan(folder: Path, owner: str, plan: TrainingPlan, settings: Settings) -> None:
    """Keep beside the checkpoint in `folder` what was asked for. Raises StorageError."""
    chosen = settings.model_dump(mode="json", exclude={"server"}, exclude_unset=True)
    data: dict[str, Any] = {"owner": owner, "plan": plan, "settings": chosen}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / PLAN, encode(data).encode())
    except OSError as error:
        raise cannot_write(folder / PLAN, error, "Nothing was begun.") from error


def unfinished(folder: Path, owner: str) -> Iterator[Unfinished]:
    """Yield the owner's trainings below `folder` that were not finished, by name; what cannot be read is left out."""
    for file in sorted(folder.glob(f"*/{PLAN}")):
        try:
            data = json.loads(file.read_bytes())
            plan = restore(TrainingPlan, data["plan"])
            if data["owner"] != owner or plan.name != file.parent.name:
                continue
            settings = load(data["settings"])
        except (OSError, ValueError, TypeError, KeyError, AttributeError, PdfQAError):
            continue
        yield Unfinished(owner, plan, settings, _state(file.parent))


def _state(folder: Path) -> State | None:
    try:
        return Checkpoint(folder).read_state()
    except UsageError:  # damaged; whoever goes on with it is told
        return None


# ----------------------------------------------------------------------------------------------------
# Keeps evaluations honest: a model that was trained here is not measured with what it was trained on.


class LeakageCheck:
    """Compares evaluation questions with what the models of a recipe were trained on."""

    def __init__(self, files: ModelFiles, questions: SyntheticQuestions) -> None:
        self._files = files
        self._questions = questions

    def check(self, owner: str, settings: Settings, items: Sequence[GoldItem]) -> None:
        """Raise UsageError where the recipe uses a model that was trained on passages these questions are made of."""
        retrieval = settings.retrieval.model_dump()
        used = [*parts_of(settings.retrieval.embedding_model)] if needs_embeddings(retrieval) else []
        used += [settings.retrieval.late_model] if prepared(retrieval) else []
        records = [one.record for one in self._files.encoders.trained() if one.name in used or one.path in used]
        if not records:
            return
        generated = generated_questions(self._questions, owner)
        for record in records:
            check_leakage(record.trained_on, items, generated)

    def check_run(self, owner: str, settings: Settings, file: CaseFile) -> None:
        """Raise UsageError where the recipe uses a model that was trained on passages that these cases are made of."""
        texts = {one.document_id: one.text for one in file.corpus}
        self.check(owner, settings, [_item(case, texts) for case in file.cases])


def _item(case: Case, texts: Mapping[str, str]) -> GoldItem:
    """Return a case as what searches are measured with. `texts` are those that its data set brings along, by id."""
    question = Question(case.id, case.question, GENERATED if case.generated else "file")
    item = replace(case.gold, question=question) if case.gold is not None else GoldItem(question)
    return replace(item, gold_texts=tuple(texts[name] for name in case.gold_citations or () if name in texts))


def generated_questions(questions: SyntheticQuestions, owner: str) -> Generated:
    """Return the places that the questions made for an owner are of, whatever became of them: by id and by words.

    The words are those that a question has now, and those that it had before a person changed it.
    """
    found: defaultdict[str, list[Span]] = defaultdict(list)
    for one in questions.list(owner):
        for name in {one.id, words_hash(one.text), words_hash(one.made)}:
            found[name] += one.spans
    return dict(found)


# ----------------------------------------------------------------------------------------------------
# Retrievers fine-tuned on an owner's accepted questions: data, estimate, training, and the model that comes of it.

OF_A_FILE = ("HR@5", "MRR")  # measures of a file of questions
DEPTH = 100  # hits among which the right passage is looked for
BUNDLED_LICENCE = "Apache-2.0"


ServiceEvent = TrainingEvent | RoundRecord | Prepared | TrainedModel


class TrainingService:
    """Models trained on questions of each owner; runs that are not finished lie in `training/` of the workspace."""

    def __init__(
        self,
        store: Store,
        documents: DocumentService,
        indexes: IndexService,
        models: Models,
        tasks: Tasks,
        *,
        demo: bool,
    ) -> None:
        self.synthesis = SynthesisService(store.synthetic_questions, documents, indexes, models, tasks)
        self.jobs = TrainJobs(self, tasks, demo=demo)
        self.leakage = LeakageCheck(models.files, store.synthetic_questions)
        self._folder = store.workspace / "training"
        self._questions = store.synthetic_questions
        self._indexes = indexes
        self._models = models
        self._tasks = tasks

    @property
    def _encoders(self) -> Path:
        return self._models.files.encoders.folder

    def systems(self, model: TrainedModel, settings: Settings) -> dict[str, Settings]:
        """Return the recipe with the model it started from and with itself, by "before" and "after".

        Alone: an embedding model as dense retrieval, late interaction over all passages. Both with exact weights:
        whether 8 bits are used is else decided for each model by its speed here, and would be measured too.
        """
        retriever = "dense" if model.setting == EMBEDDING else "late_interaction"
        alone = settings.changed(
            "retrieval", retriever=retriever, first_stage="none", reranker="", embedding_precision="exact"
        )
        before = alone.changed("retrieval", **{model.setting: model.record.base})
        return {"before": before, "after": alone.changed("retrieval", **{model.setting: model.name})}

    def unfinished(self, owner: str) -> tuple[Unfinished, ...]:
        """Return the owner's trainings that were stopped or broken off, by name; `train` goes on with their plans."""
        return tuple(unfinished(self._folder, owner))

    def discard(self, owner: str, name: str) -> None:
        """Delete what a stopped training has learnt. Raises UsageError where the owner has none of this name."""
        if not any(one.plan.name == name for one in self.unfinished(owner)):
            raise UsageError(f"There is no stopped training called {name!r}.", "It may have been finished or deleted.")
        self._forget(self._folder / name)

    @staticmethod
    def _forget(folder: Path) -> None:
        """Delete the checkpoint of a training, and the folder around it where no other one waits."""
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):
            folder.parent.rmdir()

    @staticmethod
    def note_people(model: TrainedModel, name: str, rows: Mapping[str, Row]) -> TrainedModel:
        """Keep scores on the questions of a file, called `name`, in the model's record and card, and return the model.

        They count when the program says whether training helped. Raises StorageError.
        """
        return note_people(model, name, {measure: Compared(*row) for measure, row in rows.items()})

    # ------------------------------------------------------------ training

    def train(
        self,
        owner: str,
        plan: TrainingPlan,
        settings: Settings,
        asked: Sequence[GoldItem] = (),
        *,
        only_prepare: bool = False,
        task: str = "",
    ) -> Iterator[ServiceEvent]:
        """Train a model; yields progress, what it will take, steps, scores, rounds, and last the model, which is kept.

        A run that was stopped goes on where it ended. Raises UsageError, PdfQAError for too little data, ModelError,
        StorageError (the last good checkpoint is kept), StoppedError when the task is stopped (what was learnt is
        kept). `asked` will measure the model: UsageError where it would be trained on what they were made of.
        `only_prepare` ends before the first step.
        """
        self._check(plan)
        with self._tasks.start(task) as stop:
            yield from self._train(owner, plan.carried_out, settings, asked, only_prepare, stop)

    def _check(self, plan: TrainingPlan) -> None:
        plan.check()
        if self._models.demo:
            raise PdfQAError("Visitors of a demo cannot train models.", "Run the app on your own computer.")

    def triples(
        self, owner: str, plan: TrainingPlan, settings: Settings, *, task: str = ""
    ) -> Generator[Progress, None, list[tuple[str, Passage, Passage]]]:
        """Yield progress and return the triples (q, p+, p-) that training would begin with. Raises as `train` does."""
        self._check(plan)
        with self._tasks.start(task) as stop:
            data, _ = yield from self._data(owner, plan, settings, stop)
        return [triple for one in data.examples for triple in one.triples]

    def _train(
        self,
        owner: str,
        plan: TrainingPlan,
        settings: Settings,
        asked: Sequence[GoldItem],
        only_prepare: bool,
        stop: StopSignal,
    ) -> Iterator[ServiceEvent]:
        name, base = self._name(plan), self._base(plan, settings)
        if self._models.files.encoders.folder.joinpath(name).exists():
            raise UsageError(f"There is a model called {name} already.", "Choose another name, or remove it.")
        data, notes = yield from self._data(owner, plan, settings, stop)
        data.check()
        if asked:
            check_leakage(self._trained_on(owner, name, base, data), asked, generated_questions(self._questions, owner))
        yield Progress("loading the model to train")
        trainee = TRAINEES[plan.kind].load(
            *self._places(plan.kind, base), device=plan.device or None, similarity=plan.settings.similarity
        )
        precision, note = precision_on(trainee.device, plan.settings.precision)
        plan = replace(plan, settings=replace(plan.settings, precision=precision))
        notes = (*notes, note) if note else notes
        run = hashlib.sha256(encode([data.hash, plan.settings, plan.kind, base, plan.k]).encode()).hexdigest()[:16]
        checkpoint = Checkpoint(self._folder / name)
        yield self._prepared(name, plan, data, notes, trainee)
        if only_prepare:
            return
        if plan.restart:
            shutil.rmtree(checkpoint.folder, ignore_errors=True)
        self._check_disk(trainee)
        keep_plan(checkpoint.folder, owner, replace(plan, name=name, restart=False), settings)
        for event in train_in_rounds(trainee, data, plan.settings, checkpoint, run, index_text, stop):
            if not isinstance(event, State):
                yield event
                continue
            record = self._record(owner, name, base, plan, settings, data, event, notes)
            kept = keep_trained(self._encoders, record, trainee.save)
            self._models.encoders.forget(name)  # another model may have had its name
            self._forget(checkpoint.folder)
            yield kept

    def _name(self, plan: TrainingPlan) -> str:
        """Return the name of the model to be: that of the plan, else the first that is free."""
        if plan.name:
            return plan.name
        number, name = 1, f"my-{plan.kind}"
        while (self._encoders / name).exists():
            number += 1
            name = f"my-{plan.kind}-{number}"
        return name

    @staticmethod
    def _base(plan: TrainingPlan, settings: Settings) -> str:
        chosen = settings.retrieval
        return plan.base or (chosen.late_model if plan.kind == LATE_INTERACTION else chosen.embedding_model)

    def _places(self, kind: str, base: str) -> tuple[str, ...]:
        """Return the folder or hub name of the model to start from, or the two of a pair. Raises UsageError."""
        files = self._models.files.encoders
        if kind == LATE_INTERACTION and not is_encoder(base):
            return (files.find_late(base),)
        found = files.folders(base)
        if kind == BI_ENCODER and len(found) > 1:
            raise UsageError(f"{base} is a pair of encoders.", f"Start from another model, or train the kind {DPR}.")
        return found

    def _check_disk(self, trainee: Trainee) -> None:
        needed = disk_bytes(trainee)
        for folder in (self._folder, self._encoders):
            there = next(one for one in (folder, *folder.parents) if one.exists())
            free = shutil.disk_usage(there).free
            if free < needed:
                raise StorageError(
                    f"Training needs {needed / 1e9:.1f} GB on the disk of {there}, {free / 1e9:.1f} GB are free.",
                    "Free some space, and start again.",
                )

    # ------------------------------------------------------------ data

    def _data(
        self, owner: str, plan: TrainingPlan, settings: Settings, stop: StopSignal
    ) -> Generator[Progress, None, tuple[TrainingData, tuple[str, ...]]]:
        outcomes = [Outcome.ACCEPTED, *([Outcome.NEW] if plan.unreviewed else [])]
        kept = [one for one in self._questions.list(owner, outcomes, plan.document_ids) if not one.follows]
        if not kept:
            waiting = len(self._questions.list(owner, [Outcome.NEW], plan.document_ids))
            raise PdfQAError(
                "There is no accepted question to train with"
                + (f"; {waiting} wait to be looked at." if waiting else "."),
                "Accept questions first, or take those nobody has looked at (--unreviewed)."
                if waiting
                else "Make some first: on the Train tab, or by pdfqa synthesize.",
            )
        plain = settings.changed("retrieval", merge_overlaps=False, per_page=0)
        index = yield from self._indexes.opened(owner, plain, stop)
        passages = self._indexes.passages(owner, plain, plan.document_ids)
        pairs, lost = _pairs(kept, passages)
        split = split_by_documents(pairs, passages, plan.held_out, plan.settings.seed)
        usable = {one.id for one in split.training_passages}
        documents = tuple({one.document_id for one in split.training_passages})
        examples = []
        for done, pair in enumerate(split.training):
            yield Progress("looking for hard negatives", done, len(split.training))
            examples.append(self._example(pair, index, plan, plain, documents, usable))
        unseen = (self._example(pair, index, plan, plain, documents, usable) for pair in split.held_out)
        notes = [split.note] if split.note else []
        if lost:
            notes.append(f"{lost} questions are of passages that the recipe does not make any more: left out.")
        data = TrainingData(
            tuple(examples),
            split.training_passages,
            split.held_out,
            split.held_out_passages,
            plan.k,
            distractors(unseen, plan.settings.k),
        )
        return data, tuple(notes)

    def _example(
        self,
        pair: Pair,
        index: SearchIndex,
        plan: TrainingPlan,
        settings: Settings,
        documents: Sequence[str],
        usable: set[str],
    ) -> Example:
        hits = self._indexes.search_in(index, pair.question, settings, documents, max(DEPTH, plan.k))
        return mine(pair, hits, plan.k, usable, margin=plan.margin)

    # ------------------------------------------------------------ what is told

    def _prepared(
        self, name: str, plan: TrainingPlan, data: TrainingData, notes: tuple[str, ...], trainee: Trainee
    ) -> Prepared:
        found = estimate(
            trainee, data.examples, len(data.held_out_passages) + len(data.distractors), plan.settings, index_text
        )
        free = memory().free
        if found.memory > free:
            said = f"Training takes about {found.memory / 1e9:.1f} GB of memory, {free / 1e9:.1f} GB are free"
            notes = (*notes, f"{said}: fewer texts at once (--chunk) than {plan.settings.chunk} take less.")
        negatives = sum(len(one.negatives) for one in data.examples)
        passages = len(data.passages) + len(data.held_out_passages)
        return Prepared(name, len(data.examples), len(data.held_out), passages, negatives, found, notes)

    def _record(
        self,
        owner: str,
        name: str,
        base: str,
        plan: TrainingPlan,
        settings: Settings,
        data: TrainingData,
        state: State,
        notes: tuple[str, ...],
    ) -> TrainingRecord:
        pairs = [one.pair for one in data.examples]
        return TrainingRecord(
            name=name,
            kind=plan.kind,
            base=base,
            base_licence=self._licence(base),
            data_hash=data.hash,
            settings_fingerprint=settings.fingerprint(),
            retriever=settings.retrieval.retriever,
            k=plan.k,
            settings=plan.settings,
            examples=len(pairs),
            held_out=len(data.held_out),
            rounds=state.records,
            scores=state.scores,
            losses=state.losses,
            compared=compared(state.before, state.after, plan.settings.k, plan.settings.seed) if state.before else {},
            seconds=state.seconds,
            made_at=datetime.now(UTC),
            versions=versions(MODELS),
            trained_on=self._trained_on(owner, name, base, data),
            notes=tuple(note for note in notes if note != NOTHING_HELD_OUT),  # its verdict says so
        )

    def _trained_on(self, owner: str, name: str, base: str, data: TrainingData) -> TrainedOn:
        """Return what the model is trained on, with what the one that it starts from was."""
        pairs = [one.pair for one in data.examples]
        spans = tuple(dict.fromkeys(span for pair in pairs for span in pair.positive.spans))
        own = TrainedOn(
            name,
            spans,
            tuple(words_hash(pair.question) for pair in pairs),
            tuple(words_hash(pair.positive.text) for pair in pairs),
        )
        made = generated_questions(self._questions, owner)
        own = replace(own, generated=made_of(own, made))
        before = [
            one.record.trained_on
            for one in self._models.files.encoders.trained()
            if any(part and part in (one.name, one.path) for part in parts_of(base))
        ]
        return joined(name, [*before, own])

    def _licence(self, base: str) -> str:
        """Return the licence of the model that training starts from, as far as it says."""
        if not base:
            return BUNDLED_LICENCE
        if is_encoder(base):
            return encoder_entry(base).licence
        if len(parts := parts_of(base)) > 1:
            return ", ".join(dict.fromkeys(map(self._licence, parts)))
        trained = next((one for one in self._models.files.encoders.trained() if base in (one.name, one.path)), None)
        if trained is not None:
            return trained.record.base_licence
        return stated_licence(base)


def compared_on(evaluation: Evaluation) -> dict[str, Row]:
    """Return before, after and difference of an evaluation of `TrainingService.systems`, by measure."""
    cells = compare(evaluation, measures=OF_A_FILE, baseline="before").cells
    found = {}
    for measure in OF_A_FILE:
        after = cells["after"][measure]
        assert after.difference is not None
        found[measure] = (cells["before"][measure].summary, after.summary, after.difference)
    return found


def _pairs(questions: Sequence[SyntheticQuestion], passages: Sequence[Passage]) -> tuple[tuple[Pair, ...], int]:
    """Return questions with the passage of the recipe that holds most of theirs, and how many have none any more."""
    by_id = {one.id: one for one in passages}
    by_document: dict[str, list[Passage]] = {}
    for one in passages:
        by_document.setdefault(one.document_id, []).append(one)
    found = []
    for question in questions:
        own = by_id.get(question.passage_id)
        if own is None:
            here = by_document.get(question.document_id, [])
            own = max(here, key=partial(shared_characters, gold=question.spans), default=None)
            own = own if own is not None and shared_characters(own, question.spans) else None
        if own is not None:
            found.append(Pair(question.id, question.text, own))
    return tuple(found), len(questions) - len(found)


# ----------------------------------------------------------------------------------------------------
# Making questions and training in the background: one at a time, whether or not a page looks on.

TASK = "train-jobs"


class Work(StrEnum):
    """What goes on in the background."""

    MAKING = "making questions"
    ESTIMATING = "estimating"
    TRAINING = "training"


@dataclass(frozen=True, slots=True)
class TrainJob:
    """What is under way, or ended last: `error` is why it ended before it was done, `hint` what to do then.

    `made` counts questions by outcome, `advice` says why rules may do better, `result` sums them up. `losses` are
    (round, step, loss), with those of before a stop; `settings` are those of the training, `model` the name of the
    model that came of it.
    """

    owner: str
    work: Work
    running: bool = True
    progress: Progress | None = None
    made: tuple[tuple[str, int], ...] = ()
    advice: str = ""
    result: SynthesisResult | None = None
    prepared: Prepared | None = None
    step: Step | None = None
    losses: tuple[tuple[int, int, float], ...] = ()
    scores: tuple[Scored, ...] = ()
    rounds: tuple[RoundRecord, ...] = ()
    settings: TrainingSettings | None = None
    model: str = ""
    stopped: bool = False
    error: str = ""
    hint: str = ""


class TrainJobs:
    """The work behind the Train tab. One at a time for all owners, since they share processor and language model."""

    def __init__(self, training: TrainingService, tasks: Tasks, *, demo: bool) -> None:
        self._training = training
        self._tasks = tasks
        self._demo = demo
        self._lock = threading.Lock()
        self._job: TrainJob | None = None

    # ------------------------------------------------------------ begin

    def make(self, owner: str, plan: SynthesisPlan, settings: Settings) -> None:
        """Make questions. Raises UsageError for a plan that cannot be carried out, PdfQAError while other work runs."""
        plan.check()
        self._start(
            TrainJob(owner, Work.MAKING), lambda: self._training.synthesis.make(owner, plan, settings, task=TASK)
        )

    def estimate(self, owner: str, plan: TrainingPlan, settings: Settings) -> None:
        """Find out what training takes. Raises as `make` does."""
        plan.check()
        self._start(
            TrainJob(owner, Work.ESTIMATING, settings=plan.settings),
            lambda: self._training.train(owner, plan, settings, only_prepare=True, task=TASK),
        )

    def train(self, owner: str, plan: TrainingPlan, settings: Settings) -> None:
        """Train a model. Raises as `make` does."""
        plan.check()
        job = TrainJob(owner, Work.TRAINING, settings=plan.settings)
        self._start(job, lambda: self._training.train(owner, plan, settings, task=TASK))

    def resume(self, owner: str, name: str) -> None:
        """Go on with a training that was stopped. Raises UsageError where the owner has none of this name."""
        found = next((one for one in self._training.unfinished(owner) if one.plan.name == name), None)
        if found is None:
            raise UsageError(f"There is no stopped training called {name!r}.", "It may have been finished or deleted.")
        job = TrainJob(owner, Work.TRAINING, settings=found.plan.settings)
        if found.state is not None:
            state = found.state
            job = replace(job, losses=state.losses, scores=state.scores, rounds=state.records)
        self._start(job, lambda: self._training.train(owner, found.plan, found.settings, task=TASK))

    def _start(self, job: TrainJob, events: Callable[[], Iterable[object]]) -> None:
        if self._demo:
            raise PdfQAError(
                "Visitors of a demo can neither make questions nor train: they share its processor.",
                "Run the app on your own computer.",
            )
        with self._lock:
            if self._job is not None and self._job.running:
                raise PdfQAError("Something is under way already.", "Wait for it, or stop it.")
            self._job = replace(job, progress=Progress("getting ready"))
            self._tasks.begin(Job(TASK, job.owner, name=TASK), lambda: self._work(events))

    # ------------------------------------------------------------ while it goes on

    def _work(self, events: Callable[[], Iterable[object]]) -> None:
        ended: dict[str, object] = {}
        try:
            for event in events():
                self._note(event)
        except Exception as error:  # noqa: BLE001 - whatever happens, the page must not wait for ever
            told = foreseen(error, "work of the Train tab")
            ended = {"stopped": isinstance(told, StoppedError), "error": told.what, "hint": told.hint}
        finally:
            self._change(running=False, progress=None, **ended)

    def _note(self, event: object) -> None:
        job = self._job
        assert job is not None
        match event:
            case Progress():
                self._change(progress=event)
            case Made():
                counts = Counter(dict(job.made)) + Counter(one.outcome.value for one in event.questions)
                self._change(made=tuple(counts.items()))
            case Advice():
                self._change(advice=event.words)
            case SynthesisResult():
                self._change(result=event)
            case Prepared():
                self._change(prepared=event)
            case Step():
                taken = (event.round, event.step, event.loss)
                self._change(progress=None, step=event, losses=(*job.losses, taken))
            case Scored():
                self._change(progress=None, scores=(*job.scores, event))
            case RoundRecord():
                self._change(rounds=(*job.rounds, event))
            case TrainedModel():
                self._change(model=event.name)

    def _change(self, **values: object) -> None:
        with self._lock:
            assert self._job is not None
            self._job = replace(self._job, **values)  # type: ignore[arg-type]  # the fields of TrainJob, by name

    # ------------------------------------------------------------ looking on

    def of(self, owner: str) -> TrainJob | None:
        """Return the owner's work that is under way, or else ended last in this process."""
        with self._lock:
            return self._job if self._job is not None and self._job.owner == owner else None

    def stop(self, owner: str) -> None:
        """Stop the owner's work; what is done stays."""
        job = self.of(owner)
        if job is not None and job.running:
            self._tasks.stop(TASK)
