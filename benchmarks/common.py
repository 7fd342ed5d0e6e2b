"""What the benchmarks share: where their data lies, options, reading and indexing, rounds in turn, figures in print."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from pdfqa_core.chunking import with_headings  # noqa: E402
from pdfqa_core.extraction.process.worker import read_document  # noqa: E402
from pdfqa_core.services import LOCAL_OWNER, Services  # noqa: E402
from pdfqa_core.settings import Settings  # noqa: E402
from pdfqa_core.types import Page, Passage  # noqa: E402

SHARED = ROOT.parent / "shared" / "data"  # the data sets, which are no part of the project
GOLD = re.compile(r"\[([^\[\]#]+\.pdf)#page=(\d+)\]")  # a cited page in Northwind's answers


# ------------------------------------------------------------------ options and data


def options(text: str, *, quick: str = "under 45 s", data: Path = SHARED) -> argparse.ArgumentParser:
    """Return a parser with the options that benchmarks have, and a script's docstring as its help."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=data, help="folder of the data (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help=quick)
    return parser


def there(*files: Path) -> None:
    """End with a message where some data is not there."""
    for file in files:
        if not file.exists():
            raise SystemExit(f"{file.name} is not in {file.parent}. Name the folder of the data with --data.")


def json_lines(file: Path) -> list[dict[str, Any]]:
    """Return the rows of a file of JSON lines."""
    return [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]


def cited(text: str) -> tuple[tuple[str, int], ...]:
    """Return the (filename, page) pairs that a gold answer cites."""
    return tuple((name, int(page)) for name, page in GOLD.findall(text))


def read(folder: Path) -> dict[str, tuple[Page, ...]]:
    """Read the PDFs of a folder as the program does; a document's id is its file name here."""
    return {path.name: read_document(path, path.name).pages for path in sorted(folder.glob("*.pdf"))}


def passages(documents: Mapping[str, Sequence[Page]], chunker: Any, *, headings: bool = True) -> list[Passage]:
    """Return the passages of all documents, headed by the file's name and the nearest heading where asked for."""
    found: list[Passage] = []
    for filename, pages in documents.items():
        made = chunker.chunk(pages)
        title = filename.removesuffix(".pdf").replace("_", " ")
        found += with_headings(made, pages, title) if headings else made
    return found


@contextmanager
def workspace(settings: Settings, files: Iterable[Path], folder: Path | None = None) -> Iterator[Services]:
    """Open a workspace, a new one unless a folder is named, with these files read and indexed."""
    with tempfile.TemporaryDirectory() as new, Services.open(folder or Path(new), settings) as services:
        known = {one.filename for one in services.documents.kept.list(LOCAL_OWNER)}
        for _ in services.documents.ingest(LOCAL_OWNER, [file for file in files if file.name not in known]):
            pass
        for _ in services.index.build(LOCAL_OWNER, settings):
            pass
        yield services


def joined(sources: Sequence[Path], most: int, target: Path) -> Path:
    """Write a PDF of the pages of `sources`, again from the first one after the last, until there are `most`."""
    import pypdfium2

    with pypdfium2.PdfDocument.new() as whole:
        while len(whole) < most:
            for source in sources:
                with pypdfium2.PdfDocument(source) as part:
                    whole.import_pages(part, list(range(min(len(part), most - len(whole)))))
        whole.save(target)
    return target


# ------------------------------------------------------------------ measuring


def rounds(
    ways: Mapping[str, Callable[[], object]], times: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, list[float]]:
    """Return the seconds of each way, all ways in turn, `times` times after a round that does not count."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(times + 1):
        for name, work in ways.items():
            began = clock()
            work()
            if number:
                taken[name].append(clock() - began)
    return taken


def in_child(file: str, *given: object) -> Any:
    """Run a benchmark in a process that has loaded nothing before; return the JSON of the last line that it prints."""
    command = [sys.executable, file, *map(str, given)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


# ------------------------------------------------------------------ printing


def row(name: str, *cells: object, first: int = 32, width: int = 12) -> None:
    """Print a line of a table."""
    print(f"{name:<{first}}" + "".join(f"{one!s:>{width}}" for one in cells), flush=True)


def of_all(count: int, of: int) -> str:
    """Return a share with its 95 % Wilson interval."""
    from scipy.stats import binomtest

    if not of:
        return "–"
    low, high = binomtest(count, of).proportion_ci(method="wilson")
    return f"{count / of:.3f} [{low:.3f}, {high:.3f}]"
