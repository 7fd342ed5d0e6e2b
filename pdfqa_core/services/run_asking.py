"""Putting the open questions of a run to a system, one after the other; and what is stored of what comes of them."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import ChainMap
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pdfqa_core.background import in_background
from pdfqa_core.cluster import Cluster
from pdfqa_core.errors import ModelError, PdfQAError, StoppedError
from pdfqa_core.evaluation_types import Evaluation, Prediction, Run, RunPlan, RunState, RunSystem, ScoredSystem
from pdfqa_core.extraction.process.outside import read_file
from pdfqa_core.interfaces import LLM, StopSignal
from pdfqa_core.metrics.bertscore import Baseline, TokenEmbedder
from pdfqa_core.metrics.entailment import LLMTagger
from pdfqa_core.metrics.replies import FAILURES_IN_A_ROW, CachedLLM
from pdfqa_core.models import Encoders, LanguageModel, ModelFiles, Models, graphs_path
from pdfqa_core.models.metrics import entity_finder, nli_tagger, span_reader
from pdfqa_core.protocols import (
    EVIDENCE,
    PREDICTED,
    RECORDED,
    SEARCH,
    Case,
    CaseFile,
    RunProtocol,
    Tools,
    run_protocols,
)
from pdfqa_core.protocols.asqa import PUBLISHED, ReadingLLM
from pdfqa_core.protocols.base import (
    Options,
    Written,
    deviations,
    need_gold,
    profile_named,
    search_deviations,
    with_values,
)
from pdfqa_core.retrieval import Index, prepared
from pdfqa_core.retrieval.encoder import TextEncoder, Vectors
from pdfqa_core.retrieval.onnx_graph import INT8
from pdfqa_core.retrieval.postings import Postings
from pdfqa_core.services.answers import AnswerService
from pdfqa_core.services.documents import DocumentService
from pdfqa_core.services.indexes import IndexService
from pdfqa_core.services.run_systems import AskedSystem, load_settings
from pdfqa_core.services.systems import shared_words
from pdfqa_core.services.tasks import Tasks
from pdfqa_core.services.versions import MODELS, STATISTICS, versions
from pdfqa_core.settings import ExtractionSettings, LLMSettings, Settings, models_path
from pdfqa_core.storage.document_copies import NOWHERE, CopiedDocuments
from pdfqa_core.storage.runs import StoredReplies
from pdfqa_core.types import Passage, Progress

# ----------------------------------------------------------------------------------------------------
# The scores of a run: what its protocol makes of the predictions, with everything a report has to say beside them.

YES, NO = "yes", "no"


@dataclass(frozen=True, slots=True)
class AnswerFiles:
    """Files of answers, one per system, that are scored as a run of a protocol is whose questions were asked before.

    They were written of a run, or are in the form that the protocol's data set is `published` in; then the rows may
    bring their gold answers, so that there is no file of these. `options` are those of a run; of published files also
    "split", "missing", "measures", "beta", "stemming", "brevity_penalty", "refusals", "bertscore_baseline",
    "pronouns" ("no": none are replaced and no refusals told), "entities" ("no": ASQA's are not compared), and the
    choices of a profile.
    """

    protocol: str
    data: Mapping[str, Path]
    gold: Path | None = None
    published: bool = False
    profile: str = ""
    seed: int = 0
    options: Mapping[str, str] = field(default_factory=dict)


def score_files(
    files: AnswerFiles, llm: Callable[[], LLM], embedder: Callable[[], TokenEmbedder]
) -> Generator[Progress, None, tuple[Evaluation, Written]]:
    """Yield progress and return the scores of files of answers, and what stood in them.

    Raises UsageError that names the file and what is wrong, ModelError.
    """
    protocol, options = run_protocols.get(files.protocol), dict(files.options)
    source = files.gold or next(iter(files.data.values()))
    if files.published:
        written = protocol.published(files.gold, files.data, options)
    else:
        written = protocol.written(need_gold(files.gold, "their file"), files.data)
        protocol.check(written.file, options)
    systems = tuple(RunSystem(name, evidence=RECORDED) for name in files.data)
    digest = hashlib.sha256(read_file(source)).hexdigest()
    plan = RunPlan(files.protocol, source.name, (str(source),), digest, systems, 0, files.seed, files.profile, options)
    tools = tools_of(plan, llm, embedder, protocol.needs, threading.Event())
    tools.published = files.published
    tools.settings |= written.settings
    now = datetime.now(UTC)
    run = Run("", source.name, plan, RunState.DONE, 0, now, now)
    found = yield from scored(run, protocol, written.file, written.predictions, tools)
    return found, written


def tools_of(
    plan: RunPlan,
    llm: Callable[[], LLM],
    embedder: Callable[[], TokenEmbedder],
    needs: frozenset[str],
    stop: StopSignal,
) -> Tools:
    """Return what the plan's options say is measured with. Raises ModelError where a model is missing.

    An NLI model tags statements by itself; without a language model only the refusals stay unscored then.
    """
    options, profile = plan.options, profile_named(plan.profile)
    chosen: dict[str, Any] = {one.name: True for one in fields(profile) if options.get(one.name) == YES}
    tools = Tools(
        profile=replace(profile, **chosen),
        measures=tuple(options.get("measures", "").split()),
        options=Options(
            float(options.get("beta", 1)), options.get("stemming") == YES, options.get("brevity_penalty") == YES
        ),
        refusals=options.get("refusals", ""),
        baseline=Baseline(*map(float, baseline.split())) if (baseline := options.get("bertscore_baseline")) else None,
        entities=options.get("entities") != NO,
        embedder=embedder() if options.get("bertscore", YES if "embedder" in needs else "") == YES else None,
        llm=_llm(options, llm, needs),
        judge=options.get("judge") == YES,
        judge_prompt=options.get("judge_prompt") or "seed",
        calibrate=options.get("calibrate") == YES,
        tagger=nli_tagger(options["nli"]) if options.get("nli") else None,
        seed=plan.seed,
        stop=stop,
    )
    if options.get("ner"):
        tools.find = entity_finder(options["ner"])
    if options.get("disambig") == "qa":
        model = options.get("qa_model", "")
        tools.read = span_reader(model) if model else ReadingLLM(llm(), stop=stop)
    if options.get("pronouns") == NO:
        tools.tagger, tools.llm = tools.tagger or LLMTagger(llm()), None
    return tools


def _llm(options: Mapping[str, str], llm: Callable[[], LLM], needs: frozenset[str]) -> LLM | None:
    reads = options.get("disambig") == "qa" and not options.get("qa_model")
    if options.get("judge") == YES or options.get("refusals") == "llm" or reads:
        return llm()
    if "llm" not in needs or (options.get("pronouns") == NO and options.get("nli")):
        return None
    try:
        return llm()
    except ModelError:
        if not options.get("nli"):
            raise
        return None


def scored(
    run: Run, protocol: RunProtocol, file: CaseFile, predictions: Mapping[tuple[str, str], Prediction], tools: Tools
) -> Generator[Progress, None, Evaluation]:
    """Yield progress and return the scores of all systems. Raises ModelError, UsageError, StoppedError."""
    systems: list[ScoredSystem] = []
    for system in run.plan.systems:
        own = {item: one for (name, item), one in predictions.items() if name == system.name}

        def work(
            report: Callable[[Progress], None], name: str = system.name, given: Mapping[str, Prediction] = own
        ) -> ScoredSystem:
            tools.on_done = lambda done, total: report(Progress(f"scoring {name}", done, total))
            return protocol.score(name, file.cases, given, tools)

        yield Progress(f"scoring {system.name}")
        found = yield from in_background(work)
        systems.append(
            ScoredSystem(
                found.name, found.items, system.settings_fingerprint, system.settings, repeat_of=system.repeat_of
            )
        )
    measures = protocol.measures(systems, tools)
    searching = [load_settings(system) for system in run.plan.systems if system.evidence == SEARCH]
    if file.corpus:  # its texts are the passages
        searching = [one.changed("chunking", chunker="windows", headings=False) for one in searching]
    notes = (
        *file.notes,
        *tools.notes,
        *_counted(run, predictions),
        *deviations(with_values(systems) & {*measures} or measures, tools.profile),
        *search_deviations(searching),
    )
    return Evaluation(
        run.plan.protocol,
        run.plan.dataset,
        measures,
        tuple(systems),
        {**_settings(run), **tools.settings},
        versions((*STATISTICS, *MODELS)),
        tuple(dict.fromkeys(notes)),
        PUBLISHED if run.plan.protocol == "asqa" else {},
    )


def _settings(run: Run) -> dict[str, str]:
    plan = run.plan
    found = {
        "data": f"{plan.dataset}, SHA-256 {plan.data_hash}",
        "questions": f"{plan.limit} drawn with seed {plan.seed}" if plan.limit else "all",
        "seed": str(plan.seed),
        **profile_named(plan.profile).said(),
    }
    searching = [load_settings(system) for system in plan.systems if system.evidence != RECORDED]
    if len(searching) > 1 and (shared := shared_words(searching)):
        found["all systems"] = shared
    for system in plan.systems:
        hashed = f", SHA-256 {system.model_hash}" if system.model_hash else ""
        model = f"{system.model}{hashed}; " if system.model else ""
        own = "; earlier turns with its own answers" if system.history == PREDICTED else ""
        found[f"system, {system.name}"] = f"{model}reads: {EVIDENCE[system.evidence]}{own}"
        found[f"settings fingerprint, {system.name}"] = system.settings_fingerprint
    return found


def _counted(run: Run, predictions: Mapping[tuple[str, str], Prediction]) -> Sequence[str]:
    """Return sentences on what failed, and on answers whose seconds are not known."""
    notes = []
    asked = any(system.evidence != RECORDED for system in run.plan.systems)
    failed = [one for one in predictions.values() if one.failed]
    if failed:
        again = " They are asked again with --retry-failures." if asked else ""
        total = run.total or len(predictions)
        notes.append(f"{len(failed)} of {total} answers failed and are unscored; the first: {failed[0].error}{again}")
    unmeasured = sum(one.seconds is None and not one.failed for one in predictions.values())
    if unmeasured and asked:
        notes.append(f"{unmeasured} answers were remembered from an earlier run; their seconds are not counted.")
    return notes


# ----------------------------------------------------------------------------------------------------
# Putting the open questions of a run to a system, one after the other; and what is stored of what comes of them.


class Pace:
    """How long the open answers still take, by the mean of those of this time; before, by what is `expected`."""

    def __init__(self, open_: int, expected: float | None) -> None:
        self._open = open_
        self._expected = expected
        self._done = 0
        self._began = time.monotonic()

    def step(self) -> None:
        """Note that one more is done."""
        self._done += 1

    def left(self) -> float | None:
        """Return the seconds that are left, at the pace of an earlier run while nothing is done; None: not known."""
        if not self._done:
            return None if self._expected is None else self._expected * self._open
        return (time.monotonic() - self._began) / self._done * max(0, self._open - self._done)


class Outcomes:
    """What came of a system's questions, stored as it comes; `known` has it by item, that of earlier times too.

    A failure of the model is stored when something else comes of another question: until then it may be that the model
    does not work at all.
    """

    def __init__(self, put: Callable[[Prediction], None], known: Mapping[str, Prediction], pace: Pace) -> None:
        self._put = put
        self._pace = pace
        self.known = dict(known)
        self._unconfirmed: list[Prediction] = []

    @property
    def left(self) -> float | None:
        """The seconds that the run's open answers still take, None where that is not known."""
        return self._pace.left()

    def take(self, made: Prediction, *, by_model: bool = False) -> None:
        """Store what came of a question; `by_model`: nothing did, for the model failed.

        Raises ModelError after FAILURES_IN_A_ROW such ones: these are asked again when the run goes on.
        """
        if by_model:
            self._unconfirmed.append(made)
            if len(self._unconfirmed) >= FAILURES_IN_A_ROW:
                raise ModelError(made.error, made.hint)
            return
        for one in (*self._unconfirmed, made):
            self._put(one)
            self.known[one.item_id] = one
            self._pace.step()
        self._unconfirmed = []

    def end(self) -> None:
        """Store the last failures."""
        for one in self._unconfirmed:
            self._put(one)


def failed(case: Case, error: PdfQAError) -> Prediction:
    """Return what is stored of a question of which nothing came."""
    return Prediction(case.id, error=error.what, hint=error.hint)


def predicted(
    asked: AskedSystem, case: Case, earlier: Mapping[str, Prediction], stop: StopSignal
) -> tuple[Prediction, bool]:
    """Return what a system makes of a question, and whether the model is why nothing came of it.

    Raises StoppedError.
    """
    if stop.is_set():
        raise StoppedError
    try:
        return asked.predict(case, earlier, stop), False
    except StoppedError:
        raise
    except PdfQAError as error:
        return failed(case, error), isinstance(error, ModelError)


def ask_here(
    asked: AskedSystem, file: CaseFile, outcomes: Outcomes, stop: StopSignal, check: Callable[[], None] | None = None
) -> Generator[Progress, None, None]:
    """Put the open questions to a system in this process. Raises StoppedError, ModelError.

    `check` raises what ends all of it; it is called before an answer counts.
    """
    name, earlier = asked.system.name, frozenset(outcomes.known)
    for number, case in enumerate(file.cases, start=1):
        if case.id in earlier:
            continue
        yield Progress(f"{name}: question {number}", number - 1, len(file.cases), outcomes.left)
        made, by_model = predicted(asked, case, outcomes.known, stop)
        if check is not None:
            check()
        outcomes.take(made, by_model=by_model)


# ----------------------------------------------------------------------------------------------------
# Questions of a run answered by the workers of a cluster, where the language model is a server.
#
# Each worker is given once what a system needs: the text of the documents as a database of its own, their index, the
# settings. A conversation is a task. What a worker makes of it comes back with the new replies of the model, and is
# stored here: workers write nothing that lasts.


@dataclass(frozen=True, eq=False)
class Sent:
    """What an index is made of again."""

    passages: tuple[Passage, ...]
    postings: Postings
    embeddings: Vectors | None

    def index(self, encoder: TextEncoder | None) -> Index:
        """Return the index, in memory."""
        return Index(self.passages, self.postings, self.embeddings, encoder=encoder)


@dataclass(frozen=True, eq=False)
class Material:
    """All that answers a system's questions, wherever that happens.

    `documents` is a database of the documents that are searched, `replies` the file of replies known so far. `index` is
    what is searched, without its encoder; `encoder_hash` is that of the model that made its vectors, "" where there are
    none. `models` and `graphs` are folders of this computer. `key` is the language model server's, `mark` what replies
    are kept under.
    """

    system: RunSystem
    settings: Settings
    extraction: ExtractionSettings
    file: CaseFile
    owner: str
    filenames: Mapping[str, str]
    document_ids: tuple[str, ...]
    documents: bytes = field(repr=False)
    replies: bytes = field(repr=False)
    index: Sent | None = field(repr=False)
    encoder_hash: str
    models: Path
    graphs: Path
    key: str = field(repr=False)
    mark: str


@dataclass(frozen=True, slots=True)
class Talk:
    """A task: the open questions of a conversation in their order, and what came of those before them."""

    ids: tuple[str, ...]
    earlier: Mapping[str, Prediction]


@dataclass(frozen=True, slots=True)
class Answered:
    """What came of each question, whether the model is why nothing did, and the model's new replies by their key."""

    made: tuple[tuple[Prediction, bool], ...]
    replies: Mapping[str, str]


# ------------------------------------------------------------------ on a worker


class _Bench:
    """What answers on a worker, all of it in memory."""

    def __init__(self, material: Material) -> None:
        settings, self._copy = material.settings, CopiedDocuments(material.documents)
        store, tasks = self._copy.store, Tasks(self._copy.store)
        self._stored = StoredReplies.of(material.replies)
        self._replies: ChainMap[str, str] = ChainMap({}, {}, self._stored)  # of this task, of this worker, of before
        files, opened_with = ModelFiles(NOWHERE, material.models), Settings()
        opened_with = opened_with.model_copy(update={"extraction": material.extraction})
        encoders = Encoders.with_graphs(material.graphs, files.encoders.find, files.encoders.find_late)
        models = Models(encoders, LanguageModel(settings.llm, files, key=lambda url: material.key), files)
        llm = CachedLLM(models.language.llm(), self._replies, mark=material.mark)
        documents = DocumentService(store, opened_with, tasks)
        indexes = IndexService(store, opened_with, documents, encoders, tasks)
        answers = AnswerService(store, documents, indexes, models.language, tasks, lambda _: llm)
        self._never = threading.Event()
        self._cases = {case.id: case for case in material.file.cases}
        self._asked = AskedSystem(
            material.system,
            settings,
            material.file,
            material.owner,
            answers,
            indexes,
            material.filenames,
            lambda: llm,
            material.document_ids,
        )
        encoder = indexes.encoder(settings) if material.encoder_hash else None
        if encoder is not None and encoder.model_hash != material.encoder_hash:
            raise ModelError(
                f"A worker of the cluster has another embedding model than this computer: {encoder.name}.",
                "Put the same files at the same path on every computer of the cluster.",
            )
        if material.index is not None:
            self._asked.index = material.index.index(encoder)
            indexes.take(material.owner, settings, self._asked.index)

    def answered(self, talk: Talk) -> Answered:
        """Return what comes of the questions of a conversation; of three failures of the model in a row no more."""
        fresh: dict[str, str] = {}
        self._replies.maps[0] = fresh
        earlier, made, in_a_row = dict(talk.earlier), list[tuple[Prediction, bool]](), 0
        for one in talk.ids:
            prediction, by_model = predicted(self._asked, self._cases[one], earlier, self._never)
            made.append((prediction, by_model))
            earlier[one] = prediction
            in_a_row = in_a_row + 1 if by_model else 0
            if in_a_row >= FAILURES_IN_A_ROW:
                break
        self._replies.maps[1].update(fresh)
        return Answered(tuple(made), fresh)

    def close(self) -> None:
        """Free the memory."""
        self._stored.close()
        self._copy.close()


_benches: list[tuple[Material, _Bench]] = []  # on a worker: the one of the last task


def answer(material: Material, talk: Talk) -> Answered:
    """Answer the questions of a conversation, on a worker. Raises ModelError where it has another encoder."""
    if not _benches or _benches[0][0] is not material:
        while _benches:
            _benches.pop()[1].close()
        _benches.append((material, _Bench(material)))
    return _benches[0][1].answered(talk)


# ------------------------------------------------------------------ here


class ClusterAsking:
    """Puts the open questions of systems to the workers of a cluster. `llm` says where models lie."""

    def __init__(self, cluster: Cluster, llm: LLMSettings, documents: DocumentService, indexes: IndexService) -> None:
        self._cluster = cluster
        self._models, self._graphs = models_path(llm), graphs_path(llm)
        self._documents = documents
        self._indexes = indexes

    @staticmethod
    def can(asked: AskedSystem) -> bool:
        """Whether a prepared system can answer elsewhere: by a server's model, from an index that can be sent there."""
        settings, index = asked.settings, asked.index
        if settings.llm.engine != "openai" or asked.system.evidence == RECORDED:
            return False
        if index is None:
            return True
        late = prepared(settings.retrieval.model_dump())
        return not late and isinstance(index, Index) and index.waiting is None

    def ask(
        self,
        asked: AskedSystem,
        file: CaseFile,
        outcomes: Outcomes,
        mark: str,
        key: str,
        replies: StoredReplies,
        stop: StopSignal,
    ) -> Generator[Progress, None, None]:
        """Put the open questions to a system, several conversations at a time, and keep the model's new `replies`.

        `mark` is what they are kept under, `key` the language model server's.
        Raises StoppedError, ModelError, ClusterError.
        """
        talks = _talks(file, outcomes.known)
        if not talks:
            return
        phase = f"{asked.system.name}: questions on the cluster"
        total, done = len(file.cases), len(outcomes.known)
        yield Progress(phase, done, total, outcomes.left)
        material = self._material(asked, file, mark, key, replies)
        with closing(self._cluster.map(answer, talks, stop, material)) as results:
            for _, answered in results:
                for asked_for, reply in answered.replies.items():
                    replies[asked_for] = reply
                for made, by_model in answered.made:
                    outcomes.take(made, by_model=by_model)
                done += len(answered.made)
                yield Progress(phase, done, total, outcomes.left)

    def _material(self, asked: AskedSystem, file: CaseFile, mark: str, key: str, replies: StoredReplies) -> Material:
        settings, index, hashed, used = asked.settings, asked.index, "", {}
        if index is not None and index.has_embeddings:
            encoder = self._indexes.encoder(settings)
            hashed = encoder.model_hash
            eight_bits = getattr(encoder, "form", "") == INT8
            settings = settings.changed("retrieval", embedding_precision=INT8 if eight_bits else "exact")
        if index is not None and not file.corpus:
            used = {one.id: reading.extractor for one, reading in self._documents.readable(asked.owner, settings)}
        sent = Sent(index.passages, index.postings, index.embeddings) if isinstance(index, Index) else None
        return Material(
            asked.system,
            settings,
            self._documents.extraction,
            file,
            asked.owner,
            asked.filenames,
            asked.document_ids,
            self._documents.copy(asked.owner, used),
            replies.copy(),
            sent,
            hashed,
            self._models,
            self._graphs,
            key,
            mark,
        )


def _talks(file: CaseFile, known: Mapping[str, Prediction]) -> list[Talk]:
    """Return the conversations that have open questions, in the order of the file."""
    found: dict[str, list[str]] = {}
    before: dict[str, dict[str, Prediction]] = {}
    for case in file.cases:
        talk = case.conversation or case.id
        if case.id in known:
            before.setdefault(talk, {})[case.id] = known[case.id]
        else:
            found.setdefault(talk, []).append(case.id)
    return [Talk(tuple(ids), before.get(talk, {})) for talk, ids in found.items()]
