"""BEIR folders: a corpus of short texts, queries, and which text is relevant to which. Source: Thakur et al. 2021."""

from __future__ import annotations

from pathlib import Path

from pdfqa_core.errors import UsageError
from pdfqa_core.protocols.gold.base import GoldFile, GoldPlace, GoldQuestion, file_readers
from pdfqa_core.protocols.gold.rows import json_rows
from pdfqa_core.protocols.gold.texts import corpus_passage
from pdfqa_core.types import Passage


class BeirFolder:
    """corpus.jsonl, queries.jsonl and qrels/test.tsv, else dev.tsv, else train.tsv."""

    words = "a BEIR folder (corpus.jsonl, queries.jsonl, qrels/test.tsv)"
    suffixes = ()

    def recognises(self, path: Path) -> bool:
        """Return whether it is a folder."""
        return path.is_dir()

    def read(self, path: Path) -> GoldFile:
        """Return the queries that have a relevant document, and the corpus."""
        splits = (path / "qrels" / f"{split}.tsv" for split in ("test", "dev", "train"))
        qrels = next((file for file in splits if file.is_file()), path / "qrels" / "test.tsv")
        needed = (path / "corpus.jsonl", path / "queries.jsonl", qrels)
        missing = [file.relative_to(path).as_posix() for file in needed if not file.is_file()]
        if missing:
            raise UsageError(
                f"{path.name} is no BEIR folder: {', '.join(missing)} is missing.", "Give a file or a BEIR folder."
            )
        relevant = _relevant(qrels)
        questions = tuple(
            GoldQuestion(str(row.values["_id"]), str(row.values["text"]), row.number,
                         places=tuple(relevant[str(row.values["_id"])]))
            for row in json_rows(path / "queries.jsonl")
            if str(row.values.get("_id")) in relevant
        )  # fmt: skip
        if not questions:
            raise UsageError(f"No query of {path.name} has a relevant document in {qrels.name}.", "Check the ids.")
        return GoldFile(path.name, questions, tuple(_corpus(path / "corpus.jsonl")))


def _corpus(file: Path) -> list[Passage]:
    found = []
    for row in json_rows(file):
        name = str(row.values.get("_id", ""))
        if not name:
            raise UsageError(f"{row.where}: there is no _id.", "Every document needs one.")
        found.append(corpus_passage(name, str(row.values.get("title") or ""), str(row.values.get("text") or "")))
    return found


def _relevant(qrels: Path) -> dict[str, list[GoldPlace]]:
    found: dict[str, list[GoldPlace]] = {}
    for number, line in enumerate(qrels.read_text(encoding="utf-8").splitlines(), start=1):
        cells = line.split("\t")
        if len(cells) != 3:
            raise UsageError(
                f"{qrels.name}, line {number}: not three cells.", "Write query, document and score, with tabs."
            )
        if number > 1 and cells[2].strip() not in ("0", ""):
            found.setdefault(cells[0], []).append(GoldPlace(cells[1]))
    return found


file_readers.register("beir")(BeirFolder())
