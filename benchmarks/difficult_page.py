"""What each extractor makes of one difficult page (docs/difficult.pdf), and of the same page as a scan.

Usage: python benchmarks/difficult_page.py [--quick]
The page and what a person reads on it come from scripts/make_difficult.py. For each extractor and page:
  whole     sentences of which 98 % of the letters and digits stand in the readable text in one piece
            (`rapidfuzz.fuzz.partial_ratio`; running headers, footers and hidden text do not count)
  in order  the most of these that follow each other as they do on the page
  cells     cells of the table's 16 that stand in a row of Markdown with their gauge, and in their column; of the
            4 columns' names those that say both levels of the header
  hidden    whether the white sentence for language models is kept out
  seconds   the page alone, read in this process with models loaded; the better of two times (--quick: once)
Extractor `visual` reads both pages from their pictures (visual_pages "all").
"""

from __future__ import annotations

import argparse
import bisect
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

PDF = ROOT / "docs" / "difficult.pdf"
BASELINE = "pdfplumber"
WHOLE, RECOGNISABLE = 98.0, 85.0  # per cent of the letters


@dataclass(frozen=True)
class Result:
    """What one extractor made of one page."""

    whole: int
    in_order: int
    cells: int
    columns: int
    hidden_kept_out: bool
    seconds: float


def single(path: Path, number: int, folder: Path) -> Path:
    """Return a PDF of one page of `path`."""
    import pypdfium2

    target = folder / f"page{number}.pdf"
    with pypdfium2.PdfDocument(path) as document, pypdfium2.PdfDocument.new() as copy:
        copy.import_pages(document, [number - 1])
        copy.save(target)
    return target


def letters(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalnum())


def longest_rise(values: Sequence[int]) -> int:
    """Return the length of the longest rising subsequence."""
    ends: list[int] = []
    for value in values:
        at = bisect.bisect_left(ends, value)
        ends[at : at + 1] = [value]
    return len(ends)


def found_sentences(text: str, sentences: Sequence[str]) -> list[int]:
    """Return where the sentences that are whole begin in the letters of `text`, in the order of the page."""
    from rapidfuzz import fuzz

    plain = letters(text)
    places = []
    for sentence in map(letters, sentences):
        match = fuzz.partial_ratio_alignment(sentence, plain, score_cutoff=WHOLE)
        if match is not None and len(plain) >= len(sentence):
            places.append(match.dest_start)
    return places


def markdown_rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in text.split("\n") if row.startswith("|")]


def right_cells(text: str) -> tuple[int, int]:
    """Return how many cells of the table are right, and how many names of columns."""
    from make_difficult import COLUMNS, GROUPS, ROWS

    rows = markdown_rows(text)
    cells = columns = 0
    for row in rows:
        true = next((true for true in ROWS if letters(true[0]) == letters(row[0])), None)
        if true is not None:
            cells += sum(a == b for a, b in zip(row[1:], true[1:], strict=False))
    heads = rows[0][1:] if rows else []
    for number, (head, year) in enumerate(zip(heads, COLUMNS, strict=False)):
        columns += letters(GROUPS[number // 2]) in letters(head) and year in head
    return cells, columns


def read(name: str, path: Path, times: int) -> Result:
    from make_difficult import HIDDEN, SENTENCES
    from rapidfuzz import fuzz

    from pdfqa_core.extraction import ExtractionOptions, extractors
    from pdfqa_core.types import READABLE, BlockKind

    taken = []
    for _ in range(times):
        began = time.perf_counter()
        extractor = extractors.get(name)(ExtractionOptions(), **extractors.accepted(name, {"visual_pages": "all"}))
        (page,) = extractor.extract(path, "benchmark")
        taken.append(time.perf_counter() - began)
    blocks = [(b.kind, page.text[b.start : b.end]) for b in page.blocks if b.kind in READABLE]
    text = "\n\n".join(words for _, words in blocks)
    places = found_sentences(text, SENTENCES)
    tables = [right_cells(words) for kind, words in blocks if kind is BlockKind.TABLE]
    cells, columns = max(tables, default=(0, 0))
    hidden = fuzz.partial_ratio(letters(HIDDEN), letters(text)) >= RECOGNISABLE if text else False
    return Result(len(places), longest_rise(places), cells, columns, not hidden, min(taken))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="read each page once, after the models are loaded")
    options = parser.parse_args()
    from make_difficult import COLUMNS, ROWS, SENTENCES

    from pdfqa_core.extraction import extractors

    results: dict[tuple[str, int], Result] = {}
    with tempfile.TemporaryDirectory() as folder:
        paths = {number: single(PDF, number, Path(folder)) for number in (1, 2)}
        small = Path(folder) / "small.pdf"
        _small(small)
        for name in extractors.names():
            read(name, small, 1)  # loads the modules and models
            for number, path in paths.items():
                results[name, number] = read(name, path, 1 if options.quick else 2)
    count, cells = len(SENTENCES), len(ROWS) * len(COLUMNS)
    print(f"{count} sentences, {cells} cells, {len(COLUMNS)} columns\n")
    print("| page | extractor | whole | in order | cells | column names | hidden sentence kept out | seconds |")
    print("| --- | --- | ---: | ---: | ---: | ---: | --- | ---: |")
    for number, what in ((1, "born digital"), (2, "scan")):
        for name in extractors.names():
            r = results[name, number]
            print(
                f"| {what} | {name} | {r.whole} | {r.in_order} | {r.cells} | {r.columns} | "
                f"{('yes' if r.hidden_kept_out else 'NO') if r.whole else '–'} | {r.seconds:.2f} |"
            )
    print()
    base = results[BASELINE, 1]
    for name in reversed(extractors.names()):
        if name != BASELINE:
            r = results[name, 1]
            print(
                f"born digital: {name} keeps {r.in_order} sentences whole and in order, {BASELINE} {base.in_order}: "
                f"{r.in_order / max(1, base.in_order):.2f} x as many in {r.seconds / base.seconds:.2f} x the time"
            )


def _small(path: Path) -> None:
    """Write a page of a few words, as large as a stamp."""
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(path), pagesize=(200, 60))
    canvas.drawString(20, 30, "A few words")
    canvas.save()


if __name__ == "__main__":
    main()
