"""Whether a number of a table stands in its passage with its row's label and its column's name: four 10-Q filings.

The cells were written down from pictures of the pages. A cell counts if a passage of its page has a Markdown row with
that label and value, the value's column is named as on the page, and the last row without values above it is the one on
the page. The second 20 cells were chosen later; nothing was changed for them. Baseline: pdfplumber's `extract_tables`
on the same pages (label and value in one row, each word of the column's name above the value in its column).

    python benchmarks/tables.py [--quick]
"""

from __future__ import annotations

import re
from typing import NamedTuple

from common import options, row, there

from pdfqa_core.chunking import Windows
from pdfqa_core.extraction.base import ExtractionOptions
from pdfqa_core.extraction.direct import direct_extractor
from pdfqa_core.types import Passage

BORDER = re.compile(r"(?<!\\)\|")


class Expected(NamedTuple):
    """A cell as it is printed: file, page, the label without values that it stands under, label, column, value."""

    file: str
    page: int
    under: str
    label: str
    column: str
    value: str


PURCHASES = "Open market and privately negotiated purchases"
COMMON = (
    "Common stock and additional paid-in capital, $0.00001 par value: 50,400,000 shares authorized; 16,095,378 and "
    "16,426,786 shares issued and outstanding, respectively"
)
WITHHELD = "Common stock withheld related to net share settlement of equity awards"
DEBT_GAINS = "Change in unrealized gains/losses on marketable debt securities, net of tax:"
MAY_YET = "Approximate Dollar Value of Shares That May Yet Be Purchased Under the Plans or Programs (1)"
NOT_DESIGNATED = "September 24, 2022 Fair Value of Derivatives Not Designated as Accounting Hedges"
AS_PART = "Total Number of Shares Purchased as Part of Publicly Announced Plans or Programs"

CELLS = [
    Expected("2022_Q3", 4, "Cost of sales:", "Services", "Nine Months Ended June 26, 2021", "15,319"),
    Expected("2022_Q3", 6, "Shareholders’ equity:", COMMON, "September 25, 2021", "57,365"),
    Expected(
        "2022_Q3", 11, "Level 2 (2):", "Corporate debt securities", "September 25, 2021 Unrealized Gains", "1,242"
    ),
    Expected("2022_Q3", 15, "", "RSUs canceled", "Weighted-Average Grant Date Fair Value Per RSU", "$ 98.26"),
    Expected("2022_Q3", 16, "Japan:", "Operating income", "Three Months Ended June 26, 2021", "$ 3,031"),
    Expected("2022_Q3", 21, "", "Total other income/(expense), net", "Nine Months Ended Change", "(112)%"),
    Expected(
        "2023_Q1",
        8,
        "Changes in operating assets and liabilities:",
        "Deferred revenue",
        "Three Months Ended December 25, 2021",
        "462",
    ),
    Expected(
        "2023_Q1",
        12,
        "Derivative instruments designated as accounting hedges:",
        "Interest rate contracts",
        "September 24, 2022",
        "$ 20,125",
    ),
    Expected(
        "2023_Q1",
        14,
        "Maturities greater than 90 days:",
        "Repayments of commercial paper",
        "Three Months Ended December 25, 2021",
        "(3,530)",
    ),
    Expected("2023_Q1", 22, "", "Effective tax rate", "Three Months Ended December 31, 2022", "15.8 %"),
    Expected(
        "2023_Q1", 24, "October 30, 2022 to November 26, 2022:", PURCHASES, "Average Price Paid Per Share", "$ 149.26"
    ),
    Expected(
        "2023_Q2",
        5,
        DEBT_GAINS,
        "Total change in unrealized gains/losses on marketable debt securities",
        "Six Months Ended March 26, 2022",
        "(6,764)",
    ),
    Expected(
        "2023_Q2", 7, "Retained earnings/(Accumulated deficit):", WITHHELD, "Six Months Ended April 1, 2023", "(1,130)"
    ),
    Expected(
        "2023_Q2",
        10,
        "Level 2 (2):",
        "Certificates of deposit and time deposits",
        "April 1, 2023 Cash and Cash Equivalents",
        "2,881",
    ),
    Expected(
        "2023_Q2", 18, "Net sales by reportable segment:", "Rest of Asia Pacific", "Three Months Ended Change", "15 %"
    ),
    Expected("2023_Q2", 20, "Gross margin percentage:", "Services", "Six Months Ended March 26, 2022", "72.5 %"),
    Expected(
        "2023_Q3", 9, "Denominator:", "Effect of dilutive securities", "Nine Months Ended June 25, 2022", "117,113"
    ),
    Expected("2023_Q3", 11, "", "Due after 10 years", "", "16,646"),
    Expected("2023_Q3", 12, "Derivative liabilities (2):", "Foreign exchange contracts", NOT_DESIGNATED, "$ 2,547"),
    Expected("2023_Q3", 24, "June 4, 2023 to July 1, 2023:", "Total", MAY_YET, "$ 94,569"),
]

