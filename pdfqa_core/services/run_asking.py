"""Systems of a run: what each may read for a question, how questions are put to it, and the scores of what comes."""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
import time
from collections import ChainMap
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from pdfqa_core.background import in_background
from pdfqa_core.cluster import Cluster
from pdfqa_core.errors import ModelError, PdfQAError, StoppedError, UsageError
from pdfqa_core.evaluation_types import (
    CitedPlace,
    Evaluation,
    Prediction,
    ReadText,
    Run,
    RunPlan,
    RunState,
    RunSystem,
    ScoredSystem,
)
from pdfqa_core.extraction.process.outside import read_file
from pdfqa_core.interfaces import LLM, StopSignal
from pdfqa_core.llm.catalogue import entry, is_path
from pdfqa_core.metrics.bertscore import Baseline, TokenEmbedder
from pdfqa_core.metrics.entailment import LLMTagger
from pdfqa_core.metrics.replies import FAILURES_IN_A_ROW, CachedLLM
from pdfqa_core.models import Encoders, LanguageModel, ModelFiles, Models, graphs_path
from pdfqa_core.models.files import EncoderFiles, models_of
from pdfqa_core.models.language import engine_settings
from pdfqa_core.models.metrics import entity_finder, identity, nli_tagger, span_reader
from pdfqa_core.protocols import (
    EVIDENCE,
    GIVEN,
    NONE,
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
    cited_id,
    deviations,
    hits_of_answers,
    need_gold,
    over_texts,
    profile_named,
    search_deviations,
    with_values,
)
from pdfqa_core.protocols.gold import packed_folder
from pdfqa_core.protocols.hotpotqa import HotpotCase
from pdfqa_core.protocols.retrieval import covered
from pdfqa_core.reading.outcomes import lines_of
from pdfqa_core.retrieval import Index, SearchIndex, needs_embeddings, prepared
from pdfqa_core.retrieval.bm25 import Postings
from pdfqa_core.retrieval.encoder import TextEncoder, Vectors
from pdfqa_core.retrieval.model_folder import ModelFolder
from pdfqa_core.retrieval.onnx_graph import INT8
from pdfqa_core.services.answers import AnswerService, Asked, Find
from pdfqa_core.services.documents import DocumentService
from pdfqa_core.services.indexes import IndexService
from pdfqa_core.services.systems import described, shared_words
from pdfqa_core.services.tasks import Tasks
from pdfqa_core.services.versions import MODELS, STATISTICS, versions
from pdfqa_core.settings import ExtractionSettings, LLMSettings, Settings, load, models_path
from pdfqa_core.storage.document_copies import NOWHERE, CopiedDocuments
from pdfqa_core.storage.runs import StoredReplies
from pdfqa_core.types import Answer, Citation, Done, Hit, Passage, Progress, Query, Rewritten
from pdfqa_core.whole_files import cannot_write, unfinished

# ----------------------------------------------------------------------------------------------------
# The language model of systems of a run: the one in use where it is theirs, else one that only the run talks to.


@contextmanager
def language_for(shared: LanguageModel, wanted: LLMSettings) -> Generator[LanguageModel, None, None]:
    """Give the language model that these settings name: `shared`, or another one that is freed at the end.

    Nothing is loaded yet. The one that others talk to stays as it is.
    """
    if engine_settings(shared.settings) == engine_settings(shared.named(wanted)):
        yield shared
        return
    own = shared.beside(wanted)
    try:
        yield own
    finally:
        own.close()


def same(language: LanguageModel) -> Callable[[], None]:
    """Return what raises ModelError once another model than the one now in use is."""
    used = engine_settings(language.settings)

    def check() -> None:
        if engine_settings(language.settings) != used:
            raise ModelError(
                "Another language model was chosen while the run went on, so that it was ended.",
                "What is done is kept. Go on with the run to load its own model and answer the rest.",
            )

    return check


