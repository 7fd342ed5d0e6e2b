"""How well extractor `visual` reads pictures of pages, against plain RapidOCR on the same pictures in the same run.

Usage: python benchmarks/ocr_northwind.py [PDF…] [--pages N] [--dpi 150 300] [--quick]
Without PDFs: the six Northwind files of the shared data. Pages with text and without pictures, spread over the files,
are drawn at each resolution and put into PDFs that hold nothing but the pictures. CER is the edit distance to what
`direct` reads from the original pages over the length of that, in %, with white space made alike, reading order
included; "missing" are the words of the original that do not come out at all, in %, whatever their order. `visual`
runs as the program runs it, in child processes; plain RapidOCR with its own defaults in this process, its lines from
top to bottom. Both read tables as lines.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
NORTHWIND = ROOT.parent / "shared" / "data" / "northwind"

LETTERS = 300  # of a page that is taken
GOAL = {150: 4.0, 300: 1.0}  # % CER


@dataclass
class Score:
    """What one reader made of all pages at one resolution."""

    edits: int = 0
    characters: int = 0
    missing: int = 0
    words: int = 0
    seconds: float = 0.0
    pages: int = 0

    def add(self, truth: str, read: str) -> None:
        """Count one page."""
        from rapidfuzz.distance import Levenshtein

        truth, read = " ".join(truth.split()), " ".join(read.split())
        self.edits += Levenshtein.distance(truth, read)
        self.characters += len(truth)
        self.missing += sum((Counter(truth.split()) - Counter(read.split())).values())
        self.words += len(truth.split())
        self.pages += 1

    @property
    def cer(self) -> float:
        """The character error rate in %."""
        return 100 * self.edits / max(1, self.characters)

    def row(self, name: str, dpi: int) -> str:
        """Return the line of the table."""
        lost = 100 * self.missing / max(1, self.words)
        return f"{name:<16} {dpi:>4} {self.cer:>8.2f} {lost:>9.2f} {self.seconds / self.pages:>8.2f} {self.pages:>6}"


def chosen(path: Path, most: int, target: Path) -> int:
    """Write up to `most` pages of a file, from all over it, that are text and nothing but text; return how many."""
    import pypdfium2

    from pdfqa_core.extraction.visual.picture import pictured_share

    document, copy = pypdfium2.PdfDocument(path), pypdfium2.PdfDocument.new()
    fit = []
    for number, page in enumerate(document):
        text = page.get_textpage().get_text_range()
        if sum(map(str.isalnum, text)) >= LETTERS and pictured_share(page.raw) == 0:
            fit.append(number)
    take = [fit[int((i + 0.5) * len(fit) / most)] for i in range(most)] if len(fit) > most else fit
    if take:
        copy.import_pages(document, take)
        copy.save(target)
    return len(take)


def as_pictures(path: Path, dpi: int, target: Path) -> None:
    import pypdfium2

    with pypdfium2.PdfDocument(path) as document:
        pictures = [page.render(scale=dpi / 72).to_pil().convert("L") for page in document]
    pictures[0].save(target, save_all=True, append_images=pictures[1:], resolution=dpi, quality=90)


def direct(path: Path) -> list[str]:
    from pdfqa_core.extraction import ExtractionOptions, extractors

    return [page.text for page in extractors.get("direct")(ExtractionOptions(tables=False)).extract(path, "benchmark")]


def visual(path: Path) -> list[str]:
    from pdfqa_core.extraction.process.worker import Limits, read_document

    result = read_document(
        path, "benchmark", extractor="visual", tables=False, workers=os.cpu_count() or 1, limits=Limits()
    )
    if not all(page.source == "ocr" for page in result.pages) or not result.pages:
        sys.exit(f"{path.name}: not read by OCR ({result.state}). {result.reason}")
    return [page.text for page in result.pages]


def plain(path: Path, dpi: int, engine: object) -> list[str]:
    import pypdfium2

    found = []
    with pypdfium2.PdfDocument(path) as document:
        for page in document:
            picture = page.render(scale=dpi / 72).to_pil().convert("RGB")
            found.append("\n".join(engine(picture).txts or ()))  # type: ignore[operator]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pdfs", nargs="*", type=Path)
    parser.add_argument("--pages", type=int, default=6, help="pages of all files together")
    parser.add_argument("--dpi", type=int, nargs="+", default=[150, 300])
    parser.add_argument("--quick", action="store_true", help="one page")
    options = parser.parse_args()
    sources: Sequence[Path] = options.pdfs or sorted(NORTHWIND.glob("*.pdf"))
    if not sources:
        sys.exit(f"{NORTHWIND} is not there: name PDFs to read.")
    if options.quick:
        sources, options.pages = sources[1:2] or sources, 1

    logging.disable(logging.WARNING)
    from rapidocr import RapidOCR

    engine = RapidOCR(params={"Global.log_level": "critical"})
    print(f"{'reader':<16} {'dpi':>4} {'CER %':>8} {'missing %':>9} {'s/page':>8} {'pages':>6}")
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        originals = []
        for number, source in enumerate(sources):
            share = options.pages // len(sources) + (number < options.pages % len(sources))
            target = Path(folder) / f"{number}.pdf"
            if share and chosen(source, share, target):
                originals.append(target)
        if not originals:
            sys.exit("None of the files has a page with text and without pictures.")
        truths = {path: direct(path) for path in originals}
        for dpi in options.dpi:
            scores = {"visual": Score(), "plain RapidOCR": Score()}
            for path in originals:
                pictures = path.with_name(f"{path.stem} {dpi}.pdf")
                as_pictures(path, dpi, pictures)
                for name, score in scores.items():
                    began = time.perf_counter()
                    texts = visual(pictures) if name == "visual" else plain(pictures, dpi, engine)
                    score.seconds += time.perf_counter() - began
                    for truth, text in zip(truths[path], texts, strict=True):
                        score.add(truth, text)
            for name, score in scores.items():
                print(score.row(name, dpi))
            goal = f" (goal: below {GOAL[dpi]:g} %)" if dpi in GOAL and not options.pdfs else ""
            print(f"  at {dpi} dpi: CER {scores['visual'].cer:.2f} %{goal}", flush=True)
            ratios.append((dpi, scores["visual"].cer / max(1e-9, scores["plain RapidOCR"].cer)))
    for dpi, ratio in ratios:
        print(f"CER of visual over CER of plain RapidOCR at {dpi} dpi: {ratio:.3f}")


if __name__ == "__main__":
    main()
