"""What the page says of files that are read and of meanings that are made in the background."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from pdfqa_core.ingest import Source
from pdfqa_core.services import Batch, Preparing
from pdfqa_core.settings import ExtractionSettings
from pdfqa_core.types import Document, Progress
from pdfqa_core.ui.documents import batch_html, preparing_words

DIRECT = ExtractionSettings()


def test_files_that_are_read_side_by_side_have_a_bar_each():
    batch = Batch("b", "me", tuple(Source(Path(name), name) for name in ("a.pdf", "b.pdf", "c.pdf")), DIRECT)
    batch.steps = (Progress("Reading a.pdf", 2, 10, 120), Progress("Reading <b>.pdf", 3, 4))
    html = batch_html(batch)
    assert html.count('class="work"') == 3
    assert "all files" in html
    assert "2 of 10 · about 2 min left" in html
    assert "Reading &lt;b&gt;.pdf" in html
    batch.documents, batch.steps = (Document("d", "t", "a.pdf", 10, datetime.now(UTC), "me"),), ()
    assert "1 of 3" in batch_html(batch)


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (Preparing(3, 10), "found by its words now, by its meaning soon"),
        (Preparing(3, 10, 130), "found by its words now, by its meaning when that is read, about 2 min left"),
        (Preparing(3, 1200, 5, True), "found by its words; reading its meaning was stopped at 3 of 1,200 passages"),
    ],
)
def test_how_a_document_is_searchable_while_its_meaning_is_read(state: Preparing, words: str):
    assert preparing_words(state) == words
