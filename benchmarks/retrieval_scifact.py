"""SciFact as BEIR scores it: 300 validation claims against 5,183 abstracts, nDCG@10 beside the published figures.

A claim's relevant abstracts are those it cites. Each abstract is one passage, headed by its title. Published on the
same claims (BEIR, sentence-transformers, ColBERTv2): BM25 0.665, all-MiniLM-L6-v2 0.645, ColBERTv2 0.693. The bundled
encoder is all-MiniLM-L6-v2, so that `dense` should come out as published. Baseline of the ratio: the better part of the
hybrid.
"""

from __future__ import annotations

import ast
import csv
import io
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

from northwind import ROOT, arguments

from pdfqa_core.evaluation_types import GoldItem, ScoredItem
from pdfqa_core.metrics.statistics import paired_difference, summarise
from pdfqa_core.models import Encoders, graphs_path
from pdfqa_core.protocols.gold import corpus_passage
from pdfqa_core.protocols.retrieval import run_system
from pdfqa_core.retrieval import Index, make_retriever, needs_embeddings
from pdfqa_core.settings import LLMSettings, RetrievalSettings
from pdfqa_core.types import Passage, Question

DATA = ROOT.parent / "shared" / "data" / "scifact"
PUBLISHED = {"bm25": 0.665, "dense": 0.645, "late_interaction": 0.693}
QUICK_ABSTRACTS, QUICK_CLAIMS = 150, 40
MEASURES = ("nDCG@10", "R@10", "MRR@10")


def table(archive: zipfile.ZipFile, name: str) -> Iterator[dict[str, str]]:
    csv.field_size_limit(2**31 - 1)
    with archive.open(name) as file:
        yield from csv.DictReader(io.TextIOWrapper(file, "utf-8"))


def load(path: Path) -> tuple[list[Passage], list[GoldItem]]:
    """Return the abstracts as passages, and the claims that cite one of them."""
    with zipfile.ZipFile(path) as archive:
        corpus = []
        for row in table(archive, "corpus_train.csv"):
            text = ast.literal_eval(row["abstract"])  # sentences; a list, or the run of strings that numpy prints
            text = " ".join(part.strip() for part in text)
            corpus.append(corpus_passage(row["doc_id"], row["title"], text))
        cited: dict[str, tuple[str, list[str]]] = {}
        for row in table(archive, "claims_validation.csv"):
            cited[row["id"]] = (row["claim"], row["cited_doc_ids"].strip("[]").replace(",", " ").split())
    known = {passage.document_id for passage in corpus}
    items = [
        GoldItem(Question(name, claim), gold_pages=tuple((document, 1) for document in dict.fromkeys(documents)))
        for name, (claim, documents) in cited.items()
        if any(document in known for document in documents)
    ]
    return corpus, items


def main() -> None:
    parser = arguments(__doc__.splitlines()[0])
    parser.set_defaults(data=DATA)
    parser.add_argument("--retrievers", default="bm25,dense,hybrid,rrf", help="names, parted by commas")
    parser.add_argument("--stemming", action="store_true", help="BM25 compares Snowball stems")
    options = parser.parse_args()
    if not (options.data / "scifact.zip").is_file():
        raise SystemExit(f"There is no scifact.zip in {options.data}. Give its folder with --data.")
    corpus, items = load(options.data / "scifact.zip")
    if options.quick:
        items = items[:QUICK_CLAIMS]
        wanted = {document for item in items for document, _ in item.gold_pages}
        rest = [p for p in corpus if p.document_id not in wanted]
        corpus = [p for p in corpus if p.document_id in wanted] + rest[:QUICK_ABSTRACTS]
        print("--quick: a small part of the abstracts, which makes every figure too high to compare")
    names = options.retrievers.split(",")
    models = Encoders.with_graphs(graphs_path(LLMSettings()))
    chosen = {
        name: RetrievalSettings(retriever=name, stemming=options.stemming, exact_below=100_000).model_dump()
        for name in names
    }
    needs = any(needs_embeddings(parameters) for parameters in chosen.values())
    began = time.perf_counter()
    index = Index.in_memory(corpus, models.encoder() if needs else None)
    print(f"{len(corpus)} abstracts, {len(items)} claims; indexed in {time.perf_counter() - began:.0f} s", flush=True)
    print(f"{'':<18}" + "".join(f"{name:>26}" for name in MEASURES) + "   published nDCG@10")
    found: dict[str, list[ScoredItem]] = {}
    for name in names:
        retriever = make_retriever(index, chosen[name], models)
        retriever.prepare()
        search = retriever.search
        results = list(run_system(name, items, lambda i, k, s=search: s(i.question.text, k), measures=MEASURES))
        found[name] = [item for item, _ in results[-1]]  # type: ignore[misc, union-attr]
        cells = ""
        for measure in MEASURES:
            summary = summarise([item.metrics[measure] for item in found[name]])
            cells += f"{summary.mean:>12.4f} [{summary.low:.3f}, {summary.high:.3f}]"
        print(f"{name:<18}{cells}   {PUBLISHED.get(name, '-')}", flush=True)
    if {"bm25", "dense", "hybrid"} <= set(found):
        parts = {name: [item.metrics["nDCG@10"] for item in found[name]] for name in ("bm25", "dense", "hybrid")}
        means = {name: sum(values) / len(values) for name, values in parts.items()}  # type: ignore[arg-type]
        best = max(("bm25", "dense"), key=means.get)  # type: ignore[arg-type]
        gap = paired_difference(parts["hybrid"], parts[best])
        print(f"hybrid - {best}: {gap.mean:+.4f} [{gap.low:+.4f}, {gap.high:+.4f}]")
        print(f"nDCG@10 of hybrid / {best}: {means['hybrid'] / means[best]:.3f}")


if __name__ == "__main__":
    sys.exit(main())
