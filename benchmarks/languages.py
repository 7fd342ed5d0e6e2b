"""XQuAD in German: finding the paragraph that answers a question, by the rules of English and by those of German.

240 paragraphs, one passage each, 1,190 questions by people (Artetxe et al. 2020). That words of other languages are
compared by stem was decided on the first half of the questions; the figures are of the second half. The last rows
search German and English paragraphs together, German questions with German gold. Intervals resample paragraphs, whose
questions resemble each other. Baseline of the ratio: BM25 with the stop words of English, as every document was
searched before. `--encoder NAME` adds an encoder of the catalogue that is on this computer, or a folder.
`--recognition` counts instead the questions that are taken for another language, among two and six: XQuAD's in both
languages, and the turns of CAsT as they were typed. Baseline: letters and word parts alone (lingua).
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from northwind import ROOT, arguments

from pdfqa_core import languages
from pdfqa_core.metrics.statistics import paired_difference, summarise
from pdfqa_core.models import EncoderFiles, Encoders, graphs_path
from pdfqa_core.retrieval import Index, Searcher, make_retriever
from pdfqa_core.settings import LLMSettings, RetrievalSettings, models_path
from pdfqa_core.types import Passage, Query, Span

DATA = ROOT.parent / "shared" / "data" / "xquad"
NAMES = {"de": "german", "en": "english"}
DEPTH, RECALL = 10, 5
QUICK = 20  # articles

Ranks = list[int]  # of the gold paragraph, 0 where it is not among the first DEPTH


def load(folder: Path, code: str, quick: bool) -> tuple[list[Passage], list[tuple[str, str]]]:
    """Return the paragraphs of a language, and the questions with the id of the one that answers each."""
    passages, questions = [], []
    for article in json.loads((folder / f"xquad.{code}.json").read_text("utf-8"))["data"][: QUICK if quick else None]:
        for paragraph in article["paragraphs"]:
            name, text = f"{code}{len(passages)}", paragraph["context"]
            language = languages.rules_of(languages.of_document([text]))
            passages.append(Passage(name, (Span(name, 1, 0, len(text)),), text, language=language))
            questions += [(one["question"], name) for one in paragraph["qas"]]
    return passages, questions


def searched(retriever: Searcher, index: Index, question: str) -> list[str]:
    """Return the ids of the passages found, the question taken to be in one of the index's languages."""
    query = Query(question, language=languages.of_question(question, index.languages_of()))
    return [hit.passage.id for hit in retriever.search(query, DEPTH)]


def ranks(search: Callable[[str], list[str]], questions: list[tuple[str, str]]) -> Ranks:
    """Return the rank of each question's paragraph."""
    found = [(search(question), gold) for question, gold in questions]
    return [names.index(gold) + 1 if gold in names else 0 for names, gold in found]


def measures(found: Ranks) -> dict[str, list[float | None]]:
    """Return the values of each question by measure."""
    return {
        f"Recall@{RECALL}": [float(0 < rank <= RECALL) for rank in found],
        f"MRR@{DEPTH}": [1 / rank if rank else 0.0 for rank in found],
    }


def recognition(shared: Path) -> None:
    """Print how many questions are taken for another language, with and without looking at function words first."""
    rows = {NAMES[code]: [asked for asked, _ in load(shared / "xquad", code, quick=False)[1]] for code in NAMES}
    typed = []
    for name in ("conversations/cast2021_manual", "rewriting/cast2020_manual", "rewriting/cast2019_topics"):
        for topic in json.loads((shared / f"{name}.json").read_text("utf-8")):
            typed += [turn["raw_utterance"] for turn in topic["turn"]]
    sets = [("XQuAD, German", "german", rows["german"]), ("XQuAD, English", "english", rows["english"])]
    sets.append(("CAsT, English", "english", typed))
    for among in (frozenset(NAMES.values()), frozenset(("dutch", "english", "french", "german", "italian", "spanish"))):
        wrong = [0, 0]
        for name, right, questions in sets:
            ours = sum(languages.of_question(asked, among) != right for asked in questions)
            letters = sum(languages._detected(asked, among) != right for asked in questions)
            wrong = [wrong[0] + ours, wrong[1] + letters]
            print(f"{name}, {len(questions)} among {len(among)}: {ours} wrong, by letters alone {letters}")
        print(f"among {len(among)}, by letters alone / in use: {wrong[1] / max(1, wrong[0]):.1f}")


