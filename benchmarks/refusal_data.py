"""The questions with and without an answer of five data sets, for benchmarks/refusal.py.

northwind   50 questions of the set, 45 that are related and not answered by the files
clapnq      questions of its dev files; all 600 passages are one corpus, as a user searches a corpus
mtrag       turns of MT-RAG labelled ANSWERABLE and UNANSWERABLE, searched with the turns before them; the corpus
            are the passages of all 507 tasks
aapl_10q    37 questions about four filings that they answer; 41 that they do not (refusal_aapl.json, written for this:
            about another company, about a period without a filing, about what no 10-Q tells; one of the set itself says
            so), and every second answerable one with the pages taken away that hold a number of its gold answer
pubmedqa    each question with one abstract: its own, the one nearest to the question among the others, or its own
            without the sections that hold the results; "maybe" is left out
"""

from __future__ import annotations

import csv
import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from common import json_lines, passages, read

from pdfqa_core.chunking import Windows, with_headings
from pdfqa_core.conversation import Concatenation
from pdfqa_core.reading import Meaning
from pdfqa_core.retrieval import Encoder, Index, retrievers
from pdfqa_core.types import Hit, Page, Passage, Query

WINDOWS = Windows(size=120, step=60)
HITS = 10
CANDIDATES = 15  # of bm25, scored again by meaning
OTHER_ANSWER = (28, 38)  # questions of aapl_10q whose gold answer says that the filing does not tell (28 tells a part)
NUMBER = re.compile(r"\d[\d,]*\.?\d*")
YEAR = re.compile(r"20[12]\d")


@dataclass(frozen=True)
class Item:
    """A question with its hits."""

    dataset: str
    kind: str
    question: str
    answerable: bool
    hits: tuple[Hit, ...]

    @property
    def key(self) -> str:
        """What a question is kept under; one question may be asked with and without its pages."""
        return f"{self.dataset}: {self.kind}: {self.question}"


class Search:
    """The default recipe's hybrid, over the best hits of bm25 alone, so that few passages need to be encoded.

    As in the hybrid, the score is the product of the two: it is 0 where bm25's is.
    """

    def __init__(self, made: Sequence[Passage], meaning: Meaning) -> None:
        self._bm25 = retrievers.get("bm25")(Index.in_memory(made))
        self._meaning = meaning

    def __call__(self, question: str | Query, k: int = HITS) -> list[Hit]:
        """Return the best hits."""
        query = Query.of(question)
        hits = self._bm25.search(query, max(CANDIDATES, k))
        if not hits:
            return []
        first = hits[:CANDIDATES]
        rows = self._meaning.vectors([query.text, *(f"{hit.passage.heading} {hit.passage.text}" for hit in first)])
        scores = [hit.score * max(0.0, float(cosine)) for hit, cosine in zip(first, rows[1:] @ rows[0], strict=True)]
        order = sorted(range(len(first)), key=lambda n: -scores[n])
        again = [replace(first[n], score=scores[n], retriever="hybrid") for n in order]
        return [replace(hit, rank=rank) for rank, hit in enumerate([*again, *hits[CANDIDATES:]][:k], 1)]


def one_page(document_id: str, text: str, title: str = "") -> list[Passage]:
    """Return the passages of a text as a document of one page."""
    pages = (Page(document_id, 1, "1", 600, 800, text),)
    return with_headings(WINDOWS.chunk(pages), pages, title) if title else WINDOWS.chunk(pages)


def northwind(shared: Path, encoder: Encoder, meaning: Meaning, per: int) -> Iterator[Item]:
    """Yield all questions in turn, up to `per` of each kind."""
    folder = shared / "northwind"
    search = Search(passages(read(folder), WINDOWS), meaning)
    for name, kind in (("questions_50.jsonl", "own"), ("unanswerable_45.jsonl", "related")):
        for row in json_lines(folder / name)[:per]:
            yield Item("northwind", kind, row["question"], kind == "own", tuple(search(row["question"])))


def clapnq(shared: Path, encoder: Encoder, meaning: Meaning, per: int) -> Iterator[Item]:
    """Yield `per` questions of each kind, drawn with a seed."""
    made, asked = [], []
    for name, answerable in (("answerable", True), ("unanswerable", False)):
        for row in json_lines(shared / "clapnq" / f"dev_{name}.jsonl"):
            (passage,) = row["passages"]
            made += one_page(f"{name} {row['id']}", passage["text"], passage["title"])
            asked.append((row["input"], answerable))
    search, rng = Search(made, meaning), random.Random(0)
    for wanted in (True, False):
        for question, _ in rng.sample([row for row in asked if row[1] is wanted], per):
            yield Item("clapnq", "own" if wanted else "unanswerable", question, wanted, tuple(search(question)))


