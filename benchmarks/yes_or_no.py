"""Yes or no: the model's probabilities against its own first word, on PubMedQA.

Questions with yes or no as their answer, beside their abstract. The two thresholds on the log-odds are chosen on the
even questions and reported on the odd ones: outside of them a verdict has to be right in at least --precision of the
cases, between them the model is left to its own words. Last the ratio of the balanced accuracy of one threshold and of
always saying what the log-odds alone say (threshold 0).

    python benchmarks/yes_or_no.py [--quick] [--model NAME_OR_PATH] [--items N] [--keep FILE] [--threads N]
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from northwind import ROOT
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from pdfqa_core.llm import LlamaCpp
from pdfqa_core.llm.catalogue import DEFAULT, resolve
from pdfqa_core.metrics.statistics import summarise
from pdfqa_core.reading import GenerativeReader
from pdfqa_core.reading.prompts import FORMS, IS_IT_SO
from pdfqa_core.reading.yes_or_no import log_odds
from pdfqa_core.settings import LLMSettings, models_path
from pdfqa_core.streaming import result_of
from pdfqa_core.types import Hit, Passage, Span

DATA = ROOT.parent / "shared" / "data" / "pubmedqa" / "ori_pqal.json"
QUICK = 6


def items(count: int) -> list[tuple[str, str, str, bool]]:
    """Return (id, question, abstract, yes) of as many questions with yes as with no, drawn with one seed."""
    data = json.loads(DATA.read_text("utf-8"))
    drawn = random.Random(0)
    found = []
    for answer in ("yes", "no"):
        keys = sorted(key for key, row in data.items() if row["final_decision"] == answer)
        for key in drawn.sample(keys, min(count // 2, len(keys))):
            found.append((key, data[key]["QUESTION"], "\n\n".join(data[key]["CONTEXTS"]), answer == "yes"))
    drawn.shuffle(found)
    return found


def odds_of(reader: GenerativeReader, question: str, abstract: str) -> float:
    """Return the model's log-odds of yes against no."""
    hit = Hit(Passage("p", (Span("doc", 1, 0, len(abstract)),), abstract), 1.0, 1, "")
    evidence = reader.fitting(question, [hit])
    found = result_of(log_odds(reader.llm, reader.prompt(question, evidence, (), IS_IT_SO)))
    if found is None:
        raise SystemExit("The engine gives no probabilities.")
    return found


def thresholds(odds: Sequence[float], yes: Sequence[bool], precision: float) -> tuple[float, float]:
    """Return (yes from, no below): the least and the greatest with at least this precision on the outer side."""
    values = np.array(odds)
    truth = np.array(yes)
    ordered = np.sort(values)
    up = [t for t in ordered if truth[values >= t].mean() >= precision]
    down = [t for t in ordered if (values < t).any() and (~truth[values < t]).mean() >= precision]
    return (min(up) if up else float("inf")), (max(down) if down else float("-inf"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} questions")
    parser.add_argument("--model", default=DEFAULT)
    parser.add_argument("--items", type=int, default=200)
    parser.add_argument("--precision", type=float, default=0.8)
    parser.add_argument("--keep", type=Path, help="file for the log-odds")
    parser.add_argument("--threads", type=int, default=2)
    chosen = parser.parse_args()
    if not DATA.is_file():
        sys.exit(f"The questions are not here: {DATA}")
    llm = LlamaCpp(resolve(chosen.model, models_path(LLMSettings())), name=chosen.model, threads=chosen.threads)
    reader = GenerativeReader(llm, form=FORMS["qwen2.5"])
    known = json.loads(chosen.keep.read_text("utf-8")) if chosen.keep and chosen.keep.exists() else {}
    drawn = items(QUICK if chosen.quick else chosen.items)
    for key, question, abstract, _ in drawn:
        if key not in known:
            known[key] = odds_of(reader, question, abstract)
            if chosen.keep:
                chosen.keep.write_text(json.dumps(known), "utf-8")
    odds, yes = [known[key] for key, *_ in drawn], [row[3] for row in drawn]
    report(odds, yes, chosen.precision)


def report(odds: Sequence[float], yes: Sequence[bool], precision: float) -> None:
    """Print what the thresholds of the even questions do on the odd ones."""
    tune, tuned = odds[::2], yes[::2]
    held, truth = np.array(odds[1::2]), np.array(yes[1::2])
    up, down = thresholds(tune, tuned, precision)
    best = max(sorted(tune), key=lambda t: balanced_accuracy_score(tuned, np.array(tune) >= t))
    print(f"{len(tune)} even, {len(held)} odd questions; AUC of the odd ones {roc_auc_score(truth, held):.3f}")
    print(f"yes from {up:.2f}, no below {down:.2f}: chosen on the even ones for a precision of {precision}")
    for name, sure in (("yes", held >= up), ("no", held < down)):
        right = truth[sure] == (name == "yes")
        said = summarise([float(one) for one in right]) if len(right) else None
        shown = f"{said.mean:.3f} [{said.low:.3f}, {said.high:.3f}]" if said else "-"
        print(f"  {name}: {len(right)} of {len(held)}, right {shown}")
    one = balanced_accuracy_score(truth, held >= best)
    naive = balanced_accuracy_score(truth, held >= 0)
    print(f"one threshold at {best:.2f}: balanced accuracy {one:.3f}; at 0: {naive:.3f}")
    print(f"one threshold / threshold 0, balanced accuracy: {one / naive:.2f}")


if __name__ == "__main__":
    main()
