"""Yes or no: the model's probabilities, with thresholds, against always taking the likelier of the two.

Data: PubMedQA's questions with yes or no as their answer, beside the abstract without its conclusion (`results`) and
with it (`conclusion`, as a paper has it), and SciFact's claims of the validation list, asked as questions beside the
abstract that supports or contradicts them (`scifact`). As many with yes as with no, drawn with one seed. First what
the two thresholds in use are worth: beyond them the program tells the model whether to answer yes or no, between them
the model decides. Then thresholds chosen on the even questions of `conclusion`, so that at least --precision of the
verdicts are right there, reported on its odd ones and on all of the others; and a single one. Last the ratio of the
balanced accuracy of the single one and of threshold 0, odd questions. With --written N the model also answers N of the
questions of `conclusion` and of `scifact` that the thresholds leave open, at once and with the facts first.

    python benchmarks/yes_or_no.py [--quick] [--model NAME_OR_PATH] [--items N] [--written N] [--keep FILE]
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from northwind import ROOT
from retrieval_scifact import load, table
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from pdfqa_core.llm import LlamaCpp
from pdfqa_core.llm.catalogue import DEFAULT, resolve
from pdfqa_core.metrics.statistics import summarise
from pdfqa_core.models import Encoders, graphs_path
from pdfqa_core.reading import GenerativeReader, Meaning
from pdfqa_core.reading.checking import Checker
from pdfqa_core.reading.evidence import Evidence
from pdfqa_core.reading.guard import plainly
from pdfqa_core.reading.prompts import FACTS_FIRST, FORMS, IS_IT_SO
from pdfqa_core.reading.yes_or_no import log_odds
from pdfqa_core.settings import LLMSettings
from pdfqa_core.settings_sources import models_path
from pdfqa_core.streaming import complete, result_of
from pdfqa_core.types import Hit, Passage, Span

DATA = ROOT.parent / "shared" / "data"
PUBMEDQA, SCIFACT = DATA / "pubmedqa" / "ori_pqal.json", DATA / "scifact" / "scifact.zip"
Item = tuple[str, str, str, bool]  # id, question, text, whether the answer is yes
QUICK = 6
WRITTEN = 120  # tokens of an answer


def pubmedqa(conclusion: bool) -> list[Item]:
    """Return the questions with a clear answer, beside their abstracts."""
    data = json.loads(PUBMEDQA.read_text("utf-8"))
    return [
        (
            key, row["QUESTION"], "\n\n".join([*row["CONTEXTS"], *([row["LONG_ANSWER"]] if conclusion else [])]),
            row["final_decision"] == "yes",
        )
        for key, row in sorted(data.items()) if row["final_decision"] in ("yes", "no")
    ]  # fmt: skip


def scifact() -> list[Item]:
    """Return the claims that one abstract supports or contradicts, as questions."""
    corpus, _ = load(SCIFACT)
    texts = {passage.document_id: passage.text for passage in corpus}
    with zipfile.ZipFile(SCIFACT) as archive:
        rows = [row for row in table(archive, "claims_validation.csv") if row["evidence_label"]]
    return [
        (
            f"{row['id']}-{row['evidence_doc_id']}", f"Is it true that {row['claim'].rstrip('.')}?",
            texts[row["evidence_doc_id"]], row["evidence_label"] == "SUPPORT",
        )
        for row in rows
    ]  # fmt: skip


def drawn(found: Sequence[Item], count: int) -> list[Item]:
    """Return as many items with yes as with no, in a drawn order."""
    draw = random.Random(0)
    kept = []
    for answer in (True, False):
        those = [item for item in found if item[3] is answer]
        kept += draw.sample(those, min(count // 2, len(those)))
    draw.shuffle(kept)
    return kept


def odds_of(reader: GenerativeReader, question: str, abstract: str) -> float:
    """Return the model's log-odds of yes against no."""
    prompt = reader.prompt(question, evidence_of(reader, question, abstract), (), IS_IT_SO)
    return result_of(log_odds(reader.llm, prompt, "asking"))


def evidence_of(reader: GenerativeReader, question: str, text: str) -> Evidence:
    """Return a text as what the model reads."""
    return reader.fitting(question, [Hit(Passage("p", (Span("doc", 1, 0, len(text)),), text), 1.0, 1, "")])


def thresholds(odds: np.ndarray, yes: np.ndarray, precision: float) -> tuple[float, float]:
    """Return (yes from, no below): the least and the greatest with at least this precision on the outer side."""
    ordered = np.sort(odds)
    up = [t for t in ordered if yes[odds >= t].mean() >= precision]
    down = [t for t in ordered if (odds < t).any() and (~yes[odds < t]).mean() >= precision]
    return (min(up) if up else float("inf")), (max(down) if down else float("-inf"))


