"""How often the change of a row of a table is told rightly, on questions of TAT-QA.

Of its development tables the questions with a word of change whose answer is computed from cells or stands in the
table: the rule of `reading.changes` on the first paragraph and the table as Markdown. An answer is right if its
difference or its percentage is the given one, whichever way round the sign. Then the questions without such a word, of
which it should answer none. The rule was written with the odd tables in view. Baseline: the later of the two numbers,
which is what a reader gives who does not compute.

    python benchmarks/changes.py [--shared FOLDER] [--show]
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from typing import Any

from extremes import markdown, named
from northwind import DATA
from scipy.stats import binomtest

from pdfqa_core.reading.changes import Change, change
from pdfqa_core.types import Passage, Span

ASKED = re.compile(r"\b(?:chang|increas|decreas|grow|grew|ris[ei]|rose|fall|fell|declin|drop|differ)", re.IGNORECASE)


def right(found: Change, asked: dict[str, Any]) -> bool:
    """Return whether the difference or the percentage is the answer."""
    said = str(asked["answer"][0] if isinstance(asked["answer"], list) else asked["answer"])
    digits = re.search(r"\d[\d,]*\.?\d*", said)
    if digits is None:
        return False
    wanted = float(digits[0].replace(",", ""))
    percent = asked["scale"] == "percent" or "%" in said
    meant = found.percent if percent and found.percent is not None else found.by
    return abs(abs(meant) - wanted) <= (0.51 if percent and "." not in digits[0] else 0.0051)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shared", type=type(DATA), default=DATA.parent, help="folder of the data sets")
    parser.add_argument("--show", action="store_true", help="print what is wrong or not answered on the odd tables")
    chosen = parser.parse_args()
    file = chosen.shared / "tatqa" / "tatqa_dataset_dev.json"
    if not file.is_file():
        raise SystemExit(f"There is no file {file}. Give the folder of the data sets with --shared.")
    counts: Counter[tuple[str, str]] = Counter()
    for number, one in enumerate(json.loads(file.read_text("utf-8"))):
        half = "odd" if number % 2 else "even"
        columns, rows = named(one["table"]["table"])
        text = f"{one['paragraphs'][0]['text']}\n\n{markdown(columns, rows)}"
        passage = Passage("t", (Span("d", 1, 0, len(text)),), text)
        for asked in one["questions"]:
            found = change(asked["question"], passage)
            about_change = ASKED.search(asked["question"]) is not None
            if not about_change or asked["answer_from"] == "text" or asked["answer_type"] not in ("arithmetic", "span"):
                counts[half, "other"] += not about_change
                counts[half, "other answered"] += found is not None and not about_change
                continue
            counts[half, "asked"] += 1
            good = found is not None and right(found, asked)
            counts[half, "answered"] += found is not None
            counts[half, "right"] += good
            if found is not None:
                counts[half, "baseline right"] += str(asked["answer"]) in found.later.value
            if chosen.show and half == "odd" and not good:
                said = found.words if found is not None else f"none {columns} {[row[0] for row in rows][:12]}"
                print(asked["question"], asked["answer"], asked["scale"], asked["derivation"], said, sep=" | ")
    for half in ("odd", "even"):
        asked_, answered, good_, other, wrongly, first = (
            counts[half, key] for key in ("asked", "answered", "right", "other", "other answered", "baseline right")
        )
        interval = binomtest(good_, answered).proportion_ci(method="wilson")
        print(
            f"{half}: {asked_} questions, {answered} answered, {good_} right "
            f"[{interval.low:.2f}, {interval.high:.2f}] of these; the later number is right for {first} of them; "
            f"answered of {other} others: {wrongly}"
        )
    ratio = counts["even", "right"] / max(1, counts["even", "baseline right"])
    print(f"right on even tables, rule to baseline (at least one): {ratio:.0f}")


if __name__ == "__main__":
    main()
