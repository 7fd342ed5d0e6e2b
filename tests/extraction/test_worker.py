from __future__ import annotations

import random
import threading
import time
from pathlib import Path

import pytest

from pdfqa_core.errors import StoppedError, UsageError
from pdfqa_core.extraction.worker import Limits, read_document
from pdfqa_core.types import DocumentState, Progress

from . import hostile
from .conftest import LOREM, at, wrapped


def write(tmp_path: Path, content: bytes, name: str = "file.pdf") -> Path:
    path = tmp_path / name
    path.write_bytes(content)
    return path


def alive(pattern: str) -> bool:
    """Whether a child that reads PDFs is running for this process."""
    import os

    for task in Path("/proc").glob("[0-9]*"):
        try:
            fields = (task / "stat").read_text().rsplit(")", 1)[1].split()
            if int(fields[1]) == os.getpid() and fields[0] != "Z" and pattern in (task / "cmdline").read_text():
                return True
        except OSError:
            continue
    return False


def test_a_good_file_is_ready_with_pages_title_and_progress(make_pdf):
    seen: list[Progress] = []
    path = make_pdf(["First page text."], ["Second page text."], title="Annual report")
    result = read_document(path, "id1", on_progress=seen.append)
    assert result.state is DocumentState.READY
    assert result.reason == ""
    assert (result.title, result.page_count) == ("Annual report", 2)
    assert [page.text for page in result.pages] == ["First page text.", "Second page text."]
    assert {page.document_id for page in result.pages} == {"id1"}
    assert (seen[-1].done, seen[-1].total) == (2, 2)


def test_pages_without_text_are_named(draw):
    result = read_document(draw(lambda c: at(c, 70, 90, ["Words"]), lambda c: c.rect(9, 9, 90, 90)), "d")
    assert result.state is DocumentState.PARTIAL
    assert result.pages_without_text == (2,)
    assert result.reason.startswith("1 page without text: 2.")
    assert len(result.pages) == 2


def test_no_text_at_all(draw):
    result = read_document(draw(lambda c: c.rect(9, 9, 90, 90), name="scan.pdf"), "d")
    assert result.state is DocumentState.NO_TEXT
    assert "scan.pdf has no text" in result.reason
    assert result.pages == ()


@pytest.mark.parametrize("strength", [40, 128])
def test_passwords(draw, strength):
    from reportlab.lib.pdfencrypt import StandardEncryption

    lock = StandardEncryption("secret", ownerPassword="owner", strength=strength)
    path = draw(lambda c: at(c, 70, 90, ["Behind a lock"]), name="locked.pdf", encrypt=lock)
    missing = read_document(path, "d")
    wrong = read_document(path, "d", password="guess")
    right = read_document(path, "d", password="secret")
    assert missing.state is wrong.state is DocumentState.ENCRYPTED
    assert missing.reason == "locked.pdf is protected by a password. Enter its password."
    assert wrong.reason.startswith("The password does not open locked.pdf.")
    assert right.state is DocumentState.READY
    assert right.pages[0].text == "Behind a lock"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"PK\x03\x04 a zip file", "is not a PDF"),
        (b"%PDF-1.4\n%%EOF", "is damaged"),
        (b"x" * 2000 + b"%PDF-1.4", "is not a PDF"),
    ],
)
def test_files_that_are_no_pdf(tmp_path, content, words):
    result = read_document(write(tmp_path, content), "d", filename="report.pdf")
    assert result.state is DocumentState.BROKEN
    assert result.reason.startswith("report.pdf")
    assert words in result.reason


