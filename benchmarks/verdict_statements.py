"""Statements written beside passages, right and wrong ones, and how many of each the program gives a tick.

Near-copies made to fool the rules: another subject, period, unit, negation, limit or order of words, and short right
paraphrases; English and German, about made-up leases, manuals, minutes, trials and annual reports. Three lists: the
rules were made with the first two in view, the third was run once when they were finished. No encoder, no model.

    python benchmarks/verdict_statements.py [--wrong] [--file benchmarks/verdict_statements.json]
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scipy.stats import binomtest  # noqa: E402

from pdfqa_core.reading.checking import Checker  # noqa: E402
from pdfqa_core.streaming import result_of  # noqa: E402
from pdfqa_core.types import Hit, Passage, Span, Support  # noqa: E402


def ticked(texts: list[str], language: str, question: str, statement: str) -> bool:
    """Return whether every sentence of a statement has a tick beside these passages."""
    hits = [
        Hit(Passage(f"p{n}", (Span("d", n, 0, len(text)),), text, language=language), 1.0 / n, n, "")
        for n, text in enumerate(texts, 1)
    ]
    checked = result_of(Checker().check(statement, hits, question=question))
    return bool(checked.sentences) and all(one.support is Support.SUPPORTED for one in checked.sentences)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wrong", action="store_true", help="print what has the wrong sign")
    parser.add_argument("--file", type=Path, default=Path(__file__).with_suffix(".json"))
    options = parser.parse_args()
    data = json.loads(options.file.read_text(encoding="utf-8"))
    found: dict[tuple[str, str, bool], list[bool]] = {}
    for key, question, statement, right in data["statements"]:
        passages = data["passages"][key]
        tick = ticked(passages["texts"], passages["language"], question, statement)
        found.setdefault((key.split()[0], passages["language"], right), []).append(tick)
        if options.wrong and tick != right:
            print(f"{'right, no tick' if right else 'WRONG, tick   '}  {key}: {statement}")
    print("list language right  tick")
    for (number, language, right), ticks in sorted(found.items()):
        share = sum(ticks) / len(ticks)
        low, high = binomtest(sum(ticks), len(ticks)).proportion_ci(method="wilson")
        words = f"{number:<4} {language:<8} {'yes' if right else 'no':<6} {sum(ticks):>3} of {len(ticks):<3}"
        print(f"{words} {share:.3f} [{low:.3f}, {high:.3f}]")


if __name__ == "__main__":
    main()
