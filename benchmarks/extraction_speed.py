"""How fast extractor `direct` reads, against raw PDFium text and against pdfplumber's extract_text.

Usage: python benchmarks/extraction_speed.py [PDF…] [--quick]
Without PDFs: those of ../shared/data and a filing of 160 pages joined from its 10-Qs, or data/sample where that folder
is absent. All read in this process, on one core, with their modules loaded, opening the document included. Raw PDFium
loads each page and its text page, gets the whole text and closes both. "direct" finds paragraphs and boxes, "+ tables"
tables as well. Times are CPU times of this process, which other programs on the machine disturb least: the least of
three runs (more for tiny files, one for what takes longer than a second).
"""

from __future__ import annotations

import argparse
import ctypes
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

DATA = ROOT.parent / "shared" / "data"
FOLDERS = ("northwind", "sample_pdfs", "aapl_10q")
FILING, FILING_PAGES = "aapl_10q", 160
QUICK_PAGES = 3
SECONDS, RUNS, MOST_RUNS = 1.0, 3, 40  # what is quicker than SECONDS is repeated, for as long at most


def raw_pdfium(path: Path) -> None:
    import pypdfium2
    import pypdfium2.raw as pdfium

    document = pypdfium2.PdfDocument(path)
    for number in range(len(document)):
        page = pdfium.FPDF_LoadPage(document.raw, number)
        text_page = pdfium.FPDFText_LoadPage(page)
        count = pdfium.FPDFText_CountChars(text_page)
        buffer = (ctypes.c_ushort * (count + 1))()
        pdfium.FPDFText_GetText(text_page, 0, count, buffer)
        bytes(buffer)[:-2].decode("utf-16-le", "replace")
        pdfium.FPDFText_ClosePage(text_page)
        pdfium.FPDF_ClosePage(page)
    document.close()


def direct(path: Path, *, tables: bool = False) -> None:
    from pdfqa_core.extraction import extractors
    from pdfqa_core.extraction.base import ExtractionOptions

    for page in extractors.get("direct")(ExtractionOptions(tables=tables)).extract(path, "benchmark"):
        assert page.number


def direct_with_tables(path: Path) -> None:
    direct(path, tables=True)


def pdfplumber_text(path: Path) -> None:
    import pdfplumber

    with pdfplumber.open(path) as document:
        for page in document.pages:
            page.extract_text()
            page.close()


READERS: dict[str, Callable[[Path], None]] = {
    "raw PDFium": raw_pdfium,
    "direct": direct,
    "+ tables": direct_with_tables,
    "pdfplumber": pdfplumber_text,
}


def page_count(path: Path) -> int:
    """Return the number of pages; 0 where the file does not open."""
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError:
        return 0
    count = len(document)
    document.close()
    return count


def join(sources: Sequence[Path], most: int, target: Path) -> Path:
    """Write the pages of `sources`, again from the first one after the last, until there are `most`."""
    import pypdfium2

    joined = pypdfium2.PdfDocument.new()
    while len(joined) < most:
        for source in sources:
            document = pypdfium2.PdfDocument(source)
            joined.import_pages(document, list(range(min(len(document), most - len(joined)))))
            document.close()
            if len(joined) == most:
                break
    joined.save(target)
    joined.close()
    return target


def some_pages(path: Path, most: int, folder: Path) -> Path:
    """Return `path`, or a copy of `most` of its pages from all over the file."""
    import pypdfium2

    document = pypdfium2.PdfDocument(path)
    if len(document) <= most:
        return path
    copy = pypdfium2.PdfDocument.new()
    copy.import_pages(document, [int((i + 0.5) * len(document) / most) for i in range(most)])
    target = folder / f"some pages of {path.name}"
    copy.save(target)
    return target


def measure(path: Path) -> dict[str, float]:
    """Return the seconds that each reader takes, the least of its runs; the readers take turns."""
    least = dict.fromkeys(READERS, float("inf"))
    spent = dict.fromkeys(READERS, 0.0)
    for run in range(MOST_RUNS):
        for name, read in READERS.items():
            if run and (spent[name] > SECONDS or (run >= RUNS and spent[name] > SECONDS / 4)):
                continue
            began = time.process_time()
            read(path)
            seconds = time.process_time() - began
            spent[name] += seconds
            least[name] = min(least[name], seconds)
    return least


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pdfs", nargs="*", type=Path)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_PAGES} pages of each file")
    options = parser.parse_args()
    paths = options.pdfs or [path for name in FOLDERS for path in sorted((DATA / name).glob("*.pdf"))]
    if not paths:
        print(f"{DATA} is absent: only data/sample is read.")
        paths = sorted((ROOT / "data" / "sample").glob("*.pdf"))
    total = dict.fromkeys(READERS, 0.0)
    worst_raw, worst_plumber = (0.0, ""), (float("inf"), "")
    pages = 0
    print(f"{'milliseconds':44}{'pages':>6}{''.join(f'{name:>12}' for name in READERS)}{'× raw':>9}{'× plumber':>11}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        filing = [path for path in paths if path.parent.name == FILING]
        if filing and not options.pdfs:
            paths = [*paths, join(filing, FILING_PAGES, folder / f"Filing of {FILING_PAGES} pages.pdf")]
        warm = some_pages(paths[0], 1, folder)
        for read in READERS.values():
            read(warm)  # loads the modules
        for path in paths:
            if not page_count(path):
                print(f"{path.name}: locked or damaged, left out")
                continue
            part = some_pages(path, QUICK_PAGES, folder) if options.quick else path
            count = page_count(part)
            seconds = measure(part)
            slower = seconds["direct"] / seconds["raw PDFium"]
            faster = seconds["pdfplumber"] / seconds["direct"]
            worst_raw = max(worst_raw, (slower, path.name))
            worst_plumber = min(worst_plumber, (faster, path.name))
            for reader, value in seconds.items():
                total[reader] += value
            pages += count
            times = "".join(f"{1000 * value:12.1f}" for value in seconds.values())
            print(f"{path.name:44}{count:6}{times}{slower:9.2f}{faster:11.1f}", flush=True)
    print(f"{'all':44}{pages:6}{''.join(f'{1000 * value:12.1f}' for value in total.values())}")
    print(f"direct takes at most {worst_raw[0]:.2f} x the time of raw PDFium text ({worst_raw[1]})")
    print(f"direct is at least {worst_plumber[0]:.1f} x faster than pdfplumber ({worst_plumber[1]})")
    print(f"all pages: direct takes {total['direct'] / total['raw PDFium']:.2f} x the time of raw PDFium text")
    print(f"direct reads {total['pdfplumber'] / total['direct']:.1f} x as many pages per second as pdfplumber")


if __name__ == "__main__":
    main()
