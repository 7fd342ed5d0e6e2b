"""How close the text of extractor `direct` comes to a book's true text, against pdfplumber and raw PDFium text.

Usage: python benchmarks/extraction_quality.py [--quick] [--pages N]
The book: sample_pdfs/GeoTopo-komprimiert.pdf of the data folder (117 pages, German, much mathematics) with its text
GeoTopo-book.txt, which keeps running headers and page numbers and has words whole that lines part.

Two measures, each 0 to 1: word F1 (bag of words) and order (1 - Indel distance over the sum of the lengths, computed
over words; `rapidfuzz.distance.Indel`). All texts are normalised alike, in four ways that the table names:
  plain    NFKC, case folded, dot leaders (five dots or more) and ellipses out, split at white space
  exact    split at white space, nothing else
  letters  NFKC, case folded, runs of letters and digits only (no signs of mathematics, no punctuation)
  close    as plain, all white space taken out; order is over characters, F1 over trigrams of characters
The truth's [IMAGE] marks, which nobody printed, are left out. pdfplumber reads with its defaults; for it and for PDFium
a hyphen at the end of a line is not mended, as neither offers that.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

FOLDER = ROOT.parent / "shared" / "data" / "sample_pdfs"
BOOK, TRUTH = FOLDER / "GeoTopo-komprimiert.pdf", FOLDER / "GeoTopo-book.txt"
QUICK_PAGES = 30
_LEADERS = re.compile(r"(?:\s*\.){5,}|(?:\s*\.){3}")


def direct(path: Path, most: int) -> list[str]:
    from pdfqa_core.extraction import ExtractionOptions
    from pdfqa_core.extraction.direct import direct_extractor
    from pdfqa_core.types import BlockKind

    pages = list(direct_extractor(ExtractionOptions()).extract(path, "benchmark"))[:most]
    return [
        "\n".join(page.text[b.start : b.end] for b in page.blocks if b.kind is not BlockKind.HIDDEN) for page in pages
    ]


def pdfplumber_text(path: Path, most: int) -> list[str]:
    import pdfplumber

    texts = []
    with pdfplumber.open(path) as document:
        for page in document.pages[:most]:
            texts.append(page.extract_text())
            page.close()
    return texts


def pdfium_text(path: Path, most: int) -> list[str]:
    import pypdfium2

    texts = []
    with pypdfium2.PdfDocument(path) as document:
        for number in range(min(most, len(document))):
            text_page = document[number].get_textpage()
            texts.append(text_page.get_text_range())
            text_page.close()
    return texts


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _plain(text: str) -> str:
    return _LEADERS.sub(" ", _folded(text))


NORMALISATIONS: dict[str, Callable[[str], list[str]]] = {
    "plain": lambda text: _plain(text).split(),
    "exact": str.split,
    "letters": lambda text: re.findall(r"[^\W_]+", _folded(text)),
    "close": lambda text: list("".join(_plain(text).split())),
}


def word_f1(found: Sequence[str], true: Sequence[str]) -> float:
    """Return the F1 of two bags of words."""
    common = sum((Counter(found) & Counter(true)).values())
    return 2 * common / max(1, len(found) + len(true))


def order(found: Sequence[str], true: Sequence[str]) -> float:
    """Return how much of both is in the same order: 2 × longest common subsequence over the sum of the lengths."""
    from rapidfuzz.distance import Indel

    codes = {word: code for code, word in enumerate({*found, *true})}
    return Indel.normalized_similarity([codes[w] for w in found], [codes[w] for w in true])


def _trigrams(characters: Sequence[str]) -> list[str]:
    text = "".join(characters)
    return [text[i : i + 3] for i in range(len(text) - 2)]


def true_text(path: Path, most: int, pages: int) -> str:
    """Return the book's text; of the first `most` pages only, where that is less than all (they are numbered)."""
    text = path.read_text(encoding="utf-8").replace("[IMAGE]", "")
    if most >= pages:
        return text
    after = re.search(rf"^{most - 3 + 1} \d+\.\d+\. ", text, re.MULTILINE)  # three pages are not numbered in digits
    return text[: after.start()] if after else text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"the first {QUICK_PAGES} pages")
    parser.add_argument("--pages", type=int, default=10_000, help="most pages")
    options = parser.parse_args()
    if not (BOOK.is_file() and TRUTH.is_file()):
        sys.exit(f"The book is not here: {BOOK} and {TRUTH.name} are needed.")
    most = min(options.pages, QUICK_PAGES) if options.quick else options.pages
    readers = {"direct": direct, "pdfplumber": pdfplumber_text, "PDFium": pdfium_text}
    texts = {}
    for name, read in readers.items():
        began = time.perf_counter()
        pages = read(BOOK, most)
        texts[name] = "\n".join(pages)
        print(f"{name}: {len(pages)} pages, {len(texts[name]):,} characters, {time.perf_counter() - began:.1f} s")
    truth = true_text(TRUTH, most, 117)
    print(f"truth: {len(truth):,} characters\n\n| normalisation | measure | " + " | ".join(readers) + " |")
    print("| --- | --- |" + " ---: |" * len(readers))
    results: dict[tuple[str, str], dict[str, float]] = {}
    for kind, normalise in NORMALISATIONS.items():
        true = normalise(truth)
        found = {name: normalise(text) for name, text in texts.items()}
        bag = _trigrams if kind == "close" else list
        results[kind, "F1"] = {name: word_f1(bag(words), bag(true)) for name, words in found.items()}
        results[kind, "order"] = {name: order(words, true) for name, words in found.items()}
        for measure in ("F1", "order"):
            scores = results[kind, measure]
            print(f"| {kind} | {measure} | " + " | ".join(f"{scores[name]:.4f}" for name in readers) + " |", flush=True)
    errors = {
        measure: {name: 1 - score for name, score in results["plain", measure].items()} for measure in ("F1", "order")
    }
    print()
    for measure, missed in errors.items():
        best = min((missed[name], name) for name in readers if name != "direct")
        print(f"plain {measure}: direct misses {missed['direct'] / best[0]:.2f} x as much as the better one, {best[1]}")


if __name__ == "__main__":
    main()
