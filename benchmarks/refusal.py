"""How well questions without an answer in the documents are turned away: by the search, by the model, by both.

Data: refusal_data.py (Northwind, CLAPnq, MT-RAG, aapl_10q, PubMedQA). In each set and kind of question the even ones
are one half, the odd ones the other.

Prints, for each way to refuse and each set: balanced accuracy with its 95 % bootstrap interval, the share of the
answerable questions that is turned away, of those whose page was among the passages read too, AUC and n; last the ratio
to the search alone as it was weighed before. With `--fit` each half is judged by weights fitted on the other one, and
weights fitted on both are written beside the code, with the curves of the page; without, by the weights that are
there. Signals are appended to files in `--cache`, so that a run goes on where one ended; remove the files to measure
again. `--seconds` ends asking the model after that time, all sets in turn; what it was not asked about is left out of
the ways that need it. With `--answers SECONDS` what the default threshold does not turn away is answered, for that
long: `answered` turns away what turns out to be no answer too, as the program does.

    python benchmarks/refusal.py [--quick] [--cache DIR] [--per N] [--model NAME] [--seconds N] [--sets A,B] [--fit]
"""

from __future__ import annotations

import argparse
import datetime
import json
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from refusal_data import DATASETS, Item, present

from pdfqa_core.json_codec import decode, encode
from pdfqa_core.llm import LlamaCpp
from pdfqa_core.llm.base import profile
from pdfqa_core.llm.catalogue import DEFAULT, resolve
from pdfqa_core.llm.hardware import physical_cores
from pdfqa_core.models import graphs_path
from pdfqa_core.reading import Checker, GenerativeReader, Meaning, answerability
from pdfqa_core.reading.answerability import CALIBRATIONS, STEPS, Calibration, calibration
from pdfqa_core.reading.answerability import DATA as CURVES
from pdfqa_core.reading.prompts import FORMS
from pdfqa_core.retrieval import Encoder
from pdfqa_core.retrieval.confidence import WEIGHTS, WEIGHTS_FILE, covered, nearest, weighed
from pdfqa_core.settings import LLMSettings, Settings, models_path
from pdfqa_core.types import Done

ANSWERED = "answered"  # judged by both, and then by what became of the answer
WAYS = ("words alone", "retrieval", "model", "combined", ANSWERED)
BEFORE, BEFORE_AT = (7.57, 1.61, -5.87), 0.45  # nearest, covered, constant of the search alone, and its threshold
QUICK_PER, QUICK_SECONDS = 6, 12.0
READ = 4  # hits that the model reads
RESAMPLES = 2000
LOST = 0.06  # share of the answerable questions of HELD that may be turned away
HELD = ("northwind", "aapl_10q")


@dataclass(frozen=True)
class Asked:
    """A question and what was measured of it; `even`: the half that it belongs to."""

    dataset: str
    kind: str
    question: str
    answerable: bool
    even: bool
    gold_read: bool | None
    covered: float
    nearest: float
    log_odds: float | None = None
    declined: bool | None = None  # whether its answer turned out to be none; None: not known


class Kept:
    """Rows of a JSONL file by key, appended as they are made."""

    def __init__(self, file: Path) -> None:
        self.file = file
        rows = map(json.loads, file.read_text("utf-8").splitlines()) if file.is_file() else ()
        self.rows = {row["key"]: row for row in rows}

    def add(self, **row: Any) -> None:
        """Append a row."""
        with self.file.open("a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")
        self.rows[row["key"]] = row


# ------------------------------------------------------------------ signals


def searched(name: str, cache: Path, encoder: Encoder, per: int) -> list[tuple[Item, dict[str, Any]]]:
    """Return the questions of a data set with the features of their hits, as they were kept or made now."""
    kept = Kept(cache / f"search_{name}.jsonl")
    if not kept.rows:
        meaning = Meaning(encoder.encode, limit=20_000)
        for item in DATASETS[name](encoder, meaning, per):
            kept.add(
                key=item.key, item=json.loads(encode(item)), covered=covered(item.question, item.hits) or 0.0,
                nearest=nearest(item.question, item.hits, meaning.vectors), gold_read=item.gold_among(READ),
            )  # fmt: skip
    return [(decode(Item, json.dumps(row["item"])), row) for row in kept.rows.values()]


