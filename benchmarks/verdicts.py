"""How far a tick can be trusted: on how many true and how many wrong sentences it stands.

Four lists: people's sentences beside the same with one fact changed (see `verdict_pairs.py`), in halves: even sources,
on which the weights and the threshold were chosen; odd ones, which were looked at while the signs were chosen; and
later ones, which were not looked at. Then answers of two large models whose faithfulness to the passages three people
rated from 1 to 4 (MT-RAG). With --model also that model's own answers to questions with short gold answers, right or
wrong by rule (see `verdict_questions.py`); they are kept in --keep and the run goes on there.
Intervals are 95 % bootstrap intervals over sources. The last line is the ratio of the shares of swapped sentences that
have a tick: by the rule before (a match of .55, all numbers and names stand anywhere in the passage) and by this one.

    python benchmarks/verdicts.py [--quick] [--fit] [--meaning] [--model NAME_OR_PATH --keep FOLDER [--limit N]]
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from northwind import DATA
from verdict_pairs import Pair, pairs
from verdict_questions import questions, right

from pdfqa_core.metrics.statistics import cluster_bootstrap
from pdfqa_core.models import graphs_path
from pdfqa_core.reading import Checker, GenerativeReader, Meaning
from pdfqa_core.reading.alignment import align
from pdfqa_core.reading.checking import SUPPORTED, Signs, signs
from pdfqa_core.reading.facts import claimed, stated
from pdfqa_core.reading.matching import match, quotes
from pdfqa_core.reading.outcomes import declines
from pdfqa_core.settings import LLMSettings
from pdfqa_core.streaming import result_of
from pdfqa_core.text import terms
from pdfqa_core.types import Done, Hit, Passage, Span, Support

SWAPPED = ("number", "period", "row", "unit", "name")  # a fact exchanged for another, mostly of the same passage
LEAST = 0.95  # share of the swapped ones of the tuning half that must have no tick
FAITHFUL, UNFAITHFUL = 3.6, 2.5  # mean rating from which on, below which an answer counts as such
_NEGATION = re.compile(r"\b(?:not|no|never|without|none|neither|nor|cannot)\b|n[’']t\b", re.IGNORECASE)
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]{2,}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few sources of each data set; under 45 s")
    parser.add_argument("--fit", action="store_true", help="print the weights that the even sources give")
    parser.add_argument("--meaning", action="store_true", help="match by the bundled encoder too")
    parser.add_argument("--model", help="a language model whose own answers are checked")
    parser.add_argument("--keep", type=Path, help="folder for the model's answers")
    parser.add_argument("--limit", type=int, default=10_000, help="questions to the model")
    parser.add_argument("--threads", type=int, default=0, help="of the model")
    parser.add_argument("--supported", type=float, default=SUPPORTED, help=f"of a tick (default: {SUPPORTED})")
    parser.add_argument("--shared", type=Path, default=DATA.parent, help="folder of the data sets")
    chosen = parser.parse_args()
    if not (chosen.shared / "clapnq").is_dir():
        raise SystemExit(f"There is no folder clapnq in {chosen.shared}. Give the folder with --shared.")
    checker = Checker(meaning=meaning() if chosen.meaning else None, supported=chosen.supported)
    found = pairs(chosen.shared, quick=chosen.quick)
    if chosen.fit:
        fit([pair for pair in found if pair.half == "even"])
    before, now = changed_facts(found, checker)
    rated(chosen.shared, checker, chosen.quick)
    if chosen.model:
        own(chosen, checker)
    print(
        f"\nshare of the swapped with a tick, the rule before / this one: {before:.3f} / {now:.3f} = {before / now:.1f}"
    )


def meaning() -> Meaning:
    from pdfqa_core.retrieval import Encoder

    return Meaning(Encoder(graphs=graphs_path(LLMSettings())).encode, limit=1_000_000)


@cache
def hits_of(passages: tuple[str, ...]) -> tuple[Hit, ...]:
    return tuple(
        Hit(Passage(f"p{n}", (Span("d", n, 0, len(text)),), text), 1.0, n, "") for n, text in enumerate(passages, 1)
    )


def ticks(checker: Checker, text: str, passages: tuple[str, ...], question: str) -> list[bool]:
    """Return for each sentence of a text whether it has a tick."""
    checked = result_of(checker.check(text, hits_of(passages), question=question))
    return [sentence.support is Support.SUPPORTED for sentence in checked.sentences]


def ticked(checker: Checker, text: str, passages: tuple[str, ...], question: str) -> bool:
    """Return whether every sentence of a text has a tick."""
    found = ticks(checker, text, passages, question)
    return bool(found) and all(found)


def ticked_before(sentence: str, passages: tuple[str, ...]) -> bool:
    """Return whether the rule of 2026-11-21 gave a sentence a tick, by words alone."""
    found = max((match(sentence, quote) for hit in hits_of(passages) for quote in quotes(hit)), key=lambda m: m.score)
    if found.score < 0.55 or bool(_NEGATION.search(sentence)) != bool(_NEGATION.search(found.quote.text)):
        return False
    text = found.quote.hit.passage.text
    numbers = {number.key for number in claimed(sentence)}
    return numbers <= stated(text) and set(terms(" ".join(_NAME.findall(sentence)))) <= set(terms(text))


# ------------------------------------------------------------------ changed facts


def changed_facts(found: Sequence[Pair], checker: Checker) -> tuple[float, float]:
    """Print the shares with a tick by half and kind; return those of the swapped by the rule before and by this one."""
    made = []
    for pair in found:
        there = pair.others or pair.passages
        made.append(
            (
                _true(checker, pair),
                ticked(checker, pair.changed, there, pair.question),
                _true_before(pair),
                ticked_before(pair.changed, there),
            )
        )
    halves = [half for half in ("even", "odd", "later") if any(pair.half == half for pair in found)]
    print(f"{'share with a tick':<22}{'true':>28}{'changed':>28}{'the rule before':>20}")
    shares = (1.0, 1.0)
    for half in halves:
        for label, kinds in (("swapped", SWAPPED), *((kind, (kind,)) for kind in dict.fromkeys(p.kind for p in found))):
            rows = [
                (pair, row) for pair, row in zip(found, made, strict=True) if pair.half == half and pair.kind in kinds
            ]
            if not rows:
                continue
            first = {(pair.true, pair.passages): (pair.source, row) for pair, row in rows}
            true, true_before = (share([(s, row[n]) for s, row in first.values()]) for n in (0, 2))
            changed, changed_before = (share([(pair.source, row[n]) for pair, row in rows]) for n in (1, 3))
            print(f"{f'{half}: {label}':<22}{true:>28}{changed:>28}{true_before[:5]:>12} {changed_before[:5]:>7}")
            if label == "swapped":
                shares = float(changed_before[:5]), max(1e-3, float(changed[:5]))
    for data in dict.fromkeys(pair.data for pair in found):
        here = [
            (pair, row) for pair, row in zip(found, made, strict=True)
            if pair.half != "even" and pair.kind in SWAPPED and pair.data == data
        ]  # fmt: skip
        if here:
            first = {(pair.true, pair.passages): (pair.source, row) for pair, row in here}
            true = share([(s, row[0]) for s, row in first.values()])
            print(f"{f'odd, later: {data}':<22}{true:>28}{share([(p.source, row[1]) for p, row in here]):>28}")
    return shares


_known: dict[tuple[str, tuple[str, ...]], bool] = {}


def _true(checker: Checker, pair: Pair) -> bool:
    key = (pair.true, pair.passages)
    if key not in _known:
        _known[key] = ticked(checker, pair.true, pair.passages, pair.question)
    return _known[key]


@cache
def _before(sentence: str, passages: tuple[str, ...]) -> bool:
    return ticked_before(sentence, passages)


def _true_before(pair: Pair) -> bool:
    return _before(pair.true, pair.passages)


def share(rows: Sequence[tuple[Any, bool]]) -> str:
    """Return "share [low, high] n=…" of rows of (source, yes or no), the interval over sources."""
    sums: dict[Any, np.ndarray] = {}
    for source, yes in rows:
        sums[source] = sums.get(source, np.zeros(2)) + np.array([yes, 1])
    value = sum(yes for _, yes in rows) / len(rows)
    interval = cluster_bootstrap(np.array(list(sums.values())), ratio, seed=0, resamples=1000)
    bounds = f"[{interval.low:.3f}, {interval.high:.3f}]" if interval.low is not None else "[–]"
    return f"{value:.3f} {bounds} n={len(rows)}"


def ratio(sums: np.ndarray) -> np.ndarray:
    found: np.ndarray = sums[:, 0] / sums[:, 1]
    return found


# ------------------------------------------------------------------ weights


def fit(found: Sequence[Pair]) -> None:
    """Print the weights of a logistic regression, and the threshold that LEAST of the swapped stay below."""
    from sklearn.linear_model import LogisticRegression

    true = {(pair.true, pair.passages): pair for pair in found}
    rows = [(signs_of(pair.true, pair.passages, pair.question), True, 1.0, True) for pair in true.values()]
    for pair in found:
        row, complete = signs_of(pair.changed, pair.others or pair.passages, pair.question)
        rows.append(((row, complete), False, 1.0 if pair.kind in SWAPPED else 0.4, pair.kind in SWAPPED))
    x = np.array([row for (row, _), *_ in rows])
    spread = x.std(axis=0) + 1e-9
    model = LogisticRegression(max_iter=1000)
    model.fit(x / spread, [yes for _, yes, _, _ in rows], sample_weight=[weight for _, _, weight, _ in rows])
    weights = model.coef_[0] / spread
    logits = x @ weights + model.intercept_[0]
    kept = np.array([complete for (_, complete), *_ in rows])
    swapped = np.array([not yes and chosen for _, yes, _, chosen in rows])
    threshold = np.quantile(np.where(kept, logits, -9)[swapped], LEAST)
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


# ------------------------------------------------------------------ answers of models


def rated(shared: Path, checker: Checker, quick: bool) -> None:
    """Print which sentences of rated answers have a tick; a sentence counts as its answer was rated."""
    data = json.loads((shared / "human_labels" / "mtrag_human_evaluations.json").read_text("utf-8"))
    texts = {one["document_id"]: one["text"] for one in data["documents"]}
    tasks = {one["task_id"]: one for one in data["tasks"]}
    rows: dict[str, list[tuple[str, bool]]] = {"faithful": [], "unfaithful": []}
    earlier: dict[str, list[bool]] = {"faithful": [], "unfaithful": []}
    for answer in data["evaluations"][:: 6 if quick else 1]:
        task = tasks[answer["task_id"]]
        passages = tuple(texts[one["document_id"]] for one in task["contexts"])
        reply = answer["model_response"]
        rating = statistics.mean(int(one["value"]) for one in answer["annotations"]["faithfulness"].values())
        if answer["model_id"] == "reference" or not passages or declines(reply) or UNFAITHFUL <= rating < FAITHFUL:
            continue
        label = "faithful" if rating >= FAITHFUL else "unfaithful"
        checked = result_of(checker.check(reply, hits_of(passages), question=task["input"][-1]["text"]))
        for one in checked.sentences:
            rows[label].append((answer["task_id"], one.support is Support.SUPPORTED))
            earlier[label].append(ticked_before(reply[one.start : one.end], passages))
    print("\nsentences of two models' answers, rated by three people: share with a tick, by the rule before")
    for label, made in rows.items():
        print(f"{label:<12}{share(made):>32}   {sum(earlier[label]) / len(made):.3f}")
    both = [(task, label == "faithful") for label, made in rows.items() for task, yes in made if yes]
    before = sum(earlier["faithful"]) / max(1, sum(map(sum, earlier.values())))
    print(f"precision   {share(both):>32}   {before:.3f}")


def own(chosen: argparse.Namespace, checker: Checker) -> None:
    """Print which of a model's own answers have a tick on any sentence."""
    rows: list[tuple[str, bool, bool]] = []
    for asked, text in answers(chosen):
        label = right(asked, text)
        if label is not None:
            rows.append((asked.data, label, any(ticks(checker, text, asked.passages, asked.question))))
    print(f"\nown answers of {chosen.model}")
    for label in (True, False):
        said = [(n, tick) for n, (_, one, tick) in enumerate(rows) if one is label]
        if said:
            print(f"{'right' if label else 'wrong':<12}{share(said):>32}")
    both = [(n, label) for n, (_, label, tick) in enumerate(rows) if tick]
    if both:
        print(f"precision   {share(both):>32}")


