"""Which search finds the passage that answers a question: HR@1, HR@5, MRR and nDCG@10, with 95 % intervals.

Sets (--set):
  northwind  50 questions about six PDFs; a passage is right if it touches a page that the gold answer cites. --passages
             names how the pages are cut. Baseline: dense retrieval over chunks of 256 tokens without headings.
  scifact    300 claims against 5,183 abstracts, as BEIR scores it. Published nDCG@10 on the same claims: BM25 .665,
             all-MiniLM-L6-v2 (the bundled encoder) .645, ColBERTv2 .693. Baseline: BM25.
  xquad-de   the second half of 1,190 questions about 240 German paragraphs (Artetxe et al. 2020); the first half served
             to choose the rules of German. Baseline: BM25 by the rules of English.
  xquad      all questions in English. Intervals of both resample the paragraphs.
--systems names others than the usual ones, --encoder another encoder for all of them.
With --forms dense and hybrid search with each form of the bundled encoder (see encode_speed.py); the baseline is torch
in 32 bits, to which no form may lose more than .005. Differences from the baseline are paired; the last line is the
ratio of MRR, the last system's to the baseline's.

    python benchmarks/retrieval.py [--quick] [--set NAME] [--systems A B] [--passages A B] [--forms] [--encoder NAME]
"""

from __future__ import annotations

import ast
import csv
import io
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common import cited, json_lines, options, passages, read, row, there
from encode_speed import forms

from pdfqa_core import languages
from pdfqa_core.chunking import Paragraphs, Snippets, Windows
from pdfqa_core.evaluation_types import GoldItem
from pdfqa_core.metrics.statistics import paired_difference, summarise
from pdfqa_core.models import EncoderFiles, Encoders, graphs_path
from pdfqa_core.protocols.gold import corpus_passage
from pdfqa_core.protocols.retrieval import run_system
from pdfqa_core.retrieval import Encoder, Index, make_retriever
from pdfqa_core.settings import LLMSettings, RetrievalSettings, models_path
from pdfqa_core.training import said
from pdfqa_core.types import Passage, Query, Question, Span

MEASURES = ("HR@1", "HR@5", "MRR", "MRR@10", "nDCG@10")
SYSTEMS: Mapping[str, dict[str, Any]] = {
    "bm25": {"retriever": "bm25"},
    "bm25, stems": {"retriever": "bm25", "stemming": True},
    "bm25, okapi": {"retriever": "bm25", "idf": "okapi"},
    "bm25, all words": {"retriever": "bm25", "stop_words": False},
    "bm25, rules of English": {"retriever": "bm25", "language": "english"},
    "dense": {"retriever": "dense"},
    "hybrid": {"retriever": "hybrid"},
    "hybrid, okapi": {"retriever": "hybrid", "idf": "okapi"},
    "hybrid, stems": {"retriever": "hybrid", "stemming": True},
    "hybrid, rules of English": {"retriever": "hybrid", "language": "english"},
    "hybrid, merged": {"retriever": "hybrid", "merge_overlaps": True},
    "hybrid, 1 a page": {"retriever": "hybrid", "per_page": 1},
    "rrf": {"retriever": "rrf"},
    "convex": {"retriever": "convex"},
    "late interaction": {"retriever": "late_interaction"},
    "late of 100 of bm25": {"retriever": "late_interaction", "first_stage": "bm25", "candidates": 100},
}
TOKENS, USUAL = "256 tokens, no headings", "windows 120"
CUTS: Mapping[str, Any] = {
    TOKENS: None,  # needs the encoder's tokenizer
    USUAL: Windows(size=120, step=60),
    "windows 120, no headings": Windows(size=120, step=60),
    "windows 200": Windows(size=200, step=100),
    "snippets 120": Snippets(length=120),
    "snippets 60 to 150": Snippets(min_length=60, max_length=150),
    "paragraphs": Paragraphs(),
}
QUICK_PAGES, QUICK_CLAIMS, QUICK_ABSTRACTS, QUICK_ARTICLES = 18, 40, 150, 8


@dataclass(frozen=True)
class Data:
    """Passages by how they were cut, questions, and what of theirs is resampled together (empty: nothing)."""

    cuts: Mapping[str, list[Passage]]
    items: list[GoldItem]
    clusters: tuple[str, ...] = ()
    measure: str = "MRR"  # that is printed beside nDCG@10


# ------------------------------------------------------------------ data


def northwind(folder: Path, quick: bool, cuts: list[str]) -> Data:
    there(folder / "northwind" / "questions_50.jsonl")
    rows = json_lines(folder / "northwind" / "questions_50.jsonl")
    documents = read(folder / "northwind")
    if quick:
        documents = {name: pages[:QUICK_PAGES] for name, pages in documents.items()}
        rows = [one for one in rows if all(page <= QUICK_PAGES for _, page in cited(one["truth"]))]
    items = [GoldItem(Question(str(n), one["question"]), gold_pages=cited(one["truth"])) for n, one in enumerate(rows)]
    tokens = Snippets(length=256, unit="tokens", tokenize=Encoder().token_spans)
    made = {
        name: passages(documents, CUTS[name] or tokens, headings="no headings" not in name) for name in (TOKENS, *cuts)
    }
    return Data(made, items)


