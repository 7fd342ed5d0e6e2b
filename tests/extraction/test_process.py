"""The memory of the program itself must not count as that of its child processes."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# A program that holds more memory than its children may take, as one with a language model does.
LARGE_PROGRAM = """
import sys
from pathlib import Path

from pdfqa_core.extraction.render import PageRenderer
from pdfqa_core.extraction.worker import Limits, read_document

ballast = bytearray(1) * 1_100_000_000
path = Path(sys.argv[1])
print(read_document(path, "doc", limits=Limits(memory_mb=300)).state)
with PageRenderer() as renderer:
    print(len(renderer.render(path, 1, width_px=200)) > 0)
"""


def test_a_program_that_holds_much_memory_still_reads_and_draws_pdfs(make_pdf):
    path = make_pdf(["The lighthouse was lit for the first time in 1871."])
    done = subprocess.run(
        [sys.executable, "-c", LARGE_PROGRAM, str(path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout.split() == ["ready", "True"]