def in_turn(found: Sequence[tuple[Item, Any]]) -> Iterator[Item]:
    """Yield answerable and other questions in turn, the other ones of each kind in turn."""
    kinds: dict[tuple[bool, str], list[Item]] = {}
    for item, _ in found:
        kinds.setdefault((item.answerable, "" if item.answerable else item.kind), []).append(item)
    yes = [item for (answerable, _), items in kinds.items() if answerable for item in items]
    no = list(spread([items for (answerable, _), items in kinds.items() if not answerable]))
    yield from spread([yes, no])


def spread(lists: Sequence[Sequence[Item]]) -> Iterator[Item]:
    """Yield the first of each list, then the second of each, to the end of the longest."""
    for place in range(max(map(len, lists), default=0)):
        for items in lists:
            yield from items[place : place + 1]


def asked_model(items: Iterator[Item], reader: GenerativeReader, kept: Kept, until: float) -> None:
    """Keep the model's log-odds for as many questions as there is time."""
    for item in items:
        if item.key in kept.rows or not item.hits:
            continue
        if time.monotonic() > until:
            return
        began = time.perf_counter()
        odds = last(answerability.model_log_odds(reader, item.question, item.hits))
        kept.add(key=item.key, log_odds=odds, seconds=time.perf_counter() - began)


def answered(items: Iterator[Item], reader: GenerativeReader, kept: Kept, sure: Collection[str], until: float) -> None:
    """Keep whether the answer turns out to be none for as many of these questions as there is time."""
    for item in items:
        if item.key in kept.rows or item.key not in sure or not item.hits:
            continue
        if time.monotonic() > until:
            return
        done = next(event for event in reader.read(item.question, item.hits) if isinstance(event, Done))
        kept.add(key=item.key, declined=done.answer.refused, answer=done.answer.text, notes=done.answer.notes)


def last(steps: Any) -> Any:
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def joined(found: Sequence[tuple[Item, dict[str, Any]]], model: Kept, answers: Kept) -> list[Asked]:
    """Return what was measured of a data set; even and odd are counted within each kind of question."""
    counts: dict[str, int] = {}
    rows = []
    for item, row in found:
        place = counts[item.kind] = counts.get(item.kind, -1) + 1
        odds = model.rows.get(item.key, {}).get("log_odds")
        measured = (
            row["gold_read"],
            row["covered"],
            row["nearest"],
            odds,
            answers.rows.get(item.key, {}).get("declined"),
        )
        rows.append(Asked(item.dataset, item.kind, item.question, item.answerable, place % 2 == 0, *measured))
    return rows


# ------------------------------------------------------------------ confidences


@dataclass(frozen=True)
class Weighed:
    """The weights of all ways: of the search's features with and without vectors, of the model alone, of both."""

    vectors: dict[str, float]
    words: dict[str, float]
    model: Calibration
    combined: Calibration

    def confidence(self, way: str, row: Asked) -> float:
        """Return a question's confidence."""
        if way == "words alone":
            return weighed(self.words, covered=row.covered)
        search = weighed(self.vectors, covered=row.covered, nearest=row.nearest)
        if way == "retrieval":
            return search
        if way == ANSWERED and row.declined:
            return 0.0
        weights = self.model if way == "model" else self.combined
        return weights.confidence(search, row.log_odds or 0.0)


Halves = Mapping[bool, Weighed]  # the weights by which the even (True) and the odd questions are judged


def shipped(model: str) -> Halves:
    found = Weighed(WEIGHTS["vectors"], WEIGHTS["words"], calibration("model", model), calibration("combined", model))
    return {True: found, False: found}


