"""How well search, model or both find questions without an answer in the documents, before anything is written.

Data: refusal_data.py (Northwind, CLAPnq, MT-RAG, aapl_10q, PubMedQA). In each set and kind of question the even ones
are one half, the odd ones the other. Printed are, for each way to judge and each set, balanced accuracy with its 95 %
bootstrap interval, the shares turned away of the questions without and with an answer, AUC and n; last the ratio of the
mean over the sets, both together to the search alone, the baseline (without the model: the search to words alone).

With --fit each half is judged by weights fitted on the other one, and weights fitted on both are written beside the
code, with the curves of the page; without, the weights that are there judge. Signals are appended to files in --cache,
so that a run goes on where one ended; remove the files to measure again. --seconds ends asking the model after that
time, all sets in turn; what it was not asked about is left out of the ways that need it.

    python benchmarks/refusal.py [--quick] [--cache DIR] [--per N] [--model NAME] [--seconds N] [--sets A B] [--fit]
"""

from __future__ import annotations

import datetime
import json
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, zip_longest
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from common import json_lines, options, row
from refusal_data import DATASETS, Item, present

from pdfqa_core.json_codec import decode, encode
from pdfqa_core.llm import LlamaCpp
from pdfqa_core.llm.catalogue import DEFAULT, profile, resolve
from pdfqa_core.llm.hardware import physical_cores
from pdfqa_core.models import graphs_path
from pdfqa_core.reading import GenerativeReader, Meaning, answerability
from pdfqa_core.reading.answerability import CALIBRATIONS, STEPS, Calibration, calibration, logit
from pdfqa_core.reading.answerability import DATA as CURVES
from pdfqa_core.reading.prompts import FORMS
from pdfqa_core.retrieval import Encoder
from pdfqa_core.retrieval.postprocessing import WEIGHTS, WEIGHTS_FILE, covered, nearest, weighed
from pdfqa_core.settings import LLMSettings, models_path
from pdfqa_core.streaming import result_of

WORDS, SEARCH, MODEL, BOTH = WAYS = ("words alone", "retrieval", "model", "combined")
THRESHOLD = 0.35  # for balanced accuracy
QUICK_PER, QUICK_SECONDS = 6, 12.0
RESAMPLES = 2000


@dataclass(frozen=True)
class Asked:
    """A question and what was measured of it; `even`: the half that it belongs to."""

    dataset: str
    answerable: bool
    even: bool
    covered: float
    nearest: float
    log_odds: float | None


class Kept:
    """Rows of a JSONL file by key, appended as they are made."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.rows = {one["key"]: one for one in json_lines(file)} if file.is_file() else {}

    def add(self, **made: Any) -> None:
        """Append a row."""
        with self.file.open("a", encoding="utf-8") as out:
            out.write(json.dumps(made) + "\n")
        self.rows[made["key"]] = made


# ------------------------------------------------------------------ signals


def searched(name: str, data: Path, cache: Path, encoder: Encoder, per: int) -> list[tuple[Item, dict[str, Any]]]:
    """Return the questions of a data set with the features of their hits, as they were kept or made now."""
    kept = Kept(cache / f"search_{name}.jsonl")
    if not kept.rows:
        meaning = Meaning(encoder.encode, limit=20_000)
        for item in DATASETS[name](data, encoder, meaning, per):
            kept.add(
                key=item.key, item=json.loads(encode(item)), covered=covered(item.question, item.hits) or 0.0,
                nearest=nearest(item.question, item.hits, meaning.vectors),
            )  # fmt: skip
    return [(decode(Item, json.dumps(one["item"])), one) for one in kept.rows.values()]


def spread(lists: Sequence[Sequence[Item]]) -> Iterator[Item]:
    """Yield the first of each list, then the second of each, to the end of the longest."""
    return (item for item in chain.from_iterable(zip_longest(*lists)) if item is not None)


def in_turn(items: Sequence[Item]) -> list[Item]:
    """Return answerable and other questions in turn, the other ones of each kind in turn."""
    others: dict[str, list[Item]] = {}
    for item in items:
        if not item.answerable:
            others.setdefault(item.kind, []).append(item)
    return list(spread([[item for item in items if item.answerable], list(spread(list(others.values())))]))


def ask(items: Iterator[Item], kept: Kept, model: str, threads: int, until: float) -> None:
    """Keep the model's log-odds for as many questions as there is time."""
    llm = LlamaCpp(resolve(model, models_path(LLMSettings())), name=model, threads=threads)
    suited = profile("llama_cpp", model, threads or physical_cores())
    form = FORMS[suited.prompts]
    reader = GenerativeReader(llm, passages=suited.passages, prompt_tokens=suited.tokens, form=form)
    for item in items:
        if item.key not in kept.rows and item.hits and time.monotonic() < until:
            began = time.perf_counter()
            odds = result_of(answerability.model_log_odds(reader, item.question, item.hits))
            kept.add(key=item.key, log_odds=odds, seconds=time.perf_counter() - began)


