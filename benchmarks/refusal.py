"""How well questions without an answer in the documents are turned away: by the search, by the model, by both.

Data: Northwind (50 questions that its PDFs answer, 45 that they do not) and CLAPnq (300 and 300; all 600 passages are
one corpus, because a user searches a corpus: the passage that belongs to a question need not be the one that is found).
Hits are those of the default recipe: hybrid, windows of 120 words, k 5; the model reads as many as the default reader.

Prints, for each way to refuse, balanced accuracy, AUC and shares at the default threshold; `--fit` the weights that the
program ships and what they are worth on questions and data sets that they were not fitted on; `--write` counts the
curves that the page draws. Signals are appended to files in `--cache`, so that a run goes on where one ended; remove
the files to measure again. `--seconds` ends asking the model after that time; questions it was not asked are left out.

    python benchmarks/refusal.py [--quick] [--cache DIR] [--seconds N] [--fit] [--write]
"""

from __future__ import annotations

import datetime
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from northwind import DATA, ROOT, arguments, check, items, passages, read

from pdfqa_core.chunking import Windows, with_headings
from pdfqa_core.json_codec import decode, encode
from pdfqa_core.llm import LlamaCpp
from pdfqa_core.llm.catalogue import resolve
from pdfqa_core.reading import GenerativeReader, Meaning, answerability
from pdfqa_core.reading.refusal_curve import DATA as CURVES
from pdfqa_core.reading.refusal_curve import STEPS
from pdfqa_core.retrieval import Encoder, Index, retrievers
from pdfqa_core.retrieval.confidence import (
    CONSTANT,
    CONSTANT_ALONE,
    COVERED,
    COVERED_ALONE,
    NEAREST,
    confidence,
    covered,
    nearest,
)
from pdfqa_core.settings import Settings
from pdfqa_core.types import Hit, Message, Page, Passage

CLAPNQ = DATA.parent / "clapnq"
MODEL = "smollm2-135m"
WAYS = ("words alone", "retrieval", "model", "combined")
QUICK = 24
QUICK_SECONDS = 12.0
REPEATS = 20
COLD_EVERY = 8  # questions whose first token is also timed without a judgement


@dataclass(frozen=True)
class Asked:
    """A question, whether its data set answers it, and what was measured of it."""

    dataset: str
    question: str
    answerable: bool
    covered: float
    nearest: float
    log_odds: float | None = None


# ------------------------------------------------------------------ data


def northwind(folder: Path) -> tuple[list[Passage], list[tuple[str, bool]]]:
    known, unknown = (items(folder / name) for name in ("questions_50.jsonl", "unanswerable_45.jsonl"))
    made = passages(read(folder), Windows(size=120, step=60))
    return made, [*((i.question, True) for i in known), *((i.question, False) for i in unknown)]


def clapnq(folder: Path) -> tuple[list[Passage], list[tuple[str, bool]]]:
    made: list[Passage] = []
    asked = []
    chunker = Windows(size=120, step=60)
    for name, answerable in (("answerable", True), ("unanswerable", False)):
        for line in (folder / f"dev_{name}.jsonl").read_text("utf-8").splitlines():
            row = json.loads(line)
            asked.append((row["input"], answerable))
            (passage,) = row["passages"]
            pages = (Page(f"{name} {row['id']}", 1, "1", 600, 800, passage["text"]),)
            made += with_headings(chunker.chunk(pages), pages, passage["title"])
    return made, asked


# ------------------------------------------------------------------ signals


class Kept:
    """Rows of a JSONL file by data set and question, appended as they are made."""

    def __init__(self, file: Path) -> None:
        self.file = file
        rows = map(json.loads, file.read_text("utf-8").splitlines()) if file.is_file() else ()
        self.rows = {(row["dataset"], row["question"]): row for row in rows}

    def add(self, **row: Any) -> None:
        """Append a row."""
        with self.file.open("a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")
        self.rows[row["dataset"], row["question"]] = row