def crossed(rows: Sequence[Asked]) -> Halves:
    """Return for each half weights that were fitted on the other one."""
    return {even: fitted([row for row in rows if row.even is not even]) for even in (True, False)}


def confidences(way: str, rows: Sequence[Asked], halves: Halves) -> np.ndarray:
    return np.array([halves[row.even].confidence(way, row) for row in rows])


def regression(x: Sequence[Sequence[float]], rows: Sequence[Asked]) -> tuple[list[float], float]:
    """Return weights and constant of a logistic regression; data sets, and both kinds of question, weigh the same."""
    from sklearn.linear_model import LogisticRegression

    kinds = [(row.dataset, row.answerable) for row in rows]
    weights = [len(rows) / len(set(kinds)) / kinds.count(kind) for kind in kinds]
    found = LogisticRegression(C=10, max_iter=10_000).fit(x, [row.answerable for row in rows], sample_weight=weights)
    return [round(float(weight), 3) for weight in found.coef_[0]], round(float(found.intercept_[0]), 3)


def logit(p: float) -> float:
    return float(np.log(p) - np.log1p(-p))


def fitted(rows: Sequence[Asked]) -> Weighed:
    """Return weights fitted on these rows: the search's first, then the model's beside it."""
    (near, words), constant = regression([[row.nearest, row.covered] for row in rows], rows)
    vectors = {"nearest": near, "covered": words, "constant": constant}
    (alone,), constant = regression([[row.covered] for row in rows], rows)
    asked = [row for row in rows if row.log_odds is not None]
    search = [logit(weighed(vectors, covered=row.covered, nearest=row.nearest)) for row in asked]
    odds = [float(row.log_odds or 0.0) for row in asked]
    (both_search, both_model), both = regression(list(zip(search, odds, strict=True)), asked)
    (model,), only = regression([[x] for x in odds], asked)
    if both_search < 0:  # few questions: nearer passages must not count against an answer
        both_search, both_model, both = 0.0, model, only
    words_alone = {"covered": alone, "constant": constant}
    return Weighed(vectors, words_alone, Calibration(0.0, model, only), Calibration(both_search, both_model, both))


# ------------------------------------------------------------------ reports


def balanced(values: np.ndarray, answerable: np.ndarray, threshold: float) -> float:
    return float(((values[answerable] >= threshold).mean() + (values[~answerable] < threshold).mean()) / 2)


def interval(values: np.ndarray, answerable: np.ndarray, threshold: float) -> tuple[float, float]:
    """Return the 95 % percentile bootstrap interval of balanced accuracy; each kind of question is drawn by itself."""
    rng = np.random.default_rng(0)
    kept, refused = values[answerable] >= threshold, values[~answerable] < threshold
    draws = [rng.choice(hits, (RESAMPLES, len(hits))).mean(axis=1) for hits in (kept, refused)]
    low, high = np.percentile((draws[0] + draws[1]) / 2, (2.5, 97.5))
    return float(low), float(high)


def usable(way: str, rows: Sequence[Asked]) -> list[Asked]:
    if way == ANSWERED and all(row.declined is None for row in rows):
        return []
    return [row for row in rows if row.log_odds is not None] if way in ("model", "combined", ANSWERED) else list(rows)


def report(name: str, rows: Sequence[Asked], halves: Halves, threshold: float) -> dict[str, float]:
    """Print a line for each way to refuse; return their balanced accuracies, and that of the search as it was."""
    from sklearn.metrics import roc_auc_score

    found: dict[str, float] = {}
    for way in (*WAYS, "before"):
        of = usable("combined" if way == "before" and len(usable("combined", rows)) > 1 else way, rows)
        if len({row.answerable for row in of}) < 2:
            continue
        known = np.array([row.answerable for row in of])
        at = BEFORE_AT if way == "before" else threshold
        old = dict(zip(("nearest", "covered", "constant"), BEFORE, strict=True))
        if way == "before":
            values = np.array([weighed(old, covered=row.covered, nearest=row.nearest) for row in of])
        else:
            values = confidences(way, of, halves)
        found[way] = balanced(values, known, at)
        low, high = interval(values, known, at)
        lost = [value < at for value, row in zip(values, of, strict=True) if row.answerable]
        read = [value < at for value, row in zip(values, of, strict=True) if row.answerable and row.gold_read]
        of_read = f", {np.mean(read):.2f} of the {len(read)} whose page was read" if read else ""
        print(
            f"  {name:<10} {way:<12} {found[way]:.3f} [{low:.3f}, {high:.3f}]  turned away: "
            f"{1 - 2 * (1 - found[way]) + np.mean(lost):.2f} of the unanswerable, {np.mean(lost):.2f} of the answerable"
            f"{of_read}; AUC {roc_auc_score(known, values):.3f}; n {known.sum()} + {(~known).sum()}"
        )
    return found


