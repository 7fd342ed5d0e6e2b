"""How fast extractor `direct` reads, against raw PDFium text and against pdfplumber's extract_text.

Without PDFs those of the shared data are read and a filing of 160 pages joined from its 10-Qs, or data/sample where
that folder is absent. All read in this process, on one core, with their modules loaded, opening the document included.
Raw PDFium gets the whole text of each page and closes it. "direct" finds paragraphs and boxes, "+ tables" tables as
well. Milliseconds are CPU times of this process, which other programs on the machine disturb least: the least of three
rounds in turn. Last the ratio of pages a second, direct's to pdfplumber's.

    python benchmarks/extraction_speed.py [PDF…] [--quick]
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pypdfium2
from common import ROOT, joined, options, rounds, row

from pdfqa_core.extraction import extractors
from pdfqa_core.extraction.base import ExtractionOptions

FOLDERS = ("northwind", "sample_pdfs", "aapl_10q")
FILING_PAGES, QUICK_PAGES, ROUNDS = 160, 3, 3


def raw_pdfium(path: Path) -> None:
    with pypdfium2.PdfDocument(path) as document:
        for page in document:
            text = page.get_textpage()
            text.get_text_range()
            text.close()
            page.close()


def direct(path: Path, *, tables: bool = False) -> None:
    for page in extractors.get("direct")(ExtractionOptions(tables=tables)).extract(path, "benchmark"):
        assert page.number


def pdfplumber_text(path: Path) -> None:
    import pdfplumber

    with pdfplumber.open(path) as document:
        for page in document.pages:
            page.extract_text()
            page.close()


READERS: dict[str, Callable[[Path], None]] = {
    "raw PDFium": raw_pdfium,
    "direct": direct,
    "+ tables": partial(direct, tables=True),
    "pdfplumber": pdfplumber_text,
}


def pages_of(path: Path) -> int:
    """Return the number of pages; 0 where the file does not open."""
    try:
        with pypdfium2.PdfDocument(path) as document:
            return len(document)
    except pypdfium2.PdfiumError:
        return 0


def main() -> None:
    parser = options(__doc__, quick=f"the first {QUICK_PAGES} pages of each file")
    parser.add_argument("pdfs", nargs="*", type=Path)
    chosen = parser.parse_args()
    paths = chosen.pdfs or [path for name in FOLDERS for path in sorted((chosen.data / name).glob("*.pdf"))]
    if not paths:
        print(f"{chosen.data} is absent: only data/sample is read.")
        paths = sorted((ROOT / "data" / "sample").glob("*.pdf"))
    total = dict.fromkeys(READERS, 0.0)
    row("milliseconds", "pages", *READERS, first=44)
    with tempfile.TemporaryDirectory() as folder:
        filings = [path for path in paths if path.parent.name == "aapl_10q"]
        if filings and not chosen.pdfs:
            paths.append(joined(filings, FILING_PAGES, Path(folder) / f"Filing of {FILING_PAGES} pages.pdf"))
        for number, path in enumerate(path for path in paths if pages_of(path)):
            short = chosen.quick and pages_of(path) > QUICK_PAGES
            part = joined([path], QUICK_PAGES, Path(folder) / f"{number}.pdf") if short else path
            ways = {name: partial(reader, part) for name, reader in READERS.items()}
            least = {name: min(taken) for name, taken in rounds(ways, ROUNDS, time.process_time).items()}
            total = {name: total[name] + seconds for name, seconds in least.items()}
            row(path.name, pages_of(part), *(f"{1000 * seconds:.1f}" for seconds in least.values()), first=44)
    row("all", "", *(f"{1000 * seconds:.1f}" for seconds in total.values()), first=44)
    print(f"direct takes {total['direct'] / total['raw PDFium']:.2f} x the time of raw PDFium text")
    print(f"direct reads {total['pdfplumber'] / total['direct']:.1f} x as many pages per second as pdfplumber")


if __name__ == "__main__":
    main()
