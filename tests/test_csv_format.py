from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdfqa_core.csv_format import BLOCK, csv_blocks, escape_cell, read_csv, unescape_cell, write_csv
from pdfqa_core.errors import UsageError

CELLS = st.one_of(
    st.text(st.characters(codec="utf-8")),
    st.tuples(st.sampled_from(["", "'", "''"]), st.sampled_from("=+-@\t\r"), st.text("a='\n,", max_size=5)).map(
        "".join
    ),
    st.sampled_from(["", "'", "''", "'a", "'=1", "''=1", "=1", "a\r\nb", '"', ",", ";", "\ufeff", "\x00"]),
)


@given(CELLS)
def test_every_cell_comes_back(cell: str) -> None:
    assert unescape_cell(escape_cell(cell)) == cell
    assert not escape_cell(cell).startswith(("=", "+", "-", "@", "\t", "\r"))


@given(st.lists(st.tuples(CELLS, CELLS, CELLS.map(lambda cell: cell + "x")), max_size=5))
def test_every_table_comes_back(rows: list[tuple[str, str, str]]) -> None:
    table = read_csv(write_csv(("=first", "second", "third"), rows), ("=first",))
    assert table.header == ("=first", "second", "third")
    assert [row.cells for row in table.rows] == rows


def test_blocks_make_one_file() -> None:
    rows = [(str(number), "=1", "a, b") for number in range(2 * BLOCK + 1)]
    blocks = list(csv_blocks(("n", "formula", "text"), rows))
    assert len(blocks) == 3
    expected = io.StringIO()
    csv.writer(expected).writerows([("n", "formula", "text"), *((number, "'=1", "a, b") for number, *_ in rows)])
    assert b"".join(blocks).decode("utf-8-sig") == expected.getvalue()


def test_ordinary_cells_stay_as_they_are() -> None:
    for cell in ("", "1", "0.5", "'tis", "a=b", "naïve", " =1"):
        assert escape_cell(cell) == cell


def test_excel_finds_a_mark_and_other_readers_pass_it_over() -> None:
    data = write_csv(("name",), [("Zoë",)])
    assert data.startswith(b"\xef\xbb\xbf")
    assert list(csv.DictReader(io.StringIO(data.decode("utf-8-sig")))) == [{"name": "Zoë"}]


def test_very_long_cells() -> None:
    cell = "x" * 300_000
    assert read_csv(write_csv(("a",), [(cell,)])).rows[0].cells == (cell,)


def test_lone_surrogates_do_not_stop_an_export() -> None:
    assert read_csv(write_csv(("a",), [("x\ud800",)])).rows[0].cells == ("x?",)


def test_rows_are_numbered_as_in_a_spreadsheet() -> None:
    table = read_csv(b'a,b\n1,"x\ny"\n\n2,z\n')
    assert [(row.number, row.cells) for row in table.rows] == [(2, ("1", "x\ny")), (4, ("2", "z"))]
    with pytest.raises(UsageError, match="Row 3 has 1 cells"):
        read_csv(b'a,b\n1,"x\ny"\n2\n')


@pytest.mark.parametrize(
    ("first", "mark"),
    [("sep=;", ";"), ('"sep=;"', ";"), ("SEP=|", "|"), ("sep=;;;", ";"), ("sep=\t", "\t"), ("sep=,", ",")],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_excels_line_says_what_parts_the_cells(first: str, mark: str, end: str) -> None:
    lines = [first, mark.join("a,b"[::2]), mark.join("12")]
    table = read_csv(("\ufeff" + end.join(lines) + end).encode())
    assert (table.header, table.decimal_comma) == (("a", "b"), mark != ",")
    assert [(row.number, row.cells) for row in table.rows] == [(2, ("1", "2"))]


def test_a_column_called_sep_is_a_column() -> None:
    assert read_csv(b"sep=x,b\n1,2\n").header == ("sep=x", "b")
    with pytest.raises(UsageError, match="empty"):
        read_csv(b"sep=;\n\n")
