"""How good the answers are: the generative reader against the extractive one on 50 questions about six PDFs.

Prints ROUGE-L F and token F1 against the reference answers (their [file#page] mark taken off), precision and recall of
the cited pages, and seconds per answer; last the ratio of the two readers' ROUGE-L F.
The passages are the ones that the default recipe finds (hybrid over windows of 120 words; bm25 with --quick, which
needs no encoder), the same for both readers.

    python benchmarks/answer_northwind.py [--quick] [--model NAME_OR_PATH] [--passages 2] [--merge] [--show]
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from northwind import DATA, ROOT, passages, read

from pdfqa_core.chunking import Windows
from pdfqa_core.llm import LlamaCpp
from pdfqa_core.llm.catalogue import resolve
from pdfqa_core.metrics.rouge import rouge_l
from pdfqa_core.metrics.token_f1 import token_f1
from pdfqa_core.reading import ExtractiveReader, GenerativeReader
from pdfqa_core.retrieval import Encoder, Index, retrievers
from pdfqa_core.retrieval.evidence import merged
from pdfqa_core.types import Answer, Done, Hit, Reader

QUICK = 8
_CITED = re.compile(r"\[([^\[\]#]+)#page=(\d+)\]")


@dataclass(frozen=True)
class Item:
    """A question, its reference answer and the pages that the reference cites."""

    question: str
    reference: str
    pages: frozenset[tuple[str, int]]


def read_items(file: Path) -> list[Item]:
    items = []
    for line in file.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        pages = frozenset((name, int(page)) for name, page in _CITED.findall(row["truth"]))
        items.append(Item(row["question"], _CITED.sub("", row["truth"]).strip(), pages))
    return items


@dataclass
class Result:
    """The scores of one reader."""

    rouge: list[float]
    f1: list[float]
    precision: list[float]
    recall: list[float]
    seconds: list[float]
    refused: int = 0

    def line(self, name: str) -> str:
        """Return the scores as a line of the table."""
        return (
            f"{name:<12} ROUGE-L F {fmean(self.rouge):.3f}  token F1 {fmean(self.f1):.3f}  "
            f"cited pages P {fmean(self.precision):.3f} R {fmean(self.recall):.3f}  "
            f"{fmean(self.seconds):5.2f} s/answer  refused {self.refused}  n {len(self.rouge)}"
        )


def run(reader: Reader, items: Sequence[Item], found: Sequence[Sequence[Hit]], show: bool) -> Result:
    result = Result([], [], [], [], [])
    for item, hits in zip(items, found, strict=True):
        began = time.perf_counter()
        answer = last_answer(reader.read(item.question, hits))
        result.seconds.append(time.perf_counter() - began)
        result.rouge.append(rouge_l(answer.text, [item.reference]) or 0.0)
        result.f1.append(token_f1(answer.text, [item.reference]) or 0.0)
        cited = {(c.span.document_id, c.span.page) for c in answer.citations if c.verified}
        right = len(cited & item.pages)
        result.precision.append(right / len(cited) if cited else 0.0)
        result.recall.append(right / len(item.pages) if item.pages else 0.0)
        result.refused += answer.refused
        if show:
            print(f"Q {item.question}\nA {answer.text}\nR {item.reference}\n  {answer.notes}\n")
    return result


def last_answer(events: Iterator[object]) -> Answer:
    answer = None
    for event in events:
        if isinstance(event, Done):
            answer = event.answer
    if answer is None:
        raise RuntimeError("the reader gave no answer")
    return answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} questions, answers of 64 tokens")
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--models-dir", type=Path, default=ROOT / "models")
    parser.add_argument("--passages", type=int, default=2)
    parser.add_argument("--max-tokens", type=int, default=128)
    parser.add_argument("--questions", default="questions_50.jsonl", help="a file beside the PDFs")
    parser.add_argument("--merge", action="store_true", help="overlapping passages are read as one")
    parser.add_argument("--show", action="store_true", help="print every answer")
    chosen = parser.parse_args()
    if not DATA.is_dir():
        sys.exit(f"The PDFs are not here: {DATA}")

    items = read_items(DATA / chosen.questions)
    if chosen.quick:
        items = items[:: len(items) // QUICK][:QUICK]
        chosen.max_tokens = min(chosen.max_tokens, 64)
    made = passages(read(DATA), Windows(size=120, step=60))
    index = Index.in_memory(made, None if chosen.quick else Encoder())
    search = retrievers.get("bm25" if chosen.quick else "hybrid")(index)
    found = [search.search(item.question, 15) for item in items]
    found = [merged(hits) if chosen.merge else hits for hits in found]
    pages = [{(h.passage.document_id, p) for h in hits[: chosen.passages] for p in h.passage.pages} for hits in found]
    reached = fmean(bool(seen & item.pages) for seen, item in zip(pages, items, strict=True))
    print(f"{len(items)} questions, the first {chosen.passages} passages hold the cited page for {reached:.0%}")

    llm = LlamaCpp(resolve(chosen.model, chosen.models_dir), name=chosen.model)
    llm.load()
    extractive = run(ExtractiveReader(passages=chosen.passages), items, found, chosen.show)
    print(extractive.line("extractive"))
    reader = GenerativeReader(llm, passages=chosen.passages, max_tokens=chosen.max_tokens)
    generative = run(reader, items, found, chosen.show)
    print(generative.line("generative"))
    print(f"generative / extractive ROUGE-L F: {fmean(generative.rouge) / fmean(extractive.rouge):.2f}")


if __name__ == "__main__":
    main()
