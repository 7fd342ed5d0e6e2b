"""Ctrl-C while an answer is made."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pdfqa_core.services import Services


@contextmanager
def stopping(services: Services) -> Iterator[None]:
    """Let Ctrl-C stop the answer, not the program, while the block runs; a second Ctrl-C ends the program.

    So what was written is kept whatever line of the program the signal meets, and also in a program that was started
    with the signal ignored (as shells start what runs in the background).
    """

    def interrupted(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        threading.Thread(
            target=services.tasks.stop_all, daemon=True
        ).start()  # this thread may hold a lock that `stop` needs

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
