"""CSV that survives a spreadsheet: cells cannot become formulas, accents stay, and reading it gives the same cells.

UTF-8 with a byte order mark, because Excel takes a CSV file without one for the machine's old code page and shows
"naÃ¯ve"; pandas, readr, LibreOffice and `read_csv` below skip the mark.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Literal

from pdfqa_core.errors import UsageError, first_of

_FIRST = frozenset("'=+-@\t\r")  # most cells begin otherwise, and are not looked at further
_TO_ESCAPE = re.compile(r"'*[=+\-@\t\r]")
_ESCAPED = re.compile(r"'+[=+\-@\t\r]")
_MAX_CELL = 2**31 - 1
BLOCK, LINE = 2_000, "\r\n"  # rows at a time, and how each ends
_EXCEL = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")  # how .xlsx, .ods and .xls begin
_SEPARATOR = re.compile(r"\s*\"?sep=(?P<mark>[^\r\n\w\"])\"?[ ,;\t]*(?:\r\n?|\n)", re.IGNORECASE)  # Excel's line
# How R, pandas, SQL, Stata, spreadsheets (also German and Spanish) and people write that there is no value. Not "None",
# which scales have as a label.
_MISSING = frozenset(
    ("", "na", "n/a", "n.a.", "<na>", "#n/a", "#na", "#nv", "#n/d", "nan", "null", "#null!", ".", "-", "--", "–", "—")
)
_UNSEEN = re.compile("[\u200b\u200e\u200f\u2060\ufeff]")  # white space and marks of direction without width
_NUMBER = re.compile(r"([-+−–]?) ?(?=[.,]?[0-9])([0-9]*)(?:([.,])([0-9]*))?")


def escape_cell(cell: str) -> str:
    """Return `cell` with an apostrophe in front where a spreadsheet would take it for a formula.

    Cells that already begin with apostrophes and would be taken for escaped ones get one more, so that
    `unescape_cell` gives back every cell as it was. Source: OWASP, "CSV injection".
    """
    return "'" + cell if cell[:1] in _FIRST and _TO_ESCAPE.match(cell) else cell


def unescape_cell(cell: str) -> str:
    """Return the cell that `escape_cell` was given."""
    return cell[1:] if _ESCAPED.match(cell) else cell


def write_csv(header: Sequence[str], rows: Iterable[Sequence[str]], numbers: Collection[int] = ()) -> bytes:
    """Return a CSV file (RFC 4180, UTF-8 with byte order mark) with escaped cells; lone surrogates become "?".

    `numbers` are the places of columns that hold numbers alone, which stay as they are: -0.3 is no formula. The file is
    what `csv.writer` writes, which goes through cells character by character and takes several times as long.
    """
    if not numbers:
        return b"".join(csv_blocks(header, rows))
    lines = [",".join(map(_written, header))]
    for row in rows:
        lines.append(",".join(cell if place in numbers else _written(cell) for place, cell in enumerate(row)))
    return f"\ufeff{LINE.join(lines)}{LINE}".encode("utf-8", errors="replace")


def csv_blocks(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[bytes]:
    """Yield the file that `write_csv` makes, some rows at a time."""
    cells, left = _Cells(), chain((header,), rows)
    mark = "\ufeff"
    while block := list(islice(left, BLOCK)):
        lines = [",".join([cells[cell] for cell in row]) if len(row) != 1 else cells[row[0]] or '""' for row in block]
        yield f"{mark}{LINE.join(lines)}{LINE}".encode("utf-8", errors="replace")
        mark = ""


class _Cells(dict[str, str]):
    """Cells as they stand in the file, by what they hold: most are the same in many rows."""

    def __missing__(self, cell: str) -> str:
        self[cell] = made = _written(cell)
        return made


def _written(cell: str) -> str:
    """Return a cell as it stands in the file: escaped, and in quotes where it holds what parts cells or rows."""
    if cell[:1] in _FIRST:
        cell = escape_cell(cell)
    if "," in cell or "\n" in cell or '"' in cell or "\r" in cell:
        return '"' + cell.replace('"', '""') + '"'
    return cell


def is_missing(cell: str) -> bool:
    """Return whether a cell says that there is no value: it is empty, NA, N/A, NaN, NULL, a dash or the like."""
    return tidy(cell).casefold() in _MISSING


def tidy(cell: str) -> str:
    """Return what can be seen of a cell: composed (NFC), without white space around it, with one space inside."""
    return " ".join(_UNSEEN.sub("", unicodedata.normalize("NFC", cell)).split())


def label_of(cell: str, decimal_comma: bool = False) -> str:
    """Return the label that a cell holds, so that equal ones are equal texts: 1, 1.0 and "1 " are "1".

    Numbers lose what says nothing (zeros, a plus); with `decimal_comma` 2,5 is a number too. Others are tidied.
    """
    cell = tidy(cell)
    digits = "".join(str(unicodedata.decimal(character, character)) for character in cell)
    number = _NUMBER.fullmatch(digits)
    if number is None or (number[3] == "," and not decimal_comma):
        return cell
    value = number[2].lstrip("0") or "0"
    if fraction := (number[4] or "").rstrip("0"):
        value += f".{fraction}"
    return f"-{value}" if number[1] not in ("", "+") and value != "0" else value


@dataclass(frozen=True, slots=True)
class CsvRow:
    """One row: `number` is its place in a spreadsheet (the header is row 1), `cells` go by the header's names."""

    number: int
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CsvTable:
    """A header and its rows; every row has as many cells as the header has names.

    `decimal_comma`: the file is not parted by commas, so that 2,5 in a cell can be a number.
    """

    header: tuple[str, ...]
    rows: tuple[CsvRow, ...]
    decimal_comma: bool = False


