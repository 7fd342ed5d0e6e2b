"""What each form of the bundled encoder finds: SciFact by nDCG@10, Northwind and XQuAD by MRR, dense and hybrid.

The forms are those of encoder_forms.py; the program takes "int8 smoothed" where it is faster. The rule is that it may
lose at most .005 against torch fp32, the baseline (the first of --forms). Northwind's 50 questions are too few to tell
so small a loss from chance, the 1,190 of XQuAD (English) can. Prints the measures, their difference
from the baseline, and how near to its vectors those of a form are. Intervals of XQuAD resample its paragraphs.
"""

from __future__ import annotations

import sys
import time
from functools import partial

import numpy as np
from encoder_forms import forms
from languages import DATA as XQUAD
from languages import DEPTH, searched
from languages import load as load_xquad
from languages import ranks as ranks_of_paragraphs
from northwind import DATA, arguments, items, passages, read
from retrieval_northwind import mrr, ranks
from retrieval_scifact import DATA as SCIFACT
from retrieval_scifact import load

from pdfqa_core.chunking import Windows
from pdfqa_core.metrics.statistics import Summary, paired_difference
from pdfqa_core.protocols.retrieval import run_system
from pdfqa_core.retrieval import Index, retrievers

MEASURE = "nDCG@10"
QUICK = 60  # abstracts, claims, and pages of each PDF


def gap(found: Summary) -> str:
    return f"{found.mean:+.4f} [{found.low:+.4f}, {found.high:+.4f}]"


def inverses(found: list[int]) -> list[float]:
    return [1 / rank if rank else 0.0 for rank in found]


def main() -> None:
    parser = arguments(__doc__.splitlines()[0])
    parser.add_argument("--forms", default="", help="names of forms by commas, the baseline first; all unless given")
    options = parser.parse_args()
    if not (SCIFACT / "scifact.zip").is_file() or not (DATA / "questions_50.jsonl").is_file():
        raise SystemExit("SciFact or Northwind is not here.")
    if not (XQUAD / "xquad.en.json").is_file():
        raise SystemExit("XQuAD is not here.")
    corpus, claims = load(SCIFACT / "scifact.zip")
    pages, questions = read(DATA), items(DATA / "questions_50.jsonl")
    paragraphs, asked = load_xquad(XQUAD, "en", options.quick)
    if options.quick:
        asked = asked[:QUICK]
        corpus, claims = corpus[:QUICK], claims[:QUICK]
        pages = {name: found[:QUICK] for name, found in list(pages.items())[:1]}
        print("--quick: too little to compare forms by")
    windows = passages(pages, Windows(size=120, step=60), headings=True)
    print(
        f"{len(corpus)} abstracts, {len(claims)} claims; {len(windows)} windows, {len(questions)} questions; ", end=""
    )
    print(f"{len(paragraphs)} paragraphs of XQuAD, {len(asked)} questions", flush=True)
    clusters = [gold for _, gold in asked]
    base: dict[str, list[float]] = {}
    vectors: np.ndarray | None = None
    known = forms()
    chosen = options.forms.split(",") if options.forms else list(known)
    for name in chosen:
        form = known[name]
        began = time.perf_counter()
        index = Index.in_memory(corpus, form)
        rate = len(corpus) / (time.perf_counter() - began)
        northwind = Index.in_memory(windows, form)
        xquad = Index.in_memory(paragraphs, form)
        vectors = northwind.embeddings if vectors is None else vectors
        nearness = float((northwind.embeddings * vectors).sum(axis=1).min())
        print(f"{name}: {rate:.1f} abstracts/s, lowest cosine to {chosen[0]} {nearness:.4f}")
        for retriever in ("dense", "hybrid"):
            search = retrievers.get(retriever)(index).search
            *_, last = run_system(retriever, claims, lambda i, k, s=search: s(i.question.text, k), measures=(MEASURE,))
            found = [float(item.metrics[MEASURE]) for item, _ in last]  # type: ignore[union-attr, arg-type]
            place = ranks(retrievers.get(retriever)(northwind), questions)
            inverse = inverses(place)
            third = inverses(ranks_of_paragraphs(partial(searched, retrievers.get(retriever)(xquad), xquad), asked))
            one = paired_difference(found, base.setdefault(f"{retriever} scifact", found))
            two = paired_difference(inverse, base.setdefault(f"{retriever} northwind", inverse))
            three = paired_difference(third, base.setdefault(f"{retriever} xquad", third), clusters=clusters)
            print(f"  {retriever:<7} SciFact {MEASURE} {np.mean(found):.4f} ({gap(one)})", end="   ")
            print(f"Northwind MRR {mrr(place):.4f} ({gap(two)})", end="   ")
            print(f"XQuAD MRR@{DEPTH} {np.mean(third):.4f} ({gap(three)})", flush=True)


if __name__ == "__main__":
    sys.exit(main())
