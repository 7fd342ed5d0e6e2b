"""A system of a run: what it may read for a question, and what comes of it."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from pdfqa_core.background import in_background
from pdfqa_core.errors import ModelError, PdfQAError, StoppedError, UsageError
from pdfqa_core.evaluation_types import CitedPlace, Prediction, ReadText, RunPlan, RunSystem
from pdfqa_core.interfaces import LLM, StopSignal
from pdfqa_core.llm.catalogue import entry, is_path
from pdfqa_core.metrics.replies import CachedLLM
from pdfqa_core.models import Models
from pdfqa_core.models.files import EncoderFiles, models_of
from pdfqa_core.models.language import LanguageModel, engine_settings
from pdfqa_core.models.metrics import identity
from pdfqa_core.protocols import GIVEN, NONE, PREDICTED, RECORDED, SEARCH, Case, CaseFile
from pdfqa_core.protocols.base import cited_id
from pdfqa_core.protocols.gold import packed_folder
from pdfqa_core.protocols.hotpotqa import HotpotCase
from pdfqa_core.protocols.retrieval import covered
from pdfqa_core.reading.outcomes import lines_of
from pdfqa_core.retrieval import Index, SearchIndex, needs_embeddings, prepared
from pdfqa_core.retrieval.encoder import parts_of
from pdfqa_core.retrieval.model_folder import ModelFolder
from pdfqa_core.services.answers import AnswerService, Asked, Find
from pdfqa_core.services.indexes import IndexService
from pdfqa_core.services.systems import described
from pdfqa_core.settings import LLMSettings, Settings, load
from pdfqa_core.storage.runs import StoredReplies
from pdfqa_core.types import Answer, Citation, Done, Hit, Passage, Progress, Query, Rewritten
from pdfqa_core.whole_files import cannot_write, unfinished, write_atomically

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
        target = self._folder / f"{digest[:16]}{path.suffix.lower()}"
        if not target.is_file():
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                with unfinished(target) as draft:
                    shutil.copyfile(path, draft)
            except OSError as error:
                raise cannot_write(f"the copy of {path.name} for the run", error, "Nothing was begun.") from error
        return target, digest, path.name

    def remove(self, paths: Iterable[str]) -> None:
        """Remove files that no run needs any more."""
        for path in map(Path, paths):
            if path.parent == self._folder:
                path.unlink(missing_ok=True)

    def put(self, name: str, data: bytes) -> Path:
        """Keep the bytes of a file that came with a run, and return where; `name` is what it was kept as."""
        target = self._folder / f"{hashlib.sha256(data).hexdigest()[:16]}{Path(name).suffix.lower()}"
        if not target.is_file():
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                write_atomically(target, data)
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
        if not self._file.corpus:
            if self.system.evidence != GIVEN or any(case.gold is not None for case in self._file.cases):
                self.index = yield from self._indexes.opened(self.owner, self.settings, stop)
        elif self.system.evidence != GIVEN:
            chosen = self.settings.retrieval
            embeddings = self._indexes.needs_embeddings(self.settings)
            key = f"{chosen.embedding_model} {chosen.embedding_precision}" if embeddings else ""

            def build(report: Callable[[Progress], None]) -> SearchIndex:
                encoder = self._indexes.encoder(self.settings) if embeddings else None
                return Index.in_memory(self._file.corpus, encoder, on_progress=report, stop=stop)

            if key not in corpora:
                corpora[key] = yield from in_background(build)
            self.index = corpora[key]

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
        lines = lines_of(answer)
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


def with_unset(settings: Settings, values: Mapping[str, Mapping[str, object]]) -> Settings:
    """Return settings with these values where nobody set any, not even the default one."""
    for section, given in values.items():
        here = getattr(settings, section).model_fields_set if section in settings.model_fields_set else ()
        changed = {name: value for name, value in given.items() if name not in here}
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
        scoring[MEANING] = ""
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
    used = (here.model or here.url, here.context_size, here.chat_template, here.weights)
    foreign = [plan.options[option] for option in METRICS if plan.options.get(option)]
    for system in plan.systems:
        settings = load_settings(system)
        llm = settings.llm
        asked = (system.model, llm.context_size, llm.chat_template, llm.weights)
        if system.model and (asked != used or system.model_hash != model_hash(here, models.language.file)):
            raise UsageError(
                f"{system.name} asks {_form(*asked)}; in use here is {_form(*used)}.",
                "Choose that model and its settings on the Models tab, or begin the run anew with the one here.",
            )
        if system.evidence == SEARCH:
            foreign += models.files.encoders.foreign(models_of(settings.retrieval))
    if foreign:
        raise UsageError(
            f"The run came in a file and names a model that is not known here: {foreign[0]}.",
            "Begin it anew with a model of this computer.",
        )


def _form(model: str, context: int, template: str, weights: str) -> str:
    return f"{model} (context {context:,}, {f'template {template}, ' if template else ''}weights {weights})"


def _used(settings: Settings, files: EncoderFiles) -> Mapping[str, tuple[str, tuple[str, ...]]]:
    """Return the models that a system searches with, by what each is for: its name, and its folders or hub names."""
    chosen = settings.retrieval
    parameters = chosen.model_dump()
    found = {}
    if needs_embeddings(parameters):
        found[ENCODER] = (chosen.embedding_model, tuple(map(files.find, parts_of(chosen.embedding_model))))
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
