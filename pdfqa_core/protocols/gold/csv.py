"""Questions as a table from a spreadsheet."""

from __future__ import annotations

from pathlib import Path

from pdfqa_core.csv_format import read_csv
from pdfqa_core.errors import in_file
from pdfqa_core.extraction.process.outside import read_file
from pdfqa_core.protocols.gold.base import GoldFile, file_readers
from pdfqa_core.protocols.gold.rows import as_questions, gold_row


class CsvFile:
    """A row per question, the same names as columns."""

    words = "CSV with a row per question"
    suffixes = (".csv",)

    def recognises(self, path: Path) -> bool:
        """Return whether the file is named so."""
        return path.suffix.lower() in self.suffixes

    def read(self, path: Path) -> GoldFile:
        """Return the questions."""
        with in_file(path.name):
            table = read_csv(read_file(path))
        rows = (
            gold_row(dict(zip(table.header, row.cells, strict=True)), row.number, path.name) for row in table.rows
        )  # fmt: skip
        return as_questions(path, rows)


file_readers.register("csv")(CsvFile())
