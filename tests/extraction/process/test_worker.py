from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pdfqa_core.errors import StoppedError
from pdfqa_core.extraction.process.worker import Limits, read_document
from pdfqa_core.types import DocumentState, Progress
from tests.extraction import hostile
from tests.extraction.conftest import LOREM, at, wrapped

ROOT = Path(__file__).resolve().parents[3]


def write(tmp_path: Path, content: bytes, name: str = "file.pdf") -> Path:
    path = tmp_path / name
    path.write_bytes(content)
    return path


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
    assert "Read it again with OCR (extractor “visual”)." in result.reason
    assert result.pages == ()


def test_passwords(draw):
    from reportlab.lib.pdfencrypt import StandardEncryption

    lock = StandardEncryption("secret", ownerPassword="owner", strength=128)
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
    for tenth in (3, 6, 9):
        result = read_document(write(tmp_path, whole[: len(whole) * tenth // 10]), "d")
        assert result.state in (DocumentState.BROKEN, DocumentState.READY, DocumentState.NO_TEXT)
        assert result.reason or result.state is DocumentState.READY


@pytest.mark.parametrize(
    ("content", "states"),
    [
        (hostile.million_pages(), {DocumentState.TOO_LARGE, DocumentState.BROKEN, DocumentState.NO_TEXT}),
        (hostile.looping_tree(), {DocumentState.BROKEN, DocumentState.NO_TEXT}),
        (hostile.filter_bomb(), {DocumentState.TOO_LARGE, DocumentState.TOO_SLOW, DocumentState.NO_TEXT}),
        (hostile.giant_media_box(), {DocumentState.READY}),
        (hostile.self_drawing_form(), {DocumentState.NO_TEXT, DocumentState.BROKEN, DocumentState.TOO_LARGE}),
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


@pytest.mark.linux
def test_the_time_limit_ends_in_too_slow_and_kills_the_child(tmp_path):
    path = write(tmp_path, hostile.endless_text(3_000_000))
    result = read_document(path, "d", limits=Limits(seconds=0.6, memory_mb=4000))
    assert result.state is DocumentState.TOO_SLOW
    assert "0.6 seconds" in result.reason
    assert not group()


@pytest.mark.linux
def test_stop_kills_the_child_and_all_it_started(tmp_path):
    path = write(tmp_path, hostile.pages_of(hostile.endless_content(30_000), 100))
    stop = Stop()
    with pytest.raises(StoppedError, match="was stopped"):
        read_document(path, "d", stop=stop, limits=Limits(memory_mb=4000), workers=2, on_progress=stop.at_first)
    assert not group()
    assert not group_alive(stop.children)
    assert len(stop.children) >= 2


class Stop:
    """Is set at the first page, and knows which processes were alive then."""

    def __init__(self) -> None:
        self.children: set[int] = set()

    def is_set(self) -> bool:
        return bool(self.children)

    def at_first(self, progress: Progress) -> None:
        if progress.done and not self.children:
            self.children = group()


def group() -> set[int]:
    """Return the processes that read PDFs for this process: its children, and theirs."""
    parents = {}
    for task in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(task.name)] = int((task / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
    mine = {pid for pid, parent in parents.items() if parent == os.getpid()}
    mine = {pid for pid in mine if "extraction.process.worker_child" in command(pid)}
    return mine | {pid for pid, parent in parents.items() if parent in mine}


def command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def group_alive(pids: set[int]) -> set[int]:
    """Return which of these processes still run."""
    return {pid for pid in pids if "extraction.process.worker_child" in command(pid)}


@pytest.mark.linux
def test_the_reading_processes_end_with_the_program(tmp_path):
    path = write(tmp_path, hostile.pages_of(hostile.endless_content(30_000), 100))
    program = subprocess.Popen([sys.executable, "-c", READING, str(path)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert program.stdout is not None
    children = {int(pid) for pid in program.stdout.readline().split()}
    assert len(children) == 3
    program.kill()
    program.wait()
    program.stdout.close()
    deadline = time.monotonic() + 60
    while group_alive(children):
        assert time.monotonic() < deadline, "a process reads on for a program that is gone"
        time.sleep(0.02)


READING = """
import sys
from pathlib import Path
from pdfqa_core.extraction.process.worker import Limits, read_document
from tests.extraction.process.test_worker import group

def show(progress):
    if progress.done:
        print(*group(), flush=True)

read_document(Path(sys.argv[1]), "d", workers=2, limits=Limits(memory_mb=4000), on_progress=show)
"""


def test_titles_and_authors_of_any_length_stay_short(draw):
    def page(canvas):
        canvas.setAuthor("Ada " * 3_000)
        canvas.setTitle("A long title " * 3_000)
        canvas.drawString(70, 700, "Some text")

    result = read_document(draw(page, name="long.pdf"), "d")
    assert result.state is DocumentState.READY
    assert 0 < len(result.title) <= 1000
    assert len(result.authors) <= 1000


def test_hidden_text_alone_is_no_text(draw):
    def page(c):
        c.setFillGray(1)
        at(c, 70, 90, wrapped(LOREM, 60))

    result = read_document(draw(page), "d")
    assert result.state is DocumentState.NO_TEXT
    assert "no text that can be seen" in result.reason


def corpus(shared_data: Path) -> list[Path]:
    files = sorted((shared_data / "hostile_pdfs").rglob("*.pdf"))
    assert len(files) > 300
    return files


def test_hostile_files_of_others(shared_data):
    for file in random.Random(7).sample(corpus(shared_data), 10):
        result = read_document(file, "d", limits=Limits(seconds=60))
        assert bool(result.pages) == result.state.usable, file.name
        assert result.reason or result.state is DocumentState.READY, file.name
