"""The numbers of the extractor `pdfplumber`, all in one value, so that an experiment can pass another."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PdfplumberThresholds:
    """Lengths in `em` are shares of the font size; the values are chosen, where no source is named, not measured."""

    word_gap: float = 0.2  # em; pdfplumber's own fixed 3 points run the words of small print together
    cell_gap: float = 1.6  # em: wider gaps count as those between cells, as in `layout.lines`
    same_place: float = 0.5  # points between the baselines of one glyph in PDFium and in pdfplumber
    tiny: float = 3.0  # points: smaller text is hidden, as in `hidden.find_hidden`
    most_edges: int = 20_000  # of a drawing: tables among more are not looked for, it would take minutes
    unknown: float = 0.1  # of the characters of a page: from this share on a warning tells of unknown letters


DEFAULT = PdfplumberThresholds()
