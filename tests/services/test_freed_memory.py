"""Freed memory goes back to the system where the C library can be asked for it, and nothing fails where it cannot."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import psutil
import pytest

from pdfqa_core.services import tasks
from pdfqa_core.services.tasks import give_back, share_pools

MANY = 200_000
GLIBC = pytest.mark.skipif(not hasattr(tasks._c_library(), "malloc_trim"), reason="the C library has no malloc_trim")
POOLS = """
import ctypes, sys, threading
from pdfqa_core.services import Services
from pdfqa_core.services.tasks import share_pools
assert "pyarrow" not in sys.modules  # nothing that a server needs before may bring pandas, which brings Arrow
assert share_pools()
gate = threading.Barrier(8)
def work():
    gate.wait()
    blocks = [bytes(1_000) for _ in range(2_000)]
    gate.wait()
threads = [threading.Thread(target=work) for _ in range(8)]
for one in threads: one.start()
for one in threads: one.join()
library = ctypes.CDLL(None)
library.fopen.restype = ctypes.c_void_p
file = ctypes.c_void_p(library.fopen(sys.argv[1].encode(), b"w"))
library.malloc_info(0, file)
library.fclose(file)
import pyarrow
print(pyarrow.default_memory_pool().backend_name)
"""  # writes what glibc tells of its pools into a file


@pytest.fixture
def looked_for_anew():
    tasks._c_library.cache_clear()
    yield
    tasks._c_library.cache_clear()


def resident():
    return psutil.Process().memory_info().rss


@GLIBC
def test_what_threads_left_behind_goes_back():
    """Blocks above Python's own 512 bytes, freed but for the last, which keeps glibc from doing it by itself."""
    kept = []

    def work():
        blocks = [bytes(1_000) for _ in range(MANY // 4)]
        kept.append(blocks[-1])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    before = resident()
    assert give_back() is True
    assert len(kept) == 4
    assert before - resident() > 25_000_000


@GLIBC
@pytest.mark.linux
def test_threads_share_two_pools_and_arrow_has_none_of_its_own(tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != tasks.ARROW}
    command = [sys.executable, "-c", POOLS, str(tmp_path / "told")]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    assert (tmp_path / "told").read_text(encoding="utf-8").count("<heap nr=") == 2
    assert done.stdout.strip() == "system"


@pytest.mark.parametrize(("module", "name", "value"), [
    (sys, "platform", "darwin"), (sys, "platform", "win32"), (tasks.ctypes, "CDLL", lambda _: object()),
])  # fmt: skip
def test_other_systems_and_c_libraries_are_left_alone(monkeypatch, looked_for_anew, module, name, value):
    monkeypatch.setattr(module, name, value)
    assert give_back() is False
    assert share_pools() is False
