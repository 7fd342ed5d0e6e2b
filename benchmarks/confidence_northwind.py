"""How well the retrieval confidence, by retriever, parts questions that the Northwind PDFs answer from others.

Balanced accuracy at the default threshold, at the best one (in sample), and with the threshold chosen by 10-fold cross
validation. bm25 has no encoder, so its hits are judged by words alone. What the weights are worth on questions that
they were not fitted on, and what the model adds, is measured by refusal.py.
"""

from __future__ import annotations

import numpy as np
from northwind import arguments, check, items, passages, read

from pdfqa_core.chunking import Windows
from pdfqa_core.reading import Meaning
from pdfqa_core.retrieval import Encoder, Index, confidence, retrievers
from pdfqa_core.settings import ReadingSettings

K = 5


def balanced(values: np.ndarray, answerable: np.ndarray, threshold: float) -> float:
    kept = values >= threshold
    return float((kept[answerable].mean() + (~kept[~answerable]).mean()) / 2)


def best_threshold(values: np.ndarray, answerable: np.ndarray) -> float:
    return float(max(np.unique(values), key=lambda t: balanced(values, answerable, t)))


def cross_validated(values: np.ndarray, answerable: np.ndarray, repeats: int = 20) -> float:
    rng, scores = np.random.default_rng(0), []
    for _ in range(repeats):
        folds, kept = rng.integers(0, 10, len(values)), np.zeros(len(values), dtype=bool)
        for fold in range(10):
            test = folds == fold
            kept[test] = values[test] >= best_threshold(values[~test], answerable[~test])
        scores.append((kept[answerable].mean() + (~kept[~answerable]).mean()) / 2)
    return float(np.mean(scores))


def main() -> None:
    options = arguments(__doc__.splitlines()[0]).parse_args()
    check(options.data)
    known, unknown = (items(options.data / name) for name in ("questions_50.jsonl", "unanswerable_45.jsonl"))
    answerable = np.array([True] * len(known) + [False] * len(unknown))
    made = passages(read(options.data), Windows(size=120, step=60))
    # Without embeddings (--quick) only bm25 is measured: encoding takes most of the time.
    encoder = Encoder()
    index = Index.in_memory(made, None if options.quick else encoder)
    meaning = Meaning(encoder.encode, limit=100_000)
    threshold = ReadingSettings().confidence_threshold
    measured = 0.0
    for name in ("bm25",) if options.quick else ("bm25", "dense", "rrf", "hybrid"):
        retriever = retrievers.get(name)(index)
        vectors = None if name == "bm25" else meaning.vectors
        values = np.array(
            [confidence(i.question, retriever.search(i.question, K), vectors) for i in [*known, *unknown]]
        )
        measured = balanced(values, answerable, threshold)
        best = best_threshold(values, answerable)
        print(
            f"{name:<7} at {threshold}: {measured:.3f} (answers {(values[answerable] >= threshold).mean():.2f} of the "
            f"answerable, refuses {(values[~answerable] < threshold).mean():.2f} of the others)   best {best:.3f}: "
            f"{balanced(values, answerable, best):.3f}   cross-validated {cross_validated(values, answerable):.3f}"
        )
    print(f"balanced accuracy of {name} / answering everything (0.5): {measured / 0.5:.2f}")


if __name__ == "__main__":
    main()