def mtrag(shared: Path, encoder: Encoder, meaning: Meaning, per: int) -> Iterator[Item]:
    """Yield `per` turns of each label, drawn with a seed."""
    tasks = json_lines(shared / "conversations/mtrag_un_reference.jsonl")
    texts = {context["document_id"]: context["text"].strip() for task in tasks for context in task["contexts"]}
    search = Search([passage for key, text in texts.items() for passage in one_page(key, text)], meaning)
    rewriter = Concatenation(encode=lambda asked: encoder.encode(asked, question=True))
    rng = random.Random(0)
    for label, answerable in (("ANSWERABLE", True), ("UNANSWERABLE", False)):
        fit = [t for t in tasks if t["answerability"] == [label] and "Non-Question" not in t["Question Type"]]
        for task in rng.sample(fit, min(per, len(fit))):
            said = [turn["text"] for turn in task["input"]]
            history = list(zip(said[:-1:2], said[1:-1:2], strict=False))
            rewritten = rewriter.rewrite(said[-1], history)
            hits = tuple(search(rewritten.query))
            yield Item("mtrag", label.lower(), rewritten.question, answerable, hits)


def key_numbers(answer: str) -> set[str]:
    """Return the numbers of four digits and more of a gold answer, without years."""
    found = (number.rstrip(",.") for number in NUMBER.findall(answer))
    return {n for n in found if len(re.sub(r"\D", "", n)) >= 4 and not YEAR.fullmatch(n)}


def aapl_10q(shared: Path, encoder: Encoder, meaning: Meaning, per: int) -> Iterator[Item]:
    """Yield the answerable questions, then the others by kind, up to `per` of each kind."""
    folder = shared / "aapl_10q"
    documents = read(folder)
    search = Search(passages(documents, WINDOWS), meaning)
    rows = list(csv.DictReader((folder / "questions.csv").open(encoding="utf-8")))

    numbered = []
    for place, row in enumerate(rows):
        if place not in OTHER_ANSWER:
            question, numbers = row["Question"].strip(), key_numbers(row["Answer"])
            kind = "several filings" if row["Source Docs"].strip("*") == "AAPL" else "one filing"
            yield Item("aapl_10q", kind, question, True, tuple(search(question)))
            numbered += [(question, numbers)] if numbers else []
    other = json.loads(Path(__file__).with_name("refusal_aapl.json").read_text("utf-8"))
    other["absent"].insert(0, rows[OTHER_ANSWER[1]]["Question"])
    for kind, questions in other.items():
        for question in questions[:per]:
            yield Item("aapl_10q", kind, question, False, tuple(search(question)))
    for question, numbers in numbered[::2][:per]:
        gold = {
            (name, page.number)
            for name, pages in documents.items()
            for page in pages
            if any(number in page.text for number in numbers)
        }
        left = [h for h in search(question, 60) if not {(h.passage.document_id, p) for p in h.passage.pages} & gold]
        hits = tuple(replace(hit, rank=rank) for rank, hit in enumerate(left[:HITS], 1))
        yield Item("aapl_10q", "page taken away", question, False, hits)


def pubmedqa(shared: Path, encoder: Encoder, meaning: Meaning, per: int) -> Iterator[Item]:
    """Yield `per` questions with their abstract and `per` without what answers them, half of each kind."""
    data = json.loads((shared / "pubmedqa/ori_pqal.json").read_text("utf-8"))
    whole = {key: "\n\n".join(row["CONTEXTS"]) for key, row in data.items()}
    nearest = Search([passage for key, text in whole.items() for passage in one_page(key, text)], meaning)
    keys = [
        k for k, row in data.items() if row["final_decision"] != "maybe" and any("RESULT" in x for x in row["LABELS"])
    ]
    random.Random(0).shuffle(keys)
    for place, key in enumerate(keys[: 2 * per]):
        row, question = data[key], data[key]["QUESTION"]
        if place < per:
            kind, text = "own", whole[key]
        elif place < per + per // 2:
            kind = "other abstract"
            text = whole[next(h.passage.document_id for h in nearest(question, 20) if h.passage.document_id != key)]
        else:
            kind = "results taken out"
            parts = zip(row["LABELS"], row["CONTEXTS"], strict=True)
            text = "\n\n".join(part for label, part in parts if not tells_results(label))
        made = one_page(key, text)
        hits = tuple(Hit(passage, 1.0, rank, "all") for rank, passage in enumerate(made, 1))
        if hits:
            yield Item("pubmedqa", kind, question, kind == "own", hits)


def tells_results(label: str) -> bool:
    """Return whether a section of an abstract tells results."""
    return any(word in label for word in ("RESULT", "CONCL", "FINDING"))


DATASETS: Mapping[str, Callable[[Path, Encoder, Meaning, int], Iterator[Item]]] = {
    "northwind": northwind, "clapnq": clapnq, "mtrag": mtrag, "aapl_10q": aapl_10q, "pubmedqa": pubmedqa,
}  # fmt: skip


def present(shared: Path) -> list[str]:
    """Return the data sets whose files are there."""
    needed = {
        "northwind": "northwind/questions_50.jsonl", "clapnq": "clapnq/dev_answerable.jsonl",
        "mtrag": "conversations/mtrag_un_reference.jsonl", "aapl_10q": "aapl_10q/questions.csv",
        "pubmedqa": "pubmedqa/ori_pqal.json",
    }  # fmt: skip
    return [name for name, file in needed.items() if (shared / file).is_file()]
