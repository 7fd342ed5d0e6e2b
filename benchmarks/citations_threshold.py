"""Which match of a sentence with the passages counts as supported, and which as partly supported: measured.

Sentences of answers that people wrote, with the passages they wrote them from (ClapNQ, MT-RAG, Northwind), are
"supported". Negatives are made of them: the same sentence with the most similar of 40 other questions' passages
("unrelated"), and the sentence with another number, another name, or negated ("altered"). For words, meaning and both
it prints the area under the ROC curve, then precision and recall of "supported" (against unrelated and altered, with
and without the rules on numbers, names and negation) and of "at least partly" (against unrelated) by threshold. The
thresholds with the best F1 on the even questions are told; the last table is for the odd ones.
Last, the ratio of F1 of "supported": the program's rule against "half of the words and all numbers stand in the quote".

    python benchmarks/citations_threshold.py [--quick] [--shared FOLDER]
"""

from __future__ import annotations

import argparse
import json
import random
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from northwind import DATA, GOLD, read

from pdfqa_core.reading.checking import PARTLY, SUPPORTED, contradicts
from pdfqa_core.reading.matching import Match, Quote, match, quotes, vectors_of
from pdfqa_core.reading.meaning import Meaning
from pdfqa_core.reading.numbers import claimed, stated
from pdfqa_core.retrieval import Encoder
from pdfqa_core.text import content_terms, sentences, terms
from pdfqa_core.types import Hit, Passage, Span

GRID = np.round(np.arange(0.2, 0.81, 0.05), 2)
ALTERED = ("number", "name", "negation")
_NEGATION = re.compile(r"\b(?:not|no|never|without|none|neither|nor|cannot)\b|n't\b", re.IGNORECASE)
_AUXILIARY = re.compile(r"\b(is|are|was|were|can|will|does|do|may|must|should|has|have|had|would|could)\b")
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]{2,}")


@dataclass(frozen=True)
class Source:
    """An answer that was written from passages."""

    answer: str
    passages: tuple[str, ...]


@dataclass(frozen=True)
class Example:
    """A sentence, the passages it is compared with, and what it is to them."""

    data: str
    even: bool
    kind: str
    sentence: str
    passages: tuple[str, ...]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="40 answers of ClapNQ only")
    parser.add_argument("--shared", type=Path, default=DATA.parent, help="folder of the data sets")
    chosen = parser.parse_args()
    if not (chosen.shared / "clapnq").is_dir():
        raise SystemExit(f"There is no folder clapnq in {chosen.shared}. Give the folder with --shared.")
    rng = random.Random(0)
    found: list[Example] = []
    for name, data in sources(chosen.shared, chosen.quick).items():
        found += examples(name, data, rng)
    kinds = ("supported", "unrelated", *ALTERED)
    print(f"{'sentences':<12}" + "".join(f"{kind:>11}" for kind in kinds))
    for name in dict.fromkeys(e.data for e in found):
        print(f"{name:<12}" + "".join(f"{sum(e.data == name and e.kind == k for e in found):>11}" for k in kinds))
    compared = Compared(found)
    roc(compared)
    supported, partly = thresholds(compared)
    summary(compared, supported, partly)


# ------------------------------------------------------------------ examples


def sources(shared: Path, quick: bool) -> dict[str, list[Source]]:
    clapnq = [
        Source(tidy(row["output"][0]["answer"]), tuple(tidy(p["text"]) for p in row["passages"]))
        for row in rows(shared / "clapnq" / "dev_answerable.jsonl")[: 40 if quick else 160]
    ]
    if quick:
        return {"clapnq": clapnq}
    mtrag = [
        Source(row["targets"][0]["text"], tuple(c["text"] for c in row["contexts"][:3]))
        for row in rows(shared / "conversations" / "mtrag_un_reference.jsonl")
        if "ANSWERABLE" in row["answerability"] and row["contexts"]
    ][:70]
    pages = read(shared / "northwind")
    northwind = [
        Source(
            GOLD.sub("", row["truth"]).strip(),
            tuple(pages[name][int(n) - 1].text for name, n in GOLD.findall(row["truth"])),
        )
        for row in rows(shared / "northwind" / "questions_50.jsonl")
    ]
    return {"clapnq": clapnq, "mtrag": mtrag, "northwind": northwind}


