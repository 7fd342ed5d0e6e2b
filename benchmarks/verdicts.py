"""How far a tick can be trusted: on how many true and how many wrong sentences it stands.

Without --statements: people's sentences beside the same with one fact changed (see `verdict_pairs.py`), in halves: even
sources, on which the weights and the threshold were chosen; odd ones, which were looked at while the signs were chosen;
and later ones, which were not looked at. Then the answers of two large models whose faithfulness to the passages three
people rated from 1 to 4 (MT-RAG). Intervals are 95 % bootstrap intervals over sources. With --statements: statements
written beside passages (`verdict_statements.json`), near-copies made to fool the rules and short right paraphrases,
English and German. The rules were made with the first two lists in view, the third was run once when they were
finished. Intervals are Wilson's. The last line is the ratio of the shares with a tick, of true to wrong sentences.

    python benchmarks/verdicts.py [--quick] [--fit] [--meaning] [--statements]
"""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import astuple, fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from common import of_all, options, row, there
from verdict_pairs import Pair, pairs

from pdfqa_core.metrics.statistics import summarise
from pdfqa_core.models import graphs_path
from pdfqa_core.reading import Checker, Meaning
from pdfqa_core.reading.checking import SUPPORTED, Signs, align, signs
from pdfqa_core.reading.evidence import match, quotes
from pdfqa_core.reading.outcomes import declines
from pdfqa_core.settings import LLMSettings
from pdfqa_core.streaming import result_of
from pdfqa_core.training import said
from pdfqa_core.types import Hit, Passage, Span, Support

STATEMENTS = Path(__file__).with_name("verdict_statements.json")
SWAPPED = ("number", "period", "row", "unit", "name")  # a fact exchanged for another, mostly of the same passage
LEAST = 0.95  # share of the swapped ones of the tuning half that must have no tick
FAITHFUL, UNFAITHFUL = 3.6, 2.5  # mean rating from which on, below which an answer counts as such


def meaning() -> Meaning:
    from pdfqa_core.retrieval import Encoder

    return Meaning(Encoder(graphs=graphs_path(LLMSettings())).encode, limit=1_000_000)


@cache
def hits_of(passages: tuple[str, ...], language: str = "") -> tuple[Hit, ...]:
    made = [
        Passage(f"p{n}", (Span("d", n, 0, len(text)),), text, **({"language": language} if language else {}))
        for n, text in enumerate(passages, 1)
    ]
    return tuple(Hit(passage, 1.0, n, "") for n, passage in enumerate(made, 1))


def ticks(checker: Checker, text: str, hits: Sequence[Hit], question: str) -> list[bool]:
    """Return for each sentence of a text whether it has a tick."""
    checked = result_of(checker.check(text, hits, question=question))
    return [sentence.support is Support.SUPPORTED for sentence in checked.sentences]


def ticked(checker: Checker, text: str, hits: Sequence[Hit], question: str) -> bool:
    """Return whether every sentence of a text has a tick."""
    found = ticks(checker, text, hits, question)
    return bool(found) and all(found)


def share(rows: Sequence[tuple[Any, bool]]) -> str:
    """Return the share of rows of (source, yes or no), with its interval over sources, and n."""
    found = summarise([float(yes) for _, yes in rows], clusters=[source for source, _ in rows])
    return f"{said(found)} n={len(rows)}"


# ------------------------------------------------------------------ changed facts


def changed_facts(found: Sequence[Pair], checker: Checker) -> float:
    """Print the shares with a tick by half and kind; return the ratio of the last half's true to its swapped ones."""
    true = {(pair.true, pair.passages): pair for pair in found}
    tick = {key: ticked(checker, pair.true, hits_of(pair.passages), pair.question) for key, pair in true.items()}
    wrong = [ticked(checker, one.changed, hits_of(one.others or one.passages), one.question) for one in found]
    kinds = {"swapped": SWAPPED, **{pair.kind: (pair.kind,) for pair in found}}
    row("share with a tick", "true", "changed", width=30)
    ratio = 0.0
    for half in ("even", "odd", "later"):
        for label, names in kinds.items():
            rows = [(p, w) for p, w in zip(found, wrong, strict=True) if p.half == half and p.kind in names]
            if rows:
                right = {(p.true, p.passages): p.source for p, _ in rows}
                cells = [(source, tick[key]) for key, source in right.items()], [(p.source, w) for p, w in rows]
                row(f"{half}: {label}", *map(share, cells), width=30)
            if rows and label == "swapped":
                kept, fooled = (statistics.mean(yes for _, yes in part) for part in cells)
                ratio = kept / max(fooled, 1e-3)
    return ratio