@dataclass
class Remembering:
    """Gives a language model, as it is now, with its replies kept; `last` is the one that it gave last."""

    language: LanguageModel
    replies: Callable[[], StoredReplies]
    last: CachedLLM | None = None
    _known: dict[str, CachedLLM] = field(default_factory=dict)

    def __call__(self, llm: LLM | None = None) -> CachedLLM:
        """Return the language model (by default the one in use) with its replies kept."""
        key: Any = identity(self.language.settings)
        if key not in self._known:
            self._known[key] = CachedLLM(
                llm or self.language.llm(),
                self.replies(),
                model=key,
                same=lambda: identity(self.language.settings) == key,
            )
        self.last = self._known[key]
        return self.last


# ----------------------------------------------------------------------------------------------------
# Files of runs: the data as it was when a run was begun, and what tells one model's file from another.


class RunFiles:
    """Data files under the hash of their bytes, so that a run goes on although its file was moved or changed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def kept(self, path: Path) -> tuple[Path, str, str]:
        """Return where a file is kept, its SHA-256 and its name; of a folder, those of the ZIP that is made of it.

        Raises UsageError, StorageError.
        """
        if path.is_dir():
            kept = self.put(f"{path.name}.zip", packed_folder(path))
            return kept, _hashed_file(kept, kept.stat().st_mtime_ns, kept.stat().st_size), path.name
        if not path.is_file():
            raise UsageError(f"{path} is not there.", "Name a file of questions.")
        digest = _hashed_file(path, path.stat().st_mtime_ns, path.stat().st_size)
        return self._put(path.name, digest, lambda draft: shutil.copyfile(path, draft)), digest, path.name

    def remove(self, paths: Iterable[str]) -> None:
        """Remove files that no run needs any more."""
        for path in map(Path, paths):
            if path.parent == self._folder:
                path.unlink(missing_ok=True)

    def put(self, name: str, data: bytes) -> Path:
        """Keep the bytes of a file that came with a run, and return where; `name` is what it was kept as."""
        return self._put(name, hashlib.sha256(data).hexdigest(), lambda draft: draft.write_bytes(data))

    def _put(self, name: str, digest: str, write: Callable[[Path], object]) -> Path:
        target = self._folder / f"{digest[:16]}{Path(name).suffix.lower()}"
        if not target.is_file():
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                with unfinished(target) as draft:
                    write(draft)
            except OSError as error:
                raise cannot_write(f"the copy of {name} for the run", error, "Nothing was begun.") from error
        return target


@lru_cache(maxsize=32)
def _hashed_file(path: Path, changed: int, size: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def model_hash(llm: LLMSettings, used: Path | None) -> str:
    """Return the SHA-256 of a language model's file: the catalogue's, or that of the file; "" where none is known."""
    if llm.engine == "openai":
        return ""
    if not is_path(llm.model):
        try:
            return entry(llm.model).sha256
        except PdfQAError:
            return ""
    path = Path(llm.model).expanduser()
    path = path if path.is_file() else used or path
    if not path.is_file():
        return ""
    return _hashed_file(path, path.stat().st_mtime_ns, path.stat().st_size)


# ----------------------------------------------------------------------------------------------------
# A system of a run: what it may read for a question, and what comes of it.

MOST_GIVEN = 20  # passages of a data set that a reader is given, as many as the setting allows


def opened(
    indexes: IndexService,
    owner: str,
    settings: Settings,
    corpus: Sequence[Passage],
    corpora: dict[str, SearchIndex],
    stop: StopSignal,
) -> Generator[Progress, None, SearchIndex]:
    """Return what a system searches, building what is missing: the owner's index, or that of a data set's own texts.

    `corpora` keeps the latter by encoder, for the systems that follow. Raises StoppedError, ModelError.
    """
    if not corpus:
        index = yield from indexes.opened(owner, settings, stop)
        return index
    chosen, embeddings = settings.retrieval, indexes.needs_embeddings(settings)
    key = f"{chosen.embedding_model} {chosen.embedding_precision}" if embeddings else ""

    def build(report: Callable[[Progress], None]) -> SearchIndex:
        encoder = indexes.encoder(settings) if embeddings else None
        return Index.in_memory(corpus, encoder, on_progress=report, stop=stop)

    if key not in corpora:
        corpora[key] = yield from in_background(build)
    return corpora[key]


class AskedSystem:
    """One system with all that it needs; `prepared` opens its index, `predict` puts one question to it.

    `filenames` names the owner's documents by id. `remembered` gives the model that keeps its replies, as it is now.
    `index` is what is searched, None where nothing is or it is not prepared yet.
    """

    def __init__(
        self,
        system: RunSystem,
        settings: Settings,
        file: CaseFile,
        owner: str,
        answers: AnswerService,
        indexes: IndexService,
        filenames: Mapping[str, str],
        remembered: Callable[[], CachedLLM | None],
        document_ids: Sequence[str] = (),
    ) -> None:
        self.system = system
        self.settings = settings
        self._file = file
        self.owner = owner
        self._answers = answers
        self._indexes = indexes
        self.filenames = filenames
        self._remembered = remembered
        self.document_ids = tuple(document_ids)
        self.index: SearchIndex | None = None

    def prepared(self, corpora: dict[str, SearchIndex], stop: StopSignal) -> Generator[Progress, None, None]:
        """Open the index, building what is missing; `corpora` keeps those of the file's own texts, by encoder.

        Raises StoppedError, ModelError.
        """
        if self.system.evidence in (NONE, RECORDED):
            return
        corpus = self._file.corpus
        on_gold = not corpus and any(case.gold is not None for case in self._file.cases)
        if self.system.evidence != GIVEN or on_gold:
            self.index = yield from opened(self._indexes, self.owner, self.settings, corpus, corpora, stop)

    def predict(self, case: Case, earlier: Mapping[str, Prediction], stop: StopSignal) -> Prediction:
        """Return what the system makes of a question; `earlier` are its predictions so far, by item.

        Raises StoppedError, ModelError, and UsageError where there is nothing to read for it.
        """
        if self.system.evidence == RECORDED:
            if case.recorded is None:
                raise UsageError("The row has no recorded answer.", 'Give it an "answer" beside the gold one.')
            return Prediction(case.id, case.recorded)
        llm = self._remembered()
        before = llm.remembered if llm is not None else 0
        history = self._history(case, earlier)
        answer, searched = self._answer(case, history, stop)
        if answer.stopped or stop.is_set():
            raise StoppedError
        fresh = llm is None or llm.remembered == before
        return self._prediction(case, answer, searched, answer.seconds.get("total") if fresh else None)

    def _history(self, case: Case, earlier: Mapping[str, Prediction]) -> tuple[tuple[str, str], ...]:
        """Return the conversation so far: with the gold answers, or with those that the system gave."""
        if self.system.history != PREDICTED or not case.follow_ups:
            return case.history
        brought = case.history[: len(case.history) - len(case.follow_ups)]
        asked = [question for question, _ in case.history[len(brought) :]]
        said = [earlier.get(one, Prediction(one)) for one in case.follow_ups]
        return (*brought, *((q, "" if one.refused else one.answer) for q, one in zip(asked, said, strict=True)))

    def _answer(self, case: Case, history: Sequence[tuple[str, str]], stop: StopSignal) -> tuple[Answer, str]:
        """Return the answer and the question that was searched for."""
        if self.system.evidence == NONE:
            events = self._answers.closed_book(self.settings).read(case.question, (), history, stop=stop)
        else:
            settings, find = self.settings, self._find(case)
            if self.system.evidence == GIVEN and not settings.reading.passages:
                given = min(MOST_GIVEN, max(1, len(case.contexts)))
                settings = settings.changed("reading", passages=given).changed("retrieval", k=max(given, 5))
            asked = Asked(self.owner, case.question, settings, tuple(history), document_ids=self.document_ids)
            events = self._answers.answer(asked, stop, find)
        searched = case.question
        for event in events:
            if isinstance(event, Rewritten):
                searched = event.question
            elif isinstance(event, Done):
                return event.answer, searched
        raise StoppedError

    def _find(self, case: Case) -> Find | None:
        """Return what finds the passages of a question; None: the whole system searches the owner's documents."""
        if self.system.evidence == GIVEN:
            hits = self._given(case)
            return lambda _query, _k: hits
        if not self._file.corpus:
            return None
        index = self.index
        assert index is not None

        def search(query: Query, k: int) -> list[Hit]:
            return self._indexes.search_in(index, query, self.settings, (), k)

        return search

    def _given(self, case: Case) -> list[Hit]:
        """Return the passages that come with a question, or those of the index on its gold places."""
        passages: Sequence[Passage] = case.contexts
        if not passages and case.gold is not None and self.index is not None:
            gold = case.gold
            passages = [one for one in self.index.passages if covered(gold, one)][: self.settings.retrieval.k]
        if not passages and not self._file.corpus:  # where others have some, that this one has none is part of it
            raise UsageError(
                "The data set gives no passages with this question.",
                "Name its page or quote, give it contexts, or let the system search (--evidence search).",
            )
        return [Hit(one, 1.0, rank, GIVEN) for rank, one in enumerate(passages, start=1)]

    def _prediction(self, case: Case, answer: Answer, searched: str, seconds: float | None) -> Prediction:
        citations = tuple(self._cited(one) for one in answer.citations)
        if isinstance(case, HotpotCase):
            citations = case.cited(citations)
        read = [hit for hit in answer.hits if hit.rank in answer.read] or list(answer.hits)
        evidence = tuple(
            ReadText(one.id, one.text, one.document_id, one.pages[0], one.spans)
            for one in (hit.passage for hit in read)
        )
        found = tuple(self._places(hit.passage) for hit in answer.hits) if self.system.evidence == SEARCH else None
        lines, write = lines_of(answer), answer.seconds.get("write", 0.0)
        return Prediction(
            case.id,
            answer.text,
            answer.refused,
            citations,
            evidence,
            searched,
            answer.confidence,
            answer.notes,
            seconds,
            found=found,
            perhaps=answer.perhaps,
            quote=self._cited(lines[0]) if lines else None,
            first_word=answer.seconds.get("first_token") if seconds is not None else None,
            rate=answer.completion_tokens / write if seconds is not None and write else None,
        )

    def _places(self, passage: Passage) -> tuple[str, ...]:
        """Return what citations of a passage are compared by: its pages, or its text of the data set."""
        filename = self.filenames.get(passage.document_id, "")
        return tuple(cited_id(filename, page) for page in passage.pages) if filename else (passage.document_id,)

    def _cited(self, citation: Citation) -> CitedPlace:
        span = citation.span
        filename = self.filenames.get(span.document_id, "")
        name = cited_id(filename, span.page) if filename else span.document_id
        return CitedPlace(name, filename, span.page, citation.verified, citation.quote, span.start, span.end)


