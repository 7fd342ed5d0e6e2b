from __future__ import annotations

import hashlib
import os
import shutil
import threading
from collections import namedtuple
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from pdfqa_core.errors import ModelError, StoppedError
from pdfqa_core.llm import download as module
from pdfqa_core.llm.catalogue import CatalogueEntry
from pdfqa_core.llm.download import download, partial_bytes
from tests.llm.hub import serving

NAME = "tiny.gguf"
BODY = b"GGUF" + os.urandom(700_000)
PATH = f"owner/models/resolve/main/{NAME}"
ENTRY = CatalogueEntry(
    name="tiny", title="Tiny", repo="owner/models", file=NAME, size=0, parameters=0, context=0, layers=0, kv_width=0,
    vocabulary=0, licence="",
)  # fmt: skip


@pytest.fixture
def hub(monkeypatch):
    monkeypatch.setattr(module, "PAUSE", 0.01)
    for name in ("HF_TOKEN", "HF_HUB_OFFLINE", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with serving() as server:
        server.files[PATH] = BODY
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


def left(folder):
    """Return the files that a model could be loaded from, and those of the folder of unfinished ones."""
    return [p.name for p in folder.glob("*.gguf")], [p for p in folder.glob("partial/*") if p.suffix == ".partial"]


def test_a_file_arrives_whole_with_progress_in_bytes(hub, tmp_path):
    seen = []
    assert download(ENTRY, tmp_path, on_progress=seen.append) == tmp_path / NAME
    assert (tmp_path / NAME).read_bytes() == BODY
    assert (seen[-1].phase, seen[-1].done, seen[-1].total) == ("downloading", len(BODY), len(BODY))
    assert left(tmp_path) == ([NAME], [])
    assert hub.ranges() == [""]


def test_a_connection_that_breaks_is_taken_up_where_it_ended(hub, tmp_path):
    hub.drops = 2
    hub.drop_after = drop_after = 300_000
    download(ENTRY, tmp_path)
    assert (tmp_path / NAME).read_bytes() == BODY
    starts = [int(r.removeprefix("bytes=").rstrip("-") or 0) for r in hub.ranges()]
    assert starts == [0, drop_after, 2 * drop_after]


def test_stopping_keeps_what_arrived_and_the_next_call_goes_on(hub, tmp_path):
    hub.slow = 0.15
    stop = threading.Event()
    with pytest.raises(StoppedError, match="what has arrived is kept"):
        download(ENTRY, tmp_path, on_progress=lambda step: step.done and stop.set(), stop=stop)
    kept = partial_bytes(tmp_path, NAME)
    assert 0 < kept < len(BODY)
    assert left(tmp_path)[0] == []
    hub.slow = 0
    assert download(ENTRY, tmp_path).read_bytes() == BODY
    assert hub.ranges()[-1] == f"bytes={kept}-"


def test_a_server_that_stalls_does_not_keep_one_from_stopping(hub, tmp_path):
    hub.slow = 3600
    stop = SimpleNamespace(is_set=lambda: bool(hub.ranges()))  # as soon as the file was asked for
    with pytest.raises(StoppedError):
        download(ENTRY, tmp_path, stop=stop)
    for thread in threading.enumerate():
        if thread.name.startswith("download"):
            thread.join(5)
            assert not thread.is_alive()


def test_a_server_that_does_not_resume_sends_everything_again(hub, tmp_path):
    hub.drops, hub.drop_after, hub.resumes = 1, 300_000, False
    assert download(ENTRY, tmp_path).read_bytes() == BODY


def test_wrong_bytes_leave_nothing_that_could_be_loaded(hub, tmp_path):
    hub.wrong = True
    with pytest.raises(ModelError, match="wrong checksum and was thrown away"):
        download(ENTRY, tmp_path)
    assert left(tmp_path) == ([], [])


def test_a_checksum_of_the_catalogue_is_compared_before_anything_is_fetched(hub, tmp_path):
    right = hashlib.sha256(BODY).hexdigest()
    with pytest.raises(ModelError, match="not the file that the catalogue knows"):
        download(replace(ENTRY, sha256="0" * 64), tmp_path)
    assert hub.ranges() == []
    assert download(replace(ENTRY, sha256=right), tmp_path).is_file()


def test_the_checksum_of_the_catalogue_counts_where_the_hub_gives_none(hub, tmp_path):
    hub.etag = "1234"
    with pytest.raises(ModelError, match="there is no checksum"):
        download(ENTRY, tmp_path)
    assert download(replace(ENTRY, sha256=hashlib.sha256(BODY).hexdigest()), tmp_path).is_file()


@pytest.mark.parametrize(
    ("status", "code", "words", "hint"),
    [
        (404, "EntryNotFound", r"there is no tiny\.gguf of revision main .* \(404\)", "choose another model"),
        (401, "", "without signing in", "HF_TOKEN"),
        (403, "GatedRepo", "accept a licence", "HF_TOKEN"),
        (401, "GatedRepo", "accept a licence", "HF_TOKEN"),
    ],
)
def test_what_the_hub_refuses_is_told(hub, tmp_path, status, code, words, hint):
    hub.status, hub.code = status, code
    with pytest.raises(ModelError, match=words) as raised:
        download(ENTRY, tmp_path)
    assert hint in raised.value.hint
    assert left(tmp_path) == ([], [])


def test_offline_mode_is_honoured(hub, tmp_path, monkeypatch):
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError, match="HF_HUB_OFFLINE is set"):
        download(ENTRY, tmp_path)
    assert hub.requests == []


def test_a_token_goes_to_the_hub_and_not_to_the_server_of_the_files(hub, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    hub.cdn = True
    assert download(ENTRY, tmp_path).read_bytes() == BODY
    sent = {method: headers.get("authorization", "") for method, path, headers in hub.requests if "resolve" in path}
    assert sent == {"HEAD": "Bearer hf_secret", "GET": ""}
    hub.cdn, hub.requests[:] = False, []
    (tmp_path / NAME).unlink()
    download(ENTRY, tmp_path)
    assert {headers["authorization"] for _, path, headers in hub.requests if "resolve" in path} == {"Bearer hf_secret"}


def test_too_little_disk_is_told_before_anything_is_fetched(hub, tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10, 9, 1000))
    with pytest.raises(ModelError, match="needs 1 MB and 200 MB to spare; 0 MB are free"):
        download(ENTRY, tmp_path)
    assert hub.ranges() == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_disk_that_fills_up_meanwhile_is_told(hub, tmp_path):
    expected = hashlib.sha256(BODY).hexdigest()
    (tmp_path / "partial").mkdir()
    (tmp_path / "partial" / f"{NAME}.{expected[:16]}.partial").symlink_to("/dev/full")
    with pytest.raises(ModelError, match="The disk is full"):
        download(ENTRY, tmp_path)
    assert left(tmp_path)[0] == []


def test_of_two_downloads_of_one_file_the_second_waits(hub, tmp_path):
    hub.slow = 0.15
    began, results = threading.Event(), []
    first = threading.Thread(
        target=lambda: results.append(download(ENTRY, tmp_path, on_progress=lambda step: step.done and began.set()))
    )
    first.start()
    assert began.wait(10)
    seen = []
    download(replace(ENTRY, sha256=hashlib.sha256(BODY).hexdigest()), tmp_path, on_progress=seen.append)
    first.join()
    assert results[0].read_bytes() == BODY
    assert "waiting for another download of it" in {step.phase for step in seen}
    assert hub.ranges() == [""]
