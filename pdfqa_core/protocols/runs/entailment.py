"""Entailment: what an answer claims, against what was read for it and against the gold answer; refusals of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pdfqa_core.errors import ModelError
from pdfqa_core.evaluation_types import Prediction, ScoredSystem
from pdfqa_core.metrics.entailment import EntailmentItem, LLMTagger
from pdfqa_core.protocols.entailment import MEASURES, REFUSALS, EntailmentRow, read_rows, score_entailment
from pdfqa_core.protocols.gold.base import corpus_passage
from pdfqa_core.protocols.json_rows import peek
from pdfqa_core.protocols.runs.base import (
    GIVEN,
    GOLD,
    RECORDED,
    SEARCH,
    Case,
    CaseFile,
    Rows,
    Tools,
    answered,
    need_answers,
    run_protocols,
    scored_system,
    seen,
)
from pdfqa_core.protocols.runs.reading import read_cases
from pdfqa_core.text import plain_sentences, sentences
from pdfqa_core.types import Passage

NO_REFUSALS = "Refusals are not scored: that takes a language model, which is not available."


class Entailment:
    """Answers that stand in the file, or those of a system."""

    title: ClassVar[str] = "Entailment"
    words: ClassVar[str] = "statements of answers against context and gold answer; refusals of both"
    evidence: ClassVar[tuple[str, ...]] = (GIVEN, SEARCH, RECORDED)
    histories: ClassVar[tuple[str, ...]] = (GOLD,)
    overrides: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    needs: ClassVar[frozenset[str]] = frozenset({"llm"})
    rows: ClassVar[Rows] = Rows(contexts=True)

    def read(self, path: Path) -> CaseFile:
        """Return the questions of a file; RAGChecker's files are read too."""
        if not isinstance(peek(path).get("results"), list):
            return read_cases(path)
        cases = tuple(
            Case(row.id, row.item.question, (row.item.gold,), contexts=_texts(row), recorded=row.item.answer)
            for row in read_rows(path)
        )
        return CaseFile(path.stem, cases)

    def check(self, file: CaseFile, options: Mapping[str, str]) -> None:
        """Raise UsageError without any gold answer."""
        need_answers(file)

    def score(
        self, name: str, cases: Sequence[Case], predictions: Mapping[str, Prediction], tools: Tools
    ) -> ScoredSystem:
        """Return the three scores with their F1 and both refusals. Raises ModelError without a language model."""
        if tools.llm is None and tools.tagger is None:
            raise ModelError("Entailment needs a language model.", "Choose one, or name an NLI model with --nli.")
        there = answered(cases, predictions)
        tagger = tools.tagger or LLMTagger(tools.llm)  # type: ignore[arg-type]
        tools.settings["tagged by"] = tagger.name
        rows = [
            EntailmentRow(
                case.id,
                EntailmentItem(
                    case.question,
                    tuple(text.text for text in one.evidence) or _given(case),
                    case.references[0] if case.references else "",
                    one.answer,
                ),
            )
            for case, one in there
        ]
        split = plain_sentences if tools.profile.plain_sentences else sentences
        found, notes = score_entailment(
            name,
            rows,
            tagger,
            tools.llm,
            unusable_as_zero=tools.profile.unusable_as_zero,
            split=split,
            stop=tools.stop,
            on_done=tools.on_done,
        )
        tools.notes += notes
        if tools.llm is None and NO_REFUSALS not in tools.notes:
            tools.notes.append(NO_REFUSALS)
        return scored_system(name, cases, predictions, {item.id: item.metrics for item in found.items})

    def measures(self, systems: Sequence[ScoredSystem], tools: Tools) -> tuple[str, ...]:
        """Return the measures that have a value."""
        return seen(systems, (*MEASURES, *REFUSALS))


def _texts(row: EntailmentRow) -> tuple[Passage, ...]:
    return tuple(corpus_passage(f"{row.id}.{n}", "", text) for n, text in enumerate(row.item.contexts, start=1))


def _given(case: Case) -> tuple[str, ...]:
    return tuple(context.text for context in case.contexts)


run_protocols.register("entailment", Entailment.words)(Entailment())
