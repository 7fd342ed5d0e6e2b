"""A full disk: one sentence that says so, and what was kept. Everything that writes says it through this module."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from pdfqa_core.errors import PdfQAError, StorageError

BEFORE = "What was confirmed before is stored, this change is not."
FREE = "Free some space and try again."
_NUMBERS = (errno.ENOSPC, errno.EDQUOT)  # the disk is full, or what this user may have of it
# What libraries say that pass on no number: safetensors, hnswlib, LanceDB, pip.
_SAID = ("The disk is full", *(os.strerror(number) for number in _NUMBERS), "database or disk is full")


def is_full(error: BaseException | None) -> bool:
    """Whether an error, or one that it came of, says that the disk is full."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _NUMBERS:
            return True
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL:
            return True
        if any(said in str(error) for said in _SAID):
            return True
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return False


def cannot_write(
    what: object, error: BaseException, kept: str = BEFORE, otherwise: str = "Check the folder."
) -> StorageError:
    """Return the error to raise where `what` (a file, or what it is) could not be written.

    `kept` is a sentence on what is there all the same, `otherwise` what to do where the disk is not full.
    """
    if is_full(error):
        return StorageError(f"The disk is full: {what} could not be written.", f"{kept} {FREE}".strip())
    reason = getattr(error, "strerror", None) or str(error)
    begin = f"The {str(what).removeprefix('the ')}" if str(what).startswith("the ") else what
    return StorageError(f"{begin} cannot be written: {reason}.", f"{kept} {otherwise}".strip())


def in_words(error: Exception) -> Exception:
    """Return the error to show for one that nobody foresaw: itself, unless the disk is full."""
    return cannot_write("the file", error) if not isinstance(error, PdfQAError) and is_full(error) else error


@contextmanager
def keeping(what: str, kept: str) -> Iterator[None]:
    """Let a StorageError of a full disk say what could not be written in this block, and what was kept."""
    try:
        yield
    except StorageError as error:
        if is_full(error):
            raise cannot_write(what, error, kept) from error
        raise
