"""Which retriever and which chunker find the page of the answer: MRR and HR@k over the Northwind questions.

A passage is relevant if it touches a page that the gold answer cites. MRR over the first 100 passages; a question
without a relevant one scores 0 and counts. Baseline: plain dense retrieval over chunks of 256 tokens, no headings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from northwind import Item, arguments, check, items, on_gold, passages, read

from pdfqa_core.chunking import Paragraphs, Snippets, Windows
from pdfqa_core.models import graphs_path
from pdfqa_core.retrieval import CrossEncoderScorer, Encoder, Index, LateEncoder, make_retriever, retrievers
from pdfqa_core.settings import LLMSettings

NAMES = ("bm25", "dense", "hybrid", "rrf", "convex")
# What else is tried over the passages of the default: parameters of `make_retriever`.
VARIANTS: dict[str, dict[str, Any]] = {
    "bm25, stems": {"retriever": "bm25", "stemming": True},
    "bm25, all words": {"retriever": "bm25", "stop_words": False},
    "hybrid, stems": {"retriever": "hybrid", "stemming": True},
    "convex, weight 0.3": {"retriever": "convex", "weight": 0.3},
    "convex, weight 0.7": {"retriever": "convex", "weight": 0.7},
    "convex, stems": {"retriever": "convex", "stemming": True},
    "hybrid, merged": {"retriever": "hybrid", "merge_overlaps": True},
    "hybrid, 1 a page": {"retriever": "hybrid", "per_page": 1},
}
LATE: dict[str, dict[str, Any]] = {
    "late interaction": {"retriever": "late_interaction"},
    "late of 20 of hybrid": {"retriever": "late_interaction", "first_stage": "hybrid", "candidates": 20},
    "late of 100 of bm25": {"retriever": "late_interaction", "first_stage": "bm25", "candidates": 100},
}
DEPTH = 100
QUICK_PAGES = 18


class Models:
    """The models of late interaction and re-ranking."""

    def __init__(self) -> None:
        self.late = LateEncoder()

    def token_encoder(self, path_or_name: str = "") -> LateEncoder:
        """Return the bundled encoder, untrained for late interaction."""
        return self.late

    def reranker(self, path_or_name: str) -> CrossEncoderScorer:
        """Return a cross-encoder."""
        return CrossEncoderScorer(path_or_name)


def ranks(retriever: object, questions: Sequence[Item]) -> list[int]:
    """Return the rank of the first relevant passage per question, 0 where there is none."""
    found = []
    for item in questions:
        hits = retriever.search(item.question, DEPTH)  # type: ignore[attr-defined]
        found.append(next((hit.rank for hit in hits if on_gold(hit.passage, item.gold)), 0))
    return found


def mrr(found: Sequence[int]) -> float:
    return sum(1 / rank for rank in found if rank) / len(found)


def line(name: str, found: Sequence[int]) -> str:
    shares = "  ".join(f"{sum(0 < r <= k for r in found) / len(found):.2f}" for k in (1, 3, 5))
    return f"  {name:<20} {mrr(found):.3f}  {shares}"


def main() -> None:
    options = arguments(__doc__.splitlines()[0]).parse_args()
    check(options.data)
    questions = items(options.data / "questions_50.jsonl")
    documents = read(options.data)
    if options.quick:
        documents = {name: pages[:QUICK_PAGES] for name, pages in documents.items()}
        questions = [item for item in questions if all(page <= QUICK_PAGES for _, page in item.gold)]
        print(f"--quick: the first {QUICK_PAGES} pages of each PDF and the {len(questions)} questions about them:")
        print("too few to rank systems by")
    encoder = Encoder(graphs=graphs_path(LLMSettings()))
    tokens = {"unit": "tokens", "tokenize": encoder.token_spans}
    systems = [(Windows(size=120, step=60), True)]
    if not options.quick:
        systems += [
            (Windows(size=120, step=60), False),
            (Windows(size=200, step=100), True),
            (Snippets(length=120), True),
            (Snippets(min_length=60, max_length=150), True),
            (Paragraphs(), True),
        ]

    chunks = passages(documents, Snippets(length=256, **tokens), headings=False)
    baseline = ranks(retrievers.get("dense")(Index.in_memory(chunks, encoder)), questions)
    print(
        f"{len(questions)} questions, {sum(map(len, documents.values()))} pages                 MRR   HR@1  HR@3  HR@5"
    )
    print(f"baseline: dense over {len(chunks)} chunks of 256 tokens, no headings")
    print(line("dense", baseline))
    default = 0.0
    for position, (chunker, headings) in enumerate(systems):
        made = passages(documents, chunker, headings=headings)
        index = Index.in_memory(made, encoder)
        print(f"{chunker.recipe}, headings {'on' if headings else 'off'}: {len(made)} passages")
        for name in NAMES:
            found = ranks(retrievers.get(name)(index), questions)
            print(line(name, found), flush=True)
            if position == 0 and name == "hybrid":
                default = mrr(found)
        if position == 0:
            models = Models()
            for name, parameters in (VARIANTS if options.quick else {**VARIANTS, **LATE}).items():
                print(line(name, ranks(make_retriever(index, parameters, models), questions)), flush=True)
            item = questions[0]
            hits = retrievers.get("hybrid")(index).search(item.question, 5)
            print(f"  first 5 hold {sorted(item.gold)[0]}: {any(on_gold(h.passage, item.gold) for h in hits)}")
    print(f"MRR of the default (hybrid, windows 120/60, headings) / baseline: {default / mrr(baseline):.2f}")


if __name__ == "__main__":
    main()
