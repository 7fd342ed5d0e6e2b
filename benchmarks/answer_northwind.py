"""How good the answers are on 50 questions about six PDFs: the default reader against three others.

Systems: `generative` (the default recipe and settings), `plain` (the same model with a prompt of the first three
passages and the question, nothing else), `extractive` (sentences of the passages, no model), and `recorded` (another
system's answers, where the file is there). Measures: ROUGE-L F and token F1 against the reference answers (their
[file#page] marks taken off), precision and recall of the cited pages against those of the reference, once for all
citations and once for the supported ones, the share of sentences that are supported, the seconds to the first token and
of an answer, each with its 95 % bootstrap interval; then the paired differences, and last the ratio of ROUGE-L F of
generative and plain. The answers of `plain` are cited by the same comparison with the passages.

With --keep FOLDER what was found and answered is written there, and a run that was interrupted goes on.

    python benchmarks/answer_northwind.py [--quick] [--keep FOLDER] [--minutes M] [--model NAME_OR_PATH] [--show]
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from northwind import DATA, ROOT, passages, read

from pdfqa_core.chunking import Windows
from pdfqa_core.llm import LlamaCpp
from pdfqa_core.llm.catalogue import resolve
from pdfqa_core.metrics.rouge import rouge_l
from pdfqa_core.metrics.statistics import paired_difference, summarise
from pdfqa_core.metrics.token_f1 import token_f1
from pdfqa_core.reading import Checker, ExtractiveReader, GenerativeReader, Meaning
from pdfqa_core.reading.citations import strip_markers
from pdfqa_core.reading.stream import cut_at_loop
from pdfqa_core.retrieval import Encoder, Index, retrievers
from pdfqa_core.settings import Settings
from pdfqa_core.streaming import complete, result_of
from pdfqa_core.types import Answer, Done, Hit, Message, Passage, Reader, Support

QUICK = 4
K = 15
PLAIN_PASSAGES = 3
MEASURES = (
    "ROUGE-L F", "token F1", "citation P", "citation R", "supported P", "supported R", "supported", "first token s",
    "seconds",
)  # fmt: skip
_CITED = re.compile(r"\[([^\[\]#]+)#page=(\d+)\]")


@dataclass(frozen=True)
class Item:
    """A question, its reference answer and the pages that the reference cites."""

    question: str
    reference: str
    pages: frozenset[tuple[str, int]]


def split_pages(text: str) -> tuple[str, frozenset[tuple[str, int]]]:
    """Return a text without its [file#page=n] marks, and the pages they name."""
    return _CITED.sub("", text).strip(), frozenset((name, int(page)) for name, page in _CITED.findall(text))


def read_items(file: Path) -> list[Item]:
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return [Item(row["question"], *split_pages(row["truth"])) for row in rows]


# ------------------------------------------------------------------ systems


def last_answer(events: Iterator[object]) -> Answer:
    for event in events:
        if isinstance(event, Done):
            return event.answer
    raise RuntimeError("the reader gave no answer")


@dataclass(frozen=True)
class Plain:
    """The model with the first passages and the question, as one would paste them."""

    llm: LlamaCpp
    max_tokens: int
    checker: Checker

    def read(self, question: str, hits: Sequence[Hit]) -> Iterator[Done]:
        """Yield the answer, cut where it begins to repeat itself as the readers' answers are."""
        began, first, text = time.perf_counter(), 0.0, ""
        chosen = list(hits[:PLAIN_PASSAGES])
        prompt = "\n\n".join([*(hit.passage.text for hit in chosen), question])
        for piece in complete(self.llm, [Message("user", prompt)], max_tokens=self.max_tokens):
            first = first or time.perf_counter() - began
            text += piece
            if set(".!?\n") & set(piece) and (cut := cut_at_loop(text)) is not None:
                text = cut
                break
        text = strip_markers(text.strip())[0]
        checked = result_of(self.checker.check(text, chosen))
        yield Done(Answer(text, checked.citations, sentences=checked.sentences, seconds={"first_token": first}))


def as_row(answer: Answer, seconds: float) -> dict[str, Any]:
    """Return what is kept of an answer."""
    return {
        "answer": answer.text,
        "refused": answer.refused,
        "cited": sorted({(c.span.document_id, c.span.page) for c in answer.citations}),
        "verified": sorted({(c.span.document_id, c.span.page) for c in answer.citations if c.verified}),
        "supports": [str(sentence.support) for sentence in answer.sentences],
        "first token s": answer.seconds.get("first_token"),
        "check": answer.seconds.get("check"),
        "seconds": seconds,
    }


def recorded(file: Path) -> dict[str, dict[str, Any]]:
    """Return the answers of the other system by question."""
    found = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        text, pages = split_pages(row["answer"])
        found[row["question"]] = {"answer": text, "cited": sorted(pages), "refused": False}
    return found


def measured(row: Mapping[str, Any], item: Item) -> dict[str, float | None]:
    """Return the value of every measure for one answer."""
    supports = row.get("supports")
    shown = overlap(row["cited"], item)
    verified = overlap(row["verified"], item) if "verified" in row else (None, None)
    return {
        "ROUGE-L F": rouge_l(row["answer"], [item.reference]) or 0.0,
        "token F1": token_f1(row["answer"], [item.reference]) or 0.0,
        "citation P": shown[0],
        "citation R": shown[1],
        "supported P": verified[0],
        "supported R": verified[1],
        "supported": sum(s == Support.SUPPORTED for s in supports) / len(supports) if supports else None,
        "first token s": row.get("first token s"),
        "seconds": row.get("seconds"),
    }


def overlap(pages: Sequence[Sequence[Any]], item: Item) -> tuple[float, float]:
    """Return precision and recall of pages against those of the reference; no page at all has both 0."""
    cited = {(name, int(page)) for name, page in pages}
    right = len(cited & item.pages)
    return (right / len(cited) if cited else 0.0), right / len(item.pages)


# ------------------------------------------------------------------ what is kept between runs


class Kept:
    """The hits and answers so far, in a folder; of another model or other settings it needs another folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.hits_file, self.answers_file = folder / "hits.json", folder / "answers.jsonl"
        lines = self.answers_file.read_text("utf-8").splitlines() if self.answers_file.exists() else []
        self.answers = {(row["system"], row["question"]): row for row in map(json.loads, lines)}

    def found(self, items: Sequence[Item], made: Sequence[Passage], quick: bool, encoder: Encoder) -> list[list[Hit]]:
        """Return the hits of every question; searched for once."""
        if not self.hits_file.exists():
            name = "bm25" if quick else "hybrid"
            search = retrievers.get(name)(Index.in_memory(made, None if quick else encoder))
            pairs = {i.question: [(h.passage.id, h.score) for h in search.search(i.question, K)] for i in items}
            self.hits_file.write_text(json.dumps(pairs), "utf-8")
        known, by_id = json.loads(self.hits_file.read_text("utf-8")), {p.id: p for p in made}
        return [
            [Hit(by_id[key], score, rank, "") for rank, (key, score) in enumerate(known[item.question], 1)]
            for item in items
        ]

    def add(self, system: str, question: str, row: Mapping[str, Any]) -> None:
        """Write an answer down."""
        row = {"system": system, "question": question, **row}
        self.answers[system, question] = row
        with self.answers_file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


# ------------------------------------------------------------------ report


def report(rows: Mapping[str, Sequence[Mapping[str, Any]]], items: Sequence[Item]) -> None:
    scores = {
        name: [measured(row, item) for row, item in zip(found, items, strict=True)] for name, found in rows.items()
    }
    print(f"\n{'mean [95 % interval]':<22}" + "".join(f"{name:>22}" for name in scores))
    for measure in MEASURES:
        cells = [cell(summarise([score[measure] for score in found])) for found in scores.values()]
        print(f"{measure:<22}" + "".join(f"{text:>22}" for text in cells))
    words = {n: sum(len(r["answer"].split()) for r in f) / len(f) for n, f in rows.items()}
    print(f"{'words':<22}" + "".join(f"{words[name]:>22.0f}" for name in scores))
    print(f"{'refused':<22}" + "".join(f"{sum(r['refused'] for r in found):>22}" for found in rows.values()))
    for other in list(scores)[1:]:
        pairs = {
            m: paired_difference([s[m] for s in scores["generative"]], [s[m] for s in scores[other]])
            for m in MEASURES[:4]
        }
        print(f"generative - {other:<11}" + "   ".join(f"{m} {cell(d, '+.3f')}" for m, d in pairs.items()))
    checks = [row["check"] for row in rows["generative"] if row.get("check") is not None]
    if checks:
        print(f"comparing an answer with its passages: {1000 * sum(checks) / len(checks):.0f} ms")
    ours, theirs = (summarise([s["ROUGE-L F"] for s in scores[name]]).mean or 0.0 for name in ("generative", "plain"))
    print(f"generative / plain ROUGE-L F: {ours / theirs:.2f}")


def cell(summary: Any, form: str = ".3f") -> str:
    if summary.mean is None:
        return "-"
    return f"{summary.mean:{form}} [{summary.low:{form}}, {summary.high:{form}}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} questions, found by bm25, answers of 64 tokens")
    parser.add_argument("--model", default=Settings().llm.model)
    parser.add_argument("--models-dir", type=Path, default=ROOT / "models")
    parser.add_argument("--questions", default="questions_50.jsonl", help="a file beside the PDFs")
    parser.add_argument("--keep", type=Path, help="folder for what was found and answered")
    parser.add_argument("--minutes", type=float, default=0, help="end after so many; go on with the same --keep")
    parser.add_argument("--show", action="store_true", help="print every answer")
    chosen = parser.parse_args()
    if not DATA.is_dir():
        sys.exit(f"The PDFs are not here: {DATA}")
    with tempfile.TemporaryDirectory() as folder:
        measure(chosen, Kept(chosen.keep or Path(folder)))


def measure(chosen: argparse.Namespace, kept: Kept) -> None:
    began = time.monotonic()
    settings = Settings()
    items = read_items(DATA / chosen.questions)
    if chosen.quick:
        items = items[:: len(items) // QUICK][:QUICK]
    encoder = Encoder()
    made = passages(read(DATA), Windows(size=settings.chunking.size, step=settings.chunking.step))
    found = kept.found(items, made, chosen.quick, encoder)

    reading = settings.reading
    checker = Checker(
        meaning=None if chosen.quick else Meaning(encoder.encode),
        supported=reading.citation_threshold,
        partly=reading.partly_threshold,
    )
    llm = LlamaCpp(resolve(chosen.model, chosen.models_dir), name=chosen.model)
    llm.load()
    most = 64 if chosen.quick else settings.llm.max_tokens
    systems: dict[str, Reader | Plain] = {
        "generative": GenerativeReader(
            llm, passages=reading.passages, prompt_tokens=reading.prompt_tokens, max_tokens=most, checker=checker
        ),
        "plain": Plain(llm, most, checker),
        "extractive": ExtractiveReader(passages=reading.passages, checker=checker),
    }
    for item, hits in zip(items, found, strict=True):
        for name, system in systems.items():
            late = chosen.minutes and time.monotonic() - began > 60 * chosen.minutes
            if late or (name, item.question) in kept.answers:
                continue
            since = time.perf_counter()
            answer = last_answer(system.read(item.question, hits))
            kept.add(name, item.question, as_row(answer, time.perf_counter() - since))
    answered = [item for item in items if all((name, item.question) in kept.answers for name in systems)]
    if len(answered) < len(items):
        print(f"Not finished: {len(answered)} of {len(items)}. Run it again with the same --keep.", file=sys.stderr)
    if not answered:
        sys.exit("No question was answered by every system.")
    items = answered
    rows = {name: [kept.answers[name, item.question] for item in items] for name in systems}
    other = DATA / "recorded_answers_50.jsonl"
    if other.is_file() and chosen.questions == "questions_50.jsonl":
        answers = recorded(other)
        rows["recorded"] = [answers[item.question] for item in items]
    if chosen.show:
        for place, item in enumerate(items):
            print(f"Q {item.question}\nR {item.reference}")
            for name, answered in rows.items():
                print(f"  {name}: {answered[place]['answer']}")
    print(f"{len(items)} questions, {reading.passages} passages of {settings.chunking.size} words, {chosen.model}")
    report(rows, items)


if __name__ == "__main__":
    main()
