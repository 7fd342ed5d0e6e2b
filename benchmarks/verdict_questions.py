"""Questions with given passages and short gold answers, and whether a model's answer to one is right, by rule.

TAT-QA (a table and paragraphs of an annual report), CovidQA and XQuAD (a span of an article), HotpotQA (two gold
paragraphs among four), PubMedQA (yes or no), cells of four filings, and the ten answerable questions of the sample.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from northwind import ROOT, passages, read
from tables_aapl import CELLS, CHOSEN_LATER

from pdfqa_core.chunking import Windows
from pdfqa_core.reading.facts import numbers
from pdfqa_core.text import content_terms, sentences, terms

Rule = Literal["number", "text", "boolean"]
SAMPLE = {"q02": "68 kg", "q06": "4", "q08": "3.26", "q10": "supply temperature"}  # what a right answer must hold
WORDS = 160  # of an article's text around a gold span
_YES_NO = re.compile(r"\W*(yes|no)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Asked:
    """A question, the passages it is to be answered from, its gold answers, and the rule that compares with them."""

    data: str
    id: str
    question: str
    passages: tuple[str, ...]
    gold: tuple[str, ...]
    rule: Rule


def questions(shared: Path) -> list[Asked]:
    """Return the questions of all data sets, mixed, in an order that does not change."""
    rng = random.Random(11)
    sets = [
        tatqa(shared, 150, rng), spans(shared / "covidqa" / "200423_covidQA.json", "covidqa", 40, rng),
        spans(shared / "xquad" / "xquad.en.json", "xquad", 60, rng), hotpotqa(shared, 40, rng),
        pubmedqa(shared, 50, rng), filings(shared, 50, rng),
    ]  # fmt: skip
    mixed = [(place / len(found), asked) for found in sets for place, asked in enumerate(found)]
    return [*sample(), *(asked for _, asked in sorted(mixed, key=lambda entry: entry[0]))]


def tatqa(shared: Path, count: int, rng: random.Random) -> list[Asked]:
    found = []
    for row in json.loads((shared / "tatqa" / "tatqa_dataset_dev.json").read_text("utf-8")):
        table = table_of(row["table"]["table"])
        if table is None or len(table) > 16:
            continue
        texts = {str(p["order"]): p["text"] for p in row["paragraphs"]}
        for asked in row["questions"]:
            answers = asked["answer"] if isinstance(asked["answer"], list) else [asked["answer"]]
            if len(answers) != 1 or asked["answer_type"] not in ("span", "arithmetic"):
                continue
            if asked["answer_type"] == "arithmetic" and rng.random() > 0.3:
                continue
            near = [texts[number] for number in asked["rel_paragraphs"] if number in texts] or list(texts.values())[:1]
            gold = str(answers[0])
            rule: Rule = "number" if numbers(gold) and len(content_terms(gold)) <= 3 else "text"
            found.append(
                Asked(
                    "tatqa",
                    asked["uid"],
                    asked["question"],
                    (" ".join(near)[:900] + "\n\n" + markdown(table),),
                    (gold,),
                    rule,
                )
            )
    return rng.sample(found, count)


def table_of(rows: Sequence[Sequence[str]]) -> list[list[str]] | None:
    """Return a table with one row of names, made of the rows above the first with values; None without such rows."""
    clean = [[" ".join(cell.split()).replace("$ ", "$") for cell in row] for row in rows]
    first = next((n for n, row in enumerate(clean) if row[0] and any(_value(cell) for cell in row[1:])), None)
    if not first:
        return None
    names = [""] * len(clean[0])
    for row in clean[:first]:
        given = [cell for cell in row[1:] if cell]
        last = ""
        for column in range(1, len(row)):
            last = given[0] if len(given) == 1 else row[column] or last
            names[column] = f"{names[column]} {last}".strip()
        names[0] = f"{names[0]} {row[0]}".strip()
    return [names, *clean[first:]]


def _value(cell: str) -> bool:
    return bool(re.search(r"\d", cell)) and not re.fullmatch(r"(?:19|20)\d\d", cell)


def markdown(table: Sequence[Sequence[str]]) -> str:
    """Return a table as the program's extractors write it."""
    lines = [f"| {' | '.join(row)} |" for row in table]
    return "\n".join([lines[0], "|" + " --- |" * len(table[0]), *lines[1:]])


