"""Tables as extractors hand them on: rows of cells, each with its place on the page. Knows nothing about PDFs."""

from __future__ import annotations

from dataclasses import dataclass

from pdfqa_core.types import Box


@dataclass(frozen=True, slots=True)
class Cell:
    """The text of a cell and the box (points on the shown page) of what is printed in it."""

    text: str
    box: Box


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of equal length; None is an empty cell. The first `header_rows` rows name the columns."""

    rows: tuple[tuple[Cell | None, ...], ...]
    header_rows: int = 1

    @property
    def characters(self) -> int:
        """How many characters its cells hold."""
        return sum(len(cell.text) for row in self.rows for cell in row if cell is not None)

    def markdown(self) -> tuple[str, tuple[tuple[int, int, Box], ...]]:
        """Return the table as Markdown, and where each cell stands in it: (start, end, box), ascending.

        The header rows become one row, as Markdown has only one; line breaks in cells become spaces, and a bar is
        escaped.
        """
        parts: list[str] = []
        places: list[tuple[int, int, Box]] = []
        length = 0

        def put(text: str) -> None:
            nonlocal length
            parts.append(text)
            length += len(text)

        columns = max((len(row) for row in self.rows), default=0)
        header, body = self.rows[: self.header_rows], self.rows[self.header_rows :]
        stacked = [[row[column] for row in header] for column in range(columns)]
        for number, cells in enumerate([stacked, *([[cell] for cell in row] for row in body)]):
            if number:
                put("\n")
            put("|")
            for column in cells:
                put(" ")
                for cell in column:
                    if cell is None or not cell.text:
                        continue
                    text = " ".join(cell.text.split()).replace("|", "\\|")
                    places.append((length, length + len(text), cell.box))
                    put(text + " ")
                put("|")
            if number == 0:
                put("\n|" + " --- |" * columns)
        return "".join(parts), tuple(places)