def by_kind(rows: Sequence[Asked], halves: Halves, threshold: float, way: str) -> None:
    """Print which share of each kind of question is answered."""
    kinds: dict[tuple[str, str], list[bool]] = {}
    for row in usable(way, rows):
        kinds.setdefault((row.dataset, row.kind), []).append(halves[row.even].confidence(way, row) >= threshold)
    print(f"\nAnswered by kind ({way}):")
    for (dataset, kind), answered in kinds.items():
        print(f"  {dataset:<10} {kind:<18} {np.mean(answered):.2f}  n {len(answered)}")


def thresholds(rows: Sequence[Asked], halves: Halves, way: str) -> None:
    """Print what thresholds are worth: the mean over the sets, and what HELD loses."""
    print(f"\nThresholds ({way}): mean balanced accuracy, turned away of the answerable of {HELD}")
    of = usable(way, rows)
    for threshold in np.arange(0.2, 0.71, 0.05):
        scores, lost = [], {}
        for name in dict.fromkeys(row.dataset for row in of):
            mine = [row for row in of if row.dataset == name]
            known = np.array([row.answerable for row in mine])
            values = confidences(way, mine, halves)
            scores.append(balanced(values, known, threshold))
            lost[name] = float((values[known] < threshold).mean())
        losses = ", ".join(f"{lost[name]:.2f}" for name in HELD if name in lost)
        print(f"  {threshold:.2f}: {np.mean(scores):.3f}   {losses}")


# ------------------------------------------------------------------ writing


def write(weights: Weighed, model: str, rows: Sequence[Asked], halves: Halves) -> None:
    """Write weights, and the curves of the halves, beside the code; the weights of other models stay."""
    WEIGHTS_FILE.write_text(
        json.dumps({"vectors": weights.vectors, "words": weights.words}, indent=1) + "\n", encoding="utf-8"
    )
    made = [("model", model), ("combined", model)]
    if model == DEFAULT:
        made.append(("model", ""))  # for a model that was not measured, where it is asked alone; else the search judges
    known = [row for row in json.loads(CALIBRATIONS.read_text("utf-8")) if (row["refusal"], row["name"]) not in made]
    known += [{"refusal": way, "name": name, **asdict(getattr(weights, way))} for way, name in made]
    known.sort(key=lambda row: (row["name"], row["refusal"]))
    CALIBRATIONS.write_text(lines(known), encoding="utf-8")
    curves = []
    for way in ("retrieval", "model", "combined"):
        for name in dict.fromkeys(row.dataset for row in rows):
            of = [row for row in usable(way, rows) if row.dataset == name]
            if not of:
                continue
            values = confidences(way, of, halves)
            known_ones = np.array([row.answerable for row in of])
            below = [values < n / STEPS for n in range(STEPS + 1)]
            curves.append(
                {
                    "refusal": way,
                    "dataset": name,
                    "model": "" if way == "retrieval" else model,
                    "measured": datetime.datetime.now(datetime.UTC).date().isoformat(),
                    "answerable": int(known_ones.sum()),
                    "unanswerable": int((~known_ones).sum()),
                    "wrongly": [int(b[known_ones].sum()) for b in below],
                    "rightly": [int(b[~known_ones].sum()) for b in below],
                }
            )
    CURVES.write_text(lines(curves), encoding="utf-8")
    print(f"\nweights and {len(curves)} curves written beside the code")


