"""Our BM25 over postings against rank-bm25's get_scores, on synthetic passages with a Zipf vocabulary."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rank_bm25 import BM25Okapi

from pdfqa_core.retrieval import BM25, Index
from pdfqa_core.text import content_terms, terms
from pdfqa_core.types import Passage, Span, passage_id

WORDS = 120


def synthetic(count: int, rng: np.random.Generator) -> list[Passage]:
    ids = np.minimum(rng.zipf(1.2, size=(count, WORDS)), 50_000)
    made = []
    for number, row in enumerate(ids):
        text = " ".join(f"w{i}" for i in row)
        spans = (Span(f"doc{number // 500}", number % 500 + 1, 0, len(text)),)
        made.append(Passage(passage_id("synthetic", spans), spans, text))
    return made


def median_ms(call: Callable[[str], object], questions: list[str]) -> float:
    seconds = []
    for question in questions:
        started = time.perf_counter()
        call(question)
        seconds.append(time.perf_counter() - started)
    return 1000 * float(np.median(seconds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under 45 s")
    count = 2_000 if parser.parse_args().quick else 10_000
    rng = np.random.default_rng(0)
    made = synthetic(count, rng)
    questions = [" ".join(rng.choice(p.text.split(), 10)) for p in rng.choice(np.array(made, dtype=object), 30)]
    by_document: dict[str, list[Passage]] = {}
    for passage in made:
        by_document.setdefault(passage.document_id, []).append(passage)
    providers = {i: (lambda p=p: p) for i, p in by_document.items()}
    with tempfile.TemporaryDirectory() as folder:
        for action in ("built", "opened"):
            started = time.perf_counter()
            index = Index.open_or_build(Path(folder), "synthetic", providers)
            print(f"{action} {count} passages in {time.perf_counter() - started:.2f} s")
    ours, theirs = BM25(index), BM25Okapi([terms(p.text) for p in index.passages])
    worst = 0.0
    for question in questions:
        expected = theirs.get_scores(content_terms(question))
        rows = {p.id: row for row, p in enumerate(index.passages)}
        worst = max([worst, *(abs(h.score - expected[rows[h.passage.id]]) for h in ours.search(question, 100))])
    print(f"largest difference of a score: {worst:.1e}")
    fast = median_ms(lambda q: ours.search(q, 10), questions)
    slow = median_ms(lambda q: theirs.get_scores(content_terms(q)), questions)
    print(f"median per question: ours (first 10 hits) {fast:.2f} ms, rank-bm25 get_scores {slow:.2f} ms")
    print(f"rank-bm25 / ours: {slow / fast:.1f}")


if __name__ == "__main__":
    main()
