"""Judge: a language model says whether answers are right; how far it agrees with people stands beside every number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pdfqa_core.errors import ModelError
from pdfqa_core.evaluation_types import Prediction, ScoredSystem
from pdfqa_core.protocols.answers import JUDGED
from pdfqa_core.protocols.runs.base import (
    GIVEN,
    GOLD,
    NONE,
    RECORDED,
    SEARCH,
    Case,
    CaseFile,
    Tools,
    answered,
    labelled,
    need_answers,
    pair_of,
    run_protocols,
    scored_system,
    seen,
)
from pdfqa_core.protocols.runs.judging import PROBABILITY, check_judge, judged
from pdfqa_core.protocols.runs.reading import read_cases
from pdfqa_core.protocols.runs.rows import Rows


class Judge:
    """Answers that stand in the file, or those of a system."""

    title: ClassVar[str] = "Judge"
    words: ClassVar[str] = "a language model judges answers; beside it how far it agrees with people"
    evidence: ClassVar[tuple[str, ...]] = (SEARCH, GIVEN, NONE, RECORDED)
    histories: ClassVar[tuple[str, ...]] = (GOLD,)
    overrides: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    needs: ClassVar[frozenset[str]] = frozenset({"llm"})
    rows: ClassVar[Rows] = Rows()

    def read(self, path: Path) -> CaseFile:
        """Return the questions of a file."""
        return read_cases(path)

    def check(self, file: CaseFile, options: Mapping[str, str]) -> None:
        """Raise UsageError without any gold answer, and where the judge cannot be calibrated."""
        need_answers(file)
        check_judge(file, options)

    def score(
        self, name: str, cases: Sequence[Case], predictions: Mapping[str, Prediction], tools: Tools
    ) -> ScoredSystem:
        """Return the judge's verdicts. Raises ModelError without a language model."""
        if tools.llm is None:
            raise ModelError("The judge is a language model, and there is none.", "Choose one on the Models tab.")
        there = answered(cases, predictions)
        pairs = [pair_of(case, one, cited=False) for case, one in there]
        verdicts = judged(name, pairs, tools.llm, tools, labelled(cases))
        values = dict(zip((pair.id for pair in pairs), verdicts, strict=True))
        return scored_system(name, cases, predictions, values)

    def measures(self, systems: Sequence[ScoredSystem], tools: Tools) -> tuple[str, ...]:
        """Return the verdicts and their probability."""
        return seen(systems, (JUDGED, PROBABILITY))


run_protocols.register("judge", Judge.words)(Judge())
