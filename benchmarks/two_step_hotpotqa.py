"""What a second search is worth for questions in two steps: HotpotQA, 100 questions of two supporting paragraphs each.

All paragraphs of the 100 questions are one corpus (994 of them), searched by the default recipe. A question counts as
found if both its supporting paragraphs are among the first n hits: once searched, and with `plans.second_search`.
Comparisons ("Who was born first, A or B?") are searched for both sides. Prints the shares with 95 % intervals, of the
even positions (on which the form of the second search was chosen) and of the odd ones, the paired differences, the
milliseconds, and what the second search costs where one search is enough: CLAPnq, 300 questions of one passage each.

With --model the answers of the generative reader are compared too: F1 with the gold answer, and whether the answer
holds it. Answers are kept in --keep, so that a run goes on where one ended. The ratio is printed last.

    python benchmarks/two_step_hotpotqa.py [--quick] [--keep DIR] [--model FILE] [--minutes N]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from northwind import DATA

from pdfqa_core import plans
from pdfqa_core.chunking import Windows, with_headings
from pdfqa_core.llm import LlamaCpp
from pdfqa_core.metrics.hotpot import answer_scores
from pdfqa_core.metrics.normalisation import normalise_answer
from pdfqa_core.metrics.statistics import paired_difference, summarise
from pdfqa_core.models import graphs_path
from pdfqa_core.reading import Checker, GenerativeReader, Meaning
from pdfqa_core.reading.kinds import Kind, recognised
from pdfqa_core.reading.prompts import FORMS
from pdfqa_core.reading.whole_sections import INSTRUCTIONS
from pdfqa_core.retrieval import Encoder, Index, retrievers
from pdfqa_core.settings import LLMSettings
from pdfqa_core.types import Done, Hit, Page, Passage, Query

HOTPOTQA = DATA.parent / "hotpotqa" / "hotpotqa_100.json"
CLAPNQ = DATA.parent / "clapnq" / "dev_answerable.jsonl"
K = 5
DEPTHS = (2, 4, 5)
QUICK = 12
READ, TOKENS = 4, 400  # passages and tokens that the default model reads


@dataclass
class Corpus:
    """Documents of one page as plans see them."""

    titles: dict[str, str]
    search_in: Any

    @property
    def names(self) -> dict[str, str]:
        """The words that name each document."""
        return self.titles

    @property
    def files(self) -> dict[str, str]:
        """Paragraphs come from no files."""
        return self.titles

    def search(self, query: Query, k: int, document_ids: Sequence[str] = ()) -> list[Hit]:
        """Return the first hits."""
        return self.search_in.search(query, k, frozenset(document_ids) if document_ids else None)

    def pages(self, document_id: str) -> Sequence[Page]:
        """Paragraphs have no sections."""
        return ()


def made_of(texts: dict[str, tuple[str, str]], encoder: Encoder | None) -> Corpus:
    """Return a corpus of (title, text) by id; searched by bm25 without an encoder."""
    chunker, passages = Windows(size=120, step=60), list[Passage]()
    for key, (title, text) in texts.items():
        pages = (Page(key, 1, "1", 600, 800, text),)
        passages += with_headings(chunker.chunk(pages), pages, title)
    index = Index.in_memory(passages, encoder)
    return Corpus(
        {key: title for key, (title, _) in texts.items()}, retrievers.get("hybrid" if encoder else "bm25")(index)
    )


def once(question: str, corpus: Corpus, meaning: Meaning | None) -> list[Hit]:
    """Return what one search finds."""
    return corpus.search(Query(question), K)


def twice(question: str, corpus: Corpus, meaning: Meaning | None) -> list[Hit]:
    """Return what the program finds: both sides of a comparison, or a second search."""
    request, query = recognised(question), Query(question)
    if request.kind is Kind.COMPARISON:
        return list(plans.found(request, query, K, corpus).hits)
    return plans.second_search(query, corpus.search(query, K), K, corpus, meaning)


def found(hits: Sequence[Hit], gold: set[str], depth: int) -> float:
    """Return 1 if all gold documents are among the first hits."""
    return float(gold <= {hit.passage.document_id for hit in hits[:depth]})


def cell(values: Sequence[float], form: str = ".2f") -> str:
    return cell_of(summarise(list(values)), form)


def cell_of(one: Any, form: str) -> str:
    return f"{one.mean:{form}} [{one.low:{form}}, {one.high:{form}}]"


def compared(before: Sequence[float], after: Sequence[float], label: str) -> None:
    change = cell_of(paired_difference(list(after), list(before)), "+.2f")
    print(f"{label:<34}{cell(before):>22}{cell(after):>22}{change:>24}   n {len(before)}")


def searched(
    asked: Sequence[tuple[str, set[str]]], corpus: Corpus, meaning: Meaning | None
) -> dict[str, list[list[Hit]]]:
    """Return the hits of each way, and print what a question takes."""
    ways: dict[str, Callable[..., list[Hit]]] = {"once": once, "twice": twice}
    hits: dict[str, list[list[Hit]]] = {}
    for name, way in ways.items():
        seconds = []
        for question, _ in asked:
            since = time.perf_counter()
            hits.setdefault(name, []).append(way(question, corpus, meaning))
            seconds.append(time.perf_counter() - since)
        print(f"searched {name}: median {1000 * median(seconds):.0f} ms")
    return hits


def hotpotqa(chosen: argparse.Namespace, encoder: Encoder | None, meaning: Meaning | None) -> float:
    """Measure the supporting paragraphs, and with a model the answers; return the ratio at the depth that is read."""
    rows = json.loads(HOTPOTQA.read_text("utf-8"))[: QUICK if chosen.quick else None]
    texts = {title: (title, "".join(sentences).strip()) for row in rows for title, sentences in row["context"]}
    corpus = made_of(texts, encoder)
    asked = [(row["question"], {title for title, _ in row["supporting_facts"]}) for row in rows]
    print(f"HotpotQA, {len(asked)} questions, {len(texts)} paragraphs")
    hits = searched(asked, corpus, meaning)
    print(f"{'both paragraphs found':<34}{'once':>22}{'twice':>22}{'difference':>24}")
    ratio = 1.0
    for depth in DEPTHS:
        values = {
            name: [found(one, gold, depth) for one, (_, gold) in zip(all_, asked, strict=True)]
            for name, all_ in hits.items()
        }
        compared(values["once"], values["twice"], f"among {depth} hits")
        compared(values["once"][0::2], values["twice"][0::2], "   even positions (chosen on)")
        compared(values["once"][1::2], values["twice"][1::2], "   odd positions (reported)")
        if depth == READ:
            ratio = sum(values["twice"][1::2]) / max(1.0, sum(values["once"][1::2]))
    if chosen.model:
        answers(chosen, rows, hits, meaning)
    return ratio


def answers(
    chosen: argparse.Namespace, rows: Sequence[Any], hits: dict[str, list[list[Hit]]], meaning: Meaning | None
) -> None:
    """Compare the model's answers from what was found once and twice; the odd positions come first."""
    llm = LlamaCpp(chosen.model, name=chosen.model.stem, threads=chosen.threads, context_size=4096)
    llm.load()
    file, until = chosen.keep / "answers.jsonl", time.monotonic() + 60 * chosen.minutes
    chosen.keep.mkdir(parents=True, exist_ok=True)
    known = {}
    for line in file.read_text("utf-8").splitlines() if file.is_file() else ():
        row = json.loads(line)
        known[row["id"], row["way"]] = row["answer"]
    order = [*range(1, len(rows), 2), *range(0, len(rows), 2)]
    for place in order:
        question, key = rows[place]["question"], rows[place]["_id"]
        for way in ("once", "twice"):
            if (key, way) in known or time.monotonic() > until:
                continue
            same = [h.passage.id for h in hits["once"][place][:READ]] == [
                h.passage.id for h in hits["twice"][place][:READ]
            ]
            if way == "twice" and same:
                text = known[key, "once"]
            else:
                kind = recognised(question).kind if way == "twice" else Kind.ORDINARY
                reader = GenerativeReader(
                    llm, passages=READ, prompt_tokens=0 if kind is Kind.COMPARISON else TOKENS, form=FORMS["qwen2.5"],
                    instruction=INSTRUCTIONS.get(kind, ""), checker=Checker(meaning=meaning), max_tokens=96,
                )  # fmt: skip
                events = reader.read(question, hits[way][place])
                text = next(event.answer.text for event in events if isinstance(event, Done))
            known[key, way] = text
            with file.open("a", encoding="utf-8") as out:
                out.write(json.dumps({"id": key, "way": way, "same": same, "answer": text}) + "\n")
    done = [place for place in order if all((rows[place]["_id"], way) in known for way in ("once", "twice"))]
    if not done:
        return
    for label, score in (("answer F1", f1), ("answer holds the gold one", holds)):
        values = {
            way: [score(known[rows[p]["_id"], way], rows[p]["answer"]) for p in done] for way in ("once", "twice")
        }
        compared(values["once"], values["twice"], label)