def lines(rows: Sequence[Any]) -> str:
    return "[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="under 45 s: a few questions of Northwind")
    parser.add_argument("--cache", type=Path, help="folder of the measured signals; a new one unless given")
    parser.add_argument("--per", type=int, default=100, help="questions of each set and kind")
    parser.add_argument("--sets", default="", help="data sets, by commas; all that are there unless given")
    parser.add_argument("--model", default=DEFAULT, help="name in the catalogue")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1e9, help="ask the model for at most this long; 0: not at all")
    parser.add_argument("--answers", type=float, default=0, help="seconds for answers to what is not turned away")
    parser.add_argument("--models-dir", type=Path, default=models_path(LLMSettings()))
    parser.add_argument(
        "--fit", action="store_true", help="judge each half by weights of the other, write those of both"
    )
    return parser.parse_args()


def main() -> None:
    options = arguments()
    names = options.sets.split(",") if options.sets else present()
    if options.quick:
        names, options.per, options.seconds = names[:1], QUICK_PER, min(options.seconds, QUICK_SECONDS)
    if not names:
        raise SystemExit("There is no data set beside the project.")
    cache = options.cache or Path(tempfile.mkdtemp(prefix="refusal-"))
    cache.mkdir(parents=True, exist_ok=True)
    threshold = Settings().reading.confidence_threshold
    encoder = Encoder(graphs=graphs_path(LLMSettings()))
    sets = {name: searched(name, cache, encoder, options.per) for name in names}
    model = Kept(cache / f"model_{options.model}.jsonl")
    if options.seconds > 0:
        llm = LlamaCpp(resolve(options.model, options.models_dir), name=options.model, threads=options.threads)
        suited = profile("llama_cpp", options.model, options.threads or physical_cores())
        reader = GenerativeReader(
            llm, passages=suited.passages, prompt_tokens=suited.tokens, form=FORMS[suited.prompts],
            checker=Checker(meaning=Meaning(encoder.encode)),
        )  # fmt: skip
        turns = spread([list(in_turn(found)) for found in sets.values()])
        asked_model(turns, reader, model, time.monotonic() + options.seconds)
    answers = Kept(cache / f"answers_{options.model}.jsonl")
    if options.seconds > 0 and options.answers > 0:
        sure = {
            item.key
            for found in sets.values()
            for (item, _), row in zip(found, joined(found, model, answers), strict=True)
            if row.log_odds is not None and shipped(options.model)[row.even].confidence("combined", row) >= threshold
        }
        turns = spread([list(in_turn(found)) for found in sets.values()])
        answered(turns, reader, answers, sure, time.monotonic() + options.answers)
    rows = [row for found in sets.values() for row in joined(found, model, answers)]
    halves = crossed(rows) if options.fit else shipped(options.model)
    way = "combined" if any(row.log_odds is not None for row in rows) else "retrieval"
    thresholds([row for row in rows if row.even], halves, way)
    print(f"\nBalanced accuracy at {threshold}:")
    found = {name: report(name, [row for row in rows if row.dataset == name], halves, threshold) for name in names}
    by_kind(rows, halves, threshold, way)
    if timed := [row["seconds"] for row in model.rows.values()]:
        print(f"\nreading the passages and asking: median {median(timed):.1f} s, n {len(timed)}")
    if options.fit:
        weights = fitted(rows)
        print(f"\n{weights}")
        write(weights, options.model, rows, halves)
    both = [(scores[way], scores["before"]) for scores in found.values() if way in scores and "before" in scores]
    ratio = np.mean([now for now, _ in both]) / np.mean([then for _, then in both]) if both else float("nan")
    print(f"\nbalanced accuracy, mean of the sets ({len(both)}), {way} / the search alone as it was: {ratio:.2f}")


if __name__ == "__main__":
    main()
