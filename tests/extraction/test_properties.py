from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from .conftest import read
from .test_direct import check_geometry

words = st.text(st.characters(min_codepoint=0x20, max_codepoint=0xFF, exclude_categories=("Cc",)), min_size=1)
pieces = st.tuples(
    words, st.floats(-50, 620), st.floats(-50, 880), st.sampled_from([0.6, 5, 10, 11, 30]), st.sampled_from([0, 90, 33])
)


@given(st.lists(st.lists(pieces, max_size=12), min_size=1, max_size=4))
@settings(max_examples=15, deadline=None)
def test_spans_and_boxes_hold_for_any_page(layout):
    from reportlab.pdfgen.canvas import Canvas

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "any.pdf"
        canvas = Canvas(str(path), pagesize=(595, 842))
        for page in layout:
            for text, x, y, size, angle in page:
                canvas.saveState()
                canvas.setFont("Helvetica", size)
                canvas.translate(x, y)
                canvas.rotate(angle)
                canvas.drawString(0, 0, text)
                canvas.restoreState()
            canvas.showPage()
        canvas.save()
        pages = read(path)
    assert [page.number for page in pages] == list(range(1, len(layout) + 1))
    for page in pages:
        check_geometry(page)