def load_settings(system: RunSystem) -> Settings:
    """Return the settings of a system as they were stored. Raises UsageError where a setting is gone."""
    return load(json.loads(system.settings))


def with_defaults(settings: Settings, overrides: Mapping[str, Mapping[str, object]]) -> Settings:
    """Return settings with the overrides where they are at their default: what somebody chose stays."""
    default = Settings()
    for section, values in overrides.items():
        here, plain = getattr(settings, section), getattr(default, section)
        changed = {name: value for name, value in values.items() if getattr(here, name) == getattr(plain, name)}
        settings = settings.changed(section, **changed) if changed else settings
    return settings


def repeated(system: RunSystem, repeats: int) -> list[RunSystem]:
    """Return a system so many times, each with a seed of its own; one that asks no model, once.

    Raises UsageError where every repeat would give the same answers, for it does not sample.
    """
    if repeats < 2 or not system.model:
        return [system]
    settings = load_settings(system)
    if settings.llm.temperature == 0:
        raise UsageError(
            f"{system.name} always takes the most likely word, so that {repeats} repeats are all the same.",
            "Set a temperature above 0, such as 0.7, or run it once.",
        )
    found = []
    for seed in range(settings.llm.seed, settings.llm.seed + repeats):
        own = settings.changed("llm", seed=seed)
        told = own.model_dump_json(exclude={"server": True, "llm": {"models_folder"}})
        name = f"{system.name} · seed {seed}"
        found.append(
            replace(system, name=name, settings=told, settings_fingerprint=own.fingerprint(), repeat_of=system.name)
        )
    return found


