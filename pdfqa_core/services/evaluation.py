"""Evaluations over a workspace: systems are recipes, gold comes from a file."""

from __future__ import annotations

import importlib.metadata
import logging
import time
import uuid
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from pdfqa_core import __version__
from pdfqa_core.background import in_background
from pdfqa_core.errors import PdfQAError, StorageError, UsageError
from pdfqa_core.json_codec import decode, encode
from pdfqa_core.models import Encoders
from pdfqa_core.protocols.gold import GoldFile
from pdfqa_core.protocols.retrieval import DEPTH, MEASURES, ItemResult, Resolved, SystemResult, resolve, run_system
from pdfqa_core.retrieval import Index, prepared
from pdfqa_core.services.answers import AnswerService
from pdfqa_core.services.documents import DocumentService
from pdfqa_core.services.indexes import IndexService
from pdfqa_core.services.tasks import Tasks
from pdfqa_core.settings import Settings
from pdfqa_core.storage.runs import Runs
from pdfqa_core.types import GoldItem, Hit, Page, Progress, Query, Run, Score, StopSignal

PROTOCOL = "retrieval"
_VERSIONED = ("sentence-transformers", "torch", "numpy", "hnswlib", "pypdfium2")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RetrievalEvaluation:
    """What every system found, and sentences on what could not be evaluated. `made_at` names a stored evaluation.

    `versions` are (name, version) of software and models, known of stored evaluations.
    """

    dataset: str
    systems: tuple[SystemResult, ...]
    notes: tuple[str, ...] = ()
    made_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    versions: tuple[tuple[str, str], ...] = ()


class EvaluationService:
    """Systems measured on the documents of each owner; what was measured is kept."""

    def __init__(
        self, runs: Runs, documents: DocumentService, indexes: IndexService, answers: AnswerService,
        encoders: Encoders, tasks: Tasks,
    ) -> None:  # fmt: skip
        self._runs = runs
        self._documents = documents
        self._indexes = indexes
        self._answers = answers
        self._encoders = encoders
        self._tasks = tasks

    def gold(self, owner: str, file: GoldFile, settings: Settings, document_ids: Sequence[str] = ()) -> Resolved:
        """Return a file's questions with their gold in the owner's documents (in some of them).

        The documents are taken as the settings read them, because spans point into that text. Raises UsageError if none
        of it is there.
        """
        documents = [document for document, _ in self._documents.readable(owner, settings, document_ids)]
        read: dict[str, dict[int, Page]] = {}

        def page(document_id: str, number: int) -> Page | None:
            if document_id not in read:
                pages = self._documents.pages(owner, document_id, settings)
                read[document_id] = {one.number: one for one in pages}
            return read[document_id].get(number)

        return resolve(file, documents, page)

    def evaluate_retrieval(
        self, owner: str, file: GoldFile, systems: Mapping[str, Settings], *, document_ids: Sequence[str] = (),
        depth: int = DEPTH, task: str = "",
    ) -> Iterator[Progress | RetrievalEvaluation]:  # fmt: skip
        """Search every question with every system, building the indexes that are missing; yields progress, then all.

        Every system is stored as a run, with the values of all measures, before the whole is yielded.

        Follow-up questions are rewritten by each system's own rewriter with the gold answers as history. A file that
        brings its own corpus is searched as it is: the passages of the systems play no part. Raises StoppedError when
        the task is stopped, UsageError where there is nothing to evaluate.
        """
        if not systems:
            raise UsageError("There is no system to evaluate.", "Choose at least one.")
        with self._tasks.start(task) as stop:
            found, notes = [], list[str]()
            corpora: dict[str, Index] = {}
            for name, settings in systems.items():
                index, seconds = yield from self._system_index(owner, file, settings, corpora, stop)
                gold = self.gold(owner, file, settings, document_ids)
                notes += gold.notes
                items = yield from self._searched(index, name, settings, gold.items, document_ids, depth, stop)
                stats = index.stats
                found.append(SystemResult(name, settings.fingerprint(), items, stats.passages, seconds, stats.bytes))
            evaluation = RetrievalEvaluation(file.name, tuple(found), tuple(dict.fromkeys(notes)))
            self._store_runs(owner, evaluation, systems)
            yield evaluation

    def _store_runs(self, owner: str, evaluation: RetrievalEvaluation, systems: Mapping[str, Settings]) -> None:
        versions = {"pdfqa": __version__, **{name: importlib.metadata.version(name) for name in _VERSIONED}}
        for position, system in enumerate(evaluation.systems):
            settings = systems[system.name]
            run = Run(
                id=f"{evaluation.made_at:%Y%m%dT%H%M%S%f}-{position:03}-{uuid.uuid4().hex[:8]}",  # sorts as made
                protocol=PROTOCOL,
                dataset=evaluation.dataset,
                system=system.name,
                settings_fingerprint=system.settings_fingerprint,
                created_at=evaluation.made_at,
                owner=owner,
                settings=settings.model_dump_json(exclude={"server"}),
                versions={**versions, **self._encoder_named(settings)},
                details=encode(system),
            )
            values = [
                Score(item.id, name, value)
                for name in MEASURES
                for item, value in zip(system.items, system.values(name), strict=True)
            ]
            self._runs.add(run, values)

    def _encoder_named(self, settings: Settings) -> dict[str, str]:
        chosen, named = settings.retrieval, {}
        if self._indexes.needs_embeddings(settings):
            named["encoder"] = chosen.embedding_model or "bundled"
        if prepared(chosen.model_dump()):
            named["late_model"] = self._encoders.token_encoder(chosen.late_model).name
        if chosen.reranker:
            named["reranker"] = chosen.reranker
        return named

    def retrieval_evaluations(self, owner: str) -> tuple[RetrievalEvaluation, ...]:
        """Return the stored evaluations, newest first, their systems in order; one that cannot be read is logged."""
        groups: dict[tuple[datetime, str], list[SystemResult]] = {}
        versions: dict[tuple[datetime, str], dict[str, str]] = {}
        for run in self._runs.list(owner, PROTOCOL):
            try:
                system = decode(SystemResult, run.details)
            except (UsageError, StorageError) as error:
                _log.warning("the run %s cannot be read: %s", run.id, error)
                continue
            key = (run.created_at, run.dataset)
            groups.setdefault(key, []).append(system)
            versions.setdefault(key, {}).update(run.versions)
        return tuple(
            RetrievalEvaluation(key[1], tuple(made), (), key[0], tuple(versions[key].items()))
            for key, made in groups.items()
        )

    def _system_index(
        self, owner: str, file: GoldFile, settings: Settings, corpora: dict[str, Index], stop: StopSignal
    ) -> Generator[Progress, None, tuple[Index, float]]:
        """Return the index of a system and how many seconds it took to open or build it.

        `corpora` keeps the indexes of a file that brings its own corpus, by encoder, for the systems that follow.
        """
        began = time.perf_counter()
        if not file.corpus:
            index = yield from self._indexes.opened(owner, settings, stop)
            return index, time.perf_counter() - began
        embeddings = self._indexes.needs_embeddings(settings)
        key = f"encoder {settings.retrieval.embedding_model}" if embeddings else ""

        def build(report: Callable[[Progress], None]) -> Index:
            encoder = self._encoders.encoder(settings.retrieval.embedding_model) if embeddings else None
            return Index.in_memory(file.corpus, encoder, on_progress=report, stop=stop)

        if key not in corpora:
            corpora[key] = yield from in_background(build)
        return corpora[key], time.perf_counter() - began

    def _searched(
        self, index: Index, name: str, settings: Settings, gold: Sequence[GoldItem], document_ids: Sequence[str],
        depth: int, stop: StopSignal,
    ) -> Generator[Progress, None, tuple[ItemResult, ...]]:  # fmt: skip
        rewriter, _ = self._answers.rewriter(settings)
        turns = settings.conversation.turns

        def search(item: GoldItem, k: int) -> list[Hit]:
            history = item.history[-turns:] if turns else ()
            asked = Query(item.question.text)
            query = rewriter.rewrite(asked.text, history, stop=stop).query if history else asked
            return self._indexes.search_in(index, query, settings, document_ids, k)

        if gold:
            prepare = self._indexes.retriever(index, settings).prepare
            yield from in_background(lambda report: prepare(on_progress=report, stop=stop))
            search(gold[0], depth)  # what is loaded on first use is not part of the first question's time
        for event in run_system(name, gold, search, depth=depth, stop=stop):
            if not isinstance(event, Progress):
                return event
            yield event
        return ()


