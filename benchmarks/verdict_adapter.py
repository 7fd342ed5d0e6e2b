"""What the default model's adapter adds to the rules by which sentences get a tick.

Data: the odd sources of verdict_pairs.py and later ones (people's sentences and rows of tables, beside the same with a
fact changed; the even ones trained the adapter, and those are left out whose question or answer did), in turns over
halves and data sets, and the English statements of verdict_statements.json. Each is checked by the rules, and then as
the program does it with the adapter (see `reading/agreeing.py`, whose two thresholds were chosen on the odd sources).
Prints the share with a tick of the right ones and of the wrong ones, with 95 % Wilson intervals, seconds per sentence,
and the ratio of wrong ones with a tick.

    python benchmarks/verdict_adapter.py [--quick] [--seconds N] [--keep FILE]
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from adapter_data import unused
from northwind import DATA, ROOT
from scipy.stats import binomtest
from verdict_pairs import pairs
from verdicts import hits_of

from pdfqa_core.llm import LlamaCpp
from pdfqa_core.llm.catalogue import DEFAULT, resolve
from pdfqa_core.reading.agreeing import agreed
from pdfqa_core.reading.checking import Checked, Checker
from pdfqa_core.settings import LLMSettings
from pdfqa_core.settings_sources import models_path
from pdfqa_core.streaming import result_of
from pdfqa_core.types import Support

STATEMENTS = ROOT / "benchmarks" / "verdict_statements.json"
Statement = tuple[str, str, bool, str, tuple[str, ...]]  # group, text, whether it is right, question, passages


def statements() -> list[Statement]:
    """Return the English statements of the lists, the held-out third one first."""
    data = json.loads(STATEMENTS.read_text("utf-8"))
    return [
        (f"list {key[0]}", text, right, question, tuple(data["passages"][key]["texts"]))
        for key, question, text, right in sorted(data["statements"], key=lambda row: -int(row[0][0]))
        if data["passages"][key]["language"] == "english"
    ]


def in_turns() -> Iterator[Statement]:
    """Yield pairs in turns over halves and data sets, each true sentence once."""
    whole = unused(DATA.parent)
    found = [
        pair for pair in pairs(DATA.parent)
        if pair.half != "even" and (pair.data not in ("clapnq", "mtrag") or pair.question in whole)
    ]  # fmt: skip
    random.Random(4).shuffle(found)
    turns: dict[tuple[str, str], list[Any]] = {}
    for pair in found:
        turns.setdefault((pair.half, pair.data), []).append(pair)
    known = set()
    for place in range(max(map(len, turns.values()))):
        for some in turns.values():
            for pair in some[place : place + 1]:
                if (pair.true, pair.passages) not in known:
                    known.add((pair.true, pair.passages))
                    yield pair.half, pair.true, True, pair.question, pair.passages
                yield pair.half, pair.changed, False, pair.question, pair.others or pair.passages


def ticked(checked: Checked) -> bool:
    """Return whether every sentence has a tick."""
    return bool(checked.sentences) and all(one.support is Support.SUPPORTED for one in checked.sentences)


def share(ticks: list[bool]) -> str:
    low, high = binomtest(sum(ticks), len(ticks)).proportion_ci(method="wilson")
    return f"{sum(ticks) / len(ticks):.3f} [{low:.3f}, {high:.3f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a dozen statements")
    parser.add_argument("--seconds", type=float, default=1800, help="for the pairs; the statements come first")
    parser.add_argument("--keep", type=Path, help="file for the ticks, which another run goes on from")
    chosen = parser.parse_args()
    llm, checker = LlamaCpp(resolve(DEFAULT, models_path(LLMSettings())), name=DEFAULT), Checker()
    llm.load()
    kept: dict[str, Any] = {}
    if chosen.keep and chosen.keep.is_file():
        kept = {row["key"]: row for row in map(json.loads, chosen.keep.read_text("utf-8").splitlines())}
    rows: list[dict[str, Any]] = []

    def judge(one: Statement) -> None:
        group, text, right, question, passages = one
        key = f"{group} {text} {hash(passages) if not chosen.keep else passages[0][:60]}"
        if key not in kept:
            hits = hits_of(passages)
            rules = result_of(checker.check(text, hits, question=question))
            began = time.perf_counter()
            both = result_of(agreed(llm, text, rules, hits))
            seconds = time.perf_counter() - began
            kept[key] = {
                "key": key, "group": group, "right": right, "rules": ticked(rules), "both": ticked(both),
                "seconds": seconds,
            }  # fmt: skip
            if chosen.keep:
                with chosen.keep.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(kept[key]) + "\n")
        rows.append(kept[key])

    for one in statements()[: 12 if chosen.quick else None]:
        judge(one)
    if DATA.parent.is_dir() and not chosen.quick:
        until = time.monotonic() + chosen.seconds
        for one in in_turns():
            if time.monotonic() > until:
                break
            judge(one)
    print(f"{'share with a tick':<12}{'':<8}{'rules':>24}{'with the adapter':>26}     n")
    for group in sorted({row["group"] for row in rows}):
        for right in (True, False):
            some = [row for row in rows if row["group"] == group and row["right"] is right]
            if some:
                print(
                    f"{group:<12}{'right' if right else 'wrong':<8}{share([row['rules'] for row in some]):>24}"
                    f"{share([row['both'] for row in some]):>26}{len(some):>6}"
                )
    asked = [row["seconds"] for row in rows if row["seconds"] > 0.01]
    print(f"seconds per sentence asked about: median {median(asked):.2f}, n {len(asked)}")
    wrong = [row for row in rows if not row["right"]]
    before, now = (sum(row[way] for row in wrong) for way in ("rules", "both"))
    print(f"wrong ones with a tick, rules / with the adapter: {before} / {now} = {before / max(1, now):.1f}")


if __name__ == "__main__":
    main()