def written(reader: GenerativeReader, name: str, items: Sequence[Item], known: dict[str, Any]) -> None:
    """Print how many open questions are answered with yes, and the answers to those whose answer is no, to be read."""
    ways = {"at once": reader.instruction, "facts first": f"{FACTS_FIRST} {reader.instruction}"}
    for key, question, text, yes in items:
        for way, instruction in ways.items():
            if (place := f"{name} {key} {way}") not in known:
                prompt = reader.prompt(question, evidence_of(reader, question, text), (), instruction)
                known[place] = plainly("".join(complete(reader.llm, prompt, max_tokens=WRITTEN)).strip())
            if not yes:
                print(f"  {name}, {way}: {question}\n    {known[place]}")
    for way in ways:
        for truth in (True, False):
            said = [
                known[f"{name} {key} {way}"].casefold().startswith("yes") for key, _, _, yes in items if yes is truth
            ]
            print(f"  {name}, {way}, where it is {'yes' if truth else 'no'}: {sum(said)} of {len(said)} begin with yes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} questions")
    parser.add_argument("--model", default=DEFAULT)
    parser.add_argument("--items", type=int, default=200)
    parser.add_argument("--precision", type=float, default=0.9)
    parser.add_argument("--written", type=int, default=0, help="open questions of each set that are answered in words")
    parser.add_argument("--keep", type=Path, help="file for log-odds and answers")
    parser.add_argument("--prompt-tokens", type=int, default=0, help="of an abstract that are read (default: all)")
    parser.add_argument("--threads", type=int, default=2)
    chosen = parser.parse_args()
    if not (PUBMEDQA.is_file() and SCIFACT.is_file()):
        sys.exit(f"The questions are not here: {PUBMEDQA}, {SCIFACT}")
    llm = LlamaCpp(resolve(chosen.model, models_path(LLMSettings())), name=chosen.model, threads=chosen.threads)
    form = FORMS["qwen2.5-coder-1.5b"]
    encoder = Encoders.with_graphs(graphs_path(LLMSettings())).encoder()
    reader = GenerativeReader(
        llm, form=form, instruction=form.instructions["boolean"], prompt_tokens=chosen.prompt_tokens,
        checker=Checker(meaning=Meaning(encoder.encode)),
    )  # fmt: skip
    known = json.loads(chosen.keep.read_text("utf-8")) if chosen.keep and chosen.keep.exists() else {}
    sets: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for name, found in (("conclusion", pubmedqa(True)), ("scifact", scifact()), ("results", pubmedqa(False))):
        items = drawn(found, QUICK if chosen.quick else chosen.items)
        for key, question, text, _ in items:
            if f"{name} {key}" not in known:
                known[f"{name} {key}"] = odds_of(reader, question, text)
                if chosen.keep:
                    chosen.keep.write_text(json.dumps(known), "utf-8")
        sets[name] = np.array([known[f"{name} {key}"] for key, *_ in items]), np.array([item[3] for item in items])
    used = form.verdict
    assert used is not None
    print(f"in use: yes from {used.yes_from}, no below {used.no_below}")
    together = [np.concatenate(values) for values in zip(*sets.values(), strict=True)]
    for name, (odds, yes) in {**sets, "all": tuple(together)}.items():
        report(name, odds, yes, used.yes_from, used.no_below, 0.0)
    for name, found in (("conclusion", pubmedqa(True)), ("scifact", scifact())):
        items = drawn(found, QUICK if chosen.quick else chosen.items)
        left = [item for item in items if used.no_below <= known[f"{name} {item[0]}"] < used.yes_from]
        written(reader, name, left[: 1 if chosen.quick else chosen.written], known)
        if chosen.keep:
            chosen.keep.write_text(json.dumps(known), "utf-8")
    odds, yes = sets["conclusion"]
    up, down = thresholds(odds[::2], yes[::2], chosen.precision)
    one = max(sorted(odds[::2]), key=lambda t: balanced_accuracy_score(yes[::2], odds[::2] >= t))
    print(
        f"\nyes from {up:.2f}, no below {down:.2f}, one threshold {one:.2f}: chosen on {len(odds[::2])} even questions"
    )
    single, zero = report("conclusion, odd", odds[1::2], yes[1::2], up, down, one)
    for name in ("scifact", "results"):
        report(name, *sets[name], up, down, one)
    print(f"one threshold / threshold 0, balanced accuracy of the odd questions: {single / zero:.2f}")


def report(name: str, odds: np.ndarray, yes: np.ndarray, up: float, down: float, one: float) -> tuple[float, float]:
    """Print what the thresholds do; return the balanced accuracy of the one threshold and of 0."""
    print(f"\n{name}: {len(odds)} questions, AUC {roc_auc_score(yes, odds):.3f}")
    for said, sure in (("yes", odds >= up), ("no", odds < down)):
        right = yes[sure] == (said == "yes")
        mean = summarise([float(value) for value in right]) if len(right) else None
        shown = f"{mean.mean:.3f} [{mean.low:.3f}, {mean.high:.3f}]" if mean else "-"
        print(f"  {said}: {len(right)} of {len(odds)}, right {shown}")
    single, zero = (float(balanced_accuracy_score(yes, odds >= t)) for t in (one, 0.0))
    print(f"  balanced accuracy: one threshold {single:.3f}, threshold 0 {zero:.3f}")
    return single, zero


if __name__ == "__main__":
    main()
