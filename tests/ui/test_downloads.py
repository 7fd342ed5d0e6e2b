"""Files for the browser leave nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pdfqa_core.ui import downloads, temporary
from pdfqa_core.whole_files import temporary_prefix


def test_files_of_one_name_do_not_meet_and_go_after_an_hour():
    first, second = (Path(downloads.write("ratings.csv", data)) for data in (b"one", b"two"))
    assert (first.name, first.read_bytes(), second.read_bytes()) == ("ratings.csv", b"one", b"two")
    old = time.time() - temporary.KEPT - 1
    for path in (first, first.parent):
        os.utime(path, (old, old))
    temporary.tidy()
    assert (first.parent.exists(), second.exists()) == (False, True)


def test_a_page_that_is_loaded_often_leaves_one_file():
    assert downloads.write("questions.csv", b"same") == downloads.write("questions.csv", b"same")


@pytest.mark.linux
def test_what_a_killed_program_left_is_removed_by_the_next(tmp_path: Path):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    left = tmp_path / f"pdfqa-{ended.pid}-x"  # as earlier versions called it
    again = tmp_path / f"{temporary_prefix().rpartition('%2F')[0]}%2F1.00!z"  # of a process whose number is used again
    others = tmp_path / f"{temporary_prefix()}y"
    for folder in (left, again, others):
        folder.mkdir()
        (folder / "export.csv").write_bytes(b"x")
    code = "from pdfqa_core.ui import temporary; print(oct(temporary.folder().stat().st_mode & 0o777))"
    command, environ = [sys.executable, "-c", code], {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120, env=environ)
    assert done.stdout.strip() == "0o700"
    assert [folder.exists() for folder in (left, again, others)] == [False, False, True]


def test_a_name_that_no_file_may_have_is_changed():
    path = Path(downloads.write("CON: all/of it.csv", b"x"))
    assert (path.name, path.read_bytes()) == ("CON- all-of it.csv", b"x")


def test_nothing_is_left_when_the_program_ends(tmp_path: Path):
    code = "from pdfqa_core.ui import downloads; print(downloads.write('a.csv', b'x'))"
    command, environ = [sys.executable, "-c", code], {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120, env=environ)
    assert Path(done.stdout.strip()).is_relative_to(tmp_path)
    assert list(tmp_path.glob("pdfqa-*")) == []