def main() -> None:
    parser = arguments(__doc__.splitlines()[0])
    parser.set_defaults(data=DATA)
    parser.add_argument("--encoder", default="", help="an encoder of the catalogue that is here, or a folder, beside")
    parser.add_argument("--first-half", action="store_true", help="the half on which stems were decided")
    parser.add_argument("--recognition", action="store_true", help="count questions taken for another language")
    options = parser.parse_args()
    if options.recognition:
        recognition(options.data.parent)
        return
    if not (options.data / "xquad.de.json").is_file():
        raise SystemExit(f"There is no xquad.de.json in {options.data}. Give its folder with --data.")
    passages, every = load(options.data, "de", options.quick)
    english, _ = load(options.data, "en", options.quick)
    half = len(every) // 2
    questions = every[:half] if options.first_half else every[half:]
    told = sum(passage.language == "german" for passage in passages)
    print(f"{len(passages)} paragraphs, {told} recognised as German; {len(questions)} questions", flush=True)
    models = Encoders.with_graphs(graphs_path(LLMSettings()), EncoderFiles(models_path(LLMSettings())).find)

    def indexed(made: list[Passage], encoder: str = "") -> Index:
        began = time.perf_counter()
        index = Index.in_memory(made, models.encoder(encoder))
        print(
            f"indexed {len(made)} by {models.encoder(encoder).name} in {time.perf_counter() - began:.0f} s", flush=True
        )
        return index

    german = indexed(passages)
    both = indexed([replace(one, language=NAMES[one.id[:2]]) for one in (*passages, *english)])
    rows: list[tuple[str, Index, str, dict[str, object]]] = [
        ("BM25, rules of English (baseline)", german, "bm25", {"language": "english"}),
        ("BM25, English stems", german, "bm25", {"language": "english", "stemming": True}),
        ("BM25, stop words of German", german, "bm25", {"language": "german"}),
        ("BM25, rules of German", german, "bm25", {"language": "auto"}),
        ("dense, English encoder", german, "dense", {}),
        ("hybrid, rules of English", german, "hybrid", {"language": "english"}),
        ("hybrid, rules of German", german, "hybrid", {"language": "auto"}),
        ("BM25, German and English together", both, "bm25", {"language": "auto"}),
        ("hybrid, German and English together", both, "hybrid", {"language": "auto"}),
    ]
    if options.encoder:
        named = indexed(passages, options.encoder)
        rows += [(f"{name}, {options.encoder}", named, name, {"language": "auto"}) for name in ("dense", "hybrid")]
    clusters = [gold for _, gold in questions]
    found: dict[str, dict[str, list[float | None]]] = {}
    for name, index, retriever, parameters in rows:
        settings = RetrievalSettings(retriever=retriever, **parameters).model_dump()  # type: ignore[arg-type]
        found[name] = measures(ranks(partial(searched, make_retriever(index, settings, models), index), questions))
        cells = ""
        for measure, values in found[name].items():
            summary = summarise(values, clusters=clusters)
            cells += f"  {measure} {summary.mean:.3f} [{summary.low:.3f}, {summary.high:.3f}]"
        print(f"{name:<38}{cells}", flush=True)
    first, best = found[rows[0][0]][f"MRR@{DEPTH}"], found[rows[3][0]][f"MRR@{DEPTH}"]
    gap = paired_difference(best, first, clusters=clusters)
    print(f"MRR@{DEPTH}, rules of German - English: {gap.mean:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}]")
    print(f"MRR@{DEPTH} of BM25, rules of German / English: {sum(best) / sum(first):.3f}")  # type: ignore[arg-type]


if __name__ == "__main__":
    sys.exit(main())
