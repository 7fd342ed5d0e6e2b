"""People's sentences beside the same with one fact changed, mostly for another of the same passage.

ClapNQ, MT-RAG and Northwind give sentences that people wrote from passages; tables of TAT-QA and of four filings give
sentences made of a cell with its row's label and its column's name.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from common import GOLD, cited, json_lines, read
from tables import CELLS, CHOSEN_LATER

from pdfqa_core.chunking import Windows
from pdfqa_core.reading.facts import facts
from pdfqa_core.text import content_terms, sentences, terms

NEGATION = re.compile(r"\b(?:not|never)\b ?|n't\b", re.IGNORECASE)
AUXILIARY = re.compile(r"\b(is|are|was|were|can|will|does|did|may|must|should|has|have|had|would|could)\b")
OPPOSITES = (
    ("at least", "at most"), ("up to", "at least"), ("more than", "less than"), ("before", "after"),
    ("increased", "decreased"), ("increase", "decrease"), ("higher", "lower"), ("unless", "if"), ("minimum", "maximum"),
    ("within", "after"), ("always", "never"), ("only", "not only"), ("first", "last"), ("all", "no"), ("more", "less"),
)  # fmt: skip
UNITS = (
    ("million", "billion"), ("days", "months"), ("years", "months"), ("hours", "days"), ("weeks", "days"),
    ("minutes", "hours"), ("thousand", "million"), ("meters", "kilometers"), ("feet", "meters"), ("km", "miles"),
    ("miles", "feet"), ("months", "weeks"),
)  # fmt: skip
WORDS = 160  # of a text around a sentence
LATER = 1000  # number from which on sources count as later ones
TEMPLATES = (
    "{label} was {value} for {column}.", "In {column}, {label} was {value}.", "The {label} for {column} is {value}.",
    "{label} amounted to {value} in {column}.",
)  # fmt: skip


VALUE = re.compile(r"\$? ?\(?\$? ?\d[\d,.]*\)? ?(?:%|bps)?\)?")


@dataclass(frozen=True)
class Pair:
    """A true sentence about passages and the same with a fact changed; `place` is the changed place of the true one."""

    data: str
    group: int
    kind: str
    question: str
    passages: tuple[str, ...]
    true: str
    changed: str
    place: tuple[int, int] = (0, 0)
    others: tuple[str, ...] = ()  # the passages of the changed one, where they are others

    @property
    def half(self) -> str:
        """Return "even" (for tuning), "odd" (for reporting), or "later": sources that were not looked at before."""
        return "later" if self.group >= LATER else ("even", "odd")[self.group % 2]

    @property
    def source(self) -> tuple[str, int]:
        """What the pairs of one answer or table share."""
        return self.data, self.group


@dataclass(frozen=True)
class Source:
    """A question, the answer that a person wrote, and the passages it was written from."""

    question: str
    answer: str
    passages: tuple[str, ...]


def pairs(shared: Path, *, quick: bool = False) -> list[Pair]:
    """Return the pairs of all data sets, mixed, in an order that does not change."""
    rng = random.Random(7)
    sets = [
        [
            pair
            for n, source in enumerate(found)
            for pair in of_source(name, n, source, [other.passages for other in found], rng)
        ]
        for name, found in sources(shared, quick).items()
    ]
    sets.append(list(of_tables(shared, 24 if quick else 110, rng)))
    if not quick:
        sets.append(list(of_filings(shared, rng)))
        sets.append(list(later(shared, random.Random(8))))
    mixed = [((n + 0.5) / len(found), pair) for found in sets for n, pair in enumerate(found)]
    return [pair for _, pair in sorted(mixed, key=lambda entry: entry[0])]


def later(shared: Path, rng: random.Random) -> Iterator[Pair]:
    """Yield the pairs of 150 more answers of MT-RAG."""
    found = mtrag(shared)[120:270]
    passages = [source.passages for source in found]
    for number, source in enumerate(found, LATER):
        yield from of_source("mtrag", number, source, passages, rng)


def sources(shared: Path, quick: bool) -> dict[str, list[Source]]:
    clapnq = [
        Source(row["input"], tidy(row["output"][0]["answer"]), tuple(tidy(p["text"]) for p in row["passages"]))
        for row in json_lines(shared / "clapnq" / "dev_answerable.jsonl")[: 40 if quick else 300]
    ]
    if quick:
        return {"clapnq": clapnq}
    pages = read(shared / "northwind")
    northwind = [
        Source(
            row["question"], GOLD.sub("", row["truth"]).strip(),
            tuple(pages[name][number - 1].text for name, number in cited(row["truth"])),
        )
        for row in json_lines(shared / "northwind" / "questions_50.jsonl")
    ]  # fmt: skip
    return {"clapnq": clapnq, "mtrag": mtrag(shared)[:120], "northwind": northwind}


def mtrag(shared: Path) -> list[Source]:
    return [
        Source(row["input"][-1]["text"], row["targets"][0]["text"], tuple(c["text"] for c in row["contexts"][:3]))
        for row in json_lines(shared / "conversations" / "mtrag_un_reference.jsonl")
        if "ANSWERABLE" in row["answerability"] and row["contexts"]
    ]


def tidy(text: str) -> str:
    """Return tokenised text as people write it."""
    text = text.replace("`` ", '"').replace(" ''", '"').replace("( ", "(").replace(" - ", "-").replace("$ ", "$")
    return re.sub(r"\s+([.,;:!?%)]|'s\b|n't\b)", r"\1", text)


def of_source(
    name: str, group: int, source: Source, all_passages: Sequence[tuple[str, ...]], rng: random.Random
) -> Iterator[Pair]:
    """Yield the pairs of an answer's sentences that say what the passages say: most of their words stand there.

    The changed one of kind "unrelated" is the same beside the most similar of 30 other answers' passages.
    """
    others = [other for other in all_passages if not set(other) & set(source.passages)]
    elsewhere = rng.sample(others, min(30, len(others)))
    known = set(terms(" ".join(source.passages)))
    for start, end in sentences(source.answer):
        sentence = source.answer[start:end]
        wanted = content_terms(sentence)
        if len(wanted) < 4 or sum(term in known for term in wanted) < 0.6 * len(wanted):
            continue
        texts = tuple(near(text, sentence) for text in source.passages)
        far = min(elsewhere, key=lambda other: -len(set(wanted) & set(terms(" ".join(other)))), default=())
        if far:
            yield Pair(
                name,
                group,
                "unrelated",
                source.question,
                texts,
                sentence,
                sentence,
                others=tuple(near(t, sentence) for t in far),
            )
        for kind, changed, place in changes(sentence, "\n\n".join(texts), rng):
            yield Pair(name, group, kind, source.question, texts, sentence, changed, place)


def near(text: str, sentence: str) -> str:
    """Return the part of a long passage that shares most words with a sentence."""
    wanted = set(content_terms(sentence))
    bounds = sentences(text)
    best = max(bounds, key=lambda bound: len(wanted & set(terms(text[slice(*bound)]))), default=(0, 0))
    return around(text, best[0])


def changes(sentence: str, passages: str, rng: random.Random) -> Iterator[tuple[str, str, tuple[int, int]]]:
    """Yield (kind, changed sentence, changed place): a number, period and name, a negation, a qualifier, a unit."""
    own, there = ([fact for fact in facts(text) if not fact.initial] for text in (sentence, passages))
    for kind, names in (("number", ("number", "percent", "money")), ("period", ("date",)), ("name", ("name",))):
        options = [
            (fact, others)
            for fact in own
            if fact.kind in names
            and any(other.same(fact) for other in there)
            and (others := [o for o in there if fact.rivals(o) and not any(o.same(f) for f in own)])
        ]
        if options:
            fact, others = rng.choice(options)
            other = rng.choice(others)
            text = passages[other.start : other.end]
            yield kind, sentence[: fact.start] + text + sentence[fact.end :], (fact.start, fact.end)
    if found := NEGATION.search(sentence):
        yield "negation", sentence[: found.start()] + sentence[found.end() :], found.span()
    elif found := AUXILIARY.search(sentence):
        yield "negation", f"{sentence[: found.end()]} not{sentence[found.end() :]}", found.span()
    for kind, table in (("qualifier", OPPOSITES), ("unit", UNITS)):
        for one, other in [*table, *((b, a) for a, b in table)]:
            before = r"\d[\d,.]*\s" if kind == "unit" else ""
            if found := re.search(rf"(?<=\b){before}\b{one}\b" if before else rf"\b{one}\b", sentence, re.IGNORECASE):
                a, b = found.end() - len(one), found.end()
                yield kind, sentence[:a] + other + sentence[b:], (a, b)
                break


def of_tables(shared: Path, count: int, rng: random.Random) -> Iterator[Pair]:
    """Yield sentences of cells of TAT-QA's tables, with another value, row or column of the same table."""
    found = json.loads((shared / "tatqa" / "tatqa_dataset_dev.json").read_text("utf-8"))
    tables = [(row, table) for row in found if (table := table_of(row["table"]["table"])) and len(table) <= 16]
    for group, (row, table) in enumerate(rng.sample(tables, min(count, len(tables)))):
        above = row["paragraphs"][0]["text"][:400]
        yield from of_cell("tatqa", group, table, f"{above}\n\n{markdown(table)}", rng)


