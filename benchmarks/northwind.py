"""The Northwind PDFs and questions, for the benchmarks of this folder."""

from __future__ import annotations

import argparse
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from pdfqa_core.chunking import with_headings  # noqa: E402
from pdfqa_core.extraction.process.worker import read_document  # noqa: E402
from pdfqa_core.types import Page, Passage  # noqa: E402

DATA = ROOT.parent / "shared" / "data" / "northwind"
GOLD = re.compile(r"\[([^\[\]#]+\.pdf)#page=(\d+)\]")


@dataclass(frozen=True)
class Item:
    """A question and the (filename, page) pairs that its gold answer cites."""

    question: str
    gold: frozenset[tuple[str, int]]


def arguments(description: str, *, quick: str = "under 45 s") -> argparse.ArgumentParser:
    """Return a parser with the options that all benchmarks have; quick says what --quick is or takes."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data", type=Path, default=DATA, help="folder with the PDFs and questions_50.jsonl")
    parser.add_argument("--quick", action="store_true", help=quick)
    return parser


def check(folder: Path) -> None:
    """End with a message where the data is not there."""
    if not (folder / "questions_50.jsonl").is_file():
        raise SystemExit(f"There is no Northwind data in {folder}. Give its folder with --data.")


def items(file: Path) -> list[Item]:
    """Read a JSONL file of {question, truth}."""
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]
    return [
        Item(row["question"], frozenset((name, int(page)) for name, page in GOLD.findall(row["truth"]))) for row in rows
    ]


def read(folder: Path) -> dict[str, tuple[Page, ...]]:
    """Read the PDFs as the program does; a document's id is its file name here."""
    return {path.name: read_document(path, path.name).pages for path in sorted(folder.glob("*.pdf"))}


def passages(documents: dict[str, tuple[Page, ...]], chunker: Any, *, headings: bool = True) -> list[Passage]:
    """Return the passages of all documents, headed by the file's name and the nearest heading where asked for."""
    found = []
    for filename, pages in documents.items():
        made = chunker.chunk(pages)
        found += with_headings(made, pages, title_of(filename)) if headings else made
    return found


def title_of(filename: str) -> str:
    """Return the filename as a title."""
    return filename.removesuffix(".pdf").replace("_", " ")


def on_gold(passage: Passage, gold: frozenset[tuple[str, int]]) -> bool:
    """Whether the passage touches a page that the gold answer cites."""
    return any((passage.document_id, page) in gold for page in passage.pages)
