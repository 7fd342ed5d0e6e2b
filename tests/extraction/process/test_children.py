"""The memory of the program itself must not count as that of its child processes."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.extraction import hostile

ROOT = Path(__file__).resolve().parents[3]

# A program that holds more memory than its children may take, as one with a language model does.
LARGE_PROGRAM = """
import sys
from contextlib import closing
from pathlib import Path

from pdfqa_core.extraction.process.render import PageRenderer
from pdfqa_core.extraction.process.worker import Limits, read_document

ballast = bytearray(1) * 1_100_000_000
path = Path(sys.argv[1])
print(read_document(path, "doc", limits=Limits(memory_mb=300)).state)
with closing(PageRenderer()) as renderer:
    print(len(renderer.render(path, 1, width_px=200)) > 0)
"""


def test_a_program_that_holds_much_memory_still_reads_and_draws_pdfs(make_pdf):
    path = make_pdf(["The lighthouse was lit for the first time in 1871."])
    done = subprocess.run(
        [sys.executable, "-c", LARGE_PROGRAM, str(path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout.split() == ["ready", "True"]


# A program that inherits the orphans of its children, as process 1 of a container does.
FIRST_PROCESS = """
import ctypes
import sys
from pathlib import Path

from pdfqa_core.errors import StoppedError
from pdfqa_core.extraction.process.worker import Limits, read_document

PR_SET_CHILD_SUBREAPER = 36
assert ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


class Stop:
    now = False

    def is_set(self):
        return self.now


def stop_at_once(progress):
    stop.now = stop.now or bool(progress.done)


stop = Stop()
try:
    read_document(
        Path(sys.argv[1]), "doc", workers=2, limits=Limits(memory_mb=4000), on_progress=stop_at_once, stop=stop
    )
except StoppedError:
    print("stopped")
print(*[pid for task in Path("/proc/self/task").glob("*/children") for pid in task.read_text().split()])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no subreapers")
def test_killed_processes_leave_no_zombies_to_process_1(tmp_path):
    path = tmp_path / "long.pdf"
    path.write_bytes(hostile.pages_of(hostile.endless_content(30_000), 100))
    done = subprocess.run(
        [sys.executable, "-c", FIRST_PROCESS, str(path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.stderr, done.stdout.split()) == ("", ["stopped"])
