from __future__ import annotations

from pathlib import Path

import pytest

from pdfqa_core.chunking import Windows
from pdfqa_core.types import BlockKind
from tests.extraction.conftest import LOREM, at, blocks, read, wrapped


def markdown_tables(page):
    return [text for text in blocks(page, BlockKind.TABLE) if "| --- |" in text]


def rows_of(text):
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()]


def right(canvas, x, top, text):
    canvas.drawRightString(x, 842 - top, text)


def grid(canvas, data, x, top, style=(), widths=None):
    """Draw a table of reportlab with all its borders; `top` is its upper edge below the page's."""
    from reportlab.platypus import Table, TableStyle

    table = Table(data, colWidths=widths)
    table.setStyle(TableStyle([("GRID", (0, 0), (-1, -1), 0.5, (0, 0, 0)), *style]))
    _, height = table.wrapOn(canvas, 500, 700)
    table.drawOn(canvas, x, 842 - top - height)
    return height


def statement(canvas, top=120):
    """Draw rows of amounts as filings do: no grid, signs in a column of their own, two rows of column names."""
    canvas.setFont("Helvetica-Bold", 8)
    canvas.drawCentredString(350, 842 - top, "Three Months Ended")
    canvas.drawCentredString(490, 842 - top, "Nine Months Ended")
    for x, date in ((315, "July 1,"), (385, "June 25,"), (455, "July 1,"), (525, "June 25,")):
        canvas.drawCentredString(x, 842 - top - 14, date)
        canvas.drawCentredString(x, 842 - top - 22, "2023" if date == "July 1," else "2022")
    canvas.setFont("Helvetica", 8)
    lines = [
        ("Net sales:", 40, ()),
        ("Products", 50, ("$ 60,584", "$ 63,355", "$ 230,901", "$ 245,241")),
        ("Services", 50, ("21,213", "19,604", "62,886", "58,941")),
        ("Other, which is explained in a label that goes on", 50, ()),
        ("over the end of its line", 58, ("(265)", "(10)", "—", "(97)")),
        ("Share of services", 40, ("26 %", "24 %", "21 %", "19 %")),
    ]
    y = top + 36
    for label, x, values in lines:
        at(canvas, x, y, [label])
        for edge, value in zip((340, 410, 480, 550), values, strict=False):
            if value.startswith("$"):
                at(canvas, edge - 55, y, ["$"])
            shift = 0 if value[-1] not in "%)" else 7 if value[-1] == "%" else 3
            right(canvas, edge + shift, y, value.removeprefix("$ "))
        y += 9 if label.startswith("Other") else 13


def test_a_grid_becomes_markdown_and_its_text_is_not_repeated(draw):
    def page(c):
        at(c, 70, 60, wrapped(LOREM, 70))
        grid(c, [["Plan", "Copay", "Limit"], ["Basic", "$ 20", "1,000"], ["Plus", "$ 10", ""]], 70, 150)
        at(c, 70, 260, wrapped(["after", *LOREM], 70))

    found = read(draw(page))[0]
    assert markdown_tables(found) == [
        "| Plan | Copay | Limit |\n| --- | --- | --- |\n| Basic | $ 20 | 1,000 |\n| Plus | $ 10 | |"
    ]
    assert blocks(found, BlockKind.TEXT) == [" ".join(LOREM), " ".join(["after", *LOREM])]
    assert found.text.index("| Plan") < found.text.index("after")
    assert found.text.count("1,000") == 1


@pytest.mark.parametrize("widths", [[30, 190, 100, 80], [160, 80, 80, 80]])
def test_two_grids_of_one_width_with_text_between_are_two_tables(draw, widths):
    def page(c):
        first = [["Row", "What", "Basic", "Plus"], ["A1", "Home", "40", "65"], ["A2", "Garden", "1", "2"]]
        second = [["Kind", "Basic", "Plus", "Top"], ["Water", "500", "400", "300"], ["Locks", "5", "4", "3"]]
        grid(c, first, 70, 120, widths=widths)
        at(c, 70, 200, ["A note below the first table says what counts as a garden.", "Table 2: Excess for each claim"])
        grid(c, second, 70, 230, widths=[160, 80, 80, 80])

    found = [rows_of(table) for table in markdown_tables(read(draw(page))[0])]
    assert [rows[0] for rows in found] == [["Row", "What", "Basic", "Plus"], ["Kind", "Basic", "Plus", "Top"]]
    assert [rows[2] for rows in found] == [["A1", "Home", "40", "65"], ["Water", "500", "400", "300"]]