def named(
    system: RunSystem, settings: Settings, evidence: str, history: str, *, several: tuple[bool, bool]
) -> RunSystem:
    """Return a system for one kind of evidence and of history, with a name that says so where there are several.

    Where it does not search, how passages are cut and found is no part of its name.
    """
    words = [system.name]
    if evidence in (NONE, GIVEN):
        parts = described(settings)
        unused = {parts[one] for one in ("retrievers", "chunkers", "extractors")}
        kept = [one for one in system.name.split(" · ") if one not in unused]
        words = kept or ([] if several[0] else [system.model or "quotes"])
    if several[0]:
        words.append({NONE: "closed book", GIVEN: "given passages"}.get(evidence, "search"))
    if several[1]:
        words.append("own answers so far" if history == PREDICTED else "gold answers so far")
    return replace(system, name=" · ".join(words), evidence=evidence, history=history)


# ----------------------------------------------------------------------------------------------------
# Which models a run uses beside the language model, and what tells their files from others of the same name.

ENCODER, LATE, RERANKER = "encoder", "late interaction model", "re-ranker"
METRICS = {"nli": "NLI model", "ner": "NER model", "qa_model": "reading model"}  # by the option that names one
MEANING = "BERTScore’s encoder"
ENCODER_OPTION = "bertscore_encoder"


