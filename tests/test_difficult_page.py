"""The difficult page is what its program draws, and the extractors keep what they are known to read on it."""

from __future__ import annotations

import sys
from pathlib import Path

import pypdfium2
import pytest

ROOT = Path(__file__).resolve().parent.parent
PDF = ROOT / "docs" / "difficult.pdf"


@pytest.fixture(scope="module", autouse=True)
def scripts():
    added = [str(ROOT / "scripts"), str(ROOT / "benchmarks")]
    sys.path[:0] = added
    yield
    for entry in added:
        sys.path.remove(entry)


@pytest.fixture(scope="module")
def born_digital(tmp_path_factory) -> Path:
    import make_difficult

    path = tmp_path_factory.mktemp("page") / "page.pdf"
    path.write_bytes(make_difficult.pages())
    return path


def text(path: Path, number: int) -> str:
    with pypdfium2.PdfDocument(path) as document:
        return document[number - 1].get_textpage().get_text_range()


def readable(extractor: str, path: Path) -> str:
    from pdfqa_core.extraction import ExtractionOptions, extractors
    from pdfqa_core.types import READABLE

    (page,) = extractors.get(extractor)(ExtractionOptions()).extract(path, "doc")
    return "\n\n".join(page.text[b.start : b.end] for b in page.blocks if b.kind in READABLE)


def test_the_committed_page_is_what_the_program_draws(born_digital):
    assert text(PDF, 1) == text(born_digital, 1)


def test_the_scan_has_no_text_and_is_small_enough():
    assert text(PDF, 2).strip() == ""
    assert PDF.stat().st_size < 600_000


def test_direct_reads_every_sentence_whole_and_in_order(born_digital):
    import extraction_quality
    import make_difficult

    words = readable("direct", born_digital)
    places = extraction_quality.found_sentences(words, make_difficult.SENTENCES)
    assert len(places) == len(make_difficult.SENTENCES)
    assert places == sorted(places)
    assert extraction_quality.right_cells(words) == (16, 4)


def test_the_hidden_sentence_is_kept_out(born_digital):
    import make_difficult

    words = readable("direct", born_digital)
    assert "mooring is free" not in words
    assert make_difficult.TITLE in words
