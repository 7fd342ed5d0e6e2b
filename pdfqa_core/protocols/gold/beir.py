"""BEIR data sets: a corpus of short texts, queries, and which text is relevant to which. Source: Thakur et al. 2021.

A data set is a folder, or a ZIP of one, as they are published.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pdfqa_core.errors import UsageError
from pdfqa_core.extraction.process.outside import read_file, unpacked
from pdfqa_core.protocols.gold.base import GoldFile, GoldPlace, GoldQuestion, GoldRow, file_readers
from pdfqa_core.protocols.gold.rows import json_rows
from pdfqa_core.protocols.gold.texts import corpus_passage
from pdfqa_core.protocols.json_rows import check_ids
from pdfqa_core.types import Passage

CORPUS, QUERIES = "corpus.jsonl", "queries.jsonl"
SPLITS = ("test", "dev", "train")  # the first that is there is asked
FILES = (".jsonl", ".tsv")  # how its files end
_HINT = "Give corpus.jsonl, queries.jsonl and qrels/test.tsv, in a folder or a ZIP."
_LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the earliest time that a ZIP can hold: the same files make the same ZIP


class Beir:
    """corpus.jsonl, queries.jsonl and qrels/test.tsv, else dev.tsv, else train.tsv."""

    words = "a BEIR folder or a ZIP of it (corpus.jsonl, queries.jsonl, qrels/test.tsv)"
    suffixes = (".zip",)

    def recognises(self, path: Path) -> bool:
        """Return whether it is a folder or a ZIP."""
        return path.is_dir() or path.suffix.lower() == ".zip"

    def read(self, path: Path) -> GoldFile:
        """Return the queries that have a relevant document, and the corpus."""
        if path.is_dir():
            return _read(path, path.name)
        with unpacked(path, path.name, of="BEIR data set", hint=_HINT) as folder:
            return _read(_top(folder), path.stem)


def packed(name: str, files: Iterable[tuple[str, Path]]) -> bytes:
    """Return the ZIP of a data set whose files lie apart: those that are read, each by its name and where it is.

    `name` is that of the data set in error messages. Raises UsageError where a file is missing.
    """
    found = _needed(name, dict(files))
    packing = io.BytesIO()
    with zipfile.ZipFile(packing, "w") as archive:
        for entry, path in found.items():
            info = zipfile.ZipInfo(entry, _LONG_AGO)
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, read_file(path))
    return packing.getvalue()


def packed_folder(folder: Path) -> bytes:
    """Return the ZIP of a data set that is a folder. Raises UsageError where a file is missing."""
    return packed(folder.name, _inside(folder).items())


# ------------------------------------------------------------------ which files


def _needed(name: str, files: Mapping[str, Path]) -> dict[str, Path]:
    """Return the files that are read, as they lie in a folder; qrels may also lie beside the others.

    Raises UsageError that names what is missing.
    """
    splits = [(f"qrels/{split}.tsv", place) for split in SPLITS for place in (f"qrels/{split}.tsv", f"{split}.tsv")]
    entry, place = next((pair for pair in splits if pair[1] in files), splits[0])
    wanted = {CORPUS: CORPUS, QUERIES: QUERIES, entry: place}
    if missing := [one for one, place in wanted.items() if place not in files]:
        raise UsageError(f"{name} is no BEIR data set; missing: {', '.join(missing)}.", _HINT)
    return {one: files[place] for one, place in wanted.items()}


def _inside(folder: Path) -> dict[str, Path]:
    found = (path for path in (*folder.glob("*.*"), *folder.glob("qrels/*.tsv")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path for path in found}


def _top(folder: Path) -> Path:
    """Return where the files of an unpacked ZIP lie: it may hold them in a folder of its own."""
    return min((path.parent for path in folder.rglob(CORPUS)), key=lambda path: len(path.parts), default=folder)


# ------------------------------------------------------------------ what they hold


def _read(folder: Path, name: str) -> GoldFile:
    corpus, queries, qrels = _needed(name, _inside(folder)).values()
    relevant = _relevant(qrels)
    texts = tuple(_corpus(corpus))
    there = {text.document_id for text in texts}
    if not any(place.document in there for places in relevant.values() for place in places):
        raise UsageError(f"No document of {qrels.name} stands in {corpus.name}.", "Check the ids.")
    questions = tuple(_questions(queries, relevant))
    if not questions:
        raise UsageError(f"No query of {queries.name} has a relevant document in {qrels.name}.", "Check the ids.")
    return GoldFile(name, questions, texts)


def _questions(file: Path, relevant: Mapping[str, list[GoldPlace]]) -> Iterator[GoldQuestion]:
    rows = [(row, _id(row)) for row in json_rows(file)]
    check_ids(((row.number, one) for row, one in rows), file.name)
    for row, one in rows:
        if one not in relevant:
            continue
        text = row.values.get("text")
        if not isinstance(text, str) or not text.strip():
            raise UsageError(f"{row.where}: there is no text.", 'A query is {"_id": …, "text": …}.')
        more = row.values.get("metadata")
        generated = isinstance(more, Mapping) and bool(more.get("made_by"))
        yield GoldQuestion(one, text.strip(), row.number, places=tuple(relevant[one]), generated=generated)


def _corpus(file: Path) -> Iterator[Passage]:
    rows = [(row, _id(row)) for row in json_rows(file)]
    check_ids(((row.number, one) for row, one in rows), file.name)
    for row, one in rows:
        yield corpus_passage(one, str(row.values.get("title") or ""), str(row.values.get("text") or ""))


def _id(row: GoldRow) -> str:
    found = row.values.get("_id")
    if found is None or found == "":
        raise UsageError(f"{row.where}: there is no _id.", "Every document and every query needs one.")
    return str(found)


def _relevant(qrels: Path) -> dict[str, list[GoldPlace]]:
    """Return the relevant documents by query. Raises UsageError that names file and line."""
    try:
        lines = read_file(qrels).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise UsageError(f"{qrels.name} is not UTF-8.", "Save it as UTF-8.") from error
    found: dict[str, list[GoldPlace]] = {}
    for number, line in enumerate(lines, start=1):
        cells = [cell.strip() for cell in line.split("\t")]
        where = f"{qrels.name}, line {number}"
        if len(cells) != 3:
            raise UsageError(f"{where}: not three cells.", "Write query, document and score, with tabs.")
        score = _score(cells[2])
        if score is None and number > 1:  # the first line may be a header
            raise UsageError(f"{where}: the score {cells[2]!r} is no number.", "Write 1 for relevant, 0 for not.")
        if score is not None and score > 0:
            found.setdefault(cells[0], []).append(GoldPlace(cells[1]))
    return found


def _score(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


file_readers.register("beir")(Beir())