def search_models(settings: Settings, files: EncoderFiles) -> tuple[tuple[str, str], ...]:
    """Return the models that a system searches with: what each is for, and the hash of its files.

    16 hex digits over configuration, vocabulary and weights; "" for a model that goes by its name on the hub: whether
    it is here must not decide which run is gone on with. Raises ModelError for a folder without a model.
    """
    return tuple((role, _hashes(folders, hub=False)) for role, (_, folders) in _used(settings, files).items())


def used_models(plan: RunPlan, needs: frozenset[str], files: EncoderFiles) -> dict[str, str]:
    """Return name and hash of every model that a finished run used beside the language model, by what it is for."""
    found: dict[str, list[str]] = {}
    for system in plan.systems:
        if system.evidence != SEARCH:
            continue
        with suppress(PdfQAError):  # one that was in use, and is gone since
            for role, (name, folders) in _used(load_settings(system), files).items():
                found.setdefault(role, []).append(_told(name, folders))
    scoring = {role: plan.options[option] for option, role in METRICS.items() if plan.options.get(option)}
    if plan.options.get("bertscore", "yes" if "embedder" in needs else "") == "yes":
        scoring[MEANING] = plan.options.get(ENCODER_OPTION, "")
    for role, name in scoring.items():
        with suppress(PdfQAError):
            found[role] = [_told(name, (name,))]
    return {role: "; ".join(dict.fromkeys(names)) for role, names in found.items()}


def check_brought(plan: RunPlan, models: Models) -> None:
    """Raise UsageError where a run that came in a file needs other models than are in use or known here.

    Its language model must be the one in use, in the same form; all others of the catalogue or trained here. No path,
    address or hub name of a file is followed.
    """
    here = models.language.settings
    used = (here.model or here.url, here.context_size)
    foreign = [plan.options[option] for option in (*METRICS, ENCODER_OPTION) if plan.options.get(option)]
    for system in plan.systems:
        settings = load_settings(system)
        llm = settings.llm
        asked = (system.model, llm.context_size)
        if system.model and (asked != used or system.model_hash != model_hash(here, models.language.file)):
            raise UsageError(
                "{} asks {} (context {:,}); in use here is {} (context {:,}).".format(system.name, *asked, *used),
                "Choose that model and its settings on the Models tab, or begin the run anew with the one here.",
            )
        if system.evidence == SEARCH:
            foreign += models.files.encoders.foreign(models_of(settings.retrieval))
    if foreign:
        raise UsageError(
            f"The run came in a file and names a model that is not known here: {foreign[0]}.",
            "Begin it anew with a model of this computer.",
        )


def _used(settings: Settings, files: EncoderFiles) -> Mapping[str, tuple[str, tuple[str, ...]]]:
    """Return the models that a system searches with, by what each is for: its name, and its folders or hub names."""
    chosen = settings.retrieval
    parameters = chosen.model_dump()
    found = {}
    if needs_embeddings(parameters):
        found[ENCODER] = (chosen.embedding_model, files.folders(chosen.embedding_model))
    if prepared(parameters):
        found[LATE] = (chosen.late_model, (files.find_late(chosen.late_model),))
    if chosen.reranker:
        found[RERANKER] = (chosen.reranker, (chosen.reranker,))
    return found


