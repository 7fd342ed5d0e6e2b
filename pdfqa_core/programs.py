"""Which running program something belongs to: a piece of work, an unfinished file. A killed program is known by it."""

from __future__ import annotations

import os
import socket
from functools import cache

import psutil


def this_program() -> str:
    """Return the name of this program: its computer, its process and when that began."""
    return _named(os.getpid())


@cache
def _named(process: int) -> str:
    return f"{socket.gethostname()}/{process}/{psutil.Process(process).create_time():.2f}"


def is_of_this_computer(program: str) -> bool:
    """Whether a program runs, or ran, on this computer."""
    host, *rest = program.rsplit("/", 2)
    return len(rest) == 2 and host == socket.gethostname() and rest[0].isdecimal()


def is_gone(program: str) -> bool:
    """Whether it is certain that a program runs no more: one of this computer, whose process is not there."""
    if not is_of_this_computer(program):
        return False
    _, process, began = program.rsplit("/", 2)
    try:
        return f"{psutil.Process(int(process)).create_time():.2f}" != began
    except psutil.NoSuchProcess:
        return True
    except psutil.Error:
        return False
