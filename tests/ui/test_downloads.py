"""Files for the browser leave nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from pdfqa_core.ui import downloads


def test_files_of_one_name_do_not_meet_and_go_after_an_hour():
    first, second = (Path(downloads.write("ratings.csv", data)) for data in (b"one", b"two"))
    assert (first.name, first.read_bytes(), second.read_bytes()) == ("ratings.csv", b"one", b"two")
    old = time.time() - downloads.KEPT - 1
    os.utime(first.parent, (old, old))
    third = Path(downloads.write("ratings.csv", b"three"))
    assert (first.parent.exists(), second.exists(), third.exists()) == (False, True, True)


def test_a_name_that_no_file_may_have_is_changed():
    path = Path(downloads.write("CON: all/of it.csv", b"x"))
    assert (path.name, path.read_bytes()) == ("CON- all-of it.csv", b"x")


def test_nothing_is_left_when_the_program_ends(tmp_path: Path):
    code = "from pdfqa_core.ui import downloads; print(downloads.write('a.csv', b'x'))"
    command, environ = [sys.executable, "-c", code], {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120, env=environ)
    assert Path(done.stdout.strip()).is_relative_to(tmp_path)
    assert list(tmp_path.glob("pdfqa-*")) == []