def test_cells_over_several_columns_name_each_of_them(draw):
    data = [["Region", "2022", "", "2023", ""], ["", "Heat", "Loss", "Heat", "Loss"], ["North", "1.5", "2", "3", "4"]]
    style = [("SPAN", (0, 0), (0, 1)), ("SPAN", (1, 0), (2, 0)), ("SPAN", (3, 0), (4, 0))]
    found = read(draw(lambda c: grid(c, data, 70, 150, style)))[0]
    [table] = markdown_tables(found)
    assert rows_of(table)[0] == ["Region", "2022 Heat", "2022 Loss", "2023 Heat", "2023 Loss"]
    assert rows_of(table)[2] == ["North", "1.5", "2", "3", "4"]


def test_a_statement_without_grid(draw):
    [table] = markdown_tables(read(draw(statement))[0])
    assert rows_of(table) == [
        [
            "",
            "Three Months Ended July 1, 2023",
            "Three Months Ended June 25, 2022",
            "Nine Months Ended July 1, 2023",
            "Nine Months Ended June 25, 2022",
        ],
        ["---"] * 5,
        ["Net sales:", "", "", "", ""],
        ["Products", "$ 60,584", "$ 63,355", "$ 230,901", "$ 245,241"],
        ["Services", "21,213", "19,604", "62,886", "58,941"],
        [
            "Other, which is explained in a label that goes on over the end of its line",
            "(265)",
            "(10)",
            "—",
            "(97)",
        ],
        ["Share of services", "26 %", "24 %", "21 %", "19 %"],
    ]


def test_a_table_of_a_paper_has_its_means_and_each_name_above_its_own_column(draw):
    """Three rules over the whole width, values with what they vary by, a name of two lines above the last column."""

    def page(c):
        for top in (100, 130, 180):
            c.line(70, 842 - top, 460, 842 - top)
        c.setFont("Helvetica-Bold", 9)
        for x, name in ((74, ["Regime"]), (190, ["2019"]), (280, ["2020"]), (370, ["Species per", "meadow"])):
            at(c, x, 112, name)
        c.setFont("Helvetica", 9)
        rows = [
            ["Early cut", "7.9 ± 0.8", "45 (12 %)", "4.1 [3.2, 5.0]"],
            ["Late cut", "10.1 ± 1.0", "63 (17 %)", "5.2 [4.4, 6.1]"],
        ]
        for y, cells in zip((145, 160), rows, strict=True):
            for x, cell in zip((74, 190, 280, 370), cells, strict=True):
                at(c, x, y, [cell])

    [table] = markdown_tables(read(draw(page))[0])
    assert rows_of(table) == [
        ["Regime", "2019", "2020", "Species per meadow"],
        ["---"] * 4,
        ["Early cut", "7.9 ± 0.8", "45 (12 %)", "4.1 [3.2, 5.0]"],
        ["Late cut", "10.1 ± 1.0", "63 (17 %)", "5.2 [4.4, 6.1]"],
    ]


def test_a_column_of_text_is_no_column_of_a_table(draw):
    def page(c):
        at(c, 40, 100, wrapped(LOREM * 2, 44), 14)
        for i in range(9):
            right(c, 460, 100 + 14 * i, f"{i},250")
            right(c, 530, 100 + 14 * i, f"{i}.5")

    assert markdown_tables(read(draw(page))[0]) == []


def test_the_caption_goes_with_the_table(draw):
    def page(c):
        at(c, 70, 60, wrapped(LOREM, 70))
        at(c, 70, 150, ["Table 3. Copays of both plans, in dollars."])
        grid(c, [["Plan", "Copay"], ["Basic", "20"], ["Plus", "10"]], 70, 165)
        at(c, 70, 300, wrapped(["after", *LOREM], 70))

    pages = read(draw(page))
    assert blocks(pages[0], BlockKind.CAPTION) == ["Table 3. Copays of both plans, in dollars."]
    running, table = Windows().chunk(pages)
    assert table.text.startswith("Table 3. Copays of both plans, in dollars.\n\n| Plan | Copay |\n")
    assert "Table 3" not in running.text
    assert "after" in running.text


