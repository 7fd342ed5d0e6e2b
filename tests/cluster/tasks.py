"""Tasks for workers, in a module that imports little: a worker that takes the place of a killed one imports it anew."""

import os
import time
from pathlib import Path

from pdfqa_core.errors import DocumentError
from pdfqa_core.types import DocumentState


def square(number: int) -> int:
    return number * number


def square_or_die(task: tuple[str, int]) -> tuple[int, int]:
    """Square a number; the first who gets 5 tells its process and waits to be killed."""
    folder, number = task
    if number == 5:
        try:
            with Path(folder, "victim").open("x") as file:
                file.write(str(os.getpid()))
        except FileExistsError:
            pass
        else:
            time.sleep(60)
    return number, number * number


def refuse(_item: int) -> int:
    raise DocumentError(DocumentState.BROKEN, "It is torn.", "Mend it.")


def fail(_item: int) -> int:
    raise ZeroDivisionError("by nothing")


def sleep(seconds: float) -> float:
    time.sleep(seconds)
    return seconds
