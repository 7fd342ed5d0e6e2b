"""Refusals of the whole program with the default model: questions that documents answer, and others.

Each question is asked as a user asks it, up to the judgement; nothing is written. Sets: `northwind` (50 questions, 45
that are called unanswerable, some of which are answered in part), `aapl` (four filings: 37 and 41), `natural`,
`sample`, `clapnq` (120 that a passage answers, and 120 that none does). Baseline: the same confidence without the
two rules on names: a name that no page mentions is refused (`reading/unmentioned.py`), and the words that name the
question's document count neither way (`document_names.unnamed`). Balanced accuracy with 95 % bootstrap intervals for
questions of even and odd places in the list, and all. --keep goes on where an earlier run stopped.

    python benchmarks/refusal_program.py [--set northwind aapl ...] [--keep FOLDER] [--threshold 0.35]
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import tempfile
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from answers import SETS, SHARED, DataSet, Item, settings_for
from refusal import RESAMPLES, balanced, interval
from refusal_data import OTHER_ANSWER, ROOT

from pdfqa_core.interfaces import History, StopSignal
from pdfqa_core.reading.answerability import Answerability, Judge, all_mentioned, calibration
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.settings import ReadingSettings
from pdfqa_core.types import Hit, Progress

MODEL = "qwen2.5-coder-1.5b"
SEED = 0  # by which CLAPnq's unanswerable questions are drawn
HALVES = {"even": slice(0, None, 2), "odd": slice(1, None, 2), "all": slice(None)}


@dataclass(frozen=True)
class Row:
    """A question's confidences with and without the rules on names, and the names that no page mentions."""

    id: str
    question: str
    answerable: bool
    now: float
    before: float
    names: tuple[str, ...] = ()


class Recorder:
    """Judges as the program does, writes down what it found, and turns every question away."""

    def __init__(self, judge: Judge) -> None:
        self.judge_of, self.names_of = knowing_all(judge), judge.unmentioned
        self.found: tuple[float, float, tuple[str, ...]] | None = None

    def judge(
        self, question: str, hits: Sequence[Hit], history: History = (), *, called: str = "",
        parts: Sequence[str] = (), stop: StopSignal | None = None,
    ) -> Generator[Progress, None, Answerability]:  # fmt: skip
        """Yield Progress, return that nothing answers the question."""
        judge, names = self.judge_of, tuple(self.names_of(question))
        found = yield from judge.judge(question, hits, history, called=called, parts=parts, stop=stop)
        before = judge.retrieval(question, hits)
        if "model" in found.signals and judge.reader is not None:
            said = found.signals["model"]
            odds = float(np.log(said) - np.log1p(-said))
            before = calibration(judge.refusal, judge.reader.llm.name).confidence(before, odds)
        self.found = 0.0 if names else found.confidence, before, names
        return Answerability(0.0, found.signals)


def knowing_all(judge: Judge) -> Judge:
    """Return a judge to whom all names are mentioned."""
    return Judge(judge.refusal, judge.retrieval, judge.reader, all_mentioned)


def questions(name: str, data: DataSet, folder: Path) -> list[Item]:
    """Return the questions of a data set, answerable ones first."""
    if name == "northwind":
        lines = (folder / "northwind" / "unanswerable_45.jsonl").read_text("utf-8").splitlines()
        return [*data.items, *_others(json.loads(line)["question"] for line in lines)]
    if name == "aapl":
        with (folder / "aapl_10q" / "questions.csv").open(encoding="utf-8") as file:
            rows = [row["Question"].strip() for row in csv.DictReader(file)]
        answered = [Item(f"a{n:02}", text, "") for n, text in enumerate(rows) if n not in OTHER_ANSWER]
        other = json.loads((ROOT / "benchmarks" / "refusal_aapl.json").read_text("utf-8"))
        absent = [rows[OTHER_ANSWER[1]], *(question for kind in other.values() for question in kind)]
        return [*answered, *_others(absent)]
    if name == "clapnq":
        file = folder / "clapnq" / "dev_unanswerable.jsonl"
        rows = [json.loads(line)["input"] for line in file.read_text("utf-8").splitlines()]
        return [*data.items, *_others(random.Random(SEED).sample(rows, min(len(data.items), len(rows))))]
    return [item for item in data.items if not item.follow_up_of]


