"""The pages of one document read by several processes, with a strategy that does as it is told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import pytest

from pdfqa_core.errors import DocumentError
from pdfqa_core.extraction.base import ExtractionOptions
from pdfqa_core.extraction.direct import direct_extractor
from pdfqa_core.extraction.process.limits import MB
from pdfqa_core.extraction.process.worker import CrashedError, read_pages, sharing
from pdfqa_core.extraction.raw_page import RawPage
from pdfqa_core.types import DocumentState, Page

ROOT = Path(__file__).resolve().parents[3]

pytestmark = pytest.mark.linux
resource = pytest.importorskip("resource")  # Windows has none


@dataclass(frozen=True)
class Reader:
    """Reads pages that carry, as warnings, the process that read them and what it knows of the others."""

    heavy: ClassVar[bool] = True
    failing: int = 0
    how: str = ""
    slow: int = 0

    def read(
        self, path: Path, document_id: str, numbers: Sequence[int], password: str | None, name: str
    ) -> Iterator[RawPage]:
        for number in numbers:
            if number == self.slow:
                time.sleep(0.3)
            if number == self.failing:
                self.fail(name)
            facts = Page(document_id, number, "", 1, 1, "", warnings=(str(os.getpid()), str(sharing())))
            yield RawPage(facts, [])

    def fail(self, name: str) -> None:
        match self.how:
            case "document":
                raise DocumentError(DocumentState.BROKEN, f"{name} is odd.", "Mend it.")
            case "value":
                raise ValueError("odd")
            case "hoard":
                hoard = bytearray(400 * MB)
                hoard[::4096] = b"x" * len(hoard[::4096])
                time.sleep(5)
            case "signal":
                os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class LightReader(Reader):
    heavy: ClassVar[bool] = False


def read(reader: Reader, pages: int, workers: int, **choices: object) -> list[RawPage]:
    reading = replace(ExtractionOptions(filename="file.pdf", workers=workers), **choices)
    return list(read_pages(reader, Path("file.pdf"), "doc", range(1, pages + 1), None, reading))


def numbers(pages: Sequence[RawPage]) -> list[int]:
    return [page.facts.number for page in pages]


def processes(pages: Sequence[RawPage]) -> set[int]:
    return {int(page.facts.warnings[0]) for page in pages}


def test_pages_come_in_their_order_from_several_processes():
    pages = read(Reader(slow=1), 7, workers=3)
    assert numbers(pages) == [1, 2, 3, 4, 5, 6, 7]
    assert os.getpid() not in processes(pages)
    assert len(processes(pages)) == 3
    assert {page.facts.warnings[1] for page in pages} == {"3"}


@pytest.mark.parametrize(("reader", "pages", "workers"), [(Reader(), 1, 8), (Reader(), 9, 1), (LightReader(), 20, 2)])
def test_one_process_is_enough_for_few_pages(reader, pages, workers):
    read_here = read(reader, pages, workers)
    assert processes(read_here) == {os.getpid()}
    assert {page.facts.warnings[1] for page in read_here} == {"1"}


@pytest.mark.parametrize(
    ("how", "error", "words"),
    [
        ("document", DocumentError, "file.pdf is odd. Mend it."),
        ("value", RuntimeError, "ValueError"),
        ("hoard", MemoryError, None),
        ("signal", CrashedError, "status -9"),
    ],
)
def test_what_happens_in_a_process_is_passed_on_and_ends_the_others(how, error, words):
    with pytest.raises(error, match=words) as caught:
        read(Reader(failing=3, how=how, slow=4), 30, workers=2, memory_mb=300 if how == "hoard" else 64_000)
    assert type(caught.value) is error
    assert not children()


def test_a_reader_that_is_not_read_to_its_end_leaves_no_process():
    reading = ExtractionOptions(workers=2)
    pages = read_pages(Reader(), Path("file.pdf"), "doc", range(1, 100), None, reading)
    assert next(pages).facts.number == 1
    assert len(children()) == 2
    pages.close()
    assert not children()


def children() -> list[str]:
    return [pid for task in Path("/proc/self/task").glob("*/children") for pid in task.read_text().split()]


def test_two_processes_read_what_one_reads(make_pdf):
    paragraphs = [[f"Page {n} tells of harbour {n * 7}.", "The tide comes in at noon."] for n in range(60)]
    path = make_pdf(*paragraphs)
    alone = list(direct_extractor(ExtractionOptions()).extract(path, "doc"))
    assert list(direct_extractor(ExtractionOptions(workers=2)).extract(path, "doc")) == alone
    assert len(alone) == 60


# The limit of CPU time ends a process for good: it is tried in a program of its own.
CPU = """
import resource, sys
from pathlib import Path
from dataclasses import dataclass
from typing import ClassVar
from pdfqa_core.types import Page
from pdfqa_core.extraction.base import ExtractionOptions
from pdfqa_core.extraction.raw_page import RawPage
from pdfqa_core.extraction.process.worker import CrashedError, read_pages
from pdfqa_core.extraction.process.limits import limit_cpu

@dataclass
class Busy:
    source: str
    heavy: ClassVar[bool] = True

    def read(self, path, document_id, numbers, password, name):
        for number in numbers:
            if number == 5:
                while self.source == "text":
                    pass
            limit = resource.getrlimit(resource.RLIMIT_CPU)[0]
            yield RawPage(Page(document_id, number, "", 1, 1, "", source=self.source, warnings=(str(limit),)), [])

limit_cpu(1)
reading = ExtractionOptions(workers=2, page_seconds=100)
try:
    pages = list(read_pages(Busy(sys.argv[1]), Path("x"), "doc", range(1, 9), None, reading))
    print(max(int(page.facts.warnings[0]) for page in pages))
except CrashedError as error:
    print(error.status)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of CPU time")
@pytest.mark.parametrize("source", ["text", "ocr"])
def test_cpu_time_is_limited_in_each_process_and_grows_with_ocr(source):
    done = subprocess.run(
        [sys.executable, "-c", CPU, source], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stderr == ""
    if source == "text":
        assert int(done.stdout) == -signal.SIGXCPU
    else:
        assert int(done.stdout) > 100
    assert resource.getrlimit(resource.RLIMIT_CPU)[0] == resource.RLIM_INFINITY
