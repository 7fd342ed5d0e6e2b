"""Questions with their gold places from files: JSONL, CSV, FinanceBench rows and BEIR folders.

A place names a document as people do, by file name; `retrieval.resolve` finds it in a workspace. Understood keys, in
any case: id, question, answer / answers / truth / references, document / file / filename / doc_name, page / pages
(1-based), quote / quotes, answerable, follow_up_of. An answer may cite its places as `[file.pdf#page=7]`. FinanceBench
rows name them as `evidence` with `evidence_text` and `evidence_page_num` (0-based).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pdfqa_core.csv_format import read_csv
from pdfqa_core.errors import UsageError
from pdfqa_core.protocols.json_rows import load_json, read_file
from pdfqa_core.types import Passage, Span

_CITED = re.compile(r"\[([^\[\]#]+\.pdf)#page=(\d+)\]", re.IGNORECASE)
_ANSWER_KEYS = ("references", "answers", "answer", "truth", "ground_truth", "gold")
_DOCUMENT_KEYS = ("document", "file", "filename", "doc_name")


@dataclass(frozen=True, slots=True)
class GoldPlace:
    """Where an answer stands: a document by name (empty: the only one there is), a 1-based page, words of the page.

    `page` is None where the whole document is gold; an empty `quote` stands for the whole page.
    """

    document: str
    page: int | None = None
    quote: str = ""


@dataclass(frozen=True, slots=True)
class GoldQuestion:
    """A question of a data set. `row` is its 1-based place in the file; `follow_up_of` the id of the turn before it."""

    id: str
    question: str
    row: int
    references: tuple[str, ...] = ()
    places: tuple[GoldPlace, ...] = ()
    answerable: bool = True
    follow_up_of: str = ""


@dataclass(frozen=True, slots=True)
class GoldFile:
    """A data set; `corpus` holds its own passages (one per document) where it brings them along, as BEIR does."""

    name: str
    questions: tuple[GoldQuestion, ...]
    corpus: tuple[Passage, ...] = ()


def without_citations(text: str) -> str:
    """Return an answer without its `[file.pdf#page=7]` marks."""
    return " ".join(_CITED.sub(" ", text).split())


def read_gold(path: Path) -> GoldFile:
    """Read a JSONL, JSON or CSV file or a BEIR folder. Raises UsageError that names file and row."""
    if path.is_dir():
        return _read_beir(path)
    rows = _csv_rows(read_file(path)) if path.suffix.lower() == ".csv" else _json_rows(path)
    questions = [_question(row, number, path.name) for number, row in rows]
    _check_ids(questions, path.name)
    return GoldFile(path.stem, tuple(questions))


def _csv_rows(data: bytes) -> list[tuple[int, Mapping[str, Any]]]:
    table = read_csv(data)
    names = [name.strip().lower() for name in table.header]
    return [(row.number, dict(zip(names, row.cells, strict=True))) for row in table.rows]


def _json_rows(path: Path) -> list[tuple[int, Mapping[str, Any]]]:
    rows: list[tuple[int, Mapping[str, Any]]] = []
    for number, row in load_json(path):
        if not isinstance(row, dict):
            raise UsageError(f"{path.name}, row {number}: not an object.", 'Write {"question": …, "answer": …}.')
        rows.append((number, {str(key).strip().lower(): value for key, value in row.items()}))
    if not rows:
        raise UsageError(f"{path.name} holds no questions.", 'Write one {"question": …, "answer": …} per line.')
    return rows


def _question(row: Mapping[str, Any], number: int, file: str) -> GoldQuestion:
    question = row.get("question") or row.get("query") or ""
    if not isinstance(question, str) or not question.strip():
        raise UsageError(f"{file}, row {number}: there is no question.", 'Every row needs a "question".')
    answers = next((texts for key in _ANSWER_KEYS if (texts := _texts(row.get(key), file, number, key))), ())
    name = str(row.get("id") or row.get("_id") or row.get("financebench_id") or number)
    return GoldQuestion(
        name,
        question.strip(),
        number,
        tuple(without_citations(text) for text in answers),
        tuple(dict.fromkeys((*_places(row, number, file), *_cited(answers)))),
        _truth(row.get("answerable", True)),
        str(row.get("follow_up_of") or ""),
    )


def _texts(value: Any, file: str, number: int, key: str) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [] if value in (None, "") else [value]
    if not all(isinstance(text, str | int | float) for text in values):
        raise UsageError(
            f"{file}, row {number}: {key} holds something that is no text.", "Give a text or a list of them."
        )
    return tuple(str(text) for text in values)


def _truth(value: Any) -> bool:
    return value.strip().lower() not in ("false", "no", "0", "") if isinstance(value, str) else bool(value)


def _cited(answers: Iterable[str]) -> list[GoldPlace]:
    return [GoldPlace(name.strip(), int(page)) for text in answers for name, page in _CITED.findall(text)]


def _places(row: Mapping[str, Any], number: int, file: str) -> list[GoldPlace]:
    document = str(next((row[key] for key in _DOCUMENT_KEYS if row.get(key)), ""))
    found = []
    evidence = row.get("evidence")
    for entry in evidence if isinstance(evidence, list) else []:
        if isinstance(entry, dict) and "evidence_page_num" in entry:
            page = _page(entry["evidence_page_num"], file, number, least=0) + 1
            name = str(entry.get("doc_name") or entry.get("evidence_doc_name") or document)
            found.append(GoldPlace(name, page, str(entry.get("evidence_text") or "")))
    quotes = _texts(row.get("quotes") or row.get("quote"), file, number, "quote")
    pages = row.get("pages", row.get("page"))
    numbers = re.split(r"[;,\s]+", pages.strip()) if isinstance(pages, str) else pages
    listed = numbers if isinstance(numbers, list) else [] if numbers is None else [numbers]
    valid = [_page(page, file, number) for page in listed if page != ""]
    for page in valid:
        found += [GoldPlace(document, page, quote) for quote in quotes] or [GoldPlace(document, page)]
    return found


def _page(value: Any, file: str, number: int, least: int = 1) -> int:
    text = str(value).strip()
    if isinstance(value, bool) or not re.fullmatch(r"\d{1,7}(\.0)?", text) or int(float(text)) < least:
        raise UsageError(f"{file}, row {number}: {value!r} is no page number.", f"Pages are counted from {least}.")
    return int(float(text))


def _check_ids(questions: Sequence[GoldQuestion], name: str) -> None:
    seen: dict[str, int] = {}
    for question in questions:
        if question.id in seen:
            raise UsageError(
                f"{name}, row {question.row}: the id {question.id!r} is used in row {seen[question.id]} already.",
                "Give every question its own id, or none.",
            )
        seen[question.id] = question.row


# ------------------------------------------------------------------ BEIR


def _read_beir(folder: Path) -> GoldFile:
    """Read corpus.jsonl, queries.jsonl and qrels/test.tsv (else dev, else train). Source: Thakur et al. 2021."""
    qrels = next((f for split in ("test", "dev", "train") if (f := folder / "qrels" / f"{split}.tsv").is_file()), None)
    missing = [name for name in ("corpus.jsonl", "queries.jsonl") if not (folder / name).is_file()]
    missing += [] if qrels else ["qrels/test.tsv"]
    if missing:
        raise UsageError(
            f"{folder.name} is no BEIR folder: {', '.join(missing)} is missing.", "Give a file or a BEIR folder."
        )
    assert qrels is not None
    corpus = []
    for number, row in _json_rows(folder / "corpus.jsonl"):
        name = str(row.get("_id", ""))
        if not name:
            raise UsageError(f"corpus.jsonl, row {number}: there is no _id.", "Every document needs one.")
        corpus.append(corpus_passage(name, str(row.get("title") or ""), str(row.get("text") or "")))
    relevant: dict[str, list[GoldPlace]] = {}
    for number, line in enumerate(qrels.read_text(encoding="utf-8").splitlines(), start=1):
        cells = line.split("\t")
        if len(cells) != 3:
            raise UsageError(
                f"{qrels.name}, line {number}: not three cells.", "Write query, document and score, with tabs."
            )
        if number > 1 and cells[2].strip() not in ("0", ""):
            relevant.setdefault(cells[0], []).append(GoldPlace(cells[1]))
    questions = tuple(
        GoldQuestion(str(row["_id"]), str(row["text"]), number, places=tuple(relevant[str(row["_id"])]))
        for number, row in _json_rows(folder / "queries.jsonl")
        if str(row.get("_id")) in relevant
    )
    if not questions:
        raise UsageError(f"No query of {folder.name} has a relevant document in {qrels.name}.", "Check the ids.")
    return GoldFile(folder.name, questions, tuple(corpus))


def corpus_passage(document: str, title: str, text: str) -> Passage:
    """Return a document of a text collection as one passage, headed by its title."""
    return Passage(document, (Span(document, 1, 0, len(text)),), text, title)
