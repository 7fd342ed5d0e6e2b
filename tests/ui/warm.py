"""Apps that start without importing anything, as forks of a process that has: see `warm_server`.

What an app is told (environment, current folder, options), where it prints and how it ends is the same as for one
started from the command line; its parent is another process.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TextIO

from tests.ui.warm_server import MOST

STARTING = 120.0  # seconds in which the process that forks has imported the program, on a busy machine


@cache
def _server() -> tuple[subprocess.Popen[str], socket.socket]:
    """Return the process that forks and where its orders are sent; the first call starts it. It ends with this one."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.ui.warm_server", str(theirs.fileno())],
            cwd=Path(__file__).resolve().parent.parent.parent,
            stdout=subprocess.PIPE,  # as an app's: Python looks at its start what it prints to
            stderr=subprocess.STDOUT,
            text=True,
            pass_fds=[theirs.fileno()],
        )
    return process, ours


def _ended() -> str:
    process, orders = _server()
    orders.close()
    said, _ = process.communicate(timeout=STARTING)
    _server.cache_clear()
    return f"the process that apps are forked from has ended: {said}"


class Warm:
    """An app as a fork. What it has in common with `subprocess.Popen` is called the same."""

    def __init__(self, options: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
        order = json.dumps({"options": options, "folder": str(folder), "environment": dict(environment)}).encode()
        assert len(order) < MOST, "the environment is too long"
        reading, printing = os.pipe()
        self._told, telling = os.pipe()
        process, orders = _server()
        assert process.poll() is None, _ended()
        socket.send_fds(orders, [order], [printing, telling])
        os.close(printing)
        os.close(telling)
        self.args = list(options)
        self.stdout: TextIO = os.fdopen(reading, encoding="utf-8", errors="replace")
        self.returncode: int | None = None
        first = self._next(STARTING)
        assert first is not None, "the process that apps are forked from is not ready"
        self.pid = first

    def _next(self, timeout: float | None) -> int | None:
        """Return the number told next, None if there is none within so many seconds."""
        waiting = select.poll()
        waiting.register(self._told, select.POLLIN)
        if not waiting.poll(None if timeout is None else timeout * 1000):
            return None
        told = b""
        while not told.endswith(b"\n"):
            one = os.read(self._told, 1)
            assert one, _ended()
            told += one
        return int(told)

    def poll(self) -> int | None:
        """Return its exit status, None while it runs."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return its exit status when it has ended. Raises subprocess.TimeoutExpired."""
        if self.returncode is None:
            self.returncode = self._next(timeout)
            if self.returncode is None:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            os.close(self._told)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it runs."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)
