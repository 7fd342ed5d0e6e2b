"""How fast extractor `direct` reads, against pdfplumber's extract_text on the same pages in the same run.

Usage: python benchmarks/extraction_speed.py [PDF…] [--quick] [--pages N]
Without PDFs: data/sample/*.pdf. Both read in this process, with their modules loaded; "in a child" is `direct` as
the program runs it, with the start of the process and the way of the pages back to the program.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

QUICK_PAGES = 12
QUICK_SECONDS = 15.0


def first_pages(path: Path, most: int, folder: Path) -> Path:
    """Return `path`, or a copy of its first `most` pages."""
    import pypdfium2

    document = pypdfium2.PdfDocument(path)
    if len(document) <= most:
        return path
    copy = pypdfium2.PdfDocument.new()
    copy.import_pages(document, list(range(most)))
    target = folder / path.name
    copy.save(target)
    return target


def direct(path: Path) -> tuple[int, int]:
    from pdfqa_core.extraction.direct import DirectExtractor

    pages = list(DirectExtractor().extract(path, "benchmark"))
    return len(pages), sum(len(page.text) for page in pages)


def in_a_child(path: Path) -> tuple[int, int]:
    from pdfqa_core.extraction.worker import read_document

    result = read_document(path, "benchmark")
    if not result.state.usable:
        sys.exit(f"{path.name}: {result.reason}")
    return len(result.pages), sum(len(page.text) for page in result.pages)


def pdfplumber_text(path: Path) -> tuple[int, int]:
    import pdfplumber

    pages = characters = 0
    with pdfplumber.open(path) as document:
        for page in document.pages:
            characters += len(page.extract_text())
            page.close()
            pages += 1
    return pages, characters


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pdfs", nargs="*", type=Path)
    parser.add_argument(
        "--quick", action="store_true", help=f"first {QUICK_PAGES} pages of each file, at most 15 s each"
    )
    parser.add_argument("--pages", type=int, default=10_000, help="most pages of each file")
    options = parser.parse_args()
    paths = options.pdfs or sorted((ROOT / "data" / "sample").glob("*.pdf"))
    if not paths:
        sys.exit("No PDF: name one, or put one into data/sample.")
    most = min(options.pages, QUICK_PAGES) if options.quick else options.pages
    readers = {"direct": direct, "in a child": in_a_child, "pdfplumber": pdfplumber_text}
    total = dict.fromkeys(readers, 0.0)
    pages_read = 0
    with tempfile.TemporaryDirectory() as folder:
        for read in readers.values():
            read(first_pages(paths[0], 1, Path(folder)))  # loads the modules
        for path in paths:
            part = first_pages(path, most, Path(folder))
            row = []
            for name, read in readers.items():
                began = time.perf_counter()
                pages, characters = read(part)
                seconds = time.perf_counter() - began
                total[name] += seconds
                row.append(f"{name} {pages / seconds:6.1f} pages/s ({characters:,} characters)")
            pages_read += pages
            print(f"{path.name} ({pages} pages): {'; '.join(row)}", flush=True)
            if options.quick and sum(total.values()) > QUICK_SECONDS:
                break
    for name, seconds in total.items():
        print(f"{name}: {pages_read} pages in {seconds:.2f} s, {pages_read / seconds:.1f} pages/s")
    print(f"direct reads {total['pdfplumber'] / total['direct']:.1f} x as many pages per second as pdfplumber")


if __name__ == "__main__":
    main()
