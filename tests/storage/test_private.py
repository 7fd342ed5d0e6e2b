"""A workspace is its user's alone, and what is removed is gone from the disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pdfqa_core.storage import Store
from pdfqa_core.storage.files import make_private, open_cache, open_to_others

pytestmark = pytest.mark.skipif(os.name != "posix", reason="rights as of POSIX")


def mode(path: Path) -> str:
    return oct(path.stat().st_mode & 0o777)


@pytest.fixture
def usual_umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.usefixtures("usual_umask")
def test_folders_and_files_are_private_old_ones_too(tmp_path: Path):
    folder = tmp_path / "workspace"
    (folder / "indexes" / "x").mkdir(parents=True)
    (folder / "indexes" / "x" / "vectors.npy").write_bytes(b"x")
    (folder / "notes.txt").write_text("mine")
    with Store.open(folder) as store:
        store.files.store(b"%PDF-1.7 private")
        open_cache(folder / "words.sqlite", "words", lambda _: None).close()
        assert mode(folder) == mode(folder / "indexes" / "x") == "0o700"
        private = [folder / "indexes" / "x" / "vectors.npy", *folder.glob("*.sqlite*"), *(folder / "pdfs").iterdir()]
        assert len(private) > 4
        assert {mode(path) for path in private} == {"0o600"}
        (folder / "indexes" / "x" / "later.npy").write_bytes(b"x")
    assert mode(folder / "indexes" / "x" / "later.npy") == "0o600"
    assert mode(folder / "notes.txt") == "0o644"  # nothing of ours


@pytest.mark.usefixtures("usual_umask")
def test_a_link_to_elsewhere_is_not_followed(tmp_path: Path):
    folder, elsewhere = tmp_path / "workspace", tmp_path / "elsewhere"
    (folder / "exports").mkdir(parents=True)
    elsewhere.write_text("x")
    (folder / "exports" / "link").symlink_to(elsewhere)
    (folder / "indexes").symlink_to(tmp_path)
    Store.open(folder).close()
    assert mode(elsewhere) == "0o644"


@pytest.mark.usefixtures("usual_umask")
def test_what_others_have_rights_to_is_found(tmp_path: Path):
    folder = tmp_path / "workspace"
    (folder / "exports").mkdir(parents=True)
    (folder / "exports" / "ratings.csv").write_text("x")
    (folder / "exports" / "link").symlink_to(tmp_path)
    (folder / "notes.txt").write_text("nothing of ours")
    assert set(open_to_others(folder)) == {folder, folder / "exports", folder / "exports" / "ratings.csv"}
    make_private(folder)
    assert open_to_others(folder) == ()
    (folder / "exports" / "ratings.csv").chmod(0o620)  # to write is a right too
    assert open_to_others(folder) == (folder / "exports" / "ratings.csv",)