def f1(answer: str, gold: str) -> float:
    return answer_scores(answer, gold).f1


def holds(answer: str, gold: str) -> float:
    return float(f" {normalise_answer(gold)} " in f" {normalise_answer(answer)} ")


def clapnq(encoder: Encoder | None, meaning: Meaning | None, *, quick: bool) -> None:
    """Measure what the second search costs where one is enough."""
    rows = [json.loads(line) for line in CLAPNQ.read_text("utf-8").splitlines()][: 4 * QUICK if quick else None]
    texts = {row["id"]: (row["passages"][0]["title"], row["passages"][0]["text"]) for row in rows}
    asked = [(row["input"], {row["id"]}) for row in rows]
    corpus = made_of(texts, encoder)
    print(f"CLAPnq, {len(asked)} questions, {len(texts)} passages")
    hits = searched(asked, corpus, meaning)
    for depth in DEPTHS:
        values = [
            [found(one, gold, depth) for one, (_, gold) in zip(all_, asked, strict=True)] for all_ in hits.values()
        ]
        compared(*values, f"among {depth} hits")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} questions, found by bm25; under 45 s")
    parser.add_argument("--model", type=Path, help="GGUF file whose answers are compared too")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=240, help="no answer is begun after so many minutes")
    parser.add_argument("--keep", type=Path, default=Path("build/two_step"), help="folder for the answers")
    chosen = parser.parse_args()
    if not HOTPOTQA.is_file():
        raise SystemExit(f"There are no questions at {HOTPOTQA}.")
    encoder = None if chosen.quick else Encoder(graphs=graphs_path(LLMSettings()))
    meaning = Meaning(encoder.encode) if encoder else None
    clapnq(encoder, meaning, quick=chosen.quick)
    ratio = hotpotqa(chosen, encoder, meaning)
    print(f"both paragraphs among {READ} hits, odd positions, twice / once: {ratio:.2f}")


if __name__ == "__main__":
    main()
