"""An index in LanceDB beside the one in memory: seconds to build and to open, disk, memory, time of a search, hits.

Synthetic passages of 100 words in documents of 500, drawn with a seed; vectors are drawn too, not encoded. Each index
is built in one new process and opened and searched in another. Sizes: 100,000 passages; --sizes 1000000 for others
(the index in memory only up to --memory passages). At the end LanceDB's costs at 10 million: on the line through the
largest two sizes where there are two, else in proportion. --quick: 2,000 and 10,000 passages.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
from synthetic import PER_DOCUMENT, TopicVectors, milliseconds, passages

from pdfqa_core.retrieval import BM25, Dense, Hybrid, Index, SearchIndex
from pdfqa_core.retrieval.lance import LanceIndex
from pdfqa_core.retrieval.lance.library import libraries
from pdfqa_core.types import Passage, Span

FAR = 10_000_000
GOAL_RECALL = 0.98
QUESTIONS = 100
GROWING = ("build, s", "open, s", "disk, MB", "memory, MB", "bm25 p95, ms", "dense p95, ms", "hybrid p95, ms")


class DrawnVectors(TopicVectors):
    """A text's vector is drawn by its letters, so that both indexes and all processes have the same."""

    def encode(self, texts: list[str], **_: object) -> np.ndarray:
        """Return one vector of length 1 per text."""
        made = np.empty((len(texts), self.topics.shape[1]), dtype=np.float32)
        for row, text in enumerate(texts):
            draw = np.random.default_rng(zlib.crc32(text.encode()))
            made[row] = self.topics[draw.integers(len(self.topics))]
            made[row] += 0.7 * draw.standard_normal(made.shape[1], dtype=np.float32)
        return made / np.linalg.norm(made, axis=1, keepdims=True)


def document(number: int) -> list[Passage]:
    """Return the passages of one document."""
    name = f"doc{number}"
    made = passages(PER_DOCUMENT, np.random.default_rng(number))
    return [
        Passage(f"{name}-{place}", (Span(name, place + 1, 0, len(one.text)),), one.text)
        for place, one in enumerate(made)
    ]


def opened(kind: str, count: int, root: Path) -> SearchIndex:
    """Build or open an index of `count` passages."""
    documents = {f"doc{n}": (lambda n=n: document(n)) for n in range(count // PER_DOCUMENT)}
    encoder = DrawnVectors()
    if kind == "lance":
        index: SearchIndex = LanceIndex.open_or_build(root, "scale", documents, encoder=encoder)
    else:
        index = Index.open_or_build(root, "scale", documents, encoder=encoder, embeddings=True)
    Dense(index).prepare()
    Hybrid(index)
    return index


def on_disk(kind: str, root: Path) -> float:
    """Return the MB of an index, without the vectors that are kept by text for any index."""
    places = [root / "lance"] if kind == "lance" else [*root.glob("[0-9a-f]*")]
    files = [file for place in places if place.is_dir() for file in place.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files if "embeddings-" not in str(file)) / 1e6


def asked(count: int) -> list[str]:
    draw = np.random.default_rng(1)
    found = []
    for number in draw.integers(0, count // PER_DOCUMENT, QUESTIONS):
        words = document(int(number))[int(draw.integers(PER_DOCUMENT))].text.split()
        found.append(" ".join(draw.choice(words, 10)))
    return found


def searched(index: SearchIndex, questions: list[str]) -> tuple[dict[str, float], dict[str, list[list[str]]]]:
    """Return milliseconds of a search, and the hits of each question by retriever."""
    systems: dict[str, Callable[[str], list]] = {
        made.name: (lambda question, made=made: made.search(question, 10))
        for made in (BM25(index), Dense(index), Hybrid(index))
    }
    exact = Dense(index, exact_below=10**12)
    systems["exact"] = lambda question: exact.search(question, 10)
    taken = {}
    for name in ("bm25", "dense", "hybrid"):
        taken[f"{name} p50, ms"], taken[f"{name} p95, ms"] = milliseconds(systems[name], questions)
    hits = {name: [[hit.passage.id for hit in search(one)] for one in questions] for name, search in systems.items()}
    return taken, hits


def measure(kind: str, phase: str, count: int, root: Path) -> dict[str, object]:
    import psutil

    questions = asked(count)
    before = psutil.Process().memory_info().rss
    if kind == "lance":
        libraries()  # seconds of importing it are those of any size
    began = time.perf_counter()
    index = opened(kind, count, root)
    costs: dict[str, object] = {f"{phase}, s": time.perf_counter() - began}
    assert len(index.passages) == count
    if phase == "build":
        return costs | {"disk, MB": on_disk(kind, root)}
    taken, hits = searched(index, questions)
    return costs | taken | {"memory, MB": (psutil.Process().memory_info().rss - before) / 1e6, "hits": hits}


def in_new_process(kind: str, phase: str, count: int, root: Path) -> dict[str, object]:
    command = [sys.executable, __file__, "--measure", kind, "--phase", phase, "--sizes", str(count), "--folder", root]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def shared(mine: list[list[str]], theirs: list[list[str]]) -> float:
    """Return the share of their hits that are mine too, of all questions."""
    return sum(len(set(a) & set(b)) for a, b in zip(mine, theirs, strict=True)) / max(sum(map(len, theirs)), 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000])
    parser.add_argument("--memory", type=int, default=100_000, help="largest index that is built in memory too")
    parser.add_argument("--quick", action="store_true", help="about a minute")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--phase", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure, options.phase, options.sizes[0], options.folder)))
        return
    sizes = [2_000, 10_000] if options.quick else sorted(options.sizes)
    lance: dict[int, dict] = {}
    for count in sizes:
        found: dict[str, dict] = {}
        for kind in ("memory", "lance") if count <= options.memory else ("lance",):
            with tempfile.TemporaryDirectory() as folder:
                found[kind] = {}
                for phase in ("build", "open"):
                    found[kind] |= in_new_process(kind, phase, count, Path(folder))
        report(count, found)
        lance[count] = found["lance"]
    print(f"\n{'by extrapolation':<18}{FAR:>12,}")
    largest = sizes[-1]
    for name in GROWING:
        value, each = lance[largest][name], lance[largest][name] / largest
        if len(sizes) > 1:
            each = (value - lance[sizes[-2]][name]) / (largest - sizes[-2])
        print(f"{name:<18}{value + each * (FAR - largest):>12,.0f}")


def report(count: int, found: dict[str, dict]) -> None:
    """Print the costs of both indexes, the ratio of LanceDB's to those of memory, and how their hits agree."""
    hits = {kind: values.pop("hits") for kind, values in found.items()}
    print(
        f"\n{count:,} passages".ljust(19)
        + "".join(f"{kind:>12}" for kind in found)
        + ("       ratio" if len(found) > 1 else "")
    )
    for name, value in found["lance"].items():
        row = [values[name] for values in found.values()]
        ratio = f"{value / row[0]:>12.2f}" if len(row) > 1 and row[0] else ""
        print(f"{name:<18}" + "".join(f"{one:>12.1f}" for one in row) + ratio)
    recall = shared(hits["lance"]["dense"], hits["lance"]["exact"])
    print(f"recall@10 of dense in LanceDB / goal: {recall:.3f} / {GOAL_RECALL} = {recall / GOAL_RECALL:.2f}")
    if "memory" in hits:
        for name in ("bm25", "dense", "hybrid", "exact"):
            print(f"share of the hits of memory, {name}: {shared(hits['lance'][name], hits['memory'][name]):.3f}")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
