"""How close the text of an extractor comes to what a person reads on the page: a book, a difficult page, scans.

book       `direct`, pdfplumber and raw PDFium text against the true text of sample_pdfs/GeoTopo-komprimiert.pdf (117
           pages, German, much mathematics): F1 of the bags of words, order (1 - Indel distance over the sum of the
           lengths, over words), and ratio (the same over characters, as the py-pdf benchmarks measure, which have this
           book), 0 to 1. For F1 and order texts are normalised alike: NFKC, case folded, dot leaders out. The truth
           keeps running headers and has words whole that lines part. Baseline: the better of the two others.
difficult  each extractor on docs/difficult.pdf (scripts/make_difficult.py), as it was made and as a scan: sentences of
           which 98 % of the letters stand in the readable text in one piece, the most of these in the order of the
           page, cells of the table's 16 in a Markdown row with their label, names of columns that say both levels of
           the header, whether the white sentence for language models is kept out, seconds. Baseline: pdfplumber.
scan       extractor `visual` and RapidOCR as it comes on pictures of Northwind's pages with text and without pictures,
           at 150 and 300 dpi: character error rate in %, reading order included, white space made alike. The truth is
           what `direct` reads of the original pages. Baseline: RapidOCR.

  python benchmarks/extraction_quality.py [--quick] [--part book|difficult|scan]
"""

from __future__ import annotations

import bisect
import logging
import os
import re
import sys
import tempfile
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pypdfium2
from common import ROOT, options, row, there

from pdfqa_core.extraction import ExtractionOptions, extractors
from pdfqa_core.extraction.process.worker import Limits, read_document
from pdfqa_core.extraction.visual.picture import pictured_share
from pdfqa_core.types import READABLE, BlockKind, Page

sys.path.insert(0, str(ROOT / "scripts"))  # make_difficult

QUICK_PAGES = 30  # of the book
LEADERS = re.compile(r"(?:\s*\.){5,}|(?:\s*\.){3}")
WHOLE, RECOGNISABLE = 98.0, 85.0  # per cent of the letters of a sentence
DPI = (150, 300)
LETTERS = 300  # of a page that is taken for a scan


def extracted(name: str, path: Path, **given: Any) -> Iterator[Page]:
    """Yield the pages that an extractor makes of a file."""
    yield from extractors.get(name)(ExtractionOptions(**given)).extract(path, "benchmark")


# ------------------------------------------------------------------ a book


def direct_text(path: Path, most: int) -> list[str]:
    return [
        "\n".join(page.text[b.start : b.end] for b in page.blocks if b.kind is not BlockKind.HIDDEN)
        for page in list(extracted("direct", path))[:most]
    ]


def pdfplumber_text(path: Path, most: int) -> list[str]:
    import pdfplumber

    with pdfplumber.open(path) as document:
        return [page.extract_text() for page in document.pages[:most]]


def pdfium_text(path: Path, most: int) -> list[str]:
    with pypdfium2.PdfDocument(path) as document:
        return [document[number].get_textpage().get_text_range() for number in range(min(most, len(document)))]


def normal(text: str) -> list[str]:
    return LEADERS.sub(" ", unicodedata.normalize("NFKC", text).casefold()).split()


def word_f1(found: Sequence[str], true: Sequence[str]) -> float:
    """Return the F1 of two bags of words."""
    return 2 * sum((Counter(found) & Counter(true)).values()) / max(1, len(found) + len(true))


def order(found: Sequence[str], true: Sequence[str]) -> float:
    """Return how much of both is in the same order: 2 × longest common subsequence over the sum of the lengths."""
    from rapidfuzz.distance import Indel

    codes = {word: code for code, word in enumerate({*found, *true})}
    return Indel.normalized_similarity([codes[word] for word in found], [codes[word] for word in true])


