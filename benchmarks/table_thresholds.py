"""How far each threshold of the search for tables can move before a table changes: four 10-Q filings, a book, a sample.

Usage: python benchmarks/table_thresholds.py [--quick] [NAME ...]
Every page of the filings and of the sample is read, and each tenth page of Northwind and of a book of formulas, which
have next to no tables. A threshold is moved in steps of a tenth, down to half and up to one and a half, and stops where
a table is lost, found or reads otherwise. Baseline: the tables that the values of today find.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from pdfqa_core.extraction.direct import DirectReader  # noqa: E402
from pdfqa_core.extraction.open import open_document  # noqa: E402
from pdfqa_core.extraction.tables.found import DEFAULT, TableThresholds  # noqa: E402

DATA = ROOT.parent / "shared" / "data"
WHOLE = [*sorted((DATA / "aapl_10q").glob("*.pdf")), ROOT / "data" / "sample" / "harbour-heat.pdf"]
TENTH = [*sorted((DATA / "northwind").glob("*.pdf")), DATA / "sample_pdfs" / "GeoTopo-komprimiert.pdf"]
STEPS = 5  # of a tenth

Found = dict[tuple[str, int], list[str]]


def pages(quick: bool) -> Iterator[tuple[Path, list[int]]]:
    """Yield the files with the numbers of the pages to read."""
    for path in [*WHOLE, *TENTH]:
        if path.is_file():
            with open_document(path, None, path.name) as document:
                count = len(document)
            yield path, list(range(1, count + 1, 10 if quick or path in TENTH else 1))


def tables(chosen: list[tuple[Path, list[int]]], thresholds: TableThresholds) -> Found:
    """Return the tables of each page as Markdown."""
    reader = DirectReader(thresholds=thresholds)
    return {
        (path.name, page.facts.number): [line.table.markdown()[0] for line in page.lines if line.table is not None]
        for path, numbers in chosen
        for page in reader.read(path, path.stem, numbers, None, path.name)
    }


def reach(chosen: list[tuple[Path, list[int]]], today: Found, name: str, sign: int) -> tuple[float, int]:
    """Return the last value in one direction that changes nothing, and how many pages the next one changes."""
    value = kept = getattr(DEFAULT, name)
    for step in range(1, STEPS + 1):
        moved = value * (1 + sign * step / 10)
        moved = round(moved) if isinstance(value, int) else round(moved, 4)
        found = tables(chosen, replace(DEFAULT, **{name: moved}))
        changed = sum(found[page] != today[page] for page in today)
        if changed:
            return kept, changed
        kept = moved
    return kept, 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="thresholds to move (all, if none is named)")
    parser.add_argument("--quick", action="store_true", help="each tenth page of every file")
    options = parser.parse_args()
    chosen = list(pages(options.quick))
    today = tables(chosen, DEFAULT)
    print(f"{sum(map(len, today.values()))} tables on {len(today)} pages of {len(chosen)} files")
    for name in options.names or [field.name for field in fields(DEFAULT)]:
        low, fewer = reach(chosen, today, name, -1)
        high, more = reach(chosen, today, name, +1)
        below = f"{fewer} pages change below" if fewer else "or less"
        above = f"{more} pages change above" if more else "or more"
        print(
            f"{name:18} {getattr(DEFAULT, name):7g}: the same from {low:g} ({below}) to {high:g} ({above})", flush=True
        )


if __name__ == "__main__":
    main()