class Measured:
    """A data set, searched when something of it is not kept yet."""

    def __init__(self, name: str, load: Any, encoder: Encoder, cache: Path, *, quick: bool) -> None:
        self.name, self._encoder, self._cache, self._quick = name, encoder, cache, quick
        self._retriever: Any = None
        self._found = Kept(cache / "hits.jsonl")
        self.made, self.asked = load()
        if quick:
            self.asked = self.asked[:: max(1, len(self.asked) // QUICK)]

    def hits(self, question: str) -> list[Hit]:
        """Return what the default recipe finds; bm25's with `quick`, which encodes no passages."""
        kept = self._found.rows.get((self.name, question))
        if kept is None:
            if self._retriever is None:
                self._retriever = self._open()
            hits = self._retriever.search(question, Settings().retrieval.k)
            self._found.add(dataset=self.name, question=question, hits=[json.loads(encode(hit)) for hit in hits])
            kept = self._found.rows[self.name, question]
        return [decode(Hit, json.dumps(hit)) for hit in kept["hits"]]

    def _open(self) -> Any:
        index = Index.open_or_build(
            self._cache / "indexes",
            self.name,
            {self.name: lambda: self.made},
            encoder=None if self._quick else self._encoder,
            embeddings=not self._quick,
        )
        return retrievers.get("bm25" if self._quick else "hybrid")(index)


def searched(data: Measured, encoder: Encoder, kept: Kept) -> None:
    """Keep the features of the retrieval confidence for every question."""
    for question, _ in data.asked:
        if (data.name, question) in kept.rows:
            continue
        hits = data.hits(question)
        words = covered(question, hits) or 0.0
        near = nearest(question, hits, Meaning(encoder.encode).vectors)
        kept.add(dataset=data.name, question=question, covered=words, nearest=near)


def asked_model(data: Measured, reader: GenerativeReader, kept: Kept, until: float) -> None:
    """Keep the model's log-odds for as many questions as there is time, answerable and other ones in turn."""
    known = [question for question, answerable in data.asked if answerable]
    other = [question for question, answerable in data.asked if not answerable]
    for question in in_turn(known, other):
        if (data.name, question) in kept.rows:
            continue
        if time.monotonic() > until:
            return
        hits = data.hits(question)
        prompt = reader.messages(question, reader.fitting(question, hits))
        cold = None
        if len(kept.rows) % COLD_EVERY == 0:
            cold = seconds(lambda: first_token(reader, prompt))  # noqa: B023 - called at once
            first_token(reader, [Message("user", "Hello")])  # so that the model knows nothing of the passages any more
        began = time.perf_counter()
        odds = last(answerability.model_log_odds(reader, question, hits))
        spent = time.perf_counter() - began
        after = seconds(lambda: first_token(reader, prompt))  # noqa: B023
        kept.add(dataset=data.name, question=question, log_odds=odds, seconds=spent, cold=cold, after=after)


def first_token(reader: GenerativeReader, prompt: Sequence[Message]) -> None:
    list(reader.llm.stream(prompt, max_tokens=1))


def seconds(work: Callable[[], None]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def in_turn(one: Sequence[str], other: Sequence[str]) -> Iterator[str]:
    for n in range(max(len(one), len(other))):
        yield from (*one[n : n + 1], *other[n : n + 1])


def last(steps: Any) -> Any:
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def joined(data: Measured, search: Kept, model: Kept) -> list[Asked]:
    found = []
    for question, answerable in data.asked:
        key = (data.name, question)
        row, said = search.rows[key], model.rows.get(key)
        odds = said["log_odds"] if said else None
        found.append(Asked(data.name, question, answerable, row["covered"], row["nearest"], odds))
    return found


# ------------------------------------------------------------------ confidences


def logistic(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def shipped(way: str, rows: Sequence[Asked]) -> np.ndarray:
    """Return the confidences as the program computes them."""
    words, near = features(rows)
    alone = logistic(COVERED_ALONE * words + CONSTANT_ALONE)
    search = logistic(NEAREST * near + COVERED * words + CONSTANT)
    if way == "words alone":
        return np.asarray(alone)
    if way == "retrieval":
        return np.asarray(search)
    said = [answerability.probability(row.log_odds or 0.0) for row in rows]
    if way == "model":
        return np.array(said)
    return np.array([answerability.combined(s, m) for s, m in zip(search, said, strict=True)])


def features(rows: Sequence[Asked]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([row.covered for row in rows]), np.array([row.nearest for row in rows])


def design(way: str, rows: Sequence[Asked]) -> np.ndarray:
    """Return what a regression of this way is fitted on."""
    words, near = features(rows)
    return words[:, None] if way == "words alone" else np.c_[near, words]


def fitted(x: np.ndarray, rows: Sequence[Asked]) -> Any:
    """Return a logistic regression in which each data set and each kind of question in it weighs the same."""
    from sklearn.linear_model import LogisticRegression

    kinds = [(row.dataset, row.answerable) for row in rows]
    weights = np.array([len(rows) / len(set(kinds)) / kinds.count(kind) for kind in kinds])
    y = np.array([row.answerable for row in rows])
    return LogisticRegression(C=100, max_iter=10_000).fit(x, y, sample_weight=weights)


def predicted(way: str, train: Sequence[Asked], test: Sequence[Asked]) -> np.ndarray:
    """Return the confidences of `test` with weights fitted on `train` alone; the model's signal has no fitted ones."""
    if way == "model":
        return shipped(way, test)
    found = np.asarray(fitted(design(way, train), train).predict_proba(design(way, test))[:, 1])
    if way != "combined":
        return found
    return np.array([answerability.combined(s, m) for s, m in zip(found, shipped("model", test), strict=True)])


# ------------------------------------------------------------------ reports


def shares(values: np.ndarray, rows: Sequence[Asked], threshold: float) -> tuple[float, float, float]:
    """Return balanced accuracy, the share of answerable questions let through, that of the others turned away."""
    answerable = np.array([row.answerable for row in rows])
    kept, refused = float((values[answerable] >= threshold).mean()), float((values[~answerable] < threshold).mean())
    return (kept + refused) / 2, kept, refused


def auc(values: np.ndarray, rows: Sequence[Asked]) -> float:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score([row.answerable for row in rows], values))


def counted(rows: Sequence[Asked]) -> str:
    known = sum(row.answerable for row in rows)
    return f"{known} answerable, {len(rows) - known} not"


def report(name: str, rows: Sequence[Asked], threshold: float) -> dict[str, float]:
    asked = [row for row in rows if row.log_odds is not None]
    found = {}
    print(f"{name}: {counted(rows)}; the model was asked about {len(asked)}")
    for way in WAYS:
        of = asked if way in ("model", "combined") else rows
        if not of:
            continue
        values = shipped(way, of)
        found[way], kept, refused = shares(values, of, threshold)
        print(
            f"  {way:<12} at {threshold}: balanced accuracy {found[way]:.3f} (answers {kept:.2f} of the answerable, "
            f"refuses {refused:.2f} of the others)   AUC {auc(values, of):.3f}   n {len(of)}"
        )
    return found


def held_out(sets: dict[str, list[Asked]], threshold: float) -> None:
    """Print what regressions are worth on the other half of both data sets, and on the other data set."""
    print(f"\nHeld out, at {threshold}: fitted on half of each data set, measured on the other half ({REPEATS} times)")
    for way in WAYS:
        of = {name: usable(way, rows) for name, rows in sets.items()}
        if not all(of.values()):
            continue
        scores: dict[str, list[float]] = {name: [] for name in of}
        rng = np.random.default_rng(0)
        for _ in range(REPEATS):
            train, test = [], {}
            for name, rows in of.items():
                half = stratified(rows, rng)
                train += [row for row, chosen in zip(rows, half, strict=True) if chosen]
                test[name] = [row for row, chosen in zip(rows, half, strict=True) if not chosen]
            for name, rows in test.items():
                scores[name].append(shares(predicted(way, train, rows), rows, threshold)[0])
        across = {name: shares(predicted(way, others(of, name), rows), rows, threshold) for name, rows in of.items()}
        for name in of:
            print(
                f"  {way:<12} {name:<10} halves {np.mean(scores[name]):.3f} (sd {np.std(scores[name]):.3f})   "
                f"fitted on the other data set {across[name][0]:.3f}"
            )


def others(sets: dict[str, list[Asked]], name: str) -> list[Asked]:
    return [row for other, rows in sets.items() if other != name for row in rows]


def usable(way: str, rows: Sequence[Asked]) -> list[Asked]:
    return [row for row in rows if row.log_odds is not None] if way in ("model", "combined") else list(rows)


def stratified(rows: Sequence[Asked], rng: np.random.Generator) -> np.ndarray:
    """Return which rows are in the first half: half of the answerable and half of the other ones."""
    chosen = np.zeros(len(rows), dtype=bool)
    for kind in (True, False):
        places = rng.permutation([n for n, row in enumerate(rows) if row.answerable is kind])
        chosen[places[: len(places) // 2]] = True
    return chosen


def weights(sets: dict[str, list[Asked]]) -> None:
    """Print the constants of confidence.py as fitted on everything, and how far the model's signal can be trusted."""
    every = [row for rows in sets.values() for row in rows]
    print("\nFitted on everything:")
    for way in ("words alone", "retrieval"):
        model = fitted(design(way, every), every)
        print(f"  {way:<12} weights {np.round(model.coef_[0], 2)}   constant {model.intercept_[0]:.2f}")
    asked = usable("model", every)
    if asked:
        odds = np.array([row.log_odds for row in asked])
        print(f"  the model's log-odds: mean {odds.mean():.2f}, sd {odds.std():.2f}, n {len(asked)}")


def costs(data: Measured, encoder: Encoder, model: Kept) -> None:
    """Print what judging adds to the time before the first token; the search's signal is timed on a few questions."""
    spent = []
    for question, _ in data.asked[:QUICK]:
        hits = data.hits(question)
        vectors = Meaning(encoder.encode).vectors
        spent.append(seconds(lambda: confidence(question, hits, vectors)))  # noqa: B023 - called at once
    print(f"seconds before the first token (medians): judging by the search {median(spent):.2f} (n {len(spent)})")
    if timed := [row for row in model.rows.values() if row["cold"] is not None]:
        added = median(row["seconds"] + row["after"] - row["cold"] for row in timed)
        cold = median(row["cold"] for row in timed)
        print(f"  by the model {added:.2f} more, beside {cold:.2f} for reading the prompt (n {len(timed)})")


def write_curves(sets: dict[str, list[Asked]]) -> None:
    rows = []
    for way in ("retrieval", "model", "combined"):
        for name, every in sets.items():
            of = usable(way, every)
            if not of:
                continue
            values, known = shipped(way, of), np.array([row.answerable for row in of])
            below = [values < n / STEPS for n in range(STEPS + 1)]
            rows.append(
                {
                    "refusal": way,
                    "dataset": name,
                    "model": "" if way == "retrieval" else MODEL,
                    "measured": datetime.datetime.now(datetime.UTC).date().isoformat(),
                    "answerable": int(known.sum()),
                    "unanswerable": int((~known).sum()),
                    "wrongly": [int(b[known].sum()) for b in below],
                    "rightly": [int(b[~known].sum()) for b in below],
                }
            )
    CURVES.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n", encoding="utf-8")
    print(f"\n{len(rows)} curves written to {CURVES}")


def main() -> None:
    parser = arguments(__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, help="folder of the measured signals; a new one unless given")
    parser.add_argument("--seconds", type=float, default=1e9, help="ask the model for at most this long")
    parser.add_argument("--models-dir", type=Path, default=ROOT / "models")
    parser.add_argument("--fit", action="store_true", help="print fitted weights and hold-out results")
    parser.add_argument("--write", action="store_true", help="write the curves of the page")
    options = parser.parse_args()
    check(options.data)
    cache = options.cache or Path(tempfile.mkdtemp(prefix="refusal-"))
    cache.mkdir(parents=True, exist_ok=True)
    search, model = Kept(cache / "search.jsonl"), Kept(cache / "model.jsonl")
    encoder = Encoder()
    loaders = {"northwind": lambda: northwind(options.data)}
    if (CLAPNQ / "dev_answerable.jsonl").is_file() and not options.quick:
        loaders["clapnq"] = lambda: clapnq(CLAPNQ)
    data = {name: Measured(name, load, encoder, cache, quick=options.quick) for name, load in loaders.items()}
    for of in data.values():
        searched(of, encoder, search)
    limit = min(options.seconds, QUICK_SECONDS) if options.quick else options.seconds
    llm = LlamaCpp(resolve(MODEL, options.models_dir), name=MODEL)
    reading = Settings().reading
    reader = GenerativeReader(llm, passages=reading.passages, prompt_tokens=reading.prompt_tokens)
    for of in data.values():
        asked_model(of, reader, model, time.monotonic() + limit / len(data))

    sets = {name: joined(of, search, model) for name, of in data.items()}
    threshold = reading.confidence_threshold
    found = {name: report(name, rows, threshold) for name, rows in sets.items()}
    costs(next(iter(data.values())), encoder, model)
    if options.fit and len(sets) > 1:
        held_out(sets, threshold)
        weights(sets)
    if options.write:
        write_curves(sets)
    name, of_last = list(found.items())[-1]
    ratio = of_last[reading.refusal] / of_last["words alone"]
    print(f"\nbalanced accuracy on {name}, {reading.refusal} / words alone: {ratio:.2f}")


if __name__ == "__main__":
    main()
