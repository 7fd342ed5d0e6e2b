from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdfqa_core.errors import StorageError
from pdfqa_core.json_codec import decode_page, encode_page
from pdfqa_core.types import Block, BlockKind, Box, Line, Page

POINTS = st.floats(allow_nan=False, allow_infinity=False)
OFFSETS = st.integers(0, 10**6)
LINES = st.builds(Line, OFFSETS, OFFSETS, st.builds(Box, POINTS, POINTS, POINTS, POINTS))
BLOCKS = st.builds(Block, OFFSETS, OFFSETS, st.sampled_from(BlockKind), st.integers(0, 6))
PAGES = st.builds(
    Page,
    st.text(),
    st.integers(1, 9999),
    st.text(),
    POINTS,
    POINTS,
    st.text(),
    st.lists(LINES, max_size=3).map(tuple),
    st.lists(BLOCKS, max_size=3).map(tuple),
    st.sampled_from(["text", "ocr"]),
    st.lists(st.text(), max_size=2).map(tuple),
)


@given(PAGES)
def test_pages_come_back_exactly(page: Page) -> None:
    found = decode_page(encode_page(page))
    assert found == page
    assert all(isinstance(line.box, Box) for line in found.lines)


@pytest.mark.parametrize(
    "content", [b"", b"\x01\x02", zlib.compress(b"[1, 2]"), zlib.compress(b"{"), zlib.compress(b"3")]
)
def test_damaged_content_is_refused(content: bytes) -> None:
    with pytest.raises(StorageError, match="damaged"):
        decode_page(content)