def spans(file: Path, name: str, count: int, rng: random.Random) -> list[Asked]:
    found = []
    for article in json.loads(file.read_text("utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            for asked in paragraph["qas"]:
                answer = asked["answers"][0]
                if len(answer["text"].split()) <= 6:
                    text = around(paragraph["context"], answer["answer_start"])
                    rule: Rule = "number" if numbers(answer["text"]) and len(terms(answer["text"])) <= 4 else "text"
                    found.append(
                        Asked(
                            name, str(asked["id"]), asked["question"].strip(), (text,), (answer["text"].strip(),), rule
                        )
                    )
    return rng.sample(found, count)


def around(text: str, place: int) -> str:
    """Return the sentences around a place, about WORDS words."""
    if len(text.split()) <= 1.5 * WORDS:
        return text
    bounds = sentences(text)
    first = last = next(n for n, (_, end) in enumerate(bounds) if end > place)
    while len(text[bounds[first][0] : bounds[last][1]].split()) < WORDS and (first > 0 or last < len(bounds) - 1):
        first, last = max(0, first - 1), min(len(bounds) - 1, last + 1)
    return text[bounds[first][0] : bounds[last][1]]


def hotpotqa(shared: Path, count: int, rng: random.Random) -> list[Asked]:
    found = []
    for row in json.loads((shared / "hotpotqa" / "hotpotqa_100.json").read_text("utf-8")):
        needed = (
            {title for title, _ in row["supporting_facts"]}
            if isinstance(row["supporting_facts"], list)
            else set(row["supporting_facts"]["title"])
        )
        context = (
            row["context"]
            if isinstance(row["context"], list)
            else list(zip(row["context"]["title"], row["context"]["sentences"], strict=True))
        )
        gold = [(t, s) for t, s in context if t in needed]
        others = [(t, s) for t, s in context if t not in needed][:1]
        texts = [f"{title}: {''.join(lines)}" for title, lines in (*gold, *others)]
        rng.shuffle(texts)
        rule: Rule = "boolean" if row["answer"].lower() in ("yes", "no") else "text"
        found.append(Asked("hotpotqa", row["_id"], row["question"], tuple(texts), (row["answer"],), rule))
    return found[:count]


def pubmedqa(shared: Path, count: int, rng: random.Random) -> list[Asked]:
    rows: dict[str, Any] = json.loads((shared / "pubmedqa" / "ori_pqal.json").read_text("utf-8"))
    found = [
        Asked("pubmedqa", key, row["QUESTION"], ("\n\n".join(row["CONTEXTS"]),), (row["final_decision"],), "boolean")
        for key, row in rows.items()
        if row["final_decision"] in ("yes", "no")
    ]
    return rng.sample(found, count)


def filings(shared: Path, count: int, rng: random.Random) -> list[Asked]:
    """Return a question for cells of the filings' tables, with the table's passages of that page."""
    documents = read(shared / "aapl_10q")
    found = []
    for cell in (*CELLS, *CHOSEN_LATER):
        name = next(n for n in documents if n.startswith(cell.file))
        page = documents[name][cell.page - 1]
        tables = [
            p.text for p in Windows().chunk([page]) if cell.label in p.text and cell.value in p.text and "|" in p.text
        ]
        if tables:
            under = f" ({cell.under.rstrip(':')})" if cell.under else ""
            question = f"What was {cell.label}{under} for {cell.column}?"
            text = min(tables, key=len)
            if len(text.split()) < 500:
                found.append(
                    Asked(
                        "aapl_10q",
                        f"{cell.file}-{cell.page}-{cell.label}-{cell.column}",
                        question,
                        (text,),
                        (cell.value,),
                        "number",
                    )
                )
    return found[:count]


def sample() -> list[Asked]:
    """Return the answerable questions of the sample with the two passages that hold most of the quote."""
    folder = ROOT / "data" / "sample"
    documents = read(folder)
    chunks = passages(documents, Windows(), headings=False)
    found = []
    for line in (folder / "questions.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        if not row["answerable"]:
            continue
        wanted = set(terms(row["quote"] + " " + row["question"]))
        near = sorted(
            (p for p in chunks if set(p.pages) & set(row["pages"])), key=lambda p: -len(wanted & set(terms(p.text)))
        )
        gold = SAMPLE.get(row["id"], row["answer"])
        rule: Rule = "boolean" if row["type"] == "boolean" else "number" if numbers(gold) else "text"
        found.append(Asked("sample", row["id"], row["question"], tuple(p.text for p in near[:2]), (gold,), rule))
    return found


def right(asked: Asked, answer: str) -> bool | None:
    """Return whether an answer agrees with the gold; None where the rule cannot tell."""
    if asked.rule == "boolean":
        said = _YES_NO.match(answer)
        return said[1].casefold() == _YES_NO.match(asked.gold[0])[1].casefold() if said else None
    if asked.rule == "number":
        gold = {abs(number.value / number.scale) for number in numbers(asked.gold[0])}
        said = {number.value / number.scale for number in numbers(answer)}  # tables leave the scale out
        if gold <= said:
            return True
        return False if said - {number.value for number in numbers(asked.question)} else None
    gold = set(terms(asked.gold[0]))
    held = len(gold & set(terms(answer))) / len(gold)
    if held == 1:
        return True
    return False if held <= 0.34 else None
