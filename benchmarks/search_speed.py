"""How long a search takes without encoding the question, and what a graph loses against exact search.

Passages are synthetic and their vectors are not encoded but drawn: those of 500 topics, perturbed (encoding 50,000
passages takes half an hour on two cores). bm25, dense and hybrid over 50,000 passages of 100 words; late interaction
over 5,000 passages of 130 tokens, 24 tokens a question, in 128 dimensions as ColBERT has them. Baseline of the ratio:
exact comparison of the question with all vectors by numpy. --quick: a tenth of the passages.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from synthetic import TopicVectors, by_document, milliseconds, passages, questions

from pdfqa_core.retrieval import BM25, Dense, Hybrid, Index, LateInteraction
from pdfqa_core.retrieval.late_interaction import TokenStore

K = 10
GOALS = {"bm25": 5, "dense, graph": 15, "hybrid, graph": 20, "late interaction": 150}


def show(name: str, median: float, high: float) -> None:
    goal = f"   goal p95 < {GOALS[name]} ms" if name in GOALS else ""
    print(f"  {name:<30} median {median:8.2f} ms   p95 {high:8.2f} ms{goal}", flush=True)


def late(count: int, encoder: TopicVectors, folder: Path, rng: np.random.Generator) -> None:
    made = passages(count, rng)
    index = Index.open_or_build(folder, "late", by_document(made))
    began = time.perf_counter()
    retriever = LateInteraction(index, encoder)
    retriever.prepare()
    print(
        f"late interaction: {count} passages of {encoder.tokens} tokens stored in {time.perf_counter() - began:.1f} s"
    )
    began = time.perf_counter()
    store = TokenStore.open_or_build(index, encoder)
    opened = time.perf_counter() - began
    size = sum(part.tokens.nbytes for part in store.parts)
    print(f"  {size / 1e6:.0f} MB in bytes, memory-mapped; opened and checked in {opened:.2f} s")
    show("late interaction", *milliseconds(lambda q: retriever.search(q, K), questions(made, 40, rng)))
    second = LateInteraction(index, encoder, BM25(index), candidates=100)
    show("late interaction of 100", *milliseconds(lambda q: second.search(q, K), questions(made, 40, rng)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="under 45 s")
    tenth = 10 if parser.parse_args().quick else 1
    rng, encoder = np.random.default_rng(0), TopicVectors()
    made = passages(50_000 // tenth, rng)
    asked = questions(made, 100, rng)
    with tempfile.TemporaryDirectory() as folder:
        late(5_000 // tenth, TopicVectors(128), Path(folder), rng)
        index = Index.in_memory(made, encoder)
        assert index.embeddings is not None
        vectors = index.embeddings
        began = time.perf_counter()
        Dense(index, exact_below=1).prepare()
        built = time.perf_counter() - began
        print(f"{len(made)} passages; graph built in {built:.0f} s, recall@10 {index.stats.recall:.3f}")
        systems = {
            "bm25": BM25(index),
            "dense, exact": Dense(index, exact_below=10**9),
            "dense, graph": Dense(index, exact_below=1),
            "hybrid, exact": Hybrid(index, exact_below=10**9),
            "hybrid, graph": Hybrid(index, exact_below=1),
        }
        found = {}
        for name, system in systems.items():
            found[name] = milliseconds(lambda q, s=system: s.search(q, K), asked)
            show(name, *found[name])
        exact = milliseconds(lambda q: np.argsort(-(vectors @ encoder.encode([q])[0]))[:K], asked)
        show("numpy: all cosines, sorted", *exact)
    print(f"numpy / dense, graph: {exact[0] / found['dense, graph'][0]:.1f}")


if __name__ == "__main__":
    main()