def scifact(folder: Path, quick: bool, cuts: list[str]) -> Data:
    """Return the abstracts, and the claims that cite one of them."""
    there(folder / "scifact" / "scifact.zip")
    csv.field_size_limit(2**31 - 1)
    with zipfile.ZipFile(folder / "scifact" / "scifact.zip") as archive:

        def table(name: str) -> Iterator[dict[str, str]]:
            with archive.open(name) as file:
                yield from csv.DictReader(io.TextIOWrapper(file, "utf-8"))

        corpus = [
            corpus_passage(one["doc_id"], one["title"], " ".join(map(str.strip, ast.literal_eval(one["abstract"]))))
            for one in table("corpus_train.csv")
        ]
        claims = {one["id"]: one for one in table("claims_validation.csv")}
    known = {passage.document_id for passage in corpus}
    items = []
    for name, claim in claims.items():
        pages = tuple((one, 1) for one in claim["cited_doc_ids"].strip("[]").replace(",", " ").split() if one in known)
        if pages:
            items.append(GoldItem(Question(name, claim["claim"]), gold_pages=tuple(dict.fromkeys(pages))))
    if quick:
        items = items[:QUICK_CLAIMS]
        wanted = {document for item in items for document, _ in item.gold_pages}
        others = [passage for passage in corpus if passage.document_id not in wanted]
        corpus = [passage for passage in corpus if passage.document_id in wanted] + others[:QUICK_ABSTRACTS]
    return Data({"abstracts": corpus}, items)


def xquad(folder: Path, quick: bool, cuts: list[str], code: str = "en") -> Data:
    """Return the paragraphs of a language, and the questions; of the German ones the second half."""
    there(folder / "xquad" / f"xquad.{code}.json")
    articles = json.loads((folder / "xquad" / f"xquad.{code}.json").read_text("utf-8"))["data"]
    made: list[Passage] = []
    items: list[GoldItem] = []
    for paragraph in (
        one for article in articles[: QUICK_ARTICLES if quick else None] for one in article["paragraphs"]
    ):
        name, text = f"{code}{len(made)}", paragraph["context"]
        language = languages.rules_of(languages.of_document([text]))
        made.append(Passage(name, (Span(name, 1, 0, len(text)),), text, language=language))
        items += [
            GoldItem(Question(str(one["id"]), one["question"]), gold_pages=((name, 1),)) for one in paragraph["qas"]
        ]
    items = items[len(items) // 2 :] if code == "de" else items
    return Data({"paragraphs": made}, items, tuple(item.gold_pages[0][0] for item in items), "MRR@10")


SETS: Mapping[str, tuple[Callable[[Path, bool, list[str]], Data], tuple[str, ...]]] = {
    "northwind": (northwind, ("bm25", "dense", "rrf", "convex", "hybrid")),
    "scifact": (scifact, ("bm25", "dense", "rrf", "hybrid")),
    "xquad-de": (
        lambda *given: xquad(*given, code="de"),
        ("bm25, rules of English", "bm25, stems", "dense", "hybrid, rules of English", "hybrid", "bm25"),
    ),
    "xquad": (xquad, ("bm25", "dense", "hybrid")),
}


# ------------------------------------------------------------------ measuring


def scores(index: Index, system: str, models: Encoders, items: list[GoldItem]) -> dict[str, list[float | None]]:
    """Return the values of each question by measure."""
    settings = RetrievalSettings(**{"merge_overlaps": False, "per_page": 0, **SYSTEMS[system]})
    retriever = make_retriever(index, settings.model_dump(), models)
    retriever.prepare()
    among = index.languages_of()

    def search(item: GoldItem, k: int) -> Any:
        text = item.question.text
        return retriever.search(Query(text, language=languages.of_question(text, among)), k)

    *_, found = run_system(system, items, search, measures=MEASURES)
    return {measure: [item.metrics[measure] for item, _ in found] for measure in MEASURES}


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--set", choices=SETS, default="northwind")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, help="other systems than the usual ones of the set")
    parser.add_argument("--passages", nargs="+", choices=list(CUTS)[1:], default=[USUAL], help="of northwind")
    parser.add_argument("--forms", action="store_true", help="dense and hybrid with each form of the encoder")
    parser.add_argument("--encoder", default="", help="an encoder of the catalogue that is here, or a folder")
    chosen = parser.parse_args()
    load, usual = SETS[chosen.set]
    data = load(chosen.data, chosen.quick, chosen.passages)
    if chosen.quick:
        print("--quick: too little to rank systems by")
    models = Encoders.with_graphs(graphs_path(LLMSettings()), EncoderFiles(models_path(LLMSettings())).folders)
    encoders: Mapping[str, Any] = forms() if chosen.forms else {"": models.encoder(chosen.encoder)}
    base: dict[str, dict[str, list[float | None]]] = {}
    found = against = dict[str, list[float | None]]()
    print(f"{len(data.items)} questions; {data.measure}, nDCG@10 with 95 % intervals, less the baseline's")
    for cut, made in data.cuts.items():
        systems = chosen.systems or (["dense", "hybrid"] if chosen.forms else usual)
        if cut == TOKENS:
            systems = [] if chosen.forms else ["dense"]
        for form, encoder in encoders.items() if systems else ():
            index = Index.in_memory(made, encoder)
            print(f"{cut}, {len(made)} passages{', ' * bool(form)}{form}")
            for system in systems:
                found = scores(index, system, models, data.items)
                against = base.setdefault(system if chosen.forms else "", found)
                cells = [f"{summarise(found[one]).mean:.3f}" for one in ("HR@1", "HR@5")]
                for measure in (data.measure, "nDCG@10"):
                    gained = paired_difference(found[measure], against[measure], clusters=data.clusters)
                    cells.append(said(summarise(found[measure], clusters=data.clusters)))
                    cells.append(said(gained, sign=True))
                row(f"  {system}", *cells, width=26)
    mean = [summarise(one[data.measure]).mean or 1.0 for one in (found, against)]
    print(f"{data.measure} of the last / the baseline: {mean[0] / mean[1]:.3f}")


if __name__ == "__main__":
    main()
