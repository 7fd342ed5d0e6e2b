"""Scoring a run over the cores of this computer against scoring it in one process: the same numbers, how much sooner.

Predictions of 100 words with a Zipf vocabulary, no language model: ASQA's measures of words, the measures of the
protocol `answers`, and the comparison of systems (intervals and p-values of every measure). The time that other
processes take to begin is part of it. --quick: without ASQA, 1,500 predictions a system instead of 1,900.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from joblib import cpu_count  # noqa: E402

from pdfqa_core.evaluation_types import Evaluation, Prediction, ScoredSystem  # noqa: E402
from pdfqa_core.metrics.comparison import compare  # noqa: E402
from pdfqa_core.metrics.short_answers import normalise_answer  # noqa: E402
from pdfqa_core.protocols import Case, Tools, run_protocols  # noqa: E402
from pdfqa_core.protocols.asqa import AsqaCase  # noqa: E402

WORDS, SENTENCE = 100, 15
MEASURES = ("answer_f1", "answer_em", "bleu_1", "rouge_l")
T = TypeVar("T")


def texts(count: int, seed: int) -> list[tuple[str, str]]:
    """Return predictions with gold answers, which share half of their words."""
    rng = random.Random(seed)
    vocabulary = ["the", "a", "an", "of", "and", *(f"word{n}" for n in range(5_000))]
    weights = [1 / rank for rank in range(1, len(vocabulary) + 1)]

    def text(words: list[str]) -> str:
        lines = [words[first : first + SENTENCE] for first in range(0, len(words), SENTENCE)]
        return " ".join(" ".join(line).capitalize() + "." for line in lines)

    made = []
    for _ in range(count):
        gold = rng.choices(vocabulary, weights, k=WORDS)
        kept = rng.randrange(WORDS)
        made.append((text(gold[:kept] + rng.choices(vocabulary, weights, k=WORDS - kept)), text(gold)))
    return made


def asqa(pairs: list[tuple[str, str]]) -> ScoredSystem:
    """Return the scores of predictions as ASQA has them."""
    cases = [
        AsqaCase(str(place), "Who?", (one, one[: len(one) // 2]), pairs=(("Which?", (" ".join(one.split()[:2]),)),))
        for place, (_, one) in enumerate(pairs)
    ]
    return _scored("asqa", "system", cases, pairs, Tools())


def answers(pairs: list[tuple[str, str]], name: str) -> ScoredSystem:
    """Return the scores of predictions as the protocol `answers` has them."""
    cases = [Case(str(place), "Who?", (one,)) for place, (_, one) in enumerate(pairs)]
    return _scored("answers", name, cases, pairs, Tools(measures=MEASURES))


def _scored(
    protocol: str, name: str, cases: Sequence[Case], pairs: list[tuple[str, str]], tools: Tools
) -> ScoredSystem:
    said = {str(place): Prediction(str(place), one) for place, (one, _) in enumerate(pairs)}
    return run_protocols.get(protocol).score(name, cases, said, tools)


def timed(what: str, work: Callable[[], T]) -> tuple[float, float]:
    """Print and return the seconds in one process and over the cores; end where the results differ."""
    seconds, found = [], []
    for cores in ("1", ""):
        os.environ["LOKY_MAX_CPU_COUNT"] = cores or str(os.cpu_count())
        normalise_answer.cache_clear()
        began = time.perf_counter()
        found.append(work())
        seconds.append(time.perf_counter() - began)
    if found[0] != found[1]:
        sys.exit(f"{what}: the numbers differ")
    one, several = seconds
    print(f"  {what:<44} {one:8.2f} s {several:8.2f} s {one / several:6.2f}   same numbers")
    return one, several


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="under 45 s")
    quick = parser.parse_args().quick
    count, systems = (1_500 if quick else 1_900), 6
    pairs = [texts(count, seed) for seed in range(systems)]
    print(f"{cpu_count()} cores, {count:,} predictions of {WORDS} words a system      serial     cores  ratio")
    made: list[ScoredSystem] = []

    def all_answers() -> list[ScoredSystem]:
        made[:] = [answers(one, f"system {place}") for place, one in enumerate(pairs)]
        return list(made)

    few = [answers(one[:20], f"few {place}") for place, one in enumerate(pairs)]
    asqa(pairs[0][:20]), compare(_evaluation(few))  # what is loaded once is loaded
    spent = [] if quick else [timed("ASQA's measures, two systems", lambda: asqa([*pairs[0], *pairs[1]]))]
    spent += [
        timed(f"measures of answers, {systems} systems", all_answers),
        timed(f"{systems} systems compared, {len(MEASURES)} measures", lambda: compare(_evaluation(made))),
    ]
    one, several = (sum(part) for part in zip(*spent, strict=True))
    print(f"one process / all cores: {one / several:.2f}")


def _evaluation(systems: list[ScoredSystem]) -> Evaluation:
    return Evaluation("answers", "synthetic", MEASURES, tuple(systems))


if __name__ == "__main__":
    main()
