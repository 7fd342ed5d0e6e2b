"""How the cost of an index grows with its passages: seconds to build and to open, size in memory and on disk.

Synthetic passages of 100 words in documents of 500; vectors are drawn, not encoded. For each size one new process
builds the index, a second one opens it (imports are not counted), both with embeddings and BM25. The exponent of a
cost is its slope over the sizes on logarithmic scales: 1 is linear. --quick: 1,000, 3,000 and 10,000 passages.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from synthetic import TopicVectors, by_document, passages

from pdfqa_core.retrieval import Hybrid, Index

SIZES = (1_000, 10_000, 100_000)
QUICK = (1_000, 3_000, 10_000)
GOAL_OPEN = 1.0


def resident() -> float:
    """Return the memory of this process in MB."""
    import psutil

    return float(psutil.Process().memory_info().rss / 1e6)


def measure(count: int, folder: Path) -> dict[str, float]:
    """Build or open the index of `count` passages in `folder`."""
    made = passages(count, np.random.default_rng(0)) if not any(folder.iterdir()) else []
    names = [f"doc{number}" for number in range(-(-count // 500))]
    documents = by_document(made) or dict.fromkeys(names, list)
    encoder = TopicVectors()

    before, began = resident(), time.perf_counter()
    index = Index.open_or_build(folder, "growth", documents, encoder=encoder, embeddings=True)
    opened = time.perf_counter()
    system = Hybrid(index, exact_below=10**9)
    system.search("w1 w2 w3 w500", 10)
    assert len(index.passages) == count
    return {
        "seconds": opened - began,
        "first search, s": time.perf_counter() - opened,
        "MB in memory": resident() - before,
        "MB on disk": sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6,
    }


def in_new_process(count: int, folder: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--measure", str(count), "--folder", str(folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="under 45 s")
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure, options.folder)))
        return
    sizes = QUICK if options.quick else SIZES
    costs: dict[str, list[float]] = {}
    print(f"{'passages':<24}" + "".join(f"{size:>12,}" for size in sizes) + "    exponent")
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            for phase in ("build", "open"):
                for name, value in in_new_process(size, Path(folder)).items():
                    costs.setdefault(f"{phase}: {name}", []).append(value)
    for name, values in costs.items():
        slope = np.polyfit(np.log(sizes), np.log(np.maximum(values, 1e-6)), 1)[0]
        print(f"{name:<24}" + "".join(f"{value:>12.2f}" for value in values) + f"    {slope:8.2f}")
    opened = costs["open: seconds"][sizes.index(10_000)]
    print(f"goal for opening 10,000 passages / seconds taken: {GOAL_OPEN / opened:.1f}")


if __name__ == "__main__":
    main()
