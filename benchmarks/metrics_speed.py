"""EM, token F1, BLEU-1 and ROUGE-L of many pairs, against SQuAD's plain functions, nltk and rouge_score.

Texts of 50 words with a Zipf vocabulary, articles and punctuation; half of the words of a prediction are the
reference's. All values are compared too. --quick: 1,000 pairs instead of 10,000.
"""

from __future__ import annotations

import argparse
import random
import re
import string
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pdfqa_core.metrics.rouge import bleu_1, rouge_l, word_tokens
from pdfqa_core.metrics.short_answers import exact_match, normalise_answer, token_f1

WORDS = 50
Score = Callable[[str, str], float]


def texts(count: int) -> list[tuple[str, str]]:
    rng = random.Random(0)
    vocabulary = ["the", "a", "an", "of", "and", *(f"word{n}" for n in range(5_000))]
    weights = [1 / rank for rank in range(1, len(vocabulary) + 1)]

    def text(words: list[str]) -> str:
        return " ".join(word + rng.choice(("", "", "", "", ",", ".")) for word in words).capitalize()

    made = []
    for _ in range(count):
        reference = rng.choices(vocabulary, weights, k=WORDS)
        kept = reference[: WORDS // 2] + rng.choices(vocabulary, weights, k=WORDS - WORDS // 2)
        made.append((text(kept), text(reference)))
    return made


def plain_normalise(text: str) -> str:
    """Normalise as SQuAD's evaluation script does, step by step."""
    deleted = set(string.punctuation)
    kept = "".join(character for character in text.lower() if character not in deleted)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", kept).split())


def plain_em(prediction: str, reference: str) -> float:
    return float(plain_normalise(prediction) == plain_normalise(reference))


def plain_f1(prediction: str, reference: str) -> float:
    ours, theirs = plain_normalise(prediction).split(), plain_normalise(reference).split()
    shared = sum((Counter(ours) & Counter(theirs)).values())
    if not shared:
        return float(ours == theirs)
    precision, recall = shared / len(ours), shared / len(theirs)
    return 2 * precision * recall / (precision + recall)


def references() -> dict[str, Score]:
    try:
        from nltk.translate.bleu_score import modified_precision
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError as error:
        sys.exit(f"{error.name} is not installed: pip install -r requirements-dev.txt")
    scorer = RougeScorer(["rougeL"], use_stemmer=False)
    return {
        "EM": plain_em,
        "F1": plain_f1,
        "BLEU-1": lambda one, other: float(modified_precision([word_tokens(other)], word_tokens(one), 1)),
        "ROUGE-L": lambda one, other: scorer.score(other, one)["rougeL"].fmeasure,
    }


OURS: dict[str, Score] = {
    "EM": lambda one, other: exact_match(one, [other]) or 0.0,
    "F1": lambda one, other: token_f1(one, [other]) or 0.0,
    "BLEU-1": lambda one, other: bleu_1(one, [other]) or 0.0,
    "ROUGE-L": lambda one, other: rouge_l(one, [other]) or 0.0,
}


def timed(score: Score, pairs: list[tuple[str, str]]) -> tuple[float, list[float]]:
    began = time.perf_counter()
    values = [score(one, other) for one, other in pairs]
    return time.perf_counter() - began, values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="under 45 s")
    pairs = texts(1_000 if parser.parse_args().quick else 10_000)
    theirs = references()
    ours_total = theirs_total = 0.0
    print(f"{len(pairs):,} pairs of {WORDS} words        ours      theirs   ratio   largest difference")
    for name, score in OURS.items():
        if name == "EM":
            normalise_answer.cache_clear()
        ours, values = timed(score, pairs)
        reference, expected = timed(theirs[name], pairs)
        worst = max(abs(one - other) for one, other in zip(values, expected, strict=True))
        print(f"  {name:<26} {ours:8.3f} s {reference:9.3f} s {reference / ours:7.1f}   {worst:.1e}")
        ours_total, theirs_total = ours_total + ours, theirs_total + reference
    print(f"all four: ours {ours_total:.2f} s, SQuAD's functions + nltk + rouge_score {theirs_total:.2f} s")
    print(f"reference libraries / ours: {theirs_total / ours_total:.1f}")


if __name__ == "__main__":
    main()
