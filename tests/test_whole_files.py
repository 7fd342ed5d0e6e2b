"""Files that are whole or not there, what killed programs leave of them, and names that every system accepts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdfqa_core.whole_files import (
    LEFT,
    LONGEST_NAME,
    remove_left_over,
    safe_name,
    temporary_folder,
    unfinished,
    unfinished_name,
    write_atomically,
)

WRITING = """
import sys, time
from pathlib import Path
from pdfqa_core.whole_files import temporary_folder, unfinished, unfinished_name
with unfinished(Path(sys.argv[1], "below", "whole.bin")) as file, temporary_folder() as folder:
    unfinished_name(Path(sys.argv[1])).mkdir()
    file.write_bytes(b"half")
    (folder / "unpacked.pdf").write_bytes(b"x")
    print("begun", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders lie."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    return place


@pytest.mark.linux
def test_what_a_killed_program_did_not_finish_goes_and_nothing_else(tmp_path: Path, temporary: Path):
    workspace = tmp_path / "workspace"
    (workspace / "below").mkdir(parents=True)
    for name in ("notes.tmp", ".hidden.tmp", "below/whole.bin"):
        (workspace / name).write_bytes(b"mine")
    (temporary / "pdfqa-notes").mkdir()
    environ = {**os.environ, "TMPDIR": str(temporary)}
    command = [sys.executable, "-c", WRITING, str(workspace)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"begun\n"
        remove_left_over(workspace)
        assert (len(list(workspace.rglob("*"))), len(list(temporary.iterdir()))) == (6, 2)  # it is at work
        child.send_signal(signal.SIGKILL)
    remove_left_over(workspace, below=False)
    assert len(list(workspace.rglob("*"))) == 5
    remove_left_over(workspace)
    left = sorted(path.relative_to(workspace).as_posix() for path in workspace.rglob("*"))
    assert left == [".hidden.tmp", "below", "below/whole.bin", "notes.tmp"]
    assert (workspace / "below" / "whole.bin").read_bytes() == b"mine"
    assert [path.name for path in temporary.iterdir()] == ["pdfqa-notes"]


def test_what_this_program_is_at_stays_however_old(tmp_path: Path, temporary: Path):
    old = time.time() - 2 * LEFT
    with unfinished(tmp_path / "whole") as file, temporary_folder() as folder:
        for path in (file, folder):
            os.utime(path, (old, old))
        remove_left_over(tmp_path)
        assert file.exists()
        assert folder.exists()


def test_what_another_computer_or_an_earlier_version_left_goes_after_a_day(tmp_path: Path, temporary: Path):
    names = [".elsewhere%2F7%2F1.00!" + "0" * 32 + ".tmp", "." + "1" * 32 + ".tmp"]
    for name in names:
        (tmp_path / name).write_bytes(b"x")
    remove_left_over(tmp_path)
    assert all((tmp_path / name).exists() for name in names)
    old = time.time() - 2 * LEFT
    for name in names:
        os.utime(tmp_path / name, (old, old))
    remove_left_over(tmp_path)
    assert not any((tmp_path / name).exists() for name in names)


def test_a_link_is_removed_and_not_followed(tmp_path: Path, temporary: Path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").write_text("x")
    link = unfinished_name(tmp_path).with_name(".elsewhere%2F7%2F1.00!" + "0" * 32 + ".tmp")
    link.symlink_to(elsewhere)
    old = time.time() - 2 * LEFT
    os.utime(link, (old, old), follow_symlinks=False)
    remove_left_over(tmp_path)
    assert not link.is_symlink()
    assert (elsewhere / "kept").exists()


def test_a_file_is_what_it_was_if_writing_fails(tmp_path: Path):
    write_atomically(tmp_path / "file", b"before")

    def fail() -> None:
        with unfinished(tmp_path / "file") as draft:
            draft.write_bytes(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("file", b"before")]


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