def answers(chosen: argparse.Namespace) -> Iterator[tuple[Any, str]]:
    """Yield the questions and what the model answers, from the folder where it has answered already."""
    from pdfqa_core.llm import LlamaCpp
    from pdfqa_core.llm.catalogue import resolve

    if chosen.keep is None:
        raise SystemExit("Name a folder for the model's answers with --keep.")
    chosen.keep.mkdir(parents=True, exist_ok=True)
    file = chosen.keep / f"answers-{Path(chosen.model).stem}.jsonl"
    known = {}
    if file.is_file():
        known = {row["id"]: row for row in map(json.loads, file.read_text("utf-8").splitlines())}
    read: Callable[..., Any] | None = None
    for asked in questions(chosen.shared)[: 4 if chosen.quick else chosen.limit]:
        key = asked.data + asked.id
        if key not in known:
            if read is None:
                path = Path(chosen.model)
                llm = LlamaCpp(path if path.is_file() else resolve(chosen.model), threads=chosen.threads)
                read = GenerativeReader(llm, passages=4).read
            (answer,) = (
                event.answer for event in read(asked.question, hits_of(asked.passages)) if isinstance(event, Done)
            )
            known[key] = {"id": key, "answer": answer.text, "refused": answer.refused}
            with file.open("a", encoding="utf-8") as kept:
                kept.write(json.dumps(known[key]) + "\n")
        if not known[key]["refused"]:
            yield asked, known[key]["answer"]


if __name__ == "__main__":
    main()
