"""The tables of a page: looked for only where rulings or aligned cells suggest one, and put into the reading order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pdfqa_core.extraction.raw_page import PageTable, TextLine, enclosing
from pdfqa_core.extraction.tables.aligned import find_aligned, suggested
from pdfqa_core.extraction.tables.found import DEFAULT, FoundTable, TableThresholds
from pdfqa_core.extraction.tables.grids import Rulings, find_grids, grid_heights
from pdfqa_core.extraction.text.glyphs import Flags, Glyphs
from pdfqa_core.extraction.text.normalise import right_to_left
from pdfqa_core.extraction.text.words import Word, find_words, words_of_lines
from pdfqa_core.types import Box


def with_tables(
    rulings: Rulings, glyphs: Glyphs, hidden: Flags, lines: list[TextLine], thresholds: TableThresholds = DEFAULT
) -> list[TextLine]:
    """Return the lines with those of each table replaced by one line that stands for it.

    `hidden` (n,) marks the glyphs that a person cannot see. Lines that no table takes stay as they are, in their order.
    """
    aligned, ruled = suggested(lines), grid_heights(rulings, thresholds)
    heights = [place for pair in (aligned, ruled) if pair is not None for place in pair]
    if not heights:
        return lines
    words = find_words(glyphs, hidden, min(heights), max(heights))
    owned = words_of_lines(words, lines)
    found: list[FoundTable] = []
    if ruled is not None:
        found = find_grids(rulings, glyphs.frame, words, lines, thresholds)
        for grid in found:
            for number in grid.lines:
                owned[number] = []
    if aligned is not None:
        found += find_aligned(lines, owned, rulings, thresholds)
    return _replaced(lines, [table for table in found if not all(lines[i].stack for i in table.lines)])


def with_tables_of_words(lines: list[TextLine], words: Sequence[list[Word]]) -> list[TextLine]:
    """Return the lines with tables put in where nothing but their `words`, a list for each line, is known."""
    if suggested(lines) is None:
        return lines
    return _replaced(lines, find_aligned(lines, words, Rulings()))


def _replaced(lines: list[TextLine], found: Sequence[FoundTable]) -> list[TextLine]:
    at = {min(entry.lines): _line(entry.table, [lines[i] for i in entry.lines]) for entry in found}
    gone = {i for entry in found for i in entry.lines}
    kept: list[TextLine] = []
    for number, line in enumerate(lines):
        if number in at:
            kept.append(at[number])
        elif number not in gone:
            kept.append(line)
    return kept


def _line(table: PageTable, lines: Sequence[TextLine]) -> TextLine:
    box = enclosing(Box(line.u0, line.top, line.u1, line.bottom) for line in lines)
    if right_to_left("".join(cell.text for row in table.rows for cell in row if cell is not None)):
        table = replace(table, rows=tuple(row[::-1] for row in table.rows))
    return TextLine.of_table(table, box, lines[0].baseline, lines[0].size, lines[0].region)
