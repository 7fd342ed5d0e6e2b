"""The weights by which an answer is taken to be sure, and what the outcomes are worth with them.

Reads the answers that `answers.py --keep FOLDER` kept and asks nobody. A logistic regression learns from the sets of
--fit which written answers are right, by what speaks for each (`pdfqa_core.reading.outcomes`); an answer to a question
that the documents do not answer is wrong. Each set counts alike. The sets of --report are only reported. Printed: the
weights, as `sureness_weights.json` has them, and by threshold the share of answerable questions with a sure and right
answer, with a sure and wrong one, and of the others with a sure one, on the sets of --fit by ten-fold cross-validation
over conversations; 95 % Wilson intervals.

    python benchmarks/answers.py --keep FOLDER --set strangers strangers-odd everyday --system qwen2.5-coder-1.5b
    python benchmarks/sureness.py --keep FOLDER [--fit NAME …] [--report NAME …] [--system NAME] [--without-model]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from answers import DEFAULT, SETS, SHARED, Item, right
from common import json_lines, of_all
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

from pdfqa_core.reading.answerability import AGREED
from pdfqa_core.reading.outcomes import IN_LINES, SUPPORTED, SURE, WORDS, features
from pdfqa_core.settings import ReadingSettings

THRESHOLDS = (0.2, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75)
Row = tuple[str, Item, dict[str, Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", type=Path, required=True)
    parser.add_argument("--data", type=Path, default=SHARED)
    parser.add_argument("--system", default=DEFAULT)
    parser.add_argument("--fit", nargs="+", choices=SETS, default=["strangers", "everyday"])
    parser.add_argument("--report", nargs="*", choices=SETS, default=["natural", "strangers-odd"])
    parser.add_argument("--without-model", action="store_true", help="for models whose yes was not measured")
    chosen = parser.parse_args()
    names = (*(() if chosen.without_model else (AGREED,)), SUPPORTED, IN_LINES, WORDS)
    rows = [row for name in chosen.fit for row in kept(name, chosen)]
    written = [row for row in rows if SURE in row[2]["signals"]]
    x, y = signals_of(written, names), np.array([is_right(row) for row in written])
    sizes = {name: sum(row[0] == name for row in written) for name in chosen.fit}
    weight = np.array([len(written) / len(sizes) / sizes[row[0]] for row in written])
    model = LogisticRegression(C=1.0, max_iter=1000).fit(x, y, sample_weight=weight)
    weights = {"constant": model.intercept_[0], **dict(zip(names, model.coef_[0], strict=True))}
    print(json.dumps({name: round(float(value), 3) for name, value in weights.items()}))
    groups = [f"{name}-{item.id.rpartition('-')[0]}" for name, item, _ in written]
    sure: dict[str, float] = {}
    for train, test in GroupKFold(10).split(x, y, groups):
        part = LogisticRegression(C=1.0, max_iter=1000).fit(x[train], y[train], sample_weight=weight[train])
        for place, value in zip(test, part.predict_proba(x[test])[:, 1], strict=True):
            sure[written[place][0] + written[place][1].id] = value
    for name in chosen.fit:
        table(f"{name}, cross-validated", [row for row in rows if row[0] == name], sure)
    for name in chosen.report:
        others = kept(name, chosen)
        said = [row for row in others if SURE in row[2]["signals"]]
        if said:
            values = model.predict_proba(signals_of(said, names))[:, 1]
            found = {row[0] + row[1].id: value for row, value in zip(said, values, strict=True)}
            table(name, others, found)


def kept(name: str, chosen: argparse.Namespace) -> list[Row]:
    """Return the questions of a set with what was kept of their answers; none where nothing was kept."""
    file = chosen.keep / f"{name}-{chosen.system}.jsonl"
    if not file.is_file():
        return []
    items = {item.id: item for item in SETS[name](chosen.data).items}
    return [(name, items[row["id"]], row) for row in json_lines(file)]


def is_right(row: Row) -> bool:
    """Return whether a written answer is right; none is where the documents have none."""
    return row[1].answerable and right(row[2], row[1])


def signals_of(rows: Sequence[Row], names: Sequence[str]) -> np.ndarray:
    """Return the features of answers, (rows, names); 0 where there is no yes of the model."""
    return np.array([[features(row[2]["signals"]).get(name, 0.0) for name in names] for row in rows])


def table(title: str, rows: Sequence[Row], sure: dict[str, float]) -> None:
    """Print the shares of the outcomes by threshold."""
    there = [row for row in rows if row[1].answerable]
    others = [row for row in rows if not row[1].answerable]
    print(f"\n{title}: {len(there)} answerable, {len(others)} others; in use {ReadingSettings().sure_threshold}")
    print(f"{'sure from':<12}{'sure, right':>24}{'sure, wrong':>24}{'others, sure':>24}")
    for least in THRESHOLDS:
        said = [row for row in there if sure.get(row[0] + row[1].id, 0.0) >= least]
        good = sum(map(is_right, said))
        told = sum(sure.get(row[0] + row[1].id, 0.0) >= least for row in others)
        shares = (of_all(good, len(there)), of_all(len(said) - good, len(there)), of_all(told, len(others)))
        print(f"{least:<12}" + "".join(f"{one:>24}" for one in shares))


if __name__ == "__main__":
    main()
