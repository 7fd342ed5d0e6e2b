"""How much faster documents, and the pages of one document, are read by several processes than by one.

Usage: python benchmarks/extraction_parallel.py [PDF…] [--quick] [--workers N]
Without PDFs: the Northwind files. Every reading happens as in the program, in
sandboxed child processes; one process and several take turns and the best of each counts, since other programs run.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from pdfqa_core.extraction.process import worker  # noqa: E402
from pdfqa_core.extraction.process.worker import read_document  # noqa: E402

DATA = ROOT.parent / "shared" / "data"
PAGES = (worker.MIN_PAGES, 128, 256)
QUICK_PAGES = (worker.MIN_PAGES, 128)


def read(path: Path, workers: int = 1) -> int:
    result = read_document(path, "benchmark", workers=workers)
    if not result.state.usable:
        sys.exit(f"{path.name}: {result.reason}")
    return len(result.pages)


def read_documents(paths: list[Path], workers: int) -> int:
    from joblib import Parallel, delayed

    return sum(Parallel(n_jobs=workers, backend="threading")(delayed(read)(path) for path in paths))


def best(one: Callable[[], int], several: Callable[[], int], repeats: int) -> tuple[float, float, int]:
    """Return the shortest times of both in seconds, and the pages read."""
    times: tuple[list[float], list[float]] = ([], [])
    pages = 0
    for _ in range(repeats):
        for work, seconds in zip((one, several), times, strict=True):
            began = time.perf_counter()
            pages = work()
            seconds.append(time.perf_counter() - began)
    return min(times[0]), min(times[1]), pages


def excerpt(paths: list[Path], pages: int, folder: Path) -> Path | None:
    """Write a PDF of the first `pages` pages of the joined files; None where they have fewer."""
    import pypdfium2

    joined = pypdfium2.PdfDocument.new()
    for path in paths:
        source = pypdfium2.PdfDocument(path)
        joined.import_pages(source, list(range(min(len(source), pages - len(joined)))))
        if len(joined) == pages:
            target = folder / f"{pages}.pdf"
            joined.save(target)
            return target
    return None


def main() -> None:
    from joblib import cpu_count

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pdfs", nargs="*", type=Path)
    parser.add_argument("--quick", action="store_true", help="fewer sizes and repetitions, under 45 s")
    parser.add_argument("--workers", type=int, default=cpu_count())
    options = parser.parse_args()
    paths = options.pdfs or sorted((DATA / "northwind").glob("*.pdf"))
    if not paths:
        sys.exit(f"There are no PDFs in {DATA / 'northwind'}. Name some.")
    repeats, workers = (2 if options.quick else 5), options.workers
    with tempfile.TemporaryDirectory() as folder:
        for pages in QUICK_PAGES if options.quick else PAGES:
            path = excerpt(paths, pages, Path(folder))
            if path is not None:
                one, several, _ = best(lambda p=path: read(p), lambda p=path: read(p, workers), repeats)
                print(f"one document of {pages} pages: {one:.2f} s, {several:.2f} s by {workers} processes "
                      f"({one / several:.2f} x)", flush=True)  # fmt: skip
    one, several, pages = best(lambda: read_documents(paths, 1), lambda: read_documents(paths, workers), repeats)
    print(
        f"{len(paths)} documents of {pages} pages: {one:.2f} s one by one, {several:.2f} s {workers} at a time: "
        f"{one / several:.2f} x as fast"
    )


if __name__ == "__main__":
    main()
