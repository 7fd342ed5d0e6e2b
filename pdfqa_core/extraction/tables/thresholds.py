"""Where the search for tables draws its lines: all numbers in one value, so that an experiment can pass another."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TableThresholds:
    """Lengths in `em` are shares of the font size; other units are named.

    Sources: the 40 cells of four 10-Q filings whose rows and columns `benchmarks/tables_aapl.py` checks, and texts
    without tables (Northwind, a book of formulas). A range behind a value is how far it can move, alone, before one of
    118 tables on 181 pages changes; the others can move by half (`benchmarks/table_thresholds.py`).
    """

    # Strokes (`rulings`)
    thin: float = 2.5  # points: a filled box that is no thicker is a line; from 1.5
    short: float = 4.0  # points: shorter lines part nothing
    same_level: float = 0.8  # points: strokes that lie so close are one
    touch: float = 1.0  # points between the ends of strokes that go on
    slope: float = 0.5  # points that a level or upright line may slope
    faint: int = 0xEC  # of 255: strokes as light as this shade rows, they part nothing

    # Grids (`grids`)
    most_strokes: int = 1_500  # of a page: more are a drawing
    meet: float = 3.0  # points: strokes that end this close to each other meet (pdfplumber's join tolerance)
    filled: float = 0.4  # of the cells of a table hold text
    longest_paragraph: int = 600  # characters of a usual cell; boxes around paragraphs hold more
    across: float = 0.04  # of the words of a table may stand across its lines, as those on the axis of a chart do
    grid_headers: int = 3  # rows that name columns at most

    # Cells of one line (`cell_texts`)
    cell_gap: float = 0.9  # em: wider gaps part cells; 0.72 to 0.99
    header_gap: float = 0.6  # em: the same in header rows, which are set closer; from 0.48
    longest_cell: int = 60  # characters of a cell in a table without numbers

    # Rows that stand below each other (`runs`)
    near: float = 3.4  # em: the next row of a table is no farther (it may leave a row blank); from 3.4
    aligned: float = 0.8  # em: edges that differ less stand below each other
    wrapped: float = 1.3  # em: lines that are no farther apart are wrapped text
    labels: int = 5  # lines without values that may stand between two rows; 3 to 5
    above: float = 14.0  # em above the first row in which names of columns may stand apart, taken for text columns

    # Columns (`columns`)
    strip: float = 1.5  # points: narrower strips part no columns
    crossing: float = 0.06  # of the rows may cross the strip between two columns
    valued: float = 0.6  # of the cells of a column of values are values
    below: float = 0.7  # of the cells of a column share an edge or their middle; up to 0.98
    full: float = 0.7  # of the rows of a table without numbers have a cell in each column
    running_text: float = 0.85  # of their column's width: labels as wide are lines of running text; from 0.85
    text_width: float = 14.0  # em: a column of running text is wider; from 11.2

    # Names of columns (`headers`) and rows of several lines (`aligned`)
    header_near: float = 2.4  # em: the next line of a header is no farther; from 1.68
    header_lines: int = 9  # lines of a header at most; from 6
    centred: float = 0.75  # em by which a name is better centred above more columns than above its own
    tight: float = 0.82  # of the usual distance of rows: closer lines are one row; up to 0.82
    apart: float = 1.05  # of the usual distance of rows: lines farther apart are two rows


DEFAULT = TableThresholds()