def _others(texts: Iterator[str] | Sequence[str]) -> list[Item]:
    return [Item(f"u{n:02}", text, "", answerable=False) for n, text in enumerate(texts)]


def judged(data: DataSet, items: Sequence[Item], workspace: Path) -> Iterator[Row]:
    """Yield what the program finds for each question."""
    chosen = settings_for(MODEL, 0)
    with Services.open(workspace, chosen) as services:
        for _ in services.documents.ingest(LOCAL_OWNER, list(data.files)):
            pass
        for _ in services.indexes.build(LOCAL_OWNER, chosen):
            pass
        answers: Any = services.answers
        made = answers._judge
        for item in items:
            recorder: list[Recorder] = []

            def recording(*arguments: Any, kept: list[Recorder] = recorder) -> Recorder:
                kept.append(Recorder(made(*arguments)))
                return kept[-1]

            answers._judge = recording
            for _ in services.answers.ask(LOCAL_OWNER, item.question, chosen):
                pass
            found = recorder[-1].found or (0.0, 0.0, ())  # nothing was found that could be judged
            yield Row(item.id, item.question, item.answerable, *found)


def kept(file: Path) -> dict[str, Row]:
    """Return the rows of an earlier run by id."""
    lines = file.read_text("utf-8").splitlines() if file.is_file() else []
    rows = (json.loads(line) for line in lines)
    return {row["id"]: Row(**{**row, "names": tuple(row["names"])}) for row in rows}


def report(name: str, rows: Sequence[Row], threshold: float) -> None:
    """Print what the two ways are worth."""
    for half, places in HALVES.items():
        some = list(rows)[places]
        known = np.array([row.answerable for row in some])
        if known.all() or not known.any():
            continue
        for way in ("now", "before"):
            values = np.array([getattr(row, way) for row in some])
            low, high = interval(values, known, threshold)
            lost, right = (values[known] < threshold).mean(), (values[~known] < threshold).mean()
            print(
                f"  {name:<10} {half:<5} {way:<7} {balanced(values, known, threshold):.3f} [{low:.3f}, {high:.3f}]  "
                f"turned away: {lost:.3f} of {known.sum()}, {right:.3f} of {(~known).sum()} others"
            )
    named = [row.answerable for row in rows if row.names]
    print(f"  {name}: names that no page mentions in {len(named)}, {sum(named)} of them answerable")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", nargs="+", choices=tuple(SETS), default=list(SETS))
    parser.add_argument("--keep", type=Path, help="folder for documents and results; a run goes on there")
    parser.add_argument("--threshold", type=float, default=ReadingSettings().confidence_threshold)
    parser.add_argument("--data", type=Path, default=SHARED, help="folder with northwind, aapl_10q and clapnq")
    chosen = parser.parse_args()
    if not (chosen.data / "northwind").is_dir():
        raise SystemExit(f"There is no folder northwind in {chosen.data}. Give the folder with --data.")
    print(f"threshold {chosen.threshold}, {RESAMPLES} resamples")
    with tempfile.TemporaryDirectory() as folder:
        place = chosen.keep or Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        for name in chosen.set:
            data = SETS[name](chosen.data)
            items, file = questions(name, data, chosen.data), place / f"refusals-{name}.jsonl"
            known = kept(file)
            with file.open("a", encoding="utf-8") as out:
                for row in judged(data, [item for item in items if item.id not in known], place / f"workspace-{name}"):
                    known[row.id] = row
                    out.write(json.dumps(row.__dict__) + "\n")
                    out.flush()
            report(name, [known[item.id] for item in items], chosen.threshold)


if __name__ == "__main__":
    main()