def _told(name: str, folders: Iterable[str]) -> str:
    named = name or ModelFolder("", "encoder", "").name
    hashed = _hashes(folders, hub=True)
    return f"{named}, hash {hashed}" if hashed else named


def _hashes(folders: Iterable[str], *, hub: bool) -> str:
    return " + ".join(filter(None, (_hashed(folder, hub=hub) for folder in folders)))


def _hashed(wanted: str, *, hub: bool) -> str:
    if wanted and not hub and not Path(wanted).expanduser().is_dir():
        return ""
    folder = ModelFolder(wanted, "model", "choose another one").folder
    return _hash_of(str(folder), max((one.stat().st_mtime_ns for one in folder.rglob("*")), default=0))


@lru_cache(maxsize=32)
def _hash_of(folder: str, _changed: int) -> str:
    return ModelFolder(folder, "model", "choose another one").model_hash


# ----------------------------------------------------------------------------------------------------
# The scores of a run: what its protocol makes of the predictions, with everything a report has to say beside them.

YES, NO = "yes", "no"
TRAINED_ON = "trained_on"  # the option that lets models be measured with what they were trained on


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
    files: AnswerFiles, llm: Callable[[], LLM], embedder: Callable[[str], TokenEmbedder]
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
    embedder: Callable[[str], TokenEmbedder],
    needs: frozenset[str],
    stop: StopSignal,
) -> Tools:
    """Return what the plan's options say is measured with. Raises ModelError where a model is missing.

    An NLI model tags statements by itself; without a language model only the refusals stay unscored then.
    """
    options, profile = plan.options, profile_named(plan.profile)
    chosen: dict[str, Any] = {one.name: True for one in fields(profile) if options.get(one.name) == YES}
    meaning = options.get("bertscore", YES if "embedder" in needs else "") == YES
    tools = Tools(
        profile=replace(profile, **chosen),
        measures=tuple(options.get("measures", "").split()),
        options=Options(
            float(options.get("beta", 1)), options.get("stemming") == YES, options.get("brevity_penalty") == YES
        ),
        refusals=options.get("refusals", ""),
        baseline=Baseline(*map(float, baseline.split())) if (baseline := options.get("bertscore_baseline")) else None,
        entities=options.get("entities") != NO,
        embedder=embedder(options.get(ENCODER_OPTION, "")) if meaning else None,
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
    model = options.get("qa_model", "")
    if options.get("disambig") == "qa" or (model and profile.name):
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
    searching = {one.name: load_settings(one) for one in run.plan.systems if one.evidence == SEARCH}
    if file.corpus:
        searching = {name: over_texts(one) for name, one in searching.items()}
    profile = profile_named(run.plan.profile)
    counted, otherwise = hits_of_answers(measures, searching)
    notes = (
        *file.notes,
        *tools.notes,
        *_counted(run, predictions),
        *deviations(with_values(systems) & {*measures} or measures, tools.profile),
        *otherwise,
        *search_deviations(searching.values()),
        *profile.overruled(searching.values()),
    )
    return Evaluation(
        run.plan.protocol,
        run.plan.dataset,
        measures,
        tuple(systems),
        {**_settings(run), **counted, **profile.said(searching.values()), **tools.settings},
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
    }
    searching = [load_settings(system) for system in plan.systems if system.evidence != RECORDED]
    if len(searching) > 1 and (shared := shared_words(searching)):
        found["all systems"] = shared
    for system in plan.systems:
        hashed = f", SHA-256 {system.model_hash}" if system.model_hash else ""
        model = f"{system.model}{hashed}; " if system.model else ""
        own = "; earlier turns with its own answers" if system.history == PREDICTED else ""
        plain = system.evidence != RECORDED and load_settings(system).reading.plain
        how = "; plain pipeline: one search, whole passages, one prompt, nothing judged" if plain else ""
        found[f"system, {system.name}"] = f"{model}reads: {EVIDENCE[system.evidence]}{own}{how}"
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
        encoders = Encoders.with_graphs(material.graphs, files.encoders.folders, files.encoders.find_late)
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
