"""Answers: each question on its own, closed book, with the gold passages, or through the whole system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pdfqa_core.evaluation_types import Prediction, ScoredSystem
from pdfqa_core.protocols.answer_files import Pair
from pdfqa_core.protocols.answers import BERTSCORE, DEFAULT, JUDGED, score_answers
from pdfqa_core.protocols.answers import score_meaning as meaning_of
from pdfqa_core.protocols.runs.base import (
    GIVEN,
    GOLD,
    NONE,
    SEARCH,
    Case,
    CaseFile,
    Tools,
    Values,
    answered,
    labelled,
    need_answers,
    pair_of,
    run_protocols,
    scored_system,
    seen,
    with_hits,
)
from pdfqa_core.protocols.runs.judging import check_judge, judged
from pdfqa_core.protocols.runs.reading import read_cases
from pdfqa_core.protocols.runs.rows import Rows

TEXT = tuple(name for name in DEFAULT if not name.startswith("citation"))
MISSING = "insufficient_context_detection"
HITS = ("HR@1", "HR@5")  # of those that the charts draw
CITATIONS = tuple(name for name in DEFAULT if name.startswith("citation"))


def score_pairs(
    name: str, pairs: Sequence[Pair], tools: Tools, measures: Sequence[str], judged_by_people: Sequence[Pair] = ()
) -> dict[str, Values]:
    """Return the values of pairs by id: of the text, and of what the tools have models for.

    `judged_by_people` are other answers, which tell how far a judge is right.
    """
    if not pairs:
        return {}
    more: list[Sequence[Values]] = []
    with_gold = [pair for pair in pairs if pair.references]
    if tools.embedder is not None and with_gold:
        more.append(_meaning(pairs, with_gold, tools))
    if tools.judge and tools.llm is not None:
        more.append(judged(name, pairs, tools.llm, tools, judged_by_people))
    scored = score_answers(name, pairs, measures, more=more, stop=tools.stop, on_done=tools.on_done)
    return {item.id: item.metrics for item in scored.items}


def _meaning(pairs: Sequence[Pair], with_gold: Sequence[Pair], tools: Tools) -> list[Values]:
    """Return BERTScore by pair, None where there is no gold answer."""
    assert tools.embedder is not None
    idf = tools.profile.idf and sum(len(pair.references) for pair in with_gold) > 1
    if tools.profile.idf and not idf:
        tools.notes.append("BERTScore is without idf: with one gold answer every weight would be 0.")
    found, tools.settings["BERTScore"] = meaning_of(
        with_gold, tools.embedder, idf=idf, inner_product=tools.profile.inner_product, stop=tools.stop,
        on_done=tools.on_done,
    )  # fmt: skip
    by_id = dict(zip((pair.id for pair in with_gold), found, strict=True))
    return [by_id.get(pair.id, dict.fromkeys(BERTSCORE)) for pair in pairs]


def has_citations(cases: Sequence[Case], predictions: Mapping[str, Prediction], tools: Tools) -> bool:
    """Return whether citations are scored: some gold answer has any, or the profile scores them where nobody has."""
    if any(case.gold_citations for case in cases):
        return True
    return tools.profile.empty_citations and not any(one.citations for one in predictions.values())


class Answers:
    """Every question on its own; a follow-up with the gold answers before it."""

    title: ClassVar[str] = "Answers"
    words: ClassVar[str] = "questions on their own: text, citations, meaning"
    evidence: ClassVar[tuple[str, ...]] = (SEARCH, GIVEN, NONE)
    histories: ClassVar[tuple[str, ...]] = (GOLD,)
    overrides: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    needs: ClassVar[frozenset[str]] = frozenset()
    rows: ClassVar[Rows] = Rows()

    def read(self, path: Path) -> CaseFile:
        """Return the questions of a file."""
        return read_cases(path)

    def check(self, file: CaseFile, options: Mapping[str, str]) -> None:
        """Raise UsageError without any gold answer or place, and where a judge cannot be calibrated."""
        need_answers(file, or_places=True)
        if options.get("judge"):
            check_judge(file, options)

    def score(
        self, name: str, cases: Sequence[Case], predictions: Mapping[str, Prediction], tools: Tools
    ) -> ScoredSystem:
        """Return the values of text and citations, and those of the models that there are."""
        cited = has_citations(cases, predictions, tools)
        pairs = [pair_of(case, one, cited=cited) for case, one in answered(cases, predictions)]
        measures = (*TEXT, *CITATIONS) if cited else TEXT
        values = score_pairs(name, pairs, tools, measures, labelled(cases))
        if tools.profile.zero_missing and all(one[MISSING] is None for one in values.values()):
            values = {key: {**one, MISSING: 0.0} for key, one in values.items()}
        return scored_system(name, cases, predictions, with_hits(values, cases, predictions))

    def measures(self, systems: Sequence[ScoredSystem], tools: Tools) -> tuple[str, ...]:
        """Return the measures that have a value."""
        return seen(systems, (*TEXT, *BERTSCORE, JUDGED, *CITATIONS, *HITS))


run_protocols.register("answers", Answers.words)(Answers())
