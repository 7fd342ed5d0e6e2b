"""How often the largest or smallest value of a table is the right one, on questions of TAT-QA.

Of its development tables the questions with a superlative or comparative whose answer stands in the table: the rule of
`reading.extremes` on the table as Markdown, beside the first column or row on those it answers. Its threshold was
chosen on the odd tables. Then the questions without such a word, of which it should answer none. The last line is the
ratio of right answers, by the rule to by the baseline, on the even tables.

    python benchmarks/extremes.py [--shared FOLDER]
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from itertools import count
from pathlib import Path

from northwind import DATA
from scipy.stats import binomtest

from pdfqa_core.reading.extremes import extreme
from pdfqa_core.types import Passage, Span

COMPARED = re.compile(
    r"\b(highest|lowest|largest|smallest|greatest|biggest|most|least|larger|higher|lower|smaller|fewest|maximum|"
    r"minimum)\b",
    re.IGNORECASE,
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shared", type=Path, default=DATA.parent, help="folder of the data sets")
    file = parser.parse_args().shared / "tatqa" / "tatqa_dataset_dev.json"
    if not file.is_file():
        raise SystemExit(f"There is no file {file}. Give the folder of the data sets with --shared.")
    counts: Counter[tuple[str, str]] = Counter()
    for number, one in enumerate(json.loads(file.read_text("utf-8"))):
        half = "odd" if number % 2 else "even"
        columns, rows = named(one["table"]["table"])
        text = markdown(columns, rows)
        passage = Passage("t", (Span("d", 1, 0, len(text)),), text)
        for asked in one["questions"]:
            found = extreme(asked["question"], passage)
            if not COMPARED.search(asked["question"]):
                counts[half, "other"] += 1
                counts[half, "other answered"] += found is not None
            elif asked["answer_from"] != "text" and asked["answer_type"] == "span":
                gold = [str(answer).casefold() for answer in asked["answer"]]
                counts[half, "asked"] += 1
                counts[half, "answered"] += found is not None
                said = "" if found is None else f"{found.name} {found.value}".casefold()
                counts[half, "right"] += any(answer in said for answer in gold)
                first = f"{next(filter(None, columns[1:]), '')} {rows[0][0]}".casefold()
                counts[half, "baseline right"] += found is not None and any(answer in first for answer in gold)
    for half in ("odd", "even"):
        asked, answered, right, other, wrongly, first = (
            counts[half, key] for key in ("asked", "answered", "right", "other", "other answered", "baseline right")
        )
        interval = binomtest(right, answered).proportion_ci(method="wilson")
        print(
            f"{half}: {asked} questions, {answered} answered, {right} right [{interval.low:.2f}, {interval.high:.2f}]; "
            f"of these the first column or row: {first}; answered of {other} others: {wrongly}"
        )
    print(f"right on even tables, rule to baseline: {counts['even', 'right'] / counts['even', 'baseline right']:.1f}")


def named(table: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """Return the names of the columns, those of several lines joined, and the rows below."""
    width = max(map(len, table))
    full = [[cell.strip() for cell in row] + [""] * (width - len(row)) for row in table]
    heads = next((n for n in count(1) if n >= len(full) - 1 or n > 3 or (full[n][0] and any(full[n][1:]))), 1)
    spread = [full[n] if n == heads - 1 else list(carried(full[n])) for n in range(heads)]
    return [" ".join(filter(None, (row[place] for row in spread))) for place in range(width)], full[heads:]


def carried(row: list[str]) -> list[str]:
    """Return a row of names with each above all columns up to the next one."""
    found: list[str] = []
    for cell in row:
        found.append(cell or (found[-1] if len(found) > 1 else ""))
    return found


def markdown(columns: list[str], rows: list[list[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    main()