def test_a_truncated_file_ends_in_a_state(make_pdf, tmp_path):
    whole = make_pdf([" ".join(LOREM)]).read_bytes()
    states = {read_document(write(tmp_path, whole[: len(whole) * k // 4]), "d").state for k in (1, 2, 3)}
    assert states <= {DocumentState.BROKEN, DocumentState.READY, DocumentState.NO_TEXT}


@pytest.mark.parametrize(
    ("content", "states"),
    [
        (hostile.million_pages(), {DocumentState.TOO_LARGE, DocumentState.BROKEN, DocumentState.NO_TEXT}),
        (hostile.own_parent(), {DocumentState.BROKEN, DocumentState.NO_TEXT}),
        (hostile.giant_media_box(), {DocumentState.READY}),
        (hostile.inverted_media_box(), {DocumentState.READY}),
        (hostile.self_drawing_form(), {DocumentState.NO_TEXT, DocumentState.BROKEN, DocumentState.TOO_LARGE}),
        (hostile.one_page("q " * 100_000), {DocumentState.NO_TEXT}),
        (hostile.one_page("[" * 100_000), {DocumentState.NO_TEXT, DocumentState.BROKEN}),
    ],
)
def test_hostile_files_end_in_a_state(tmp_path, content, states):
    result = read_document(write(tmp_path, content), "d", limits=Limits(memory_mb=300))
    assert result.state in states
    assert result.reason or result.state is DocumentState.READY


def test_limits_end_in_a_state(tmp_path, make_pdf):
    path = make_pdf(["One."], ["Two."])
    assert read_document(path, "d", limits=Limits(max_pages=1)).state is DocumentState.TOO_LARGE
    characters = write(tmp_path, hostile.endless_text(20_000), "long.pdf")
    assert read_document(characters, "d", limits=Limits(max_characters=1000)).state is DocumentState.TOO_LARGE
    big = tmp_path / "big.pdf"
    with big.open("wb") as file:
        file.write(b"%PDF-1.4\n")
        file.truncate(2_000_000)
    large = read_document(big, "d", limits=Limits(max_file_mb=1))
    assert large.state is DocumentState.TOO_LARGE
    assert "limit is 1 MB" in large.reason


def test_the_memory_limit_ends_in_too_large(tmp_path):
    path = write(tmp_path, hostile.endless_text(3_000_000))
    result = read_document(path, "d", limits=Limits(memory_mb=200))
    assert result.state is DocumentState.TOO_LARGE
    assert "200 MB of memory" in result.reason


def test_the_time_limit_ends_in_too_slow_and_kills_the_child(tmp_path):
    path = write(tmp_path, hostile.endless_text(3_000_000))
    result = read_document(path, "d", limits=Limits(seconds=0.6, memory_mb=4000))
    assert result.state is DocumentState.TOO_SLOW
    assert "0.6 seconds" in result.reason
    assert not alive("extraction.child")


def test_stop_kills_the_child(tmp_path):
    path = write(tmp_path, hostile.endless_text(3_000_000))
    stop = threading.Event()
    threading.Timer(0.5, stop.set).start()
    began = time.monotonic()
    with pytest.raises(StoppedError, match="was stopped"):
        read_document(path, "d", stop=stop, limits=Limits(memory_mb=4000))
    assert time.monotonic() - began < 30
    assert not alive("extraction.child")


def test_an_unknown_extractor_is_a_usage_error(make_pdf):
    with pytest.raises(UsageError, match="direct"):
        read_document(make_pdf(["x"]), "d", extractor="magic")


def test_a_missing_file_is_named(tmp_path):
    result = read_document(tmp_path / "gone.pdf", "d")
    assert result.state is DocumentState.BROKEN
    assert "gone.pdf cannot be opened" in result.reason


def test_hidden_text_alone_is_no_text(draw):
    def page(c):
        c.setFillGray(1)
        at(c, 70, 90, wrapped(LOREM, 60))

    assert read_document(draw(page), "d").state is DocumentState.NO_TEXT


def corpus(shared_data: Path) -> list[Path]:
    files = sorted((shared_data / "hostile_pdfs").rglob("*.pdf"))
    assert len(files) > 300
    return files


def check_states(files: list[Path]) -> None:
    for file in files:
        result = read_document(file, "d", limits=Limits(seconds=60))
        assert bool(result.pages) == result.state.usable, file.name
        assert result.reason or result.state is DocumentState.READY, file.name


def test_forty_hostile_files(shared_data):
    check_states(random.Random(7).sample(corpus(shared_data), 40))


@pytest.mark.slow
def test_all_hostile_files(shared_data):
    check_states(corpus(shared_data))


def test_a_password_protected_sample(shared_data):
    path = shared_data / "sample_pdfs" / "libreoffice-writer-password.pdf"
    assert read_document(path, "d").state is DocumentState.ENCRYPTED
    assert read_document(path, "d", password="openpassword").state is DocumentState.READY
