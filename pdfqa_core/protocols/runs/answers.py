"""Answers: each question on its own, closed book, with the gold passages, or through the whole system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pdfqa_core.evaluation_types import Prediction, ScoredSystem
from pdfqa_core.protocols.answer_files import Pair
from pdfqa_core.protocols.answers import BERTSCORE, DEFAULT, JUDGED, score_answers
from pdfqa_core.protocols.answers import score_meaning as meaning_of
from pdfqa_core.protocols.json_rows import JsonRow, check_ids, check_same_ids, load_rows, peek
from pdfqa_core.protocols.runs.base import (
    GIVEN,
    GOLD,
    NONE,
    SEARCH,
    Case,
    CaseFile,
    Rows,
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

# ----------------------------------------------------------------------------------------------------
# Runs from the files that were written of them: questions and predictions, to be scored again.

_HINT = 'Write a list of {"id": …, "answer": …}.'


@dataclass(frozen=True, slots=True)
class Written:
    """The questions of a run, and what was predicted for them by system and item."""

    file: CaseFile
    predictions: Mapping[tuple[str, str], Prediction]


def said_by(gold: Path) -> tuple[str, str]:
    """Return the protocol and the profile that a file of gold answers says it was written of; "" where it says none."""
    first = peek(gold)
    protocol = str(first.get("protocol") or "")
    return (protocol, str(first.get("profile") or "")) if protocol in run_protocols.names() else ("", "")


def read_written(protocol: str, gold: Path, data: Mapping[str, Path]) -> Written:
    """Return a run of a protocol from its gold answers and the predictions of each system, by name.

    Raises UsageError that names file, row and field, and where two files do not hold the same questions.
    """
    rows = run_protocols.get(protocol).rows
    cases = tuple(map(rows.case, _rows(gold)))
    wanted = dict.fromkeys(case.id for case in cases)
    predictions: dict[tuple[str, str], Prediction] = {}
    for name, path in data.items():
        found = {one.item_id: one for one in map(rows.prediction, _rows(path))}
        check_same_ids(found, wanted, without=("no prediction", "no gold answer"), name=path.name)
        predictions |= {(name, item): one for item, one in found.items()}
    return Written(CaseFile(gold.name, cases), predictions)


def _rows(path: Path) -> list[JsonRow]:
    rows = load_rows(path, "rows", _HINT)
    check_ids(((row.number, str(row.values["id"])) for row in rows if row.values.get("id") is not None), path.name)
    return rows


# ----------------------------------------------------------------------------------------------------
# Answers: each question on its own, closed book, with the gold passages, or through the whole system.

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
        with_gold,
        tools.embedder,
        idf=idf,
        inner_product=tools.profile.inner_product,
        stop=tools.stop,
        on_done=tools.on_done,
    )
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