def joined(found: Sequence[tuple[Item, dict[str, Any]]], model: Kept) -> list[Asked]:
    """Return what was measured of a data set; even and odd are counted within each kind of question."""
    counts: dict[str, int] = {}
    made = []
    for item, one in found:
        place = counts[item.kind] = counts.get(item.kind, -1) + 1
        odds = model.rows.get(item.key, {}).get("log_odds")
        made.append(Asked(item.dataset, item.answerable, place % 2 == 0, one["covered"], one["nearest"], odds))
    return made


# ------------------------------------------------------------------ confidences


@dataclass(frozen=True)
class Weighed:
    """The weights of all ways: of the search's features with and without vectors, of the model alone, of both."""

    vectors: dict[str, float]
    words: dict[str, float]
    model: Calibration
    combined: Calibration

    def confidence(self, way: str, one: Asked) -> float:
        """Return a question's confidence."""
        if way == WORDS:
            return weighed(self.words, covered=one.covered)
        search = weighed(self.vectors, covered=one.covered, nearest=one.nearest)
        weights = {MODEL: self.model, BOTH: self.combined}.get(way)
        return weights.confidence(search, one.log_odds or 0.0) if weights else search


Halves = Mapping[bool, Weighed]  # the weights by which the even (True) and the odd questions are judged


def regression(x: Sequence[Sequence[float]], rows: Sequence[Asked]) -> tuple[list[float], float]:
    """Return weights and constant of a logistic regression; data sets, and both kinds of question, weigh the same."""
    from sklearn.linear_model import LogisticRegression

    kinds = [(one.dataset, one.answerable) for one in rows]
    weights = [len(rows) / len(set(kinds)) / kinds.count(kind) for kind in kinds]
    found = LogisticRegression(C=10, max_iter=10_000).fit(x, [one.answerable for one in rows], sample_weight=weights)
    return [round(float(weight), 3) for weight in found.coef_[0]], round(float(found.intercept_[0]), 3)


def fitted(rows: Sequence[Asked]) -> Weighed:
    """Return weights fitted on these rows: the search's first, then the model's beside it."""
    (near, words), constant = regression([[one.nearest, one.covered] for one in rows], rows)
    vectors = {"nearest": near, "covered": words, "constant": constant}
    (alone,), constant = regression([[one.covered] for one in rows], rows)
    asked = [one for one in rows if one.log_odds is not None]
    odds = [one.log_odds or 0.0 for one in asked]
    search = [logit(weighed(vectors, covered=one.covered, nearest=one.nearest)) for one in asked]
    (both_search, both_model), both = regression(list(zip(search, odds, strict=True)), asked)
    (model,), only = regression([[one] for one in odds], asked)
    if both_search < 0:  # few questions: nearer passages must not count against an answer
        both_search, both_model, both = 0.0, model, only
    words_alone = {"covered": alone, "constant": constant}
    return Weighed(vectors, words_alone, Calibration(0.0, model, only), Calibration(both_search, both_model, both))


# ------------------------------------------------------------------ reports


def judged(way: str, rows: Sequence[Asked], halves: Halves) -> tuple[np.ndarray, np.ndarray]:
    """Return the confidences of the questions that a way can judge, and which of them have an answer."""
    of = [one for one in rows if one.log_odds is not None or way in (WORDS, SEARCH)]
    return np.array([halves[one.even].confidence(way, one) for one in of]), np.array([one.answerable for one in of])


def interval(kept: np.ndarray, refused: np.ndarray) -> tuple[float, float]:
    """Return the 95 % percentile bootstrap interval of balanced accuracy; each kind of question is drawn by itself."""
    rng = np.random.default_rng(0)
    draws = [rng.choice(right, (RESAMPLES, len(right))).mean(axis=1) for right in (kept, refused)]
    low, high = np.percentile((draws[0] + draws[1]) / 2, (2.5, 97.5))
    return float(low), float(high)


def report(name: str, rows: Sequence[Asked], halves: Halves) -> dict[str, float]:
    """Print a line for each way to judge, and return their balanced accuracies."""
    from sklearn.metrics import roc_auc_score

    found = {}
    for way in WAYS:
        values, known = judged(way, rows, halves)
        if len(set(known)) == 2:
            kept, refused = values[known] >= THRESHOLD, values[~known] < THRESHOLD
            found[way] = float((kept.mean() + refused.mean()) / 2)
            low, high = interval(kept, refused)
            away = f"{refused.mean():.2f} and {1 - kept.mean():.2f}"
            cells = f"{found[way]:.3f} [{low:.3f}, {high:.3f}]", away, f"{roc_auc_score(known, values):.3f}"
            row(f"{name}, {way}", *cells, f"{known.sum()} + {(~known).sum()}", width=24)
    return found


