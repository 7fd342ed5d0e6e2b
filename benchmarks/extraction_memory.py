"""How much memory the child that reads a PDF needs at most, against pdfplumber's extract_text on the same file.

Usage: python benchmarks/extraction_memory.py [PDF…] [--quick]
Without PDFs: a filing of 160 pages joined from the 10-Qs of ../shared/data, its biggest Northwind file and GeoTopo, or
data/sample where that folder is absent. `direct` runs as the program runs it (`read_document`, tables on, one process),
pdfplumber in a fresh process that closes each page. Peaks are the largest resident size of the process (VmHWM).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "benchmarks"))

from extraction_speed import DATA, FILING, FILING_PAGES, join, page_count, some_pages  # noqa: E402

MB = 1024 * 1024
QUICK_PAGES = 20
GOAL = 400  # MB for each worker
LOOK_EVERY = 0.01  # seconds

PDFPLUMBER = """
import sys
import pdfplumber
sys.path.insert(0, sys.argv[2])
from pdfqa_core.extraction.process.limits import peak_memory
with pdfplumber.open(sys.argv[1]) as document:
    for page in document.pages:
        page.extract_text()
        page.close()
print(peak_memory())
"""


def direct_peak(path: Path) -> int:
    """Return the peak in bytes of the largest process that reads `path` for `read_document`."""
    from pdfqa_core.extraction.process.limits import peak_memory
    from pdfqa_core.extraction.process.worker import read_document

    results = []
    reading = threading.Thread(target=lambda: results.append(read_document(path, "benchmark")))
    reading.start()
    peak = 0
    while reading.is_alive():
        peak = max([peak, *map(peak_memory, children(os.getpid()))])
        time.sleep(LOOK_EVERY)
    reading.join()
    if not results or not results[0].state.usable:
        sys.exit(f"{path.name}: {results[0].reason if results else 'reading failed'}")
    return peak


def children(process_id: int) -> list[int]:
    """Return the processes that this process started, and those that they started."""
    found = []
    for task in Path(f"/proc/{process_id}/task").glob("*/children"):
        try:
            direct = [int(number) for number in task.read_text().split()]
        except OSError:  # ended meanwhile
            continue
        found += direct + [number for child in direct for number in children(child)]
    return found


def pdfplumber_peak(path: Path) -> int:
    """Return the peak in bytes of a process that reads `path` with pdfplumber."""
    command = [sys.executable, "-W", "ignore", "-c", PDFPLUMBER, str(path), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout)


def defaults(folder: Path) -> list[Path]:
    """Return the files that are read where none is named."""
    filing, northwind = sorted((DATA / FILING).glob("*.pdf")), sorted((DATA / "northwind").glob("*.pdf"))
    if not filing or not northwind:
        print(f"{DATA} is absent: only data/sample is read.")
        return sorted((ROOT / "data" / "sample").glob("*.pdf"))
    joined = join(filing, FILING_PAGES, folder / f"Filing of {FILING_PAGES} pages.pdf")
    return [joined, max(northwind, key=page_count), *sorted((DATA / "sample_pdfs").glob("GeoTopo*.pdf"))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pdfs", nargs="*", type=Path)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_PAGES} pages of each file")
    options = parser.parse_args()
    if not Path("/proc/self/task").exists():
        sys.exit("This needs /proc, which only Linux has.")
    largest, ratios = 0.0, []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path in options.pdfs or defaults(folder):
            part = some_pages(path, QUICK_PAGES, folder) if options.quick else path
            ours, theirs = direct_peak(part) / MB, pdfplumber_peak(part) / MB
            largest = max(largest, ours)
            ratios.append(theirs / ours)
            print(
                f"{path.name:44}{page_count(part):5} pages: child of direct {ours:6.0f} MB, pdfplumber {theirs:6.0f} MB"
                f" ({theirs / ours:.2f} x)",
                flush=True,
            )
    print(f"largest child: {largest:.0f} MB (goal: {GOAL} MB)")
    print(f"pdfplumber needs {min(ratios):.2f} to {max(ratios):.2f} x the memory of direct")


if __name__ == "__main__":
    main()
