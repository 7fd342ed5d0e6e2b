from __future__ import annotations

import pytest

from pdfqa_core.extraction.text.words import Hyphenation


@pytest.mark.parametrize(
    ("lines", "first", "second", "expected"),
    [
        ([], "infor-", "mation", None),
        ([], "the end", "of it", " "),
        ([], "A-", "Series", ""),
        ([], "1990-", "1995", ""),
        ([], "pages -", "and more", " "),
        ([], "sub\u00ad", "title", None),
        ([], "non-", "smoker", ""),
        ([], "NORTH-", "WIND", None),
        (["an in-network doctor"], "in-", "network", ""),
        (["information is here"], "infor-", "mation", None),
        (["out-of-pocket and well-being", "out-", "of-pocket is", "well-", "being"], "co-", "payments", ""),
    ],
)
def test_hyphens(lines, first, second, expected):
    assert Hyphenation([*lines, first, second]).joins(first, second) == expected
