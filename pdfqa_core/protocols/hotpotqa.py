"""HotpotQA's distractor setting: ten paragraphs are given, the answer cites those that support it.

Citations are the places of the paragraphs in their list, from 1, as in the six measures of answer quality; the
sentences that were quoted are the supporting facts of the official joint measures.

Predictions in the format of the official evaluation, {"answer": {id: text}, "sp": {id: [[title, sentence number], …]}},
are scored as that does. Gold: the data set's own rows. Source: Yang et al. 2018, hotpot_evaluate_v1.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import accumulate
from pathlib import Path
from typing import Any, ClassVar

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import CitedPlace, Prediction, ScoredSystem
from pdfqa_core.metrics.bertscore import NAMES as BERTSCORE
from pdfqa_core.metrics.short_answers import Scores, answer_scores, joint_scores, supporting_fact_scores
from pdfqa_core.protocols.answers import CITATIONS, score_pairs
from pdfqa_core.protocols.base import (
    GIVEN,
    NONE,
    SEARCH,
    Case,
    CaseFile,
    Fields,
    Rows,
    RunProtocol,
    Tools,
    Values,
    Written,
    answered,
    cases_of,
    checked,
    need_gold,
    pair_of,
    run_protocols,
    scored_system,
    texts_of,
    widened,
)
from pdfqa_core.protocols.gold.base import file_readers
from pdfqa_core.protocols.gold.formats import paragraphs_of
from pdfqa_core.protocols.json_rows import JsonRow, check_ids, load_object, load_rows
from pdfqa_core.protocols.judging import JUDGED, check_judge

PARTS = ("em", "f1", "precision", "recall")
MEASURES = tuple(f"{of}_{part}" for of in ("answer", "sp", "joint") for part in PARTS)
Fact = tuple[str, int]
TEXT = ("answer_f1", "answer_em", "insufficient_context_detection")
OFFICIAL = tuple(f"official_answer_{part}" for part in PARTS)
INSTRUCTION = "Answer with the name, number or few words that are asked for, or with yes or no, and nothing else."


class Missing(StrEnum):
    """What a question without a prediction means: an error, 0 as in the official evaluation, or unscored."""

    ERROR = "error"
    ZERO = "zero"
    UNSCORED = "unscored"


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
    """A prediction from a file, which names the supporting facts; `lacking` is what counts for parts it has not."""

    facts: frozenset[Fact] = frozenset()
    lacking: Mapping[str, Scores | None] = field(default_factory=dict)


# ----------------------------------------------------------------------------------------------------
# The files of the data set, and predictions in the official format.


def read_questions(path: Path) -> tuple[HotpotCase, ...]:
    """Return the rows of a gold file, without their paragraphs. Raises UsageError that names file and row."""
    found = []
    hint = "Give the rows of HotpotQA."
    rows = load_rows(path, "questions", hint)
    for row in rows:
        given = row.values
        for key in ("_id", "answer", "supporting_facts"):
            if key not in given:
                raise UsageError(f"{row.where}: there is no {key}.", hint)
        if not isinstance(given["answer"], str):
            raise UsageError(f"{row.where}: the answer is no text.", hint)
        facts = _facts(given["supporting_facts"], row.where)
        found.append(HotpotCase(str(given["_id"]), str(given.get("question") or ""), (given["answer"],), facts=facts))
    check_ids(((row.number, one.id) for row, one in zip(rows, found, strict=True)), path.name)
    return tuple(found)


def read_predictions(
    path: Path, cases: Sequence[Case], name: str, missing: Missing = Missing.ERROR
) -> dict[str, Prediction]:
    """Return the predictions of a file for every case, by its id.

    Raises UsageError that names file and id: for what is no text and no list of facts, for a prediction whose id is no
    question's, and for a question without a prediction, unless `missing` says otherwise.
    """
    data = load_object(path)
    hint = 'Write {"answer": {id: text}, "sp": {id: [[title, number], …]}}.'
    answers = data.get("answer")
    if not isinstance(answers, Mapping) or not answers:
        raise UsageError(f"{path.name} has no answers.", hint)
    for one, answer in answers.items():
        if not isinstance(answer, str):
            raise UsageError(f"{path.name}, {one}: the answer is {type(answer).__name__}, no text.", hint)
    given = data.get("sp")
    if given is not None and not isinstance(given, Mapping):
        raise UsageError(f"{path.name}: “sp” is no object.", hint)
    facts = None if given is None else {key: _facts(value, f"{path.name}, {key}") for key, value in given.items()}
    for kind, there in (("answer", answers), ("sp", facts)):
        if there is not None:
            _check_ids(name, kind, there, cases, missing)
    absent = Scores(0.0, 0.0, 0.0, 0.0) if missing is Missing.ZERO else None
    found: dict[str, Prediction] = {}
    for case in cases:
        lacking = {} if case.id in answers else {"answer": absent}
        if facts is None or case.id not in facts:
            lacking["sp"] = None if facts is None else absent
        own = (facts or {}).get(case.id, frozenset())
        found[case.id] = HotpotPrediction(case.id, answers.get(case.id, ""), facts=own, lacking=lacking)
    return found


def _check_ids(name: str, kind: str, given: Mapping[str, Any], cases: Sequence[Case], missing: Missing) -> None:
    known = {case.id for case in cases}
    if extra := next((one for one in given if one not in known), None):
        raise UsageError(f"{name}: {kind} has the id {extra!r}, which is no question's.", "Remove it.")
    lacking = [case.id for case in cases if case.id not in given]
    if lacking and missing is Missing.ERROR:
        more = f" and {len(lacking) - 1} more" if lacking[1:] else ""
        raise UsageError(
            f"{name}: {kind} has no prediction for {lacking[0]!r}{more}.",
            "Add them, or use --missing zero (as the official evaluation does) or --missing unscored.",
        )


def _facts(value: Any, where: str) -> frozenset[Fact]:
    hint = "Supporting facts are a list of [title, sentence number]."
    if not isinstance(value, list):
        raise UsageError(f"{where}: the supporting facts are no list.", hint)
    for fact in value:
        pair = isinstance(fact, list) and len(fact) == 2 and isinstance(fact[0], str)
        if not pair or not isinstance(fact[1], int) or isinstance(fact[1], bool):
            raise UsageError(f"{where}: {fact!r} is no supporting fact.", hint)
    return frozenset((title, number) for title, number in value)


# ----------------------------------------------------------------------------------------------------
# The protocol.


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


class HotpotQA(RunProtocol):
    """Ten paragraphs, an answer of a few words, and the paragraphs and sentences it rests on."""

    title: ClassVar[str] = "HotpotQA"
    words: ClassVar[str] = "the distractor setting: answers with citations of given paragraphs, official joint measures"
    evidence: ClassVar[tuple[str, ...]] = (GIVEN, SEARCH, NONE)
    overrides: ClassVar[Mapping[str, Mapping[str, Any]]] = {"reading": {"instruction": INSTRUCTION}}
    rows: ClassVar[Rows] = HotpotRows()
    shown: ClassVar[tuple[str, ...]] = (
        *TEXT[:2], *CITATIONS, TEXT[2], *BERTSCORE, JUDGED, *OFFICIAL, *MEASURES[len(PARTS) :],
    )  # fmt: skip

    def read(self, path: Path) -> CaseFile:
        """Return the rows of the data set."""
        gold = {one.id: one for one in read_questions(path)}
        rows = {str(row.values["_id"]): row for row in load_rows(path, "questions", "Give the rows of HotpotQA.")}
        file = cases_of(file_readers.get("hotpotqa").read(path))
        return replace(
            file, cases=tuple(_case(one, gold[one.id].facts, paragraphs_of(rows[one.id])) for one in file.cases)
        )

    def check(self, file: CaseFile, options: Mapping[str, str]) -> None:
        """Raise UsageError without any gold answer, and where a judge cannot be calibrated."""
        super().check(file, options)
        if options.get("judge"):
            check_judge(file, options)

    def published(self, gold: Path | None, data: Mapping[str, Path], options: Mapping[str, str]) -> Written:
        """Return the rows of the data set with predictions in the official format."""
        gold = need_gold(gold, "the data set's file")
        cases, missing = read_questions(gold), Missing(options.get("missing", Missing.ERROR))
        predictions = {
            (name, key): one
            for name, path in data.items()
            for key, one in read_predictions(path, cases, name, missing).items()
        }
        return Written(CaseFile(gold.name, cases), predictions, {"questions without a prediction": missing.value})

    def score(
        self, name: str, cases: Sequence[Case], predictions: Mapping[str, Prediction], tools: Tools
    ) -> ScoredSystem:
        """Return the six measures of answer quality and the official ones of every question; of files these alone."""
        there = answered(cases, predictions)
        official = {
            case.id: _official(case, one, "answer" if tools.published else "official_answer") for case, one in there
        }
        if tools.published:
            return scored_system(name, cases, predictions, official, _texts)
        values = score_pairs(name, [pair_of(case, one, cited=True) for case, one in there], tools, (*TEXT, *CITATIONS))
        return scored_system(
            name, cases, predictions, {key: {**values[key], **official[key]} for key in values}, _texts
        )

    def measures(self, systems: Sequence[ScoredSystem], tools: Tools) -> tuple[str, ...]:
        """Return the measures that have a value; of files in the official format all official ones."""
        return MEASURES if tools.published else super().measures(systems, tools)


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


def _official(case: Case, prediction: Prediction, of_answer: str) -> Values:
    """Return the twelve official measures of a question, those of the answer by names that begin with `of_answer`."""
    assert isinstance(case, HotpotCase)
    lacking = prediction.lacking if isinstance(prediction, HotpotPrediction) else {}
    answer = lacking["answer"] if "answer" in lacking else answer_scores(prediction.answer, case.references[0])
    named = lacking["sp"] if "sp" in lacking else supporting_fact_scores(_facts_of(case, prediction), case.facts)
    joint = None if answer is None or named is None else joint_scores(answer, named)
    return {
        f"{of}_{part}": None if scores is None else getattr(scores, part)
        for of, scores in ((of_answer, answer), ("sp", named), ("joint", joint))
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