def fit(found: Sequence[Pair]) -> None:
    """Print the weights of a logistic regression, and the threshold that LEAST of the swapped stay below."""
    from sklearn.linear_model import LogisticRegression

    true = {(pair.true, pair.passages): pair for pair in found}
    rows = [(signs_of(pair.true, pair.passages, pair.question), True, 1.0, True) for pair in true.values()]
    for pair in found:
        swapped = pair.kind in SWAPPED
        signs_ = signs_of(pair.changed, pair.others or pair.passages, pair.question)
        rows.append((signs_, False, 1.0 if swapped else 0.4, swapped))
    x = np.array([one for (one, _), *_ in rows])
    spread = x.std(axis=0) + 1e-9
    model = LogisticRegression(max_iter=1000)
    model.fit(x / spread, [yes for _, yes, _, _ in rows], sample_weight=[weight for _, _, weight, _ in rows])
    weights = model.coef_[0] / spread
    logits = np.where([complete for (_, complete), *_ in rows], x @ weights + model.intercept_[0], -9)
    threshold = np.quantile(logits[[not yes and chosen for _, yes, _, chosen in rows]], LEAST)
    print(f"BIAS = {model.intercept_[0]:.2f}")
    for field, weight in zip(fields(Signs), weights, strict=True):
        print(f'    "{field.name}": {weight:.2f},')
    print(f"threshold {1 / (1 + np.exp(-threshold)):.3f}, in use {SUPPORTED}\n")


def signs_of(sentence: str, passages: tuple[str, ...], question: str) -> tuple[tuple[float, ...], bool]:
    """Return the signs of a sentence, and whether all its facts stand in the passages."""
    quote = max((q for hit in hits_of(passages) for q in quotes(hit)), key=lambda q: match(sentence, q).score)
    texts = [(text, "") for text in passages]
    aligned = align(sentence, texts, question)
    found = signs(sentence, quote.text, aligned, texts, question)
    return astuple(found), all(one.own is not None for one in aligned)


# ------------------------------------------------------------------ answers and statements


def rated(file: Path, checker: Checker, every: int) -> None:
    """Print which sentences of rated answers have a tick; a sentence counts as its answer was rated."""
    data = json.loads(file.read_text("utf-8"))
    texts = {one["document_id"]: one["text"] for one in data["documents"]}
    tasks = {one["task_id"]: one for one in data["tasks"]}
    rows: dict[bool, list[tuple[str, bool]]] = {True: [], False: []}
    for answer in data["evaluations"][::every]:
        task, reply = tasks[answer["task_id"]], answer["model_response"]
        passages = tuple(texts[one["document_id"]] for one in task["contexts"])
        rating = statistics.mean(int(one["value"]) for one in answer["annotations"]["faithfulness"].values())
        if answer["model_id"] == "reference" or not passages or declines(reply) or UNFAITHFUL <= rating < FAITHFUL:
            continue
        found = ticks(checker, reply, hits_of(passages), task["input"][-1]["text"])
        rows[rating >= FAITHFUL] += [(answer["task_id"], tick) for tick in found]
    print("\nsentences of two models' answers, rated by three people: share with a tick")
    for faithful, made in rows.items():
        row("faithful" if faithful else "unfaithful", share(made), width=30)
    row(
        "precision",
        share([(task, faithful) for faithful, made in rows.items() for task, tick in made if tick]),
        width=30,
    )


def statements(checker: Checker) -> float:
    """Print how many statements of each list have a tick; return the ratio of the right to the wrong ones."""
    data = json.loads(STATEMENTS.read_text("utf-8"))
    found: dict[tuple[str, str, bool], list[bool]] = defaultdict(list)
    for key, question, statement, right in data["statements"]:
        beside = data["passages"][key]
        hits = hits_of(tuple(beside["texts"]), beside["language"])
        found[key.split()[0], beside["language"], right].append(ticked(checker, statement, hits, question))
    row("list, language, right", "with a tick", width=30)
    for (number, language, right), made in sorted(found.items()):
        row(f"{number} {language} {right}", f"{sum(made)} of {len(made)}, {of_all(sum(made), len(made))}", width=30)
    kept, fooled = (
        statistics.mean(tick for (_, _, label), made in found.items() if label is right for tick in made)
        for right in (True, False)
    )
    return kept / max(fooled, 1e-3)


def main() -> None:
    parser = options(__doc__, quick="a few sources of one data set")
    parser.add_argument("--fit", action="store_true", help="print the weights that the even sources give")
    parser.add_argument("--meaning", action="store_true", help="match by the bundled encoder too")
    parser.add_argument("--statements", action="store_true", help="the written statements instead")
    parser.add_argument("--supported", type=float, default=SUPPORTED, help=f"of a tick (default: {SUPPORTED})")
    chosen = parser.parse_args()
    checker = Checker(meaning=meaning() if chosen.meaning else None, supported=chosen.supported)
    if chosen.statements:
        ratio = statements(checker)
    else:
        there(chosen.data / "clapnq", chosen.data / "human_labels")
        found = pairs(chosen.data, quick=chosen.quick)
        if chosen.fit:
            fit([pair for pair in found if pair.half == "even"])
        ratio = changed_facts(found, checker)
        rated(chosen.data / "human_labels" / "mtrag_human_evaluations.json", checker, 6 if chosen.quick else 1)
    print(f"\nshare with a tick, true / wrong: {ratio:.1f}")


if __name__ == "__main__":
    main()