def book(folder: Path, quick: bool) -> None:
    from rapidfuzz.distance import Indel

    path, truth = (folder / "sample_pdfs" / name for name in ("GeoTopo-komprimiert.pdf", "GeoTopo-book.txt"))
    there(path, truth)
    text, most = truth.read_text("utf-8").replace("[IMAGE]", ""), QUICK_PAGES if quick else 10_000
    if quick and (after := re.search(rf"^{most - 2} \d+\.\d+\. ", text, re.MULTILINE)):
        text = text[: after.start()]  # the text numbers its pages; three are not numbered in digits
    true, missed = normal(text), {}
    row("", "F1", "order", "ratio")
    for name, reader in (("direct", direct_text), ("pdfplumber", pdfplumber_text), ("raw PDFium", pdfium_text)):
        read = "\n".join(reader(path, most))
        found = normal(read)
        missed[name] = 1 - word_f1(found, true), 1 - order(found, true), 1 - Indel.normalized_similarity(read, text)
        row(name, *(f"{1 - one:.3f}" for one in missed[name]))
    for place, measure in enumerate(("F1", "order", "ratio")):
        best, name = min((one[place], name) for name, one in missed.items() if name != "direct")
        print(f"{measure}: direct misses {missed['direct'][place] / best:.2f} x as much as {name}")


# ------------------------------------------------------------------ a difficult page


@dataclass(frozen=True)
class Result:
    """What one extractor made of one page."""

    whole: int
    in_order: int
    cells: int
    columns: int
    hidden_kept_out: bool
    seconds: float


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

    plain, places = letters(text), []
    for sentence in map(letters, sentences):
        match = fuzz.partial_ratio_alignment(sentence, plain, score_cutoff=WHOLE)
        if match is not None and len(plain) >= len(sentence):
            places.append(match.dest_start)
    return places


