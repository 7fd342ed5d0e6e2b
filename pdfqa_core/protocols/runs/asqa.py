"""ASQA: long answers to ambiguous questions, written with the seed's length and scored beside the published rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel

from pdfqa_core.evaluation_types import Prediction, ScoredSystem
from pdfqa_core.metrics.asqa import once
from pdfqa_core.protocols.asqa import (
    BY_RULE,
    AmbiguousQuestion,
    measures_of,
    names_and_numbers,
    read_questions,
    score_asqa,
)
from pdfqa_core.protocols.json_rows import JsonRow
from pdfqa_core.protocols.runs.base import (
    GOLD,
    NONE,
    SEARCH,
    Case,
    CaseFile,
    Fields,
    Rows,
    Tools,
    answered,
    checked,
    need_answers,
    run_protocols,
    scored_system,
    texts_of,
    widened,
)

INSTRUCTION = (
    "The question can be read in several ways. Write one long answer that answers every reading of it, with the names, "
    "dates and numbers that belong to each."
)

MOST_TOKENS = 256  # of an answer, as in the seed


@dataclass(frozen=True, slots=True)
class AsqaCase(Case):
    """An ambiguous question with its readings."""

    row: AmbiguousQuestion | None = None


class ReadingFields(BaseModel):
    """A reading of an ambiguous question with its answers."""

    question: str = ""
    short_answers: tuple[str, ...]


class AsqaFields(Fields):
    """What a gold row holds besides."""

    qa_pairs: tuple[ReadingFields, ...]


class AsqaRows(Rows):
    """Rows with the readings of their questions; the gold answers are the long ones."""

    def gold(self, case: Case) -> dict[str, Any]:
        """Return the row of a question."""
        pairs = case.row.pairs if isinstance(case, AsqaCase) and case.row is not None else ()
        listed = [{"question": question, "short_answers": list(short)} for question, short in pairs]
        return super().gold(case) | {"qa_pairs": listed}

    def case(self, row: JsonRow) -> Case:
        """Return the question of a row."""
        case = super().case(row)
        pairs = tuple((one.question, one.short_answers) for one in checked(row, AsqaFields).qa_pairs)
        read = AmbiguousQuestion(case.id, case.question, pairs, case.references, case.recorded)
        return widened(case, AsqaCase, row=read)


class Asqa:
    """Closed book by default, as in the seed's table."""

    title: ClassVar[str] = "ASQA"
    words: ClassVar[str] = "long answers to ambiguous questions: STR-EM, ROUGE-L, Disambig-F1, DR"
    evidence: ClassVar[tuple[str, ...]] = (NONE, SEARCH)
    histories: ClassVar[tuple[str, ...]] = (GOLD,)
    overrides: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "llm": {"max_tokens": MOST_TOKENS}, "reading": {"instruction": INSTRUCTION},
    }  # fmt: skip
    needs: ClassVar[frozenset[str]] = frozenset()
    rows: ClassVar[Rows] = AsqaRows()

    def read(self, path: Path) -> CaseFile:
        """Return the rows of the data set."""
        rows = read_questions(path)
        return CaseFile(
            path.stem,
            tuple(AsqaCase(row.id, row.question, row.long_answers, recorded=row.prediction, row=row) for row in rows),
        )

    def check(self, file: CaseFile, options: Mapping[str, str]) -> None:
        """Raise UsageError without any long answer."""
        need_answers(file)

    def score(
        self, name: str, cases: Sequence[Case], predictions: Mapping[str, Prediction], tools: Tools
    ) -> ScoredSystem:
        """Return STR-EM, both ROUGE-L and Disambig-F1 of every question; DR follows from the means."""
        there = answered(cases, predictions)
        gold = [case.row for case, _ in there if isinstance(case, AsqaCase) and case.row is not None]
        find = tools.find or names_and_numbers
        found = score_asqa(
            name,
            gold,
            {case.id: one.answer for case, one in there},
            read=tools.read,
            find=once(find) if tools.profile.entity_sets else find,
            stop=tools.stop,
            on_done=tools.on_done,
        )
        by_entities = "each once" if tools.profile.entity_sets else "as often as they occur"
        found_by = getattr(tools.find, "name", "the model given") if tools.find else "rule: names and numbers"
        tools.settings["entities"] = f"found by {found_by}; counted {by_entities}"
        if tools.profile.entity_sets and tools.find is None and tools.read is None:
            tools.notes.append(BY_RULE)
        tools.settings["Disambig-F1"] = "read by a model" if tools.read is not None else "entities of both texts"
        return scored_system(name, cases, predictions, {item.id: item.metrics for item in found.items}, _texts)

    def measures(self, systems: Sequence[ScoredSystem], tools: Tools) -> tuple[str, ...]:
        """Return the measures of the data set, those of the source first under its profile."""
        return measures_of(systems, rouge_l=tools.profile.rouge_l)


def _texts(case: Case, prediction: Prediction | None) -> dict[str, str]:
    texts = texts_of(case, prediction)
    if isinstance(case, AsqaCase) and case.row is not None:
        texts["short_answers"] = " · ".join(" / ".join(short) for _, short in case.row.pairs)
    return texts


run_protocols.register("asqa", Asqa.words)(Asqa())
