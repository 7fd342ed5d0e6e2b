"""Reading where the system limits nothing and knows no process groups, as on Windows: what Linux has is hidden.

Every process of such a program, the reading ones too, begins with HIDDEN.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from pdfqa_core.extraction.process import limits
from pdfqa_core.extraction.process.children import Guard, end_all, family

ROOT = Path(__file__).resolve().parents[3]

HIDDEN = """
import multiprocessing.popen_spawn_posix, os, psutil, subprocess, sys  # they take what they need before it is hidden

sys.modules["resource"] = None
os.getppid = lambda parent=os.getppid(): parent  # stays the same when the parent is gone
for name in ("killpg", "wait4", "waitid", "sched_getaffinity"):
    if hasattr(os, name):
        delattr(os, name)
import pdfqa_core.extraction.process.limits
for module in list(sys.modules.values()):
    if getattr(module, "LINUX", None):
        module.LINUX = False
"""

READ = """
import sys
from contextlib import closing
from pathlib import Path
from pdfqa_core.extraction.process.limits import in_words
from pdfqa_core.extraction.process.render import PageRenderer
from pdfqa_core.extraction.process.worker import Limits, read_document

if __name__ == "__main__":
    path = Path(sys.argv[1])
    found = read_document(path, "doc", workers=2, limits=Limits(memory_mb=1500))
    print(found.state, found.page_count, found.pages[-1].text if found.pages else found.reason, sep="|")
    with closing(PageRenderer()) as renderer:
        print(len(renderer.render(path, 1, width_px=200)) > 0)
    print(in_words())
"""


@pytest.fixture
def elsewhere(tmp_path) -> dict[str, str]:
    """Return the environment of a program on a system that has less than Linux."""
    folder = tmp_path / "hidden"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(HIDDEN, encoding="utf-8")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}


def run(source: str, environment: dict[str, str], *arguments: object) -> list[str]:
    command = [sys.executable, "-c", source, *map(str, arguments)]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120, encoding="utf-8"
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.linux
def test_a_pdf_is_read_by_several_processes_and_drawn(make_pdf, elsewhere):
    path = make_pdf(*[[f"Page {number} of the log."] for number in range(1, 71)])
    state, drawn, words = run(READ, elsewhere, path)
    assert state == "ready|70|Page 70 of the log."
    assert drawn == "True"
    assert "does not refuse memory" in words
    assert "processor time too" in words


BUSY = """
from pdfqa_core.extraction.process.limits import limit_cpu, more_cpu, watch

more_cpu(0)
limit_cpu(1)
watch(4000)
while True:
    pass
"""


@pytest.mark.linux
def test_processor_time_is_watched_where_the_system_has_no_limit(elsewhere):
    done = subprocess.run([sys.executable, "-c", BUSY], cwd=ROOT, env=elsewhere, check=False, timeout=60)
    assert done.returncode == limits.EXIT_SLOW


HOARD = """
import subprocess, sys, time

if sys.argv[1:]:
    hoard = bytearray(1) * 200_000_000
else:
    subprocess.Popen([sys.executable, __file__, "hoard"])
print(flush=True)
time.sleep(60)
"""


def test_the_guard_ends_a_whole_family_when_one_of_it_is_too_greedy(tmp_path):
    program = tmp_path / "hoard.py"
    program.write_text(HOARD, encoding="utf-8")
    process = subprocess.Popen([sys.executable, program])
    guard = Guard(process.pid, 150)
    try:
        process.wait(20)
    finally:
        guard.close()
        end_all(family(process.pid))
    assert guard.exceeded
    assert guard.peak > 150 * limits.MB
    assert not [one for one in psutil.process_iter(["cmdline"]) if str(program) in (one.info["cmdline"] or ())]


@pytest.mark.parametrize(
    ("linux", "resource", "words"),
    [
        (True, object(), "memory and processor time are limited by the system"),
        (False, object(), "processor time is limited by the system; the system does not refuse memory"),
        (False, None, "the system does not refuse memory"),
    ],
)
def test_the_limits_are_told_in_words(monkeypatch, linux, resource, words):
    monkeypatch.setattr(limits, "LINUX", linux)
    monkeypatch.setattr(limits, "resource", resource)
    assert limits.in_words().startswith(words)


def test_the_peak_of_a_process_is_known_without_proc(monkeypatch):
    monkeypatch.setattr(limits, "LINUX", False)
    assert limits.peak_memory() > 5 * limits.MB
    assert limits.peak_memory(os.getpid()) > 5 * limits.MB
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert limits.peak_memory(process.pid) == 0
