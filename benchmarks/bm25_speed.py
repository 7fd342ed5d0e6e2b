"""BM25 over postings against rank-bm25's get_scores and bm25s's retrieve, on synthetic passages with a Zipf vocabulary.

All three get the same terms. rank-bm25 defines the scores; bm25s computes another variant of idf, so that its scores
are compared for speed only. --quick: 5,000 passages instead of 50,000.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
from synthetic import milliseconds, passages, questions

from pdfqa_core.retrieval import BM25, Index
from pdfqa_core.text import content_terms, terms

K = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="under 45 s")
    count = 5_000 if parser.parse_args().quick else 50_000
    try:
        import bm25s
        from rank_bm25 import BM25Okapi
    except ImportError as error:
        sys.exit(f"{error.name} is not installed: pip install -r requirements-dev.txt")
    rng = np.random.default_rng(0)
    made = passages(count, rng)
    asked = questions(made, 100, rng)
    tokens = [terms(passage.text) for passage in made]

    began = time.perf_counter()
    index = Index.in_memory(made)
    ours = BM25(index)
    built = time.perf_counter() - began
    began = time.perf_counter()
    okapi = BM25Okapi(tokens)
    built_okapi = time.perf_counter() - began
    began = time.perf_counter()
    sparse = bm25s.BM25(k1=1.5, b=0.75, method="robertson")
    sparse.index(tokens, show_progress=False)
    built_sparse = time.perf_counter() - began
    print(f"{count} passages of {len(tokens[0])} words, {len(index.postings.vocabulary)} terms, 100 questions of 10")
    print(f"built: ours {built:.1f} s (with tokenising), rank-bm25 {built_okapi:.1f} s, bm25s {built_sparse:.1f} s")

    rows = {passage.id: row for row, passage in enumerate(index.passages)}
    worst = 0.0
    for question in asked[:20]:
        expected = okapi.get_scores(content_terms(question))
        hits = ours.search(question, 100)
        worst = max([worst, *(abs(hit.score - expected[rows[hit.passage.id]]) for hit in hits)])
    print(f"largest difference of a score from rank-bm25: {worst:.1e}")

    def bm25s_search(question: str) -> object:
        return sparse.retrieve([content_terms(question)], k=K, show_progress=False, n_threads=0)

    timed = {
        f"ours, first {K} hits": milliseconds(lambda q: ours.search(q, K), asked),
        f"bm25s retrieve, first {K}": milliseconds(bm25s_search, asked),
        "rank-bm25 get_scores": milliseconds(lambda q: okapi.get_scores(content_terms(q)), asked[:30]),
    }
    for name, (median, high) in timed.items():
        print(f"  {name:<26} median {median:8.3f} ms   p95 {high:8.3f} ms")
    (mine, _), (theirs, _), (slow, _) = timed.values()
    print(f"bm25s / ours: {theirs / mine:.2f}")
    print(f"rank-bm25 get_scores / ours: {slow / mine:.1f}")


if __name__ == "__main__":
    main()