CHOSEN_LATER = [
    Expected(
        "2022_Q3",
        12,
        "Derivative instruments not designated as accounting hedges:",
        "Foreign exchange contracts",
        "September 25, 2021",
        "$ 126,918",
    ),
    Expected(
        "2022_Q3",
        13,
        "Hedged assets/(liabilities):",
        "Current and non-current term debt",
        "September 25, 2021",
        "$ (17,857)",
    ),
    Expected("2022_Q3", 13, "", "Total other non-current liabilities", "June 25, 2022", "$ 53,629"),
    Expected("2022_Q3", 15, "", "Accruals for product warranty", "Nine Months Ended June 26, 2021", "2,186"),
    Expected(
        "2023_Q1",
        5,
        "Change in unrealized gains/losses on derivative instruments, net of tax:",
        "Adjustment for net (gains)/losses realized and included in net income",
        "Three Months Ended December 25, 2021",
        "93",
    ),
    Expected(
        "2023_Q1",
        7,
        "Accumulated other comprehensive income/(loss):",
        "Ending balances",
        "Three Months Ended December 31, 2022",
        "(12,912)",
    ),
    Expected(
        "2023_Q1",
        7,
        "",
        "Dividends and dividend equivalents declared per share or RSU",
        "Three Months Ended December 25, 2021",
        "$ 0.22",
    ),
    Expected(
        "2023_Q1",
        11,
        "Level 2 (2):",
        "Mortgage- and asset-backed securities",
        "December 31, 2022 Unrealized Losses",
        "(2,405)",
    ),
    Expected(
        "2023_Q1", 11, "Level 1 (1):", "Money market funds", "September 24, 2022 Cash and Cash Equivalents", "2,929"
    ),
    Expected(
        "2023_Q1",
        20,
        "Net sales by category:",
        "Wearables, Home and Accessories (1)(2)",
        "Three Months Ended Change",
        "(8)%",
    ),
    Expected(
        "2023_Q2",
        8,
        "Supplemental cash flow disclosure:",
        "Cash paid for interest",
        "Six Months Ended March 26, 2022",
        "$ 1,406",
    ),
    Expected(
        "2023_Q2",
        8,
        "Investing activities:",
        "Cash generated by/(used in) investing activities",
        "Six Months Ended April 1, 2023",
        "874",
    ),
    Expected(
        "2023_Q2", 11, "Level 2 (2):", "Total (3)", "September 24, 2022 Non-Current Marketable Securities", "$ 120,805"
    ),
    Expected("2023_Q2", 11, "", "Due after 5 years through 10 years", "", "11,928"),
    Expected(
        "2023_Q2",
        12,
        "Derivative liabilities (2):",
        "Interest rate contracts",
        "September 24, 2022 Total Fair Value",
        "$ 1,367",
    ),
    Expected(
        "2023_Q2",
        12,
        "Hedged assets/(liabilities):",
        "Current and non-current marketable securities",
        "April 1, 2023",
        "$ 14,651",
    ),
    Expected(
        "2023_Q2",
        14,
        "Maturities 90 days or less:",
        "Proceeds from/(Repayments of) commercial paper, net",
        "Six Months Ended March 26, 2022",
        "$ 4,952",
    ),
    Expected("2023_Q2", 16, "Greater China:", "Net sales", "Six Months Ended March 26, 2022", "$ 44,126"),
    Expected("2023_Q2", 16, "", "Other corporate expenses, net", "Three Months Ended March 26, 2022", "(1,849)"),
    Expected("2023_Q2", 23, "February 5, 2023 to March 4, 2023:", PURCHASES, AS_PART, "49,168"),
]


