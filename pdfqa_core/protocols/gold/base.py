"""Questions with their gold places from files: what readers make of them, and the reader that fits a file.

A file reader recognises a file or folder and reads its questions. Where a file is a table of rows, its place readers
find in each row the places where the answer stands; a row may name them in several ways. A place names a document as
people do, by file name; `retrieval.resolve` finds it in a workspace.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pdfqa_core.csv_format import read_csv
from pdfqa_core.errors import UsageError
from pdfqa_core.extraction.process.outside import read_file
from pdfqa_core.protocols.json_rows import JsonRow, peek
from pdfqa_core.registry import Registry
from pdfqa_core.types import Passage, Span

# ----------------------------------------------------------------------------------------------------
# Texts of a data set as passages.


def corpus_passage(document: str, title: str, text: str) -> Passage:
    """Return a document of a text collection as one passage, headed by its title."""
    return Passage(document, (Span(document, 1, 0, len(text)),), text, title)


# ----------------------------------------------------------------------------------------------------
# Files that are no questions, but that another command takes: which one.

_ASKED = ("question", "query", "input", "ambiguous_question", "data", "turn", "text")


def elsewhere(path: Path) -> tuple[str, str] | None:
    """Return what a file holds that holds no questions, and the command that takes it; None: it may hold some."""
    if path.suffix.lower() == ".csv":
        return _table(path)
    first = peek(path)
    protocol = str(first.get("protocol") or "answers")
    asked = any(key in first for key in _ASKED)
    told = (
        (
            not asked and isinstance(first.get("answer"), Mapping),
            "predictions for HotpotQA",
            "hotpotqa --data {} --gold ROWS.json",
        ),
        (isinstance(first.get("results"), list), "recorded judgements of claims", "entailment --data {}"),
        ("systems" in first and "measures" in first, "results of an evaluation", protocol + " --load {}"),
        (not asked and ("answer" in first or "prediction" in first), "answers", "answers --data {} --gold GOLD.json"),
        (not asked and _all_texts(first), "answers by id", "asqa --data {} --gold ASQA.json"),
    )
    return next(((what, f"pdfqa evaluate {call.format(path.name)}") for fits, what, call in told if fits), None)


def _all_texts(first: Mapping[str, object]) -> bool:
    return len(first) > 1 and all(isinstance(value, str) for value in first.values())


def _table(path: Path) -> tuple[str, str] | None:
    try:
        header = {name.strip().lower() for name in read_csv(read_file(path)).header}
    except UsageError:  # told in full by the reader of tables
        return None
    if {"item", "annotator", "criterion", "value"} <= header:
        return "ratings", f"pdfqa agreement {path.name}"
    return None


# ----------------------------------------------------------------------------------------------------
# Questions with their gold places from files: what readers make of them, and the reader that fits a file.


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
    """A question of a data set. `row` is its 1-based place in the file; `follow_up_of` the id of the turn before it.

    `history` are the turns before it, where the row brings them along; `conversation` the one it belongs to. `contexts`
    are the passages that the data set gives with it. `kind` is its type. `recorded` is an answer that somebody gave to
    it, `human` what a person thought of that. `generated`: a program made it of a passage, as the file says.
    """

    id: str
    question: str
    row: int
    references: tuple[str, ...] = ()
    places: tuple[GoldPlace, ...] = ()
    answerable: bool = True
    follow_up_of: str = ""
    history: tuple[tuple[str, str], ...] = ()
    conversation: str = ""
    contexts: tuple[Passage, ...] = ()
    kind: str = ""
    recorded: str | None = None
    human: bool | None = None
    generated: bool = False


@dataclass(frozen=True, slots=True)
class GoldFile:
    """A data set; `corpus` holds its own passages (one per document) where it brings them along, as BEIR does."""

    name: str
    questions: tuple[GoldQuestion, ...]
    corpus: tuple[Passage, ...] = ()


class GoldRow(JsonRow):
    """A row of a table of questions: its values by lower-case name."""

    @property
    def document(self) -> str:
        """The document that the row names; empty where it names none."""
        keys = ("document", "file", "filename", "doc_name")
        return str(next((self.values[key] for key in keys if self.values.get(key)), ""))


class FileReader(Protocol):
    """What reads one form of file."""

    @property
    def words(self) -> str:
        """What the form is, for help and error texts."""
        ...

    @property
    def suffixes(self) -> tuple[str, ...]:
        """How its files end, for the page's file field."""
        ...

    def recognises(self, path: Path) -> bool:
        """Return whether the file or folder is of this form, by its name or its first bytes."""
        ...

    def read(self, path: Path) -> GoldFile:
        """Return its questions. Raises UsageError that names file and row."""
        ...


class PlaceReader(Protocol):
    """What reads one way to say where an answer stands."""

    @property
    def words(self) -> str:
        """What the way is, for help and error texts."""
        ...

    def read(self, row: GoldRow, answers: Sequence[str]) -> Iterable[GoldPlace]:
        """Return the places that a row with these answers names this way; none where it does not."""
        ...


file_readers: Registry[FileReader] = Registry("form of questions")
place_readers: Registry[PlaceReader] = Registry("way to name a gold place")


def read_gold(path: Path) -> GoldFile:
    """Return the questions of a file or folder. Raises UsageError that names file and row."""
    if other := elsewhere(path):
        what, command = other
        raise UsageError(f"{path.name}, row 1: there is no question; the file holds {what}.", f"It is for: {command}")
    readers = [file_readers.get(name) for name in file_readers.names()]
    reader = next((one for one in readers if one.recognises(path)), None)
    if reader is None:
        raise UsageError(f"{path.name} is not a file of questions that can be read.", f"{forms()}.")
    return reader.read(path)


def forms() -> str:
    """Return what can be read, as one sentence for help and error texts."""
    files, places = (
        "; ".join(registry.get(name).words for name in registry.names()) for registry in (file_readers, place_readers)
    )
    return f"Questions: {files}. Where the answer stands: {places}"


def suffixes() -> tuple[str, ...]:
    """Return how files of questions end, for the page's file field."""
    return tuple(suffix for name in file_readers.names() for suffix in file_readers.get(name).suffixes)
