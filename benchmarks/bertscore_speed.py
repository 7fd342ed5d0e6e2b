"""BERTScore in batches sorted by length against the plain loop: one text at a time, every pair on its own.

Pairs are answers of 5 to 120 words with the bundled encoder; every fourth reference occurs twice. Both make the same
values, which is checked, with and without idf. Seconds include tokenising, not loading. --quick: 80 pairs, not 400.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pdfqa_core.metrics.bertscore import bertscore, greedy_match
from pdfqa_core.models.metrics import token_embedder

WORDS = (
    "the plan of a month pays covered visit deductible vaccine office dress code balance copay employee handbook is "
    "not and in out network provider emergency services mental health benefits coverage cost year team role policy"
).split()


def texts(count: int) -> list[tuple[str, str]]:
    rng = random.Random(0)

    def text() -> str:
        return " ".join(rng.choices(WORDS, k=round(rng.triangular(5, 120, 20)))) + "."

    made: list[tuple[str, str]] = []
    for number in range(count):
        made.append((text(), made[-1][1] if number % 4 == 3 else text()))
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="under 45 s")
    pairs = texts(80 if parser.parse_args().quick else 400)
    embedder = token_embedder()
    embedder.embed(["warm up"])
    predictions, references = [one for one, _ in pairs], [[other] for _, other in pairs]

    began = time.perf_counter()
    batched = bertscore(predictions, references, embedder)
    ours = time.perf_counter() - began
    began = time.perf_counter()
    weighted = bertscore(predictions, references, embedder, idf=True)
    with_idf = time.perf_counter() - began

    began = time.perf_counter()
    plain = []
    for prediction, (reference,) in zip(predictions, references, strict=True):
        (one,), (other,) = embedder.embed([prediction]), embedder.embed([reference])
        marks = [[float(not special) for special in text.special] for text in (one, other)]
        plain.append(greedy_match(one.vectors, other.vectors, *marks))
    loop = time.perf_counter() - began

    differences = [
        abs(a.f1 - b.f1) for a, b in zip(batched.items, plain, strict=True) if a is not None and b is not None
    ]
    mean = sum(item.f1 for item in batched.items if item is not None) / len(pairs)
    rare = sum(item.f1 for item in weighted.items if item is not None) / len(pairs)
    print(f"{len(pairs)} pairs of 5 to 120 words, {batched.setting}: mean F1 {mean:.4f}, with idf {rare:.4f}")
    print(f"largest difference of an F1 from the plain loop: {max(differences):.1e} over {len(differences)} pairs")
    for name, seconds in (("sorted, batches of 16", ours), ("the same with idf", with_idf), ("plain loop", loop)):
        print(f"  {name:<22} {seconds:7.2f} s   {len(pairs) / seconds:7.1f} pairs/s")
    print(f"plain loop / sorted batches: {loop / ours:.2f}")


if __name__ == "__main__":
    main()
