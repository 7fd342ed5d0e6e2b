"""Follow-ups that name another thing and nothing else ("And the fixed desk?"), asked as whole questions.

Data: another.tsv, the last question, the follow-up and what it means (nothing: the rule is to leave it alone). `first`
was written while the rule was made, which its weights were chosen on; `second` before the rule had been tried on it.
And, with the data folder, the turns of CAsT 2019, 2020 and 2021 and of MT-RAG: how many the rule changes, and token F1
of CAsT's with what people wrote for them. Prints the share of follow-ups that become the words that are meant, with
Wilson's 95 % interval, and token F1 with these, beside that of the typed words (baseline); last the ratio of the two.

    python benchmarks/another.py [--show]
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from northwind import DATA, ROOT
from scipy.stats import binomtest

from pdfqa_core.conversation.another import for_another_thing
from pdfqa_core.languages import ENGLISH
from pdfqa_core.metrics.token_f1 import token_f1
from pdfqa_core.models import graphs_path
from pdfqa_core.retrieval import Encoder
from pdfqa_core.settings import LLMSettings
from pdfqa_core.text import terms

SHARED = DATA.parent
OPENINGS = {"Was": "german", "Wer": "german", "Wie": "german", "Quel": "french"}

Asked = tuple[str, str, str]  # the question before, the follow-up as typed, what it means ("" if not known)


def written() -> dict[str, list[Asked]]:
    """Return the lists of another.tsv."""
    lists: dict[str, list[Asked]] = {}
    with (ROOT / "benchmarks" / "another.tsv").open(encoding="utf-8") as file:
        for name, *asked in csv.reader(file, delimiter="\t"):
            before, typed, meant = asked
            lists.setdefault(name, []).append((before, typed, meant))
    return lists


def public() -> Iterator[Asked]:
    """Yield the turns of public conversations but for the first ones; the question before as people completed it."""
    folder = SHARED / "rewriting"
    lines = (folder / "cast2019_resolved.tsv").read_text("utf-8").splitlines()
    resolved = dict(line.split("\t", 1) for line in lines)
    for topic in json.loads((folder / "cast2019_topics.json").read_text("utf-8")):
        turns = [
            (turn["raw_utterance"], resolved.get(f"{topic['number']}_{turn['number']}", "")) for turn in topic["turn"]
        ]
        yield from _pairs(turns)
    for file in (folder / "cast2020_manual.json", SHARED / "conversations" / "cast2021_manual.json"):
        for topic in json.loads(file.read_text("utf-8")):
            yield from _pairs([(t["raw_utterance"], t["manual_rewritten_utterance"]) for t in topic["turn"]])
    for line in (SHARED / "conversations" / "mtrag_un_reference.jsonl").open(encoding="utf-8"):
        said = [turn["text"] for turn in json.loads(line)["input"] if turn["speaker"] == "user"]
        if len(said) > 1:
            yield said[-2], said[-1], ""


def _pairs(turns: Sequence[tuple[str, str]]) -> Iterator[Asked]:
    for (_, before), (typed, meant) in pairwise(turns):
        yield before, typed, meant


def main() -> None:
    """Print what becomes of the follow-ups."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--show", action="store_true", help="print every follow-up")
    show = parser.parse_args().show
    encoder = Encoder(graphs=graphs_path(LLMSettings()))

    def made_of(before: str, typed: str) -> str:
        language = OPENINGS.get(before.partition(" ")[0], ENGLISH)
        return for_another_thing(typed, [(before, "")], _questions(encoder), language)

    for name, rows in written().items():
        made = [made_of(before, typed) for before, typed, _ in rows]
        same = [terms(text) == terms(meant) for text, (_, _, meant) in zip(made, rows, strict=True)]
        low, high = binomtest(sum(same), len(rows)).proportion_ci(method="wilson")
        print(f"{name}: n {len(rows)}, as meant {np.mean(same):.2f} [{low:.2f}, {high:.2f}]")
        _f1(rows, made)
        if show:
            for (before, typed, _), text, right in zip(rows, made, same, strict=True):
                print(f"  {'' if right else 'WRONG '}{before} | {typed} -> {text or '(left)'}")
    if not (SHARED / "rewriting").is_dir():
        return
    turns = list(public())
    found = [(row, text) for row in turns if row[0] and (text := made_of(*row[:2]))]
    print(f"public conversations: {len(found)} of {len(turns)} turns changed")
    known = [(row, text) for row, text in found if row[2]]
    _f1([row for row, _ in known], [text for _, text in known])
    if show:
        for (before, typed, meant), text in found:
            print(f"  {before} | {typed} -> {text}   (people: {meant})")


def _questions(encoder: Encoder) -> Any:
    return lambda texts: encoder.encode(texts, question=True)


def _f1(rows: Sequence[Asked], made: Sequence[str]) -> None:
    """Print token F1 with what is meant, of the rule and of the typed words, and the ratio."""
    of = [(text or typed, typed, meant) for text, (_, typed, meant) in zip(made, rows, strict=True) if meant]
    now, before = (float(np.mean([token_f1(row[place], [row[2]]) for row in of])) for place in (0, 1))
    print(f"  token F1 with what is meant, n {len(of)}: {now:.3f}, as typed {before:.3f}; ratio {now / before:.2f}")


if __name__ == "__main__":
    main()
