"""What an index costs by its size: seconds to build and to open, disk, memory, milliseconds of a search.

The index in memory beside the one in LanceDB. Passages of 100 words are drawn by Zipf's law with a seed, 500 in a
document; vectors are drawn too (500 topics, perturbed), not encoded. Each index is built in one new process and opened
and searched in another (imports are not counted), by BM25, and by meaning and both with a graph and exactly. Where more
than one size is measured, the exponent of a cost is its slope on logarithmic scales: 1 is linear. With --bm25 the same
questions go to rank-bm25 and bm25s as well, as baselines of BM25. The last line is the ratio of a hybrid search in
LanceDB to one in memory.

    python benchmarks/index_speed.py [--quick] [--sizes 100000] [--kinds memory lance] [--bm25]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from common import in_child, options, row

from pdfqa_core.retrieval import BM25, Dense, Hybrid, Index, SearchIndex
from pdfqa_core.retrieval.lance import LanceIndex
from pdfqa_core.retrieval.lance.library import libraries
from pdfqa_core.text import content_terms, terms
from pdfqa_core.types import Passage, Span

WORDS, PER_DOCUMENT, TOPICS, DIMENSION = 100, 500, 500, 384
QUESTIONS, K = 100, 10
QUICK = [1_000, 5_000]
EXACTLY = 10**12  # more passages than any index has


class DrawnVectors:
    """At the encoder protocol: a text's vector is that of a topic, perturbed, both drawn by the text's letters.

    Real sentence embeddings crowd like this; vectors without any topics have no near neighbours for a graph to find.
    """

    name = "topic-vectors"
    model_hash = "topics"

    def __init__(self) -> None:
        self.topics = np.random.default_rng(1).normal(size=(TOPICS, DIMENSION)).astype(np.float32)

    def encode(self, texts: Sequence[str], **_: object) -> np.ndarray:
        """Return one vector of length 1 per text."""
        made = np.empty((len(texts), DIMENSION), dtype=np.float32)
        for place, text in enumerate(texts):
            draw = np.random.default_rng(zlib.crc32(text.encode()))
            made[place] = self.topics[draw.integers(TOPICS)]
            made[place] += 0.7 * draw.standard_normal(DIMENSION, dtype=np.float32)
        return made / np.linalg.norm(made, axis=1, keepdims=True)


def document(number: int) -> list[Passage]:
    """Return the passages of one document."""
    drawn = np.minimum(np.random.default_rng(number).zipf(1.2, size=(PER_DOCUMENT, WORDS)), 50_000)
    texts = [" ".join(f"w{word}" for word in words) for words in drawn]
    name = f"doc{number}"
    return [Passage(f"{name}-{n}", (Span(name, n, 0, len(text)),), text) for n, text in enumerate(texts, 1)]


def asked(count: int) -> list[str]:
    """Return questions of ten words that stand in one passage each."""
    draw = np.random.default_rng(1)
    texts = (document(int(number))[draw.integers(PER_DOCUMENT)].text for number in draw.integers(0, count, QUESTIONS))
    return [" ".join(draw.choice(text.split(), 10)) for text in texts]


def opened(kind: str, documents: int, root: Path) -> SearchIndex:
    """Build or open an index."""
    made = {f"doc{number}": partial(document, number) for number in range(documents)}
    if kind == "lance":
        return LanceIndex.open_or_build(root, "scale", made, encoder=DrawnVectors())
    return Index.open_or_build(root, "scale", made, encoder=DrawnVectors(), embeddings=True)


def milliseconds(search: Callable[[str], object], questions: Sequence[str]) -> dict[str, float]:
    """Return the median and the 95th percentile of a search, after one that warms up."""
    search(questions[0])
    taken = []
    for question in questions:
        began = time.perf_counter()
        search(question)
        taken.append(1000 * (time.perf_counter() - began))
    return {"median": float(np.median(taken)), "95 %": float(np.percentile(taken, 95))}


def measure(kind: str, phase: str, count: int, root: Path) -> dict[str, float]:
    """Return what it costs to build an index, or to open it and search in it."""
    import psutil

    if kind == "lance":
        libraries()  # seconds of importing it are those of any size
    before, began = psutil.Process().memory_info().rss, time.perf_counter()
    index = opened(kind, count // PER_DOCUMENT, root)
    graph = Dense(index, exact_below=1)
    graph.prepare()
    costs = {f"{phase}, s": time.perf_counter() - began}
    if phase == "build":
        files = [file for file in root.rglob("*") if file.is_file()]
        return costs | {"disk, MB": sum(file.stat().st_size for file in files) / 1e6}
    questions, exact = asked(count // PER_DOCUMENT), Dense(index, exact_below=EXACTLY)
    systems = {"bm25": BM25(index), "dense, graph": graph, "hybrid, graph": Hybrid(index, exact_below=1)}
    systems |= {"dense, exact": exact, "hybrid, exact": Hybrid(index, exact_below=EXACTLY)}
    for name, system in systems.items():
        taken = milliseconds(lambda question, system=system: system.search(question, K), questions)
        costs |= {f"{name}, {what}, ms": value for what, value in taken.items()}
    costs["memory, MB"] = (psutil.Process().memory_info().rss - before) / 1e6
    near = [{hit.passage.id for hit in graph.search(question, K)} for question in questions]
    true = [{hit.passage.id for hit in exact.search(question, K)} for question in questions]
    shared = sum(len(one & other) for one, other in zip(near, true, strict=True))
    return costs | {f"recall@{K} of the graph": shared / sum(map(len, true))}


def libraries_of_bm25(count: int) -> None:
    """Print how long rank-bm25 and bm25s take for the same questions over the same terms."""
    import bm25s
    from rank_bm25 import BM25Okapi

    tokens = [terms(one.text) for number in range(count // PER_DOCUMENT) for one in document(number)]
    okapi, sparse = BM25Okapi(tokens), bm25s.BM25(k1=1.5, b=0.75, method="robertson")
    sparse.index(tokens, show_progress=False)
    searches: dict[str, Callable[[list[str]], Any]] = {
        "rank-bm25": okapi.get_scores,
        "bm25s": lambda words: sparse.retrieve([words], k=K, show_progress=False, n_threads=0),
    }
    for name, search in searches.items():
        taken = milliseconds(
            lambda question, search=search: search(content_terms(question)), asked(count // PER_DOCUMENT)
        )
        row(f"{name}, ms", *(f"{what} {value:.2f}" for what, value in taken.items()), width=16)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000], help="passages, whole documents of 500")
    parser.add_argument("--kinds", nargs="+", choices=("memory", "lance"), default=["memory", "lance"])
    parser.add_argument("--bm25", action="store_true", help="rank-bm25 and bm25s beside it (requirements-dev.txt)")
    parser.add_argument("--phase", help=argparse.SUPPRESS)  # a child of this script
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.phase:
        print(json.dumps(measure(chosen.kinds[0], chosen.phase, chosen.sizes[0], chosen.folder)))
        return
    sizes = QUICK if chosen.quick else sorted(chosen.sizes)
    hybrid = []
    for kind in chosen.kinds:
        costs: dict[str, list[float]] = {}
        row(f"\n{kind}, passages", *(f"{size:,}" for size in sizes), "exponent")
        for size in sizes:
            with tempfile.TemporaryDirectory() as folder:
                for phase in ("build", "open"):
                    given = ("--kinds", kind, "--phase", phase, "--sizes", size, "--folder", folder)
                    for name, value in in_child(__file__, *given).items():
                        costs.setdefault(name, []).append(value)
        for name, values in costs.items():
            slope = np.polyfit(np.log(sizes), np.log(np.maximum(values, 1e-6)), 1)[0] if sizes[1:] else float("nan")
            row(name, *(f"{value:.2f}" for value in values), f"{slope:.2f}")
        hybrid.append(costs["hybrid, graph, median, ms"][-1])
    if chosen.bm25:
        libraries_of_bm25(sizes[-1])
    print(f"a hybrid search, {chosen.kinds[-1]} / {chosen.kinds[0]}: {hybrid[-1] / hybrid[0]:.1f}")


if __name__ == "__main__":
    main()
