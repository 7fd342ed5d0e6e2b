"""Files for the browser do not meet, and leave nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pdfqa_core.ui import downloads
from pdfqa_core.whole_files import temporary_prefix

WRITTEN = """
from pdfqa_core.ui import downloads
print(oct(downloads.folder().stat().st_mode & 0o777), downloads.write("a.csv", b"x"))
"""


def test_files_of_one_name_do_not_meet_and_go_after_an_hour():
    first, second = (Path(downloads.write("ratings.csv", data)) for data in (b"one", b"two"))
    assert (first.name, first.read_bytes(), second.read_bytes()) == ("ratings.csv", b"one", b"two")
    assert downloads.write("ratings.csv", b"two") == str(second)  # a page that is loaded often leaves one file
    old = time.time() - downloads.KEPT - 1
    for path in (first, first.parent):
        os.utime(path, (old, old))
    downloads.tidy()
    assert (first.parent.exists(), second.exists()) == (False, True)


def test_a_name_that_no_file_may_have_is_changed():
    path = Path(downloads.write("CON: all/of it.csv", b"x"))
    assert (path.name, path.read_bytes()) == ("CON- all-of it.csv", b"x")


@pytest.mark.linux
def test_a_program_removes_what_it_wrote_and_what_a_killed_one_left(tmp_path: Path):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    left = tmp_path / f"pdfqa-{ended.pid}-x"  # as earlier versions called it
    again = tmp_path / f"{temporary_prefix().rpartition('%2F')[0]}%2F1.00!z"  # of a process whose number is used again
    others = tmp_path / f"{temporary_prefix()}y"
    for folder in (left, again, others):
        folder.mkdir()
        (folder / "export.csv").write_bytes(b"x")
    command, environ = [sys.executable, "-c", WRITTEN], {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120, env=environ)
    mode, written = done.stdout.split()
    assert mode == "0o700"
    assert Path(written).is_relative_to(tmp_path)
    assert list(tmp_path.glob("pdfqa-*")) == [others]
