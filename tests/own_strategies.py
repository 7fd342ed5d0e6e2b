"""A strategy of every kind as somebody else would write it: classes that are registered, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pdfqa_core.chunking import chunkers
from pdfqa_core.chunking.base import Chunking
from pdfqa_core.chunking.stream import Stream
from pdfqa_core.conversation import rewriters
from pdfqa_core.extraction import ExtractionOptions, extractors
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.reading import readers
from pdfqa_core.retrieval import IndexRetriever, retrievers
from pdfqa_core.retrieval.base import ScoredRow
from pdfqa_core.types import Answer, Block, Box, Done, Event, Hit, Line, Page, Query, Rewritten

TEXT = "Seals sleep on the quay all winter. Herons do not."


@extractors.register("own_extractor", "the same sentences for every file")
class OwnExtractor:
    def __init__(self, options: ExtractionOptions) -> None:
        self.options = options

    def extract(self, path: Path, document_id: str, *, password: str | None = None) -> Iterator[Page]:
        line = Line(0, len(TEXT), Box(50, 50, 500, 62))
        yield Page(document_id, 1, "1", 595, 842, TEXT, (line,), (Block(0, len(TEXT)),))


@chunkers.register("own_chunker", "as many words as the step")
@dataclass(frozen=True, kw_only=True)
class OwnChunker(Chunking):
    name: ClassVar[str] = "own_chunker"

    step: int = 60

    @property
    def longest_atom(self) -> int:
        return self.step

    def ranges(self, stream: Stream) -> list[tuple[int, int]]:
        count = len(stream.atoms)
        return [(first, min(count, first + self.step)) for first in range(0, count, self.step)]


@retrievers.register("own_retriever", "the last passages first")
@dataclass(frozen=True, eq=False)
class OwnRetriever(IndexRetriever):
    name: ClassVar[str] = "own_retriever"

    weight: float = 0.5

    def _find(self, query: Query, k: int, rows: Any) -> list[ScoredRow]:
        return [ScoredRow(int(row), float(row) + self.weight, {}) for row in rows[::-1][:k]]


@rewriters.register("own_rewriter", "asks louder")
class OwnRewriter:
    def rewrite(
        self, question: str, history: Sequence[tuple[str, str]], *, stop: StopSignal | None = None
    ) -> Rewritten:
        return Rewritten(question.upper())


@readers.register("own_reader", "the first passage")
class OwnReader:
    llm = None

    def __init__(self, passages: int) -> None:
        self.passages = passages

    def read(
        self, question: str, hits: Sequence[Hit], history: Sequence[tuple[str, str]] = (), *,
        stop: StopSignal | None = None,
    ) -> Iterator[Event]:  # fmt: skip
        yield Done(Answer(f"{question} {hits[0].passage.text}", hits=tuple(hits), reader="own_reader"))
