"""A system of a run: what it may read for a question, and what comes of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace

from pdfqa_core.background import in_background
from pdfqa_core.errors import StoppedError, UsageError
from pdfqa_core.evaluation_types import CitedPlace, Prediction, ReadText, RunSystem
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.metrics.replies import CachedLLM
from pdfqa_core.protocols.retrieval import covered
from pdfqa_core.protocols.runs import GIVEN, NONE, PREDICTED, RECORDED, SEARCH, Case, CaseFile
from pdfqa_core.protocols.runs.hotpotqa import HotpotCase
from pdfqa_core.protocols.runs.reading import cited_id
from pdfqa_core.reading.outcomes import lines_of
from pdfqa_core.retrieval import Index, SearchIndex
from pdfqa_core.services.answers import AnswerService, Find
from pdfqa_core.services.asked import Asked
from pdfqa_core.services.indexes import IndexService
from pdfqa_core.services.systems import described
from pdfqa_core.settings import Settings, load
from pdfqa_core.types import Answer, Citation, Done, Hit, Passage, Progress, Query, Rewritten

MOST_GIVEN = 20  # passages of a data set that a reader is given, as many as the setting allows


class AskedSystem:
    """One system with all that it needs; `prepared` opens its index, `predict` puts one question to it.

    `filenames` names the owner's documents by id. `remembered` gives the model that keeps its replies, as it is now.
    `index` is what is searched, None where nothing is or it is not prepared yet.
    """

    def __init__(
        self, system: RunSystem, settings: Settings, file: CaseFile, owner: str, answers: AnswerService,
        indexes: IndexService, filenames: Mapping[str, str], remembered: Callable[[], CachedLLM | None],
        document_ids: Sequence[str] = (),
    ) -> None:  # fmt: skip
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
            case.id, answer.text, answer.refused, citations, evidence, searched, answer.confidence, answer.notes,
            seconds, found=found, perhaps=answer.perhaps, quote=self._cited(lines[0]) if lines else None,
        )  # fmt: skip

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
        )  # fmt: skip
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
