"""Questions as JSON lines, or as one JSON list."""

from __future__ import annotations

from pathlib import Path

from pdfqa_core.extraction.process.outside import read_file
from pdfqa_core.protocols.gold.base import GoldFile, file_readers
from pdfqa_core.protocols.gold.rows import as_questions, json_rows


class JsonFile:
    """One object per question."""

    words = "JSONL or JSON with an object per question"
    suffixes = (".jsonl", ".json")

    def recognises(self, path: Path) -> bool:
        """Return whether the file is named so, or begins like JSON."""
        return path.suffix.lower() in self.suffixes or read_file(path).lstrip()[:1] in (b"{", b"[")

    def read(self, path: Path) -> GoldFile:
        """Return the questions."""
        return as_questions(path, json_rows(path))


file_readers.register("jsonl")(JsonFile())
