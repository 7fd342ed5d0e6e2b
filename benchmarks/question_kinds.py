"""How well requests for summaries, comparisons and lists are recognised by the words of a question.

`question_kinds.tsv` holds natural phrasings with their kind: on those marked "tune" the rules were made, those marked
"report" were written afterwards, before any of them was tried. The questions of public data sets, which ask for facts,
show how often an ordinary question is taken for another: those that ask for a comparison or a summary are counted too,
so read the listed ones (--show) before calling them false. Prints the share recognised by kind with 95 % intervals,
then the alarms by data set; last the ratio of ordinary questions left alone.

    python benchmarks/question_kinds.py [--quick] [--show]
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from northwind import DATA

from pdfqa_core.metrics.statistics import summarise
from pdfqa_core.reading.kinds import Kind, recognised

LABELLED = Path(__file__).with_name("question_kinds.tsv")
SHARED = DATA.parent


def data_sets() -> Iterator[tuple[str, list[str]]]:
    """Yield the questions of each data set that is here."""
    for name, files in {
        "Northwind": ("northwind/questions_50.jsonl", "northwind/unanswerable_45.jsonl"),
        "CLAPnq": ("clapnq/dev_answerable.jsonl", "clapnq/dev_unanswerable.jsonl"),
    }.items():
        lines = [
            line
            for file in files
            if (SHARED / file).is_file()
            for line in (SHARED / file).read_text("utf-8").splitlines()
        ]
        yield name, [row.get("question") or row["input"] for row in map(json.loads, lines)]
    if (file := SHARED / "aapl_10q" / "questions.csv").is_file():
        with file.open(encoding="utf-8-sig", newline="") as rows:
            yield "aapl_10q", [row["Question"] for row in csv.DictReader(rows)]
    for name, pattern in (("XQuAD, English", "xquad/*en*.json"), ("CovidQA", "covidqa/*.json")):
        for file in SHARED.glob(pattern):
            articles = json.loads(file.read_text("utf-8"))["data"]
            yield name, [q["question"] for a in articles for p in a["paragraphs"] for q in p["qas"]]
    if (file := SHARED / "conversations" / "mtrag_un_reference.jsonl").is_file():
        tasks = map(json.loads, file.read_text("utf-8").splitlines())
        yield "MT-RAG", [[turn for turn in task["input"] if turn["speaker"] == "user"][-1]["text"] for task in tasks]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the same: it takes a second")
    parser.add_argument("--show", action="store_true", help="print every alarm and every miss")
    chosen = parser.parse_args()
    with LABELLED.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t"))
    for half in ("tune", "report"):
        print(f"{half}: share recognised, 95 % interval")
        for kind in Kind:
            questions = [question for part, label, question in rows if (part, label) == (half, kind)]
            right = [float(recognised(question).kind is kind) for question in questions]
            found = summarise(right)
            print(f"  {kind:<12}{found.mean:.2f} [{found.low:.2f}, {found.high:.2f}]   n {len(right)}")
            for question, value in zip(questions, right, strict=True):
                if chosen.show and not value:
                    print(f"      {recognised(question).kind}: {question}")
    asked = alarms = 0
    since = time.perf_counter()
    for name, questions in data_sets():
        others = [
            (request.kind, question) for question in questions if (request := recognised(question)).kind != "ordinary"
        ]
        counts = ", ".join(f"{count} {kind}" for kind, count in Counter(kind for kind, _ in others).items())
        print(f"{name:<16}{len(others):>4} of {len(questions):>5,}   {counts}")
        for kind, question in others if chosen.show else ():
            print(f"      {kind}: {question}")
        asked, alarms = asked + len(questions), alarms + len(others)
    if asked:
        print(f"{1e6 * (time.perf_counter() - since) / asked:.0f} microseconds a question")
        print(f"ordinary questions left alone: {asked - alarms:,} of {asked:,}, {(asked - alarms) / asked:.4f}")


if __name__ == "__main__":
    main()
