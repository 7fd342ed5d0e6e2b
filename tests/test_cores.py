"""Calculations over the cores: the same results wherever they run, stopped soon, none lost with a killed process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from pdfqa_core import cores
from pdfqa_core.cores import over_cores
from pdfqa_core.errors import PdfQAError, StoppedError, UsageError

MANY = 40


def square(number: int, seconds: float = 0.0, folder: str = "") -> tuple[int, int]:
    """Return a square and who computed it; in another process the first one that may leave its number ends."""
    time.sleep(seconds)
    if folder and os.getpid() != int(Path(folder, "parent").read_text()):
        try:
            Path(folder, "victim").open("x").close()
        except FileExistsError:
            pass
        else:
            os.kill(os.getpid(), signal.SIGKILL)
    return number * number, os.getpid()


def refuse(number: int) -> int:
    if number == 31:
        raise UsageError(f"{number} is too much.", "Take less.")
    time.sleep(0.02)
    return number


@pytest.fixture
def eager(monkeypatch):
    """Have two processes share even little work."""
    monkeypatch.setattr(cores, "KNOWN_AFTER", 0.05)
    monkeypatch.setattr(cores, "WORTH", 0.1)
    monkeypatch.setattr(cores, "PER_PART", 0.05)
    monkeypatch.setattr(cores, "_cores", lambda: 2)


def test_little_work_stays_in_this_process(monkeypatch):
    monkeypatch.setattr(cores, "_elsewhere", pytest.fail)
    done = []
    found = over_cores(square, range(MANY), on_done=lambda *both: done.append(both))
    assert found == [(n * n, os.getpid()) for n in range(MANY)]
    assert done == [(n, MANY) for n in range(1, MANY + 1)]
    assert over_cores(square, []) == []


def test_one_core_has_no_other_processes(eager, monkeypatch):
    monkeypatch.setattr(cores, "_cores", lambda: 1)
    assert {process for _, process in over_cores(partial(square, seconds=0.01), range(MANY))} == {os.getpid()}


def test_much_work_is_shared_out_and_comes_back_in_order(eager):
    done = []
    found = over_cores(partial(square, seconds=0.02), range(MANY), on_done=lambda *both: done.append(both))
    assert [value for value, _ in found] == [n * n for n in range(MANY)]
    assert len({process for _, process in found}) > 1
    assert done == sorted(done)
    assert done[-1] == (MANY, MANY)


def test_an_error_comes_back_as_it_is(eager):
    with pytest.raises(UsageError, match=r"31 is too much\. Take less\."):
        over_cores(refuse, range(MANY))


@pytest.mark.filterwarnings("error")
def test_a_stop_ends_it_soon(eager):
    stop = threading.Event()
    threading.Timer(0.5, stop.set).start()
    with pytest.raises(StoppedError):
        over_cores(partial(square, seconds=0.05), range(4000), stop=stop)
    with pytest.raises(PdfQAError):
        over_cores(square, [1], stop=stop)


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL is a Unix signal")
def test_a_killed_process_loses_nothing(eager, tmp_path):
    (tmp_path / "parent").write_text(str(os.getpid()))
    found = over_cores(partial(square, seconds=0.02, folder=str(tmp_path)), range(MANY))
    assert (tmp_path / "victim").exists()
    assert [value for value, _ in found] == [n * n for n in range(MANY)]


SCORING = """
import time
from pdfqa_core import cores
from tests.test_cores import square
from functools import partial
cores.KNOWN_AFTER, cores._cores = 0.1, lambda: 2
print("begun", flush=True)
cores.over_cores(partial(square, seconds=0.05), range(4000), on_done=lambda done, _: print(done, flush=True))
"""


@pytest.mark.linux
def test_ctrl_c_ends_the_other_processes_too():
    program = subprocess.Popen(
        [sys.executable, "-c", SCORING], cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True,
    )  # fmt: skip
    assert program.stdout is not None
    for line in program.stdout:
        if line.strip().isdigit() and int(line) > 20:
            break
    os.killpg(program.pid, signal.SIGINT)
    program.communicate(timeout=60)
    for _ in range(100):
        try:
            os.killpg(program.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    os.killpg(program.pid, signal.SIGKILL)
    pytest.fail("processes were left")
