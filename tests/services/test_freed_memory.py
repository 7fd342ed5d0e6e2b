"""Freed memory goes back to the system where the C library can be asked for it, and nothing fails where it cannot."""

from __future__ import annotations

import sys
import threading

import psutil
import pytest

from pdfqa_core.services import freed_memory
from pdfqa_core.services.freed_memory import give_back

MANY = 400_000


@pytest.fixture
def looked_for_anew():
    freed_memory._malloc_trim.cache_clear()
    yield
    freed_memory._malloc_trim.cache_clear()


def resident():
    return psutil.Process().memory_info().rss


@pytest.mark.skipif(freed_memory._malloc_trim() is None, reason="the C library has no malloc_trim")
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
    assert before - resident() > 50_000_000


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_other_systems_are_left_alone(monkeypatch, looked_for_anew, platform):
    monkeypatch.setattr(sys, "platform", platform)
    assert give_back() is False


def test_another_c_library_is_left_alone(monkeypatch, looked_for_anew):
    monkeypatch.setattr(freed_memory.ctypes, "CDLL", lambda _: object())
    assert give_back() is False
