"""Misspelt questions: how often their passage is among the first four, with and without the words that are meant.

Data: CLAPnq's 300 answerable questions over the 600 passages of its dev set (--data, not part of the project). In each
question every second word of at least five letters that is no stop word gets one mistake: a letter left out, doubled,
changed, or two exchanged, by one seed. Searched by the default retriever as typed and misspelt, alone and with the
words that the documents have for misspelt ones beside them: what is right must not lose by it. Shares with 95 %
intervals; last the ratio of the misspelt ones searched for in both spellings to those in one.

    python benchmarks/misspelt.py [--quick] [--data FOLDER]
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections.abc import Callable
from pathlib import Path

from northwind import ROOT

from pdfqa_core.languages import STOP_WORDS
from pdfqa_core.metrics.statistics import summarise
from pdfqa_core.models import graphs_path
from pdfqa_core.retrieval import Encoder, Hybrid, Index, Spelling, in_both_spellings
from pdfqa_core.settings import LLMSettings
from pdfqa_core.types import Passage, Query, Span

DATA = ROOT.parent / "shared" / "data"
FIRST = 4  # hits
QUICK = 20
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def misspelt(question: str, draw: random.Random) -> str:
    """Return the question with a mistake in every second word that may have one."""
    places = [match for match in re.finditer(r"[A-Za-z]{5,}", question) if match[0].casefold() not in STOP_WORDS]
    for match in reversed(places[::2]):
        question = question[: match.start()] + mistaken(match[0], draw) + question[match.end() :]
    return question


def mistaken(word: str, draw: random.Random) -> str:
    """Return a word with one mistake behind its first letter."""
    at = draw.randrange(1, len(word) - 1)
    kinds: tuple[Callable[[], str], ...] = (
        lambda: word[:at] + word[at + 1 :],
        lambda: word[:at] + word[at] + word[at:],
        lambda: word[:at] + draw.choice(LETTERS) + word[at + 1 :],
        lambda: word[:at] + word[at + 1] + word[at] + word[at + 2 :],
    )
    return draw.choice(kinds)()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} questions over their own passages")
    parser.add_argument("--data", type=Path, default=DATA, help="folder with clapnq")
    chosen = parser.parse_args()
    folder = chosen.data / "clapnq"
    if not folder.is_dir():
        sys.exit(f"The questions are not here: {folder}")
    rows = [
        json.loads(line)
        for name in ("dev_answerable", "dev_unanswerable")
        for line in (folder / f"{name}.jsonl").read_text("utf-8").splitlines()
    ][: QUICK if chosen.quick else None]
    passages = [
        Passage(row["id"], (Span(row["id"], 1, 0, len(text)),), text, row["passages"][0]["title"])
        for row in rows for text in [row["passages"][0]["text"]]
    ]  # fmt: skip
    encoder = Encoder(graphs=graphs_path(LLMSettings()))
    index = Index.in_memory(passages, encoder)
    retriever = Hybrid(index)
    spelling = Spelling(index.passages_by_term, lambda word: len(encoder.token_spans(word)) == 1)
    asked = [row for row in rows if row["output"][0]["answer"].strip()]
    draw = random.Random(0)
    wrong = {row["id"]: misspelt(row["input"], draw) for row in asked}

    def both(question: str) -> Query:
        return in_both_spellings(Query(question), spelling.corrections)

    ways: dict[str, Callable[[dict[str, str]], str | Query]] = {
        "as typed": lambda row: row["input"],
        "as typed, both": lambda row: both(row["input"]),
        "misspelt": lambda row: wrong[row["id"]],
        "misspelt, both": lambda row: both(wrong[row["id"]]),
    }
    print(f"{len(asked)} questions, {len(passages)} passages; share with the passage among the first {FIRST}")
    shares = {}
    for way, made in ways.items():
        found = [
            float(row["id"] in {hit.passage.document_id for hit in retriever.search(made(row), FIRST)}) for row in asked
        ]
        share = summarise(found)
        print(f"{way:<18}{share.mean:.3f} [{share.low:.3f}, {share.high:.3f}]")
        shares[way] = share.mean or 0.0
    print(f"misspelt, both / misspelt: {shares['misspelt, both'] / shares['misspelt']:.2f}")


if __name__ == "__main__":
    main()
