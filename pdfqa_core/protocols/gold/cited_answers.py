"""Answers that cite their places as `[file.pdf#page=7]`."""

from __future__ import annotations

from collections.abc import Sequence

from pdfqa_core.protocols.gold.base import GoldPlace, GoldRow, place_readers
from pdfqa_core.protocols.gold.rows import CITED


class CitedAnswers:
    """A mark anywhere in an answer."""

    words = "answers that cite [file.pdf#page=7]"

    def read(self, row: GoldRow, answers: Sequence[str]) -> list[GoldPlace]:
        """Return the places that the answers cite."""
        return [GoldPlace(name.strip(), int(page)) for text in answers for name, page in CITED.findall(text)]


place_readers.register("cited answers")(CitedAnswers())
