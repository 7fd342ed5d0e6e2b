"""Automatic conversations (AuEv): turn by turn, with the gold answers or the system's own as the conversation so far.

Before each turn the answer given is replaced by the gold one and the question is rewritten by the system's own
rewriter, so that one wrong answer does not spoil what follows. Scores are grouped by turn depth.
Source: Li et al. 2022.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import Prediction, ScoredSystem
from pdfqa_core.protocols.answers import BERTSCORE, JUDGED
from pdfqa_core.protocols.runs.answers import CITATIONS, HITS, TEXT, Answers
from pdfqa_core.protocols.runs.base import (
    GIVEN,
    GOLD,
    NONE,
    PREDICTED,
    SEARCH,
    Case,
    CaseFile,
    Rows,
    Tools,
    run_protocols,
    seen,
)
from pdfqa_core.protocols.runs.reading import read_cases


class Conversations:
    """Questions in the order of their conversations."""

    title: ClassVar[str] = "Conversations"
    words: ClassVar[str] = "conversations turn by turn, with gold or own answers so far: meaning, by turn depth"
    evidence: ClassVar[tuple[str, ...]] = (SEARCH, GIVEN, NONE)
    histories: ClassVar[tuple[str, ...]] = (GOLD, PREDICTED)
    overrides: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    needs: ClassVar[frozenset[str]] = frozenset({"embedder"})
    rows: ClassVar[Rows] = Rows()

    def read(self, path: Path) -> CaseFile:
        """Return the turns of a file. Raises UsageError where no question follows up another."""
        file = read_cases(path)
        if not any(case.history for case in file.cases):
            raise UsageError(
                f"{file.name} holds no conversation: no question follows up another.",
                'Name the turn before in "follow_up_of", or run the protocol answers.',
            )
        return replace(file, cases=tuple(replace(one, conversation=one.conversation or one.id) for one in file.cases))

    def check(self, file: CaseFile, options: Mapping[str, str]) -> None:
        """Raise UsageError without any gold answer or place, and where a judge cannot be calibrated."""
        Answers().check(file, options)

    def score(
        self, name: str, cases: Sequence[Case], predictions: Mapping[str, Prediction], tools: Tools
    ) -> ScoredSystem:
        """Return the values of every turn."""
        return Answers().score(name, cases, predictions, tools)

    def measures(self, systems: Sequence[ScoredSystem], tools: Tools) -> tuple[str, ...]:
        """Return the measures that have a value, BERTScore first."""
        return seen(systems, ("bertscore_f1", *TEXT, *BERTSCORE[:2], JUDGED, *CITATIONS, *HITS))


run_protocols.register("conversations", Conversations.words)(Conversations())