def test_hidden_text_is_no_part_of_a_table(draw):
    def page(c):
        grid(c, [["Plan", "Copay"], ["Basic", "20"], ["Plus", "10"]], 70, 150)
        text = c.beginText(75, 842 - 160)
        text.setTextRenderMode(3)
        text.textOut("Ignore")
        c.drawText(text)

    found = read(draw(page))[0]
    assert "Ignore" not in markdown_tables(found)[0]
    assert blocks(found, BlockKind.HIDDEN) == ["Ignore"]


def two_columns(c):
    at(c, 60, 100, wrapped([f"left{i}" for i in range(60)], 38), 12)
    at(c, 310, 100, wrapped([f"right{i}" for i in range(60)], 38), 12)


def contents(c):
    for i in range(8):
        at(c, 70, 100 + 15 * i, [f"{i + 1} Chapter about something"])
        right(c, 500, 100 + 15 * i, str(3 * i + 1))


def leaders(c):
    for i in range(8):
        at(c, 70, 100 + 15 * i, [f"{i + 1} Chapter {'. ' * 40}{30 + i}"])


def axis(c):
    for i in range(5):
        c.line(90, 842 - 100 - 30 * i, 290, 842 - 100 - 30 * i)
        c.line(330, 842 - 100 - 30 * i, 530, 842 - 100 - 30 * i)
        right(c, 85, 104 + 30 * i, str(300 - 60 * i))
        right(c, 325, 104 + 30 * i, f"{3.7 - 0.2 * i:.1f}")
    for i, month in enumerate(("Oct", "Nov", "Dec", "Jan")):
        at(c, 100 + 50 * i, 240, [month])


def boxed(c):
    c.rect(60, 842 - 400, 480, 320)
    at(c, 70, 100, wrapped(LOREM * 3, 80))


def formulas(c):
    for i in range(4):
        at(c, 150, 100 + 30 * i, [f"f(x) = x + {i}"])
        right(c, 520, 100 + 30 * i, f"(2.{i})")


def list_items(c):
    for i in range(5):
        at(c, 70, 100 + 14 * i, [f"({i + 1})"])
        at(c, 110, 100 + 14 * i, [" ".join(LOREM[i : i + 8])])


@pytest.mark.parametrize(
    "page",
    [two_columns, contents, leaders, axis, boxed, formulas, list_items],
    ids=lambda p: p.__name__,
)
def test_what_only_looks_like_a_table_is_none(draw, page):
    found = read(draw(page))[0]
    assert markdown_tables(found) == []
    assert found.text.strip()


def test_bars_and_line_breaks_in_cells_keep_the_table_whole(draw):
    found = read(draw(lambda c: grid(c, [["a|b", "Amount"], ["two\nlines", "20"], ["x", "30"]], 70, 150)))[0]
    assert markdown_tables(found) == ["| a\\|b | Amount |\n| --- | --- |\n| two lines | 20 |\n| x | 30 |"]


def test_the_tables_of_the_sample():
    pages = read(Path(__file__).resolve().parents[3] / "data" / "sample" / "harbour-heat.pdf")
    tables = [table for page in pages for table in markdown_tables(page)]
    assert rows_of(tables[0])[0] == ["Month", "Sea (°C)", "Heat (MWh)", "Electricity (MWh)", "Back-up (MWh)", "COP"]
    assert ["January 2023", "7.4", "248", "82.1", "41", "3.02"] in rows_of(tables[0])
    assert ["Total", "2,480,000"] in rows_of(tables[1])
    assert len(tables) == 2


@pytest.mark.parametrize(("x", "width", "taken"), [(80, 100, True), (160, 100, False), (80, 60, False)])
def test_a_table_that_goes_on_takes_the_names_of_its_columns(draw, x, width, taken):
    rows = [[f"Vessel {n}", f"B{n % 7}", str(100 + 7 * n)] for n in range(40)]

    def first(c):
        at(c, 80, 80, ["Berths and fees of the harbour"])
        grid(c, [["Vessel", "Berth", "Fee"], *rows[:30]], 80, 110, widths=[100, 100, 100])

    def second(c):
        height = grid(c, rows[30:], x, 60, widths=[width] * 3)
        at(c, 80, 60 + height + 40, wrapped(LOREM, 80))

    pages = read(draw(first, second))
    found = rows_of(markdown_tables(pages[1])[0])
    assert found[0] == (["Vessel", "Berth", "Fee"] if taken else ["", "", ""])
    assert found[2] == rows[30]
    assert len(found) == 12
