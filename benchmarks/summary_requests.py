"""Which questions ask what the documents are about: the weights by which that is told, and what they are worth.

`summary_requests.tsv` has requests for summaries beside other questions, written for it, in two halves. A logistic
regression on the vectors of the bundled encoder learns from one half and the questions of Northwind, the filings and
the sample; it is reported on the other half and on the questions of `answers.py` that people asked about documents,
none of which asks for a summary. With --fit the weights are written to `pdfqa_core/reading/summary_request.json`.

    python benchmarks/summary_requests.py [--fit]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from answers import SETS, SHARED
from common import of_all, row
from sklearn.linear_model import LogisticRegression
from verdicts import meaning

from pdfqa_core.reading.summary import ASKED_FROM, REQUEST, asks_for_summary

ROWS = Path(__file__).with_suffix(".tsv")
KIND = "summary"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=SHARED, help="folder with northwind, aapl_10q and strangers")
    parser.add_argument("--fit", action="store_true", help="write the weights")
    chosen = parser.parse_args()
    rows = [line.split("\t") for line in ROWS.read_text("utf-8").splitlines()]
    vectors = meaning()
    if chosen.fit:
        learned = [(text, kind == KIND) for half, kind, text in rows if half == "tune"]
        learned += [(text, False) for text in asked(chosen.data, "northwind", "aapl", "sample")]
        y = np.array([yes for _, yes in learned])
        weight = np.where(y, (~y).sum() / y.sum(), 1.0) / (2 * (~y).mean())  # both count alike
        model = LogisticRegression(C=10, max_iter=5000)
        model.fit(vectors.vectors([text for text, _ in learned]), y, sample_weight=weight)
        found = {
            "constant": round(float(model.intercept_[0]), 3),
            "weights": [round(float(w), 3) for w in model.coef_[0]],
        }
        REQUEST.write_text(json.dumps(found) + "\n", encoding="utf-8")
    lists = {
        "requests": [text for half, kind, text in rows if half == "report" and kind == KIND],
        "others beside them": [text for half, kind, text in rows if half == "report" and kind != KIND],
        "people's questions": asked(chosen.data, "everyday", "natural", "strangers", "strangers-odd"),
    }
    print(f"taken for a request for a summary, from {ASKED_FROM} on")
    for name, texts in lists.items():
        count = sum(asks_for_summary(text, vectors) for text in texts)
        row(name, f"{count} of {len(texts)}", of_all(count, len(texts)), width=24)


def asked(folder: Path, *names: str) -> list[str]:
    """Return the questions of some sets."""
    return [item.question for name in names for item in SETS[name](folder).items]


if __name__ == "__main__":
    main()
