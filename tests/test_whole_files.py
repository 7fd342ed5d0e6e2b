"""Names of files that every system accepts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdfqa_core.whole_files import LONGEST_NAME, safe_name


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("ratings-Harbour.csv", "ratings-Harbour.csv"),
        ("Übung 日本 é.md", "Übung 日本 é.md"),
        ("a:b.pdf", "a-b.pdf"),
        ("what? <all> of | it*.md", "what- -all- of - it-.md"),
        ("../../etc/passwd", "..-..-etc-passwd"),
        ("C:\\Windows\\x.csv", "C-Windows-x.csv"),
        ("CON", "_CON"),
        ("con.md", "_con.md"),
        ("Lpt1 .txt", "_Lpt1.txt"),
        ("COM0.tar.gz", "_COM0.tar.gz"),
        ("console.md", "console.md"),
        ("the end. . .", "the end"),
        ("notes ..md", "notes.md"),
        (".md", ".md"),
        ("", "unnamed"),
        (" . ", "unnamed"),
        ("lone \ud800 half.md", "lone - half.md"),
    ],
)
def test_a_name_is_made_acceptable(name, safe):
    assert safe_name(name) == safe


def test_a_long_name_keeps_its_ending():
    assert safe_name("日" * 300 + ".parquet") == "日" * 64 + ".parquet"
    assert len(safe_name("a" * 500).encode()) == LONGEST_NAME


@given(st.text())
def test_every_name_can_be_written(tmp_path_factory, name):
    safe = safe_name(name)
    assert safe_name(safe) == safe
    assert not set(safe) & set('<>:"/\\|?*')
    assert safe[-1] not in ". "
    path = tmp_path_factory.getbasetemp() / safe
    path.write_bytes(b"x")
    path.unlink()