def grid(base: Settings, chunkers: Sequence[str], retrievers: Sequence[str]) -> dict[str, Settings]:
    """Return the systems that chunkers and retrievers make, named by their recipes; none given: those of `base`.

    Raises UsageError for an unknown name.
    """
    from pdfqa_core.services import choices, recipes

    found: dict[str, Settings] = {}
    for chunker in chunkers or (base.chunking.chunker,):
        for retriever in retrievers or (base.retrieval.retriever,):
            settings = base.changed("chunking", chunker=chunker).changed("retrieval", retriever=retriever)
            choices.check(settings)
            found[recipes.name_of(settings)] = settings
    return found


def read_systems(path: Path, base: Settings) -> dict[str, Settings]:
    """Return systems from a TOML file: a table per system, with settings as in `pdfqa.toml` ([name.chunking] …).

    Raises UsageError that names the file and what is wrong.
    """
    import tomllib

    from pdfqa_core.services import choices

    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}.", "Correct it.") from error
    found = {}
    for name, sections in data.items():
        if not isinstance(sections, dict) or not all(isinstance(values, dict) for values in sections.values()):
            raise UsageError(f"{path.name}: {name!r} is no system.", "Write [name.retrieval] and its settings below.")
        settings = base
        try:
            for section, values in sections.items():
                if section not in Settings.model_fields:
                    raise UsageError(f"There is no group of settings called {section!r}.")
                settings = settings.changed(section, **values)
            choices.check(settings)
        except PdfQAError as error:
            raise UsageError(f"{path.name}, system {name!r}: {error.what}", error.hint) from error
        found[name] = settings
    return found