def rows(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def tidy(text: str) -> str:
    """Return tokenised text as people write it."""
    text = text.replace("`` ", '"').replace(" ''", '"').replace("( ", "(").replace(" - ", "-")
    return re.sub(r"\s+([.,;:!?%)]|'s\b|n't\b)", r"\1", text)


def examples(name: str, data: Sequence[Source], rng: random.Random) -> list[Example]:
    words = [set(content_terms(" ".join(source.passages))) for source in data]
    names = sorted({found for source in data for found in _NAME.findall(source.answer)})
    made = []
    for place, source in enumerate(data):
        for start, end in sentences(source.answer):
            sentence = source.answer[start:end]
            if len(terms(sentence)) < 4:
                continue
            wanted = set(content_terms(sentence))
            others = [i for i in range(len(data)) if not set(data[i].passages) & set(source.passages)]
            near = max(rng.sample(others, min(40, len(others))), key=lambda i: len(wanted & words[i]))
            base = Example(name, place % 2 == 0, "supported", sentence, source.passages)
            made += [base, replace(base, kind="unrelated", passages=data[near].passages)]
            made += [replace(base, kind=kind, sentence=s) for kind, s in altered(sentence, source, names, rng)]
    return made


def altered(sentence: str, source: Source, names: Sequence[str], rng: random.Random) -> list[tuple[str, str]]:
    found = []
    if numbers := claimed(sentence):
        number = rng.choice(numbers)
        other = f"{number.value + rng.choice([1, 2, 5, 10]):g}{'%' if number.percent else ''}"
        found.append(("number", sentence[: number.start] + other + sentence[number.end :]))
    if _NEGATION.search(sentence):
        found.append(("negation", _NEGATION.sub("", sentence, count=1)))
    elif auxiliary := _AUXILIARY.search(sentence):
        found.append(("negation", f"{sentence[: auxiliary.end()]} not{sentence[auxiliary.end() :]}"))
    if own := _NAME.findall(sentence):
        known = " ".join([sentence, *source.passages])
        if others := [name for name in names if name not in known]:
            found.append(("name", sentence.replace(rng.choice(own), rng.choice(others))))
    return found


# ------------------------------------------------------------------ comparing


@cache
def quotes_of(passages: tuple[str, ...]) -> list[Quote]:
    hits = [Hit(Passage(f"p{n}", (Span("d", n, 0, len(t)),), t), 1.0, n, "") for n, t in enumerate(passages, 1)]
    return [quote for hit in hits for quote in quotes(hit)]


class Compared:
    """The best match of every example by words, by meaning and by both."""

    def __init__(self, found: Sequence[Example]) -> None:
        self.examples = found
        encoder = Encoder()
        meaning = Meaning(encoder.encode, limit=1_000_000)
        texts = {e.sentence for e in found} | {part for e in found for q in quotes_of(e.passages) for part in q.parts}
        began = time.perf_counter()
        meaning.vectors(sorted(texts))
        took = time.perf_counter() - began
        print(f"\n{len(texts):,} texts encoded in {took:.0f} s, {1000 * took / len(texts):.0f} ms each")
        matches = [self._matches(example, meaning) for example in found]
        self.scores = {
            "words": np.array([max((m.containment + m.f1) / 2 for m in ms) for ms in matches]),
            "meaning": np.array([max(m.similarity or 0.0 for m in ms) for ms in matches]),
            "both": np.array([max(m.score for m in ms) for ms in matches]),
            "estimated": np.array([max(replace(m, similarity=None).score for m in ms) for ms in matches]),
        }
        best = [max(ms, key=lambda m: m.score) for ms in matches]
        self.contradicted = np.array([contradicts(e.sentence, m.quote) for e, m in zip(found, best, strict=True)])
        by_words = [max(ms, key=lambda m: m.containment) for ms in matches]
        self.earlier = np.array(
            [
                m.containment >= 0.5 and {n.key for n in claimed(e.sentence)} <= stated(m.quote.text)
                for e, m in zip(found, by_words, strict=True)
            ]
        )
        self.kinds = np.array([e.kind for e in found])
        self.even = np.array([e.even for e in found])

    @staticmethod
    def _matches(example: Example, meaning: Meaning) -> list[Match]:
        candidates = quotes_of(example.passages)
        cosines = vectors_of(candidates, meaning) @ meaning.vectors([example.sentence])[0]
        return [match(example.sentence, q, float(c)) for q, c in zip(candidates, cosines, strict=True)]

    def of(self, data: str) -> np.ndarray:
        """Return which examples are of a data set."""
        return np.array([e.data == data for e in self.examples])


def auc(positive: np.ndarray, negative: np.ndarray) -> float:
    """Return the probability that a positive scores above a negative."""
    above = (positive[:, None] > negative[None]).mean() + 0.5 * (positive[:, None] == negative[None]).mean()
    return float(above)


def precision_recall_f1(said: np.ndarray, true: np.ndarray) -> tuple[float, float, float]:
    right = (said & true).sum()
    precision, recall = right / max(1, said.sum()), right / max(1, true.sum())
    return precision, recall, 2 * precision * recall / max(1e-9, precision + recall)


def roc(compared: Compared) -> None:
    names = list(dict.fromkeys(e.data for e in compared.examples))
    print("\narea under the ROC curve, supported against unrelated / against altered")
    print(f"{'':<10}" + "".join(f"{name:>18}" for name in [*names, "all"]))
    for score in ("words", "meaning", "both"):
        cells = []
        for name in [*names, None]:
            here = compared.of(name) if name else np.ones(len(compared.kinds), dtype=bool)
            values = compared.scores[score]
            positive = values[here & (compared.kinds == "supported")]
            unrelated = values[here & (compared.kinds == "unrelated")]
            changed = values[here & np.isin(compared.kinds, ALTERED)]
            cells.append(f"{auc(positive, unrelated):.3f} / {auc(positive, changed):.3f}")
        print(f"{score:<10}" + "".join(f"{cell:>18}" for cell in cells))
    shares = {kind: compared.contradicted[compared.kinds == kind].mean() for kind in dict.fromkeys(compared.kinds)}
    print("share that the rules on numbers, names and negation hold back: "
          + ", ".join(f"{kind} {share:.1%}" for kind, share in shares.items()))  # fmt: skip


def thresholds(compared: Compared) -> tuple[float, float]:
    """Print precision and recall by threshold on the even questions and return the best two."""
    even, true = compared.even, compared.kinds == "supported"
    related = compared.kinds != "unrelated"
    values = compared.scores["both"]
    print("\neven questions, both, P / R / F1")
    print(f"{'from':<6}{'supported':>22}{'with the rules':>22}{'at least partly':>22}")
    best = {"supported": (0.0, 0.0), "partly": (0.0, 0.0)}
    for threshold in GRID:
        said = values >= threshold
        plain = precision_recall_f1(said[even], true[even])
        ruled = precision_recall_f1((said & ~compared.contradicted)[even], true[even])
        partly = precision_recall_f1(said[even], related[even])
        print(f"{threshold:<6}" + "".join("{:>9.3f} {:.3f} {:.3f} ".format(*cell) for cell in (plain, ruled, partly)))
        best["supported"] = max(best["supported"], (ruled[2], float(threshold)))
        best["partly"] = max(best["partly"], (partly[2], float(threshold)))
    print(f"best F1: supported from {best['supported'][1]}, partly from {best['partly'][1]}")
    return best["supported"][1], best["partly"][1]


def summary(compared: Compared, supported: float, partly: float) -> None:
    odd, true = ~compared.even, compared.kinds == "supported"
    print("\nodd questions: share called supported / partly / not found")
    for score, label in (("both", "words and meaning"), ("estimated", "words alone")):
        values = compared.scores[score]
        for low, high in dict.fromkeys(((PARTLY, SUPPORTED), (partly, supported))):
            said = (values >= high) & ~compared.contradicted
            p, r, f1 = precision_recall_f1(said[odd], true[odd])
            print(f"{label}, from {low} and {high}: supported P {p:.3f} R {r:.3f} F1 {f1:.3f}")
            for kind in ("supported", "unrelated", *ALTERED):
                here = odd & (compared.kinds == kind)
                if here.any():
                    first, third = said[here].mean(), (values < low)[here].mean()
                    print(f"  {kind:<10} {first:.2f} / {1 - first - third:.2f} / {third:.2f}")
    said = (compared.scores["both"] >= SUPPORTED) & ~compared.contradicted
    ours, theirs = (precision_recall_f1(x[odd], true[odd]) for x in (said, compared.earlier))
    print("half of the words and all numbers in the quote: P {:.3f} R {:.3f} F1 {:.3f}".format(*theirs))
    print(f"F1 of supported, this rule / half of the words and all numbers: {ours[2] / theirs[2]:.2f}")


if __name__ == "__main__":
    main()
