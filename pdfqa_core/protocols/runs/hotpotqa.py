"""HotpotQA's distractor setting: ten paragraphs are given, the answer cites those that support it.

Citations are the places of the paragraphs in their list, from 1, as in the six measures of answer quality; the
sentences that were quoted are the supporting facts of the official joint measures. Source: Yang et al. 2018.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import Any, ClassVar

from pdfqa_core.evaluation_types import CitedPlace, Prediction, ScoredSystem
from pdfqa_core.metrics.short_answers import answer_scores, joint_scores, supporting_fact_scores
from pdfqa_core.protocols.answers import BERTSCORE, JUDGED
from pdfqa_core.protocols.gold.formats import HotpotQA as Reader
from pdfqa_core.protocols.gold.formats import paragraphs_of
from pdfqa_core.protocols.hotpotqa import PARTS, Fact, read_questions
from pdfqa_core.protocols.json_rows import JsonRow, load_rows
from pdfqa_core.protocols.runs.answers import CITATIONS, score_pairs
from pdfqa_core.protocols.runs.base import (
    GIVEN,
    GOLD,
    NONE,
    SEARCH,
    Case,
    CaseFile,
    Fields,
    Rows,
    Tools,
    Values,
    answered,
    checked,
    need_answers,
    pair_of,
    run_protocols,
    scored_system,
    seen,
    texts_of,
    widened,
)
from pdfqa_core.protocols.runs.judging import check_judge
from pdfqa_core.protocols.runs.reading import cases_of

TEXT = ("answer_f1", "answer_em", "insufficient_context_detection")
OFFICIAL = tuple(f"official_answer_{part}" for part in PARTS)
FACTS = tuple(f"{of}_{part}" for of in ("sp", "joint") for part in PARTS)
INSTRUCTION = "Answer with the name, number or few words that are asked for, or with yes or no, and nothing else."


@dataclass(frozen=True, slots=True)
class HotpotCase(Case):
    """A question with its gold facts, and where the sentences of its paragraphs begin and end."""

    facts: frozenset[Fact] = frozenset()
    sentences: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)

    def cited(self, citations: Sequence[CitedPlace]) -> tuple[CitedPlace, ...]:
        """Return citations named by the places of their paragraphs."""
        places = {context.id: str(number) for number, context in enumerate(self.contexts, start=1)}
        return tuple(replace(one, id=places.get(one.id, one.id)) for one in citations)

    def facts_of(self, citations: Sequence[CitedPlace]) -> Iterator[Fact]:
        """Yield (title, sentence number) of every sentence that a citation quotes a part of."""
        titles = [context.id for context in self.contexts]
        for one in citations:
            title = titles[int(one.id) - 1] if one.id.isdigit() and 0 < int(one.id) <= len(titles) else one.id
            for number, (start, end) in enumerate(self.sentences.get(title, ())):
                if one.start < end and start < one.end:
                    yield title, number


@dataclass(frozen=True, slots=True)
class HotpotPrediction(Prediction):
    """A prediction from a file, which names the supporting facts."""

    facts: frozenset[Fact] = frozenset()


class FactFields(Fields):
    """What rows hold besides: titles with the numbers of sentences."""

    supporting_facts: tuple[tuple[str, int], ...] = ()


class HotpotRows(Rows):
    """Rows with supporting facts, gold and predicted."""

    def gold(self, case: Case) -> dict[str, Any]:
        """Return the row of a question."""
        assert isinstance(case, HotpotCase)
        return super().gold(case) | {"supporting_facts": [list(fact) for fact in sorted(case.facts)]}

    def predicted(self, case: Case, prediction: Prediction, *, cited: bool) -> dict[str, Any]:
        """Return the row of a prediction."""
        facts = [list(fact) for fact in sorted(set(_facts_of(case, prediction)))]
        return super().predicted(case, prediction, cited=cited) | {"supporting_facts": facts}

    def case(self, row: JsonRow) -> Case:
        """Return the question of a row."""
        return widened(super().case(row), HotpotCase, facts=_facts_in(row))

    def prediction(self, row: JsonRow) -> Prediction:
        """Return the prediction of a row."""
        return widened(super().prediction(row), HotpotPrediction, facts=_facts_in(row))


def _facts_in(row: JsonRow) -> frozenset[Fact]:
    return frozenset(checked(row, FactFields).supporting_facts)


def _facts_of(case: Case, prediction: Prediction) -> Iterable[Fact]:
    """Return the facts that a prediction names, or that its quotes are taken from."""
    assert isinstance(case, HotpotCase)
    return prediction.facts if isinstance(prediction, HotpotPrediction) else case.facts_of(prediction.citations)


class HotpotQA:
    """Ten paragraphs, an answer of a few words, and the paragraphs and sentences it rests on."""

    title: ClassVar[str] = "HotpotQA"
    words: ClassVar[str] = "the distractor setting: answers with citations of given paragraphs, official joint measures"
    evidence: ClassVar[tuple[str, ...]] = (GIVEN, SEARCH, NONE)
    histories: ClassVar[tuple[str, ...]] = (GOLD,)
    overrides: ClassVar[Mapping[str, Mapping[str, Any]]] = {"reading": {"instruction": INSTRUCTION}}
    needs: ClassVar[frozenset[str]] = frozenset()
    rows: ClassVar[Rows] = HotpotRows()

    def read(self, path: Path) -> CaseFile:
        """Return the rows of the data set."""
        gold = {one.id: one for one in read_questions(path)}
        rows = {str(row.values["_id"]): row for row in load_rows(path, "questions", "Give the rows of HotpotQA.")}
        file = cases_of(Reader().read(path))
        return replace(
            file, cases=tuple(_case(one, gold[one.id].facts, paragraphs_of(rows[one.id])) for one in file.cases)
        )

    def check(self, file: CaseFile, options: Mapping[str, str]) -> None:
        """Raise UsageError without any gold answer, and where a judge cannot be calibrated."""
        need_answers(file)
        if options.get("judge"):
            check_judge(file, options)

    def score(
        self, name: str, cases: Sequence[Case], predictions: Mapping[str, Prediction], tools: Tools
    ) -> ScoredSystem:
        """Return the six measures of answer quality and the official ones of every question."""
        there = answered(cases, predictions)
        values = score_pairs(name, [pair_of(case, one, cited=True) for case, one in there], tools, (*TEXT, *CITATIONS))
        official = {case.id: _official(case, one) for case, one in there}
        return scored_system(
            name, cases, predictions, {key: {**values[key], **official[key]} for key in values}, _texts
        )

    def measures(self, systems: Sequence[ScoredSystem], tools: Tools) -> tuple[str, ...]:
        """Return the measures that have a value."""
        return seen(systems, (*TEXT[:2], *CITATIONS, TEXT[2], *BERTSCORE, JUDGED, *OFFICIAL, *FACTS))


def _case(case: Case, facts: frozenset[Fact], paragraphs: Sequence[tuple[str, tuple[str, ...]]]) -> HotpotCase:
    bounds = {
        title: tuple(zip([0, *ends], ends, strict=False))
        for title, sentences in paragraphs
        for ends in (list(accumulate(map(len, sentences))),)
    }
    supporting = {title for title, _ in facts}
    gold = tuple(str(n) for n, (title, _) in enumerate(paragraphs, start=1) if title in supporting)
    return HotpotCase(
        case.id,
        case.question,
        case.references,
        case.answerable,
        case.kind,
        contexts=case.contexts,
        gold_citations=gold,
        facts=facts,
        sentences=bounds,
    )


def _official(case: Case, prediction: Prediction) -> Values:
    assert isinstance(case, HotpotCase)
    answer = answer_scores(prediction.answer, case.references[0])
    facts = supporting_fact_scores(_facts_of(case, prediction), case.facts)
    joint = joint_scores(answer, facts)
    return {
        f"{of}_{part}": getattr(scores, part)
        for of, scores in (("official_answer", answer), ("sp", facts), ("joint", joint))
        for part in PARTS
    }


def _texts(case: Case, prediction: Prediction | None) -> dict[str, str]:
    assert isinstance(case, HotpotCase)
    given = sorted(_facts_of(case, prediction)) if prediction is not None else []
    lists = {"predicted_facts": given, "gold_facts": sorted(case.facts)}
    shown = {
        name: "; ".join(f"{title} {number}" for title, number in dict.fromkeys(one)) for name, one in lists.items()
    }
    return texts_of(case, prediction) | {name: text for name, text in shown.items() if text}


run_protocols.register("hotpotqa", HotpotQA.words)(HotpotQA())
