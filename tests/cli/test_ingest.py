"""What `ingest` reads and shows beside the PDFs: the password file, the time left."""

from __future__ import annotations

import pytest

from pdfqa_core.cli.ingest import read_password
from pdfqa_core.errors import UsageError
from pdfqa_core.text import duration


@pytest.mark.parametrize("content", [b"secret\r\nsecond line\r\n", b"secret", b"\xef\xbb\xbfsecret\n"])
def test_the_first_line_of_a_password_file_is_the_password(tmp_path, content):
    (tmp_path / "password").write_bytes(content)
    assert read_password(tmp_path / "password") == "secret"


@pytest.mark.parametrize(
    ("content", "words"), [(b"", "is empty"), (b"\nsecret", "is empty"), (b"caf\xe9", "is not UTF-8")]
)
def test_a_password_file_without_a_password_is_named(tmp_path, content, words):
    (tmp_path / "password").write_bytes(content)
    with pytest.raises(UsageError, match=words):
        read_password(tmp_path / "password")


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "1 s"), (59.4, "59 s"), (59.9, "1 min"), (170, "3 min"), (7800, "2 h 10 min")]
)
def test_the_time_left_in_words(seconds, words):
    assert duration(seconds) == words
