"""What all chunkers share: their registry, the measure of length, and the recipe that names their parameters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import accumulate
from typing import ClassVar

from pdfqa_core.chunking.stream import Stream, Tokenize
from pdfqa_core.chunking.tables import find_tables, table_passages, word_count
from pdfqa_core.errors import UsageError
from pdfqa_core.languages import ENGLISH
from pdfqa_core.registry import Registry
from pdfqa_core.types import Page, Passage

chunkers: Registry[type[Chunking]] = Registry("chunker")

UNITS = ("words", "tokens")
APART, IN_TEXT = TABLES = ("apart", "in-text")


@dataclass(frozen=True, kw_only=True)
class Chunking(ABC):
    """Parameters and behaviour of every chunker; `ranges` of a subclass says where passages begin and end."""

    name: ClassVar[str]

    unit: str = "words"
    tokenize: Tokenize | None = None
    tables: str = APART

    def __post_init__(self) -> None:
        if self.tables not in TABLES:
            raise UsageError(f"Tables cannot go {self.tables!r}.", f"Choose one of: {', '.join(TABLES)}.")
        if self.unit not in UNITS:
            raise UsageError(f"There is no unit called {self.unit!r}.", f"Choose one of: {', '.join(UNITS)}.")
        if self.unit == "tokens" and self.tokenize is None:
            raise UsageError(
                "Lengths in tokens need the tokenizer of the embedding model.", "Give one, or measure in words."
            )

    @property
    def recipe(self) -> str:
        """The name and all parameters in one line, such as `windows(unit=words, size=120, step=60)`.

        That tables are apart goes without saying, so that passages keep the ids of earlier versions.
        """
        left_out = {"tokenize"} | ({"tables"} if self.tables == APART else set())
        values = ", ".join(f"{f.name}={getattr(self, f.name)}" for f in fields(self) if f.name not in left_out)
        return f"{self.name}({values})"

    @property
    def words(self) -> str:
        """What the passages are, for people; two chunkers that cut differently never have the same words."""
        values = [(f, getattr(self, f.name)) for f in fields(self) if f.name not in ("tokenize", "tables")]
        others = ", ".join(f"{f.name.replace('_', ' ')} {value}" for f, value in values if value != f.default)
        return f"{self.name} ({others})" if others else self.name

    @property
    @abstractmethod
    def longest_atom(self) -> int:
        """The length above which a single word is cut: no passage may be longer than this."""

    @abstractmethod
    def ranges(self, stream: Stream) -> Sequence[tuple[int, int]]:
        """Return (first, last) atom of each passage, `last` exclusive."""

    def chunk(self, pages: Sequence[Page], language: str = ENGLISH) -> list[Passage]:
        """Return the passages of one document in this language in reading order, headings left empty.

        A table is a passage of its own, whatever the strategy, see `chunking.tables`; in the text it is cut as the text
        is. Raises UsageError if the pages belong to more than one document.
        """
        tokenize = self.tokenize if self.unit == "tokens" else None
        in_text = self.tables == IN_TEXT
        stream = Stream.of(pages, tokenize, self.longest_atom, language, tables=in_text)
        recipe = self.recipe
        passages = [stream.passage(recipe, first, last) for first, last in self.ranges(stream)]
        # a note that stands above the end of a sentence is read after it: no passage is placed before an earlier one
        begins = accumulate(((p.spans[0].page, p.spans[0].start) for p in passages), max)
        placed = list(zip(begins, passages, strict=True))
        measure = word_count if tokenize is None else lambda text: len(tokenize(text))
        for unit in () if in_text else find_tables(pages, language):
            made = (replace(one, language=language) for one in table_passages(unit, recipe, self.longest_atom, measure))
            placed += [((unit.page.number, unit.start), passage) for passage in made]
        return [passage for _, passage in sorted(placed, key=lambda entry: entry[0])]


def check_at_least(owner: str, **values: int) -> None:
    """Raise UsageError for the first of `values` that is below 1."""
    for name, value in values.items():
        if value < 1:
            raise UsageError(f"{name} of {owner} is {value}.", "It must be 1 or more.")