def right_cells(text: str) -> tuple[int, int]:
    """Return how many cells of the table are right, and how many names of columns."""
    from make_difficult import COLUMNS, GROUPS, ROWS

    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.split("\n") if line.startswith("|")]
    true = {letters(one[0]): one[1:] for one in ROWS}
    cells = sum(a == b for one in rows for a, b in zip(one[1:], true.get(letters(one[0]), ()), strict=False))
    heads = zip(rows[0][1:] if rows else (), COLUMNS, strict=False)
    columns = sum(letters(GROUPS[n // 2]) in letters(head) and year in head for n, (head, year) in enumerate(heads))
    return cells, columns


def result(name: str, path: Path, number: int) -> Result:
    from make_difficult import HIDDEN, SENTENCES
    from rapidfuzz import fuzz

    extractor = extractors.get(name)(ExtractionOptions(), **extractors.accepted(name, {"visual_pages": "all"}))
    with tempfile.TemporaryDirectory() as folder, pypdfium2.PdfDocument.new() as copy:
        with pypdfium2.PdfDocument(path) as document:
            copy.import_pages(document, [number - 1])
        copy.save(single := Path(folder) / "page.pdf")
        list(extractor.extract(single, "benchmark"))  # loads modules and models
        began = time.perf_counter()
        (page,) = extractor.extract(single, "benchmark")
        seconds = time.perf_counter() - began
    blocks = [(b.kind, page.text[b.start : b.end]) for b in page.blocks if b.kind in READABLE]
    text = "\n\n".join(words for _, words in blocks)
    places = found_sentences(text, SENTENCES)
    cells, columns = max((right_cells(words) for kind, words in blocks if kind is BlockKind.TABLE), default=(0, 0))
    hidden = bool(text) and fuzz.partial_ratio(letters(HIDDEN), letters(text)) >= RECOGNISABLE
    return Result(len(places), longest_rise(places), cells, columns, not hidden, seconds)


def difficult(folder: Path, quick: bool) -> None:
    names = [name for name in extractors.names() if not quick or name != "visual"]
    found = {
        (number, name): result(name, ROOT / "docs" / "difficult.pdf", number) for number in (1, 2) for name in names
    }
    row("", "whole", "in order", "cells", "columns", "hidden out", "seconds")
    for (number, name), one in found.items():
        cells = (one.whole, one.in_order, one.cells, one.columns, one.hidden_kept_out, f"{one.seconds:.2f}")
        row(f"{'scan' if number == 2 else 'born digital'}, {name}", *cells)
    ours, base = found[1, "direct"].in_order, found[1, "pdfplumber"].in_order
    print(f"sentences whole and in order, born digital, direct / pdfplumber: {ours / max(1, base):.2f}")


# ------------------------------------------------------------------ scans


def plain_pages(path: Path, most: int, target: Path) -> bool:
    """Write up to `most` pages of a file, from all over it, that are text and nothing but text."""
    with pypdfium2.PdfDocument(path) as document, pypdfium2.PdfDocument.new() as copy:
        fit = [
            number for number, page in enumerate(document)
            if sum(map(str.isalnum, page.get_textpage().get_text_range())) >= LETTERS and not pictured_share(page.raw)
        ]  # fmt: skip
        copy.import_pages(document, [fit[int((n + 0.5) * len(fit) / most)] for n in range(min(most, len(fit)))])
        copy.save(target)
        return bool(fit)


def visual(path: Path) -> list[str]:
    workers = os.cpu_count() or 1
    read = read_document(path, "benchmark", extractor="visual", tables=False, workers=workers, limits=Limits())
    if not read.pages or any(page.source != "ocr" for page in read.pages):
        sys.exit(f"{path.name}: not read by OCR ({read.state}). {read.reason}")
    return [page.text for page in read.pages]


def scan(folder: Path, quick: bool) -> None:
    from rapidfuzz.distance import Levenshtein
    from rapidocr import RapidOCR

    logging.disable(logging.WARNING)
    files = sorted((folder / "northwind").glob("*.pdf"))
    there(folder / "northwind")
    engine = RapidOCR(params={"Global.log_level": "critical"})
    row("", *(f"{dpi} dpi" for dpi in DPI))
    edits: Counter[tuple[str, int]] = Counter()
    length = 0
    with tempfile.TemporaryDirectory() as name:
        for number, file in enumerate(files[1:2] if quick else files):
            original, scanned = (Path(name) / f"{number} {what}.pdf" for what in ("text", "pictures"))
            if not plain_pages(file, 1 if quick else 2, original):
                continue
            true = [" ".join(page.text.split()) for page in extracted("direct", original, tables=False)]
            length += sum(map(len, true))
            for dpi in DPI:
                with pypdfium2.PdfDocument(original) as document:
                    pictures = [page.render(scale=dpi / 72).to_pil().convert("L") for page in document]
                pictures[0].save(scanned, save_all=True, append_images=pictures[1:], resolution=dpi, quality=90)
                with pypdfium2.PdfDocument(scanned) as document:
                    drawn = [page.render(scale=dpi / 72).to_pil().convert("RGB") for page in document]
                made = {"visual": visual(scanned), "RapidOCR": ["\n".join(engine(one).txts or ()) for one in drawn]}
                for reader, texts in made.items():
                    for one, text in zip(true, texts, strict=True):
                        edits[reader, dpi] += Levenshtein.distance(one, " ".join(text.split()))
    for reader in ("visual", "RapidOCR"):
        row(reader, *(f"{100 * edits[reader, dpi] / length:.2f} %" for dpi in DPI))
    ratios = (f"{edits['visual', dpi] / max(1, edits['RapidOCR', dpi]):.3f} at {dpi} dpi" for dpi in DPI)
    print(f"character errors, visual / RapidOCR: {', '.join(ratios)}")


PARTS: Mapping[str, Callable[[Path, bool], None]] = {"book": book, "difficult": difficult, "scan": scan}


def main() -> None:
    parser = options(__doc__, quick="30 pages of the book, no OCR of the difficult page, one page as a scan")
    parser.add_argument("--part", choices=PARTS, default="book")
    chosen = parser.parse_args()
    PARTS[chosen.part](chosen.data, chosen.quick)


if __name__ == "__main__":
    main()