def as_utf8(data: bytes) -> bytes:
    """Return the text of a file that a spreadsheet saved as UTF-8: it may be UTF-16 or Windows-1252 too.

    Raises UsageError for other bytes.
    """
    kinds: tuple[str, ...] = ("utf-8-sig", "cp1252")
    if data[:4] in _EXCEL:
        kinds = ()
    elif data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        kinds = ("utf-16",)
    elif b"\x00" in data[:4]:
        kinds = ("utf-16-be" if data[:1] == b"\x00" else "utf-16-le",)
    for kind in kinds:
        try:
            return data.decode(kind).encode()
        except UnicodeDecodeError:
            continue
    raise UsageError(
        "The file is no text that a spreadsheet saves.", "Save it as “CSV UTF-8”; Excel files are not read."
    )


def read_csv(data: bytes, required: Sequence[str] = ()) -> CsvTable:
    """Return the table in a CSV file parted by commas, semicolons (as European Excel writes it) or tabs.

    Empty lines are passed over. A first line `sep=;`, by which Excel says what parts the cells, is obeyed and is no
    row, as in Excel. In a file parted by tabs that breaks the rules for quotes, quotes are taken as they
    stand, as programs that write such files do. Raises UsageError that names the row for: no content, not UTF-8, a
    column in `required` that is missing or there twice, a row of another length than the header, broken quotes.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = data[: error.start].count(b"\n") + 1
        raise UsageError(
            f"The file is not UTF-8 text (row {row}).", "Save it as “CSV UTF-8” in the spreadsheet program."
        ) from error
    said = _SEPARATOR.match(text)
    text = text[said.end() :] if said else text
    if not text.strip():
        raise UsageError("The file is empty.", _columns_hint(required))
    header_line = next(line for line in text.splitlines() if line.strip())
    delimiter = said["mark"] if said else max(",;\t", key=header_line.count)
    records = _records(text, delimiter) if delimiter != "\t" else _tabbed(text)
    header = tuple(unescape_cell(cell.strip()) for cell in records[0].cells)
    for name in required:
        if header.count(name) != 1:
            problem = "is missing" if name not in header else "is there twice"
            raise UsageError(f"Row {records[0].number}: the column {name!r} {problem}.", _columns_hint(required))
    if uneven := [record for record in records[1:] if len(record.cells) != len(header)]:
        told = first_of([f"row {one.number} has {len(one.cells)} cells" for one in uneven])
        raise UsageError(f"{told[0].upper()}{told[1:]}; the header has {len(header)}.")
    rows = tuple(CsvRow(record.number, tuple(map(unescape_cell, record.cells))) for record in records[1:])
    return CsvTable(header, rows, delimiter != ",")


def _columns_hint(required: Sequence[str]) -> str:
    return f"The first row must name these columns: {', '.join(required)}." if required else ""


def _tabbed(text: str) -> list[CsvRow]:
    try:
        quoted = _records(text, "\t")
    except UsageError:
        return _records(text, "\t", quoting=csv.QUOTE_NONE)
    if len({len(record.cells) for record in quoted}) == 1:
        return quoted
    plain = _records(text, "\t", quoting=csv.QUOTE_NONE)
    return plain if len({len(record.cells) for record in plain}) == 1 else quoted


def _records(text: str, delimiter: str, *, quoting: Literal[0, 3] = csv.QUOTE_MINIMAL) -> list[CsvRow]:
    csv.field_size_limit(_MAX_CELL)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True, quoting=quoting)
    records: list[CsvRow] = []
    number = 0
    try:
        for number, cells in enumerate(reader, start=1):
            if any(cells):
                records.append(CsvRow(number, tuple(cells)))
    except csv.Error as error:
        raise UsageError(f"Row {number + 1} cannot be read: {error}.", "Check the quotes in that row.") from error
    return records