def values(table: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
    """Return (row, column) of the cells with a number whose row's label and column's name no other has."""
    labels, columns = Counter(row[0] for row in table), Counter(table[0])
    return [
        (r, c) for r in range(1, len(table)) for c in range(1, min(len(table[r]), len(table[0])))
        if VALUE.fullmatch(table[r][c]) and table[r][0] and table[0][c]
        and labels[table[r][0]] == columns[table[0][c]] == 1
    ]  # fmt: skip


def of_cell(data: str, group: int, table: Sequence[Sequence[str]], passage: str, rng: random.Random) -> Iterator[Pair]:
    """Yield the sentence of a value of a table with another value of its row or column, another row, another column."""
    cells = values(table)
    if len(cells) < 4:
        return
    r, c = rng.choice(cells)
    template = rng.choice(TEMPLATES)
    label, column, value = table[r][0].rstrip(":"), table[0][c], table[r][c]

    def said(label: str, column: str, value: str) -> str:
        return template.format(label=label, column=column, value=value)

    true = said(label, column, value)
    others = {
        "number": [(a, b) for a, b in cells if table[a][b] != value and (a == r or b == c)],
        "row": [(a, b) for a, b in cells if b == c and a != r and table[a][b] != value],
        "period": [(a, b) for a, b in cells if a == r and b != c and table[a][b] != value],
    }  # fmt: skip
    question = f"What was {label} for {column}?"
    for kind, options in others.items():
        if options:
            a, b = rng.choice(options)
            if kind == "number":
                at = true.rindex(value) if template.endswith("{value}.") else true.index(value)
                yield Pair(
                    data,
                    group,
                    kind,
                    question,
                    (passage,),
                    true,
                    said(label, column, table[a][b]),
                    (at, at + len(value)),
                )
            elif kind == "row":
                yield Pair(data, group, kind, "", (passage,), true, said(table[a][0].rstrip(":"), column, value))
            else:
                yield Pair(data, group, kind, "", (passage,), true, said(label, table[0][b], value))


def of_filings(shared: Path, rng: random.Random) -> Iterator[Pair]:
    """Yield sentences of cells of the filings' tables."""
    documents = read(shared / "aapl_10q")
    for group, cell in enumerate((*CELLS, *CHOSEN_LATER)):
        name = next(n for n in documents if n.startswith(cell.file))
        found = [
            p.text for p in Windows().chunk([documents[name][cell.page - 1]])
            if "|" in p.text and cell.label in p.text and cell.value in p.text and len(p.text.split()) < 500
        ]  # fmt: skip
        if not found:
            continue
        text = min(found, key=len)
        lines = [line for line in text.splitlines() if line.startswith("|")]
        table = [[part.strip() for part in line.strip().strip("|").split("|")] for line in lines if "---" not in line]
        yield from of_cell("aapl_10q", group, table, text, rng)


# ------------------------------------------------------------------ tables and texts


def around(text: str, place: int) -> str:
    """Return the sentences around a place, about WORDS words."""
    if len(text.split()) <= 1.5 * WORDS:
        return text
    bounds = sentences(text)
    first = last = next(n for n, (_, end) in enumerate(bounds) if end > place)
    while len(text[bounds[first][0] : bounds[last][1]].split()) < WORDS and (first > 0 or last < len(bounds) - 1):
        first, last = max(0, first - 1), min(len(bounds) - 1, last + 1)
    return text[bounds[first][0] : bounds[last][1]]


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
