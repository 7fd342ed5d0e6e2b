"""Whether two things can be compared: how the passages of a comparison are judged.

52 questions on Northwind's and the filings' PDFs, half of them answered by no page (`comparisons.tsv`, written before
any way was tried). Each is searched as the program does and judged by search and default model. Ways: `whole`, the
question at once (the baseline); `sides`, what is asked of each side, of which the less sure one counts. Balanced
accuracy with 95 % bootstrap intervals for questions of even and odd places in the list, and all, and the ratio to the
baseline. --keep goes on where an earlier run stopped; --search leaves the model out; --show prints each question.

    python benchmarks/comparisons.py [--keep FILE] [--search] [--threshold 0.35] [--show]
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from answers import SETS, SHARED, settings_for
from refusal import balanced, interval
from refusal_data import ROOT
from refusal_program import HALVES, MODEL

from pdfqa_core.interfaces import History, StopSignal
from pdfqa_core.reading.answerability import RETRIEVAL, Answerability, Judge
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.settings import ReadingSettings
from pdfqa_core.types import Hit, Progress

FILE = ROOT / "benchmarks" / "comparisons.tsv"
WAYS = ("whole", "sides")


@dataclass(frozen=True)
class Row:
    """The confidence in a comparison by both ways; `parts` are what is asked of each side, none if not recognised."""

    set: str
    question: str
    answerable: bool
    whole: float
    sides: float
    parts: int


class Recorder:
    """Judges both ways, and turns every question away."""

    def __init__(self, judge: Judge) -> None:
        self.judge_of = judge
        self.found: tuple[float, float, int] | None = None

    def judge(
        self, question: str, hits: Sequence[Hit], history: History = (), *, called: str = "",
        parts: Sequence[str] = (), stop: StopSignal | None = None,
    ) -> Generator[Progress, None, Answerability]:  # fmt: skip
        """Yield Progress, return that nothing answers the question."""
        whole = yield from self.judge_of.judge(question, hits, history, called=called, stop=stop)
        sides = yield from self.judge_of.judge(question, hits, history, called=called, parts=parts, stop=stop)
        self.found = whole.confidence, sides.confidence, len(parts)
        return Answerability(0.0, sides.signals)


def judged(name: str, asked: Sequence[tuple[str, bool]], workspace: Path, *, model: bool) -> Iterator[Row]:
    """Yield what is found for each question of a set."""
    chosen = settings_for(MODEL, 0)
    chosen = chosen if model else chosen.changed("reading", refusal=RETRIEVAL)
    with Services.open(workspace, chosen) as services:
        for _ in services.documents.ingest(LOCAL_OWNER, list(SETS[name](SHARED).files)):
            pass
        for _ in services.indexes.build(LOCAL_OWNER, chosen):
            pass
        answers: Any = services.answers
        made = answers._judge
        for question, answerable in asked:
            recorders: list[Recorder] = []

            def recording(*arguments: Any, kept: list[Recorder] = recorders) -> Recorder:
                kept.append(Recorder(made(*arguments)))
                return kept[-1]

            answers._judge = recording
            for _ in services.answers.ask(LOCAL_OWNER, question, chosen):
                pass
            yield Row(name, question, answerable, *(recorders[-1].found or (0.0, 0.0, 0)))


def report(rows: Sequence[Row], threshold: float) -> None:
    """Print what the two ways are worth."""
    for half, places in HALVES.items():
        some = list(rows)[places]
        known = np.array([row.answerable for row in some])
        worth = {}
        for way in WAYS:
            values = np.array([getattr(row, way) for row in some])
            worth[way] = balanced(values, known, threshold)
            low, high = interval(values, known, threshold)
            lost, right = (values[known] < threshold).mean(), (values[~known] < threshold).mean()
            print(
                f"  {half:<5} {way:<6} {worth[way]:.3f} [{low:.3f}, {high:.3f}]  turned away: {lost:.3f} of "
                f"{known.sum()}, {right:.3f} of {(~known).sum()} others"
            )
        print(f"  {half:<5} sides / whole: {worth['sides'] / worth['whole']:.2f}")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--search", action="store_true")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--threshold", type=float, default=ReadingSettings().confidence_threshold)
    chosen = parser.parse_args()
    if not (SHARED / "northwind").is_dir():
        raise SystemExit(f"There is no folder northwind in {SHARED}.")
    lines = [line.split("\t") for line in FILE.read_text("utf-8").splitlines()]
    known: dict[str, Row] = {}
    with tempfile.TemporaryDirectory() as folder:
        file = chosen.keep or Path(folder) / "rows.jsonl"
        if file.is_file():
            known = {row["question"]: Row(**row) for row in map(json.loads, file.read_text("utf-8").splitlines())}
        with file.open("a", encoding="utf-8") as out:
            for name in dict.fromkeys(line[0] for line in lines):
                new = [(text, truth == "1") for of, truth, text in lines if of == name and text not in known]
                for row in judged(name, new, Path(folder) / name, model=not chosen.search) if new else ():
                    known[row.question] = row
                    out.write(json.dumps(row.__dict__) + "\n")
                    out.flush()
    rows = [known[text] for _, _, text in lines]
    for row in rows if chosen.show else ():
        print(f"{int(row.answerable)} whole {row.whole:.2f} sides {row.sides:.2f}  {row.question}")
    print(f"threshold {chosen.threshold}, {len(rows)} questions, {sum(row.parts > 1 for row in rows)} recognised")
    report(rows, chosen.threshold)


if __name__ == "__main__":
    main()
