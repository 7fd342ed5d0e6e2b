"""A process that has imported the program and forks an app for each order: `python -m tests.ui.warm_server SOCKET`.

It ends when the other end of the socket is closed. An app is this process after a fork: it takes over what the order
says, then runs and ends as `python -m pdfqa_core` does, with its exit handlers and its exit status.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import select
import signal
import socket
import sys
import tempfile
import threading
from contextlib import suppress
from typing import Any

MOST = 1 << 20  # bytes of an order


def take_orders(control: socket.socket) -> dict[str, Any] | None:
    """Fork an app for each order until there are no more: None. In an app, return its order."""
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the tests, and they close the socket
    signal.signal(signal.SIGCHLD, lambda *_: None)
    apps: dict[int, int] = {}  # process: where its exit status is told
    while True:
        ready, _, _ = select.select([control, wake], [], [])
        if wake in ready:
            os.read(wake, 4096)
            _tell_ended(apps)
        if control not in ready:
            continue
        order, passed, _, _ = socket.recv_fds(control, MOST, 2)
        if not order:
            return None
        output, status = passed
        assert threading.active_count() == 1, "a thread of Python would be missing in the fork"
        process = os.fork()
        if not process:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for number in (1, 2):
                os.dup2(output, number)
            for number in (wake, woken, output, status, *apps.values()):
                os.close(number)
            control.close()
            return dict(json.loads(order))
        os.close(output)
        apps[process] = status
        _tell(status, process)


def _tell_ended(apps: dict[int, int]) -> None:
    for process in list(apps):
        ended, how = os.waitpid(process, os.WNOHANG)
        if ended:
            status = apps.pop(process)
            _tell(status, os.waitstatus_to_exitcode(how))
            os.close(status)


def _tell(status: int, number: int) -> None:
    with suppress(BrokenPipeError):
        os.write(status, f"{number}\n".encode())


def _import() -> None:
    """Import what every app imports at its start or while it gets ready."""
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # as the command does before the first of these imports
    import pdfqa_core.cli
    import pdfqa_core.services
    import pdfqa_core.text
    import pdfqa_core.ui

    pdfqa_core.text.sentences("One sentence.")  # imports what finds them
    gc.freeze()


def main() -> None:
    """Import the program, then serve; in an app, run the command."""
    _import()
    order = take_orders(socket.socket(fileno=int(sys.argv[1])))
    if order is None:
        return
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    tempfile.tempdir = None  # the environment says which
    sys.argv[1:] = order["options"]
    runpy.run_module("pdfqa_core", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
