"""ASQA rows as questions with long answers; the readings of a question are scored by the protocol of its name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from pdfqa_core.protocols.asqa import read_questions
from pdfqa_core.protocols.gold.base import GoldFile, GoldQuestion, file_readers
from pdfqa_core.protocols.gold.collection import with_corpus
from pdfqa_core.protocols.json_rows import peek


class Asqa:
    """{"ambiguous_question", "qa_pairs", "annotations", "sample_id"}, or the official file by split."""

    words = "ASQA"
    suffixes = (".json", ".jsonl")

    def recognises(self, path: Path) -> bool:
        """Return whether the rows have disambiguated questions."""
        first = peek(path)
        return "qa_pairs" in first or any(
            isinstance(row, Mapping) and "qa_pairs" in row
            for split in first.values() if isinstance(split, Mapping)
            for row in (split, *list(split.values())[:1])
        )  # fmt: skip

    def read(self, path: Path) -> GoldFile:
        """Return the ambiguous questions, their long answers as references."""
        return with_corpus(path, self._questions(path))

    def _questions(self, path: Path) -> Iterator[GoldQuestion]:
        for number, row in enumerate(read_questions(path), start=1):
            yield GoldQuestion(row.id, row.question, number, row.long_answers, recorded=row.prediction)


file_readers.register("asqa")(Asqa())