def write(weights: Weighed, model: str, rows: Sequence[Asked], halves: Halves) -> None:
    """Write weights, and the curves of the halves, beside the code; the weights of other models stay."""
    search = {"vectors": weights.vectors, "words": weights.words}
    WEIGHTS_FILE.write_text(json.dumps(search, indent=1) + "\n", encoding="utf-8")
    made = [(MODEL, model), (BOTH, model)]
    made += [(MODEL, "")] if model == DEFAULT else []  # for a model that was not measured, where it is asked alone
    known = [one for one in json.loads(CALIBRATIONS.read_text("utf-8")) if (one["refusal"], one["name"]) not in made]
    known += [{"refusal": way, "name": name, **asdict(getattr(weights, way))} for way, name in made]
    CALIBRATIONS.write_text(lines(sorted(known, key=lambda one: (one["name"], one["refusal"]))), encoding="utf-8")
    curves = []
    for way in WAYS[1:]:
        for name in dict.fromkeys(one.dataset for one in rows):
            values, there = judged(way, [one for one in rows if one.dataset == name], halves)
            below = [values < step / STEPS for step in range(STEPS + 1)]
            curve = {"refusal": way, "dataset": name, "model": "" if way == SEARCH else model}
            curve |= {"measured": datetime.datetime.now(datetime.UTC).date().isoformat()}
            curve |= {"answerable": int(there.sum()), "unanswerable": int((~there).sum())}
            curve |= {"wrongly": [int(one[there].sum()) for one in below]}
            curves += [curve | {"rightly": [int(one[~there].sum()) for one in below]}] if len(values) else []
    CURVES.write_text(lines(curves), encoding="utf-8")
    print(f"\n{weights}\nweights and {len(curves)} curves written beside the code")


def lines(rows: Sequence[Any]) -> str:
    return "[\n" + ",\n".join(json.dumps(one) for one in rows) + "\n]\n"


def main() -> None:
    parser = options(__doc__, quick="a few questions of the first data set")
    parser.add_argument("--cache", type=Path, help="folder of the measured signals; a new one unless given")
    parser.add_argument("--per", type=int, default=100, help="questions of each set and kind")
    parser.add_argument("--sets", nargs="+", choices=DATASETS, help="all that are there unless given")
    parser.add_argument("--model", default=DEFAULT, help="name in the catalogue")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1e9, help="ask the model for at most this long; 0: not at all")
    parser.add_argument(
        "--fit", action="store_true", help="judge each half by weights of the other, write those of both"
    )
    chosen = parser.parse_args()
    names = chosen.sets or present(chosen.data)
    if chosen.quick:
        names, chosen.per, chosen.seconds = names[:1], QUICK_PER, min(chosen.seconds, QUICK_SECONDS)
    if not names:
        raise SystemExit(f"There is no data set in {chosen.data}. Name the folder of the data with --data.")
    cache = chosen.cache or Path(tempfile.mkdtemp(prefix="refusal-"))
    cache.mkdir(parents=True, exist_ok=True)
    encoder = Encoder(graphs=graphs_path(LLMSettings()))
    sets = {name: searched(name, chosen.data, cache, encoder, chosen.per) for name in names}
    model = Kept(cache / f"model_{chosen.model}.jsonl")
    if chosen.seconds > 0:
        turns = spread([in_turn([item for item, _ in found]) for found in sets.values()])
        ask(turns, model, chosen.model, chosen.threads, time.monotonic() + chosen.seconds)
    rows = [one for found in sets.values() for one in joined(found, model)]
    if chosen.fit:
        halves = {even: fitted([one for one in rows if one.even is not even]) for even in (True, False)}
    else:
        both = (calibration(way, chosen.model) for way in (MODEL, BOTH))
        halves = dict.fromkeys((True, False), Weighed(WEIGHTS["vectors"], WEIGHTS["words"], *both))
    row(f"balanced accuracy at {THRESHOLD}", "", "turned away, none and some", "AUC", "n", width=24)
    found = [report(name, [one for one in rows if one.dataset == name], halves) for name in names]
    if timed := [one["seconds"] for one in model.rows.values()]:
        print(f"reading the passages and asking: median {median(timed):.1f} s, n {len(timed)}")
    if chosen.fit:
        write(fitted(rows), chosen.model, rows, halves)
    way, base = (BOTH, SEARCH) if all(BOTH in one for one in found) else (SEARCH, WORDS)
    means = [np.mean([one[name] for one in found]) for name in (way, base)]
    print(f"balanced accuracy, mean of the sets, {way} / {base}: {means[0] / means[1]:.2f}")


if __name__ == "__main__":
    main()
