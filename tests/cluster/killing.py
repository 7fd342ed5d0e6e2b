"""Killing a worker of a local cluster in the middle of a task."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import psutil

LONGEST = 120.0  # seconds that the moment is waited for


@contextmanager
def killing_one(ready: Callable[[psutil.Process], bool]) -> Iterator[list[int]]:
    """Kill the first worker that does a task and is `ready`; give what it was and its children, once killed."""
    killed: list[int] = []
    killer = threading.Thread(target=_kill_one, args=(ready, killed), daemon=True)
    killer.start()
    yield killed
    killer.join(LONGEST)
    assert killed, "no worker was killed: none was at work when it was time"


def _kill_one(ready: Callable[[psutil.Process], bool], killed: list[int]) -> None:
    until = time.monotonic() + LONGEST
    while time.monotonic() < until:
        busy = [one for one in psutil.Process().children(recursive=True) if "ray::_do" in _named(one)]
        with suppress(psutil.Error):  # one that has ended meanwhile
            for worker in filter(ready, busy):
                children = [one.pid for one in worker.children(recursive=True)]
                os.kill(worker.pid, signal.SIGKILL)
                killed += [worker.pid, *children]
                return
        time.sleep(0.02)


def _named(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""