def plain(text: str | None) -> str:
    """Return the text without white space: a line break or the place of a small mark makes no difference."""
    return "".join((text or "").split())


def cells_of(row: str) -> list[str]:
    """Return the cells of a Markdown row."""
    return [plain(cell.replace("\\|", "|")) for cell in BORDER.split(row.strip())[1:-1]]


def in_passage(cell: Expected, passage: Passage) -> bool:
    """Return whether a passage holds the cell with the names of its row and column."""
    rows = [cells_of(line) for line in passage.text.splitlines() if line.startswith("|")]
    if len(rows) < 3:
        return False
    header, under = rows[0], ""
    for cells in rows[2:]:
        if cells[0] and not any(cells[1:]):
            under = cells[0]
        elif cells[0] == plain(cell.label) and under == plain(cell.under):
            for name, value in zip(header[1:], cells[1:], strict=True):
                if name == plain(cell.column) and value == plain(cell.value):
                    return True
    return False


def in_table(cell: Expected, table: list[list[str | None]]) -> bool:
    """Return whether a table of pdfplumber holds label and value in one row, and the column's words above the value."""
    for number, cells in enumerate(table):
        texts = [plain(text) for text in cells]
        if plain(cell.label) not in texts:
            continue
        for column, text in enumerate(texts):
            if text.lstrip("$") != plain(cell.value).lstrip("$"):
                continue
            above = " ".join((entry[column] or "") for entry in table[:number] if column < len(entry))
            if all(word in above for word in cell.column.split()):
                return True
    return False


def main() -> None:
    import pdfplumber

    chosen = options(__doc__, quick="the cells of one filing").parse_args()
    wanted = [cell for cell in (*CELLS, *CHOSEN_LATER) if not chosen.quick or cell.file == "2023_Q2"]
    kept, by_tables = [], []
    for name in sorted({cell.file for cell in wanted}):
        path = chosen.data / "aapl_10q" / f"{name}_AAPL.pdf"
        there(path)
        pages = list(direct_extractor(ExtractionOptions(filename=path.name)).extract(path, path.stem))
        passages = Windows(size=120, step=60).chunk(pages)
        with pdfplumber.open(path) as document:
            for cell in (cell for cell in wanted if cell.file == name):
                if any(in_passage(cell, passage) for passage in passages if cell.page in passage.pages):
                    kept.append(cell)
                else:
                    print(f"missing: {name}, page {cell.page}, {cell.under} {cell.label}, {cell.column}: {cell.value}")
                if any(in_table(cell, table) for table in document.pages[cell.page - 1].extract_tables()):
                    by_tables.append(cell)
    row("cells with row and column", "passages", "pdfplumber", "of")
    for words, cells in (("the first 20", CELLS), ("the later 20", CHOSEN_LATER)):
        among = [cell for cell in cells if cell in wanted]
        row(words, *(sum(cell in found for cell in among) for found in (kept, by_tables)), len(among))
    print(f"cells, passages / pdfplumber's tables: {len(kept) / max(1, len(by_tables)):.1f}")


if __name__ == "__main__":
    main()
