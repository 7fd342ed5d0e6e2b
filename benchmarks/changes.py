"""How often the change of a row of a table is told rightly, on questions of TAT-QA.

Of its development tables the questions with a word of change whose answer is computed from cells or stands in the
table: the rule of `reading.changes` on the first paragraph and the table as Markdown. An answer is right if its
difference or its percentage is the given one, whichever way round the sign. Then the questions without such a word, of
which it should answer none. The rule was written with the odd tables in view. Baseline: the later of the two numbers,
which is what a reader gives who does not compute.

The default language model answers N of the even tables' questions (--model N, 60) from the table alone: told what was
found, and not told (baseline). An answer is right if it has the number of the reference.

    python benchmarks/changes.py [--quick] [--shared FOLDER] [--show] [--model N] [--threads N]
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

from extremes import markdown, named
from northwind import DATA
from scipy.stats import binomtest

from pdfqa_core.llm import LlamaCpp
from pdfqa_core.llm.catalogue import resolve
from pdfqa_core.llm.profile import profile
from pdfqa_core.metrics.statistics import paired_difference, summarise
from pdfqa_core.reading import generative
from pdfqa_core.reading.changes import Change, change
from pdfqa_core.reading.comparing import first_compared
from pdfqa_core.reading.generative import GenerativeReader
from pdfqa_core.reading.numbers import numbers
from pdfqa_core.reading.prompts import FORMS
from pdfqa_core.settings import LLMSettings
from pdfqa_core.settings_sources import models_path
from pdfqa_core.types import Hit, Passage, Span

ASKED = re.compile(r"\b(?:chang|increas|decreas|grow|grew|ris[ei]|rose|fall|fell|declin|drop|differ)", re.IGNORECASE)


def right(found: Change, asked: dict[str, Any]) -> bool:
    """Return whether the difference or the percentage is the answer."""
    wanted, percent = reference(asked), is_percent(asked)
    if wanted is None:
        return False
    meant = found.percent if percent and found.percent is not None else found.by
    return abs(abs(meant) - wanted) <= (0.51 if percent and wanted == int(wanted) else 0.0051)


def said(asked: dict[str, Any]) -> str:
    """Return the reference answer as text."""
    return str(asked["answer"][0] if isinstance(asked["answer"], list) else asked["answer"])


def reference(asked: dict[str, Any]) -> float | None:
    """Return the number of the reference answer without its sign."""
    digits = re.search(r"\d[\d,]*\.?\d*", said(asked))
    return float(digits[0].replace(",", "")) if digits else None


def is_percent(asked: dict[str, Any]) -> bool:
    """Return whether the reference answer is in percent."""
    return asked["scale"] == "percent" or "%" in said(asked)


def number_in(text: str, asked: dict[str, Any]) -> bool:
    """Return whether a text has the number of the reference, as it is or rounded as the text rounds it."""
    wanted = reference(asked)
    found = [one.value / one.scale for one in numbers(text) if one.percent == is_percent(asked)]
    return wanted is not None and any(abs(one - wanted) <= (0.51 if one == int(one) else 0.051) for one in found)


def answered(passages: Sequence[tuple[Passage, dict[str, Any]]], threads: int) -> dict[str, list[float]]:
    """Return for each way to ask which of the questions were answered rightly (1 or 0)."""
    settings = LLMSettings()
    llm = LlamaCpp(resolve(settings.model, models_path(settings)), name=settings.model, threads=threads)
    known = profile(settings.engine, settings.model, threads or 2)
    reader = GenerativeReader(llm, passages=known.passages, prompt_tokens=known.tokens, form=FORMS[known.prompts])
    found: dict[str, list[float]] = {"told": [], "not told": []}
    for passage, asked in passages:
        hits = [Hit(passage, 1.0, 1, "given")]
        for way, values in found.items():
            with patch.object(generative, "first_compared", first_compared if way == "told" else lambda *_: None):
                events = list(reader.read(asked["question"], hits))
            values.append(float(number_in(events[-1].answer.text, asked)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shared", type=type(DATA), default=DATA.parent, help="folder of the data sets")
    parser.add_argument("--model", type=int, default=60, metavar="N", help="questions that the default model answers")
    parser.add_argument("--threads", type=int, default=0, help="of the language model; 0: as the program chooses")
    parser.add_argument("--quick", action="store_true", help="without the language model")
    parser.add_argument("--show", action="store_true", help="print what is wrong or not answered on the odd tables")
    chosen = parser.parse_args()
    file = chosen.shared / "tatqa" / "tatqa_dataset_dev.json"
    if not file.is_file():
        raise SystemExit(f"There is no file {file}. Give the folder of the data sets with --shared.")
    counts: Counter[tuple[str, str]] = Counter()
    even: list[tuple[Passage, dict[str, Any]]] = []
    for number, one in enumerate(json.loads(file.read_text("utf-8"))):
        half = "odd" if number % 2 else "even"
        columns, rows = named(one["table"]["table"])
        table = markdown(columns, rows)
        text = f"{one['paragraphs'][0]['text']}\n\n{table}"
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
            if half == "even" and reference(asked) is not None:
                even.append((Passage("t", (Span("d", 1, 0, len(table)),), table), asked))
            if found is not None:
                counts[half, "baseline right"] += str(asked["answer"]) in found.later.value
            if chosen.show and half == "odd" and not good:
                words = found.words if found is not None else f"none {columns} {[row[0] for row in rows][:12]}"
                print(asked["question"], asked["answer"], asked["scale"], asked["derivation"], words, sep=" | ")
    for half in ("odd", "even"):
        asked_, found_, good_, other, wrongly, first = (
            counts[half, key] for key in ("asked", "answered", "right", "other", "other answered", "baseline right")
        )
        interval = binomtest(good_, found_).proportion_ci(method="wilson")
        print(
            f"{half}: {asked_} questions, {found_} answered, {good_} right "
            f"[{interval.low:.2f}, {interval.high:.2f}] of these; the later number is right for {first} of them; "
            f"answered of {other} others: {wrongly}"
        )
    if chosen.model and not chosen.quick:
        drawn = random.Random(0).sample(even, min(chosen.model, len(even)))
        found_by = answered(drawn, chosen.threads)
        for way, values in found_by.items():
            one = summarise(values)
            print(f"the default model, {way}: right {one.mean:.3f} [{one.low:.3f}, {one.high:.3f}], n {len(values)}")
        gain = paired_difference(found_by["told"], found_by["not told"])
        print(f"difference {gain.mean:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]")
        print(f"told / not told: {sum(found_by['told']) / max(1.0, sum(found_by['not told'])):.2f}")
    else:
        ratio = counts["even", "right"] / max(1, counts["even", "baseline right"])
        print(f"right on even tables, the rule / the later number (at least one): {ratio:.0f}")


if __name__ == "__main__":
    main()
