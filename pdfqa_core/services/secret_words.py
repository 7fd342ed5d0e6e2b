"""Passwords as argon2id hashes, one hash at a time, and marks of browsers that have typed one before.

A hash takes 64 MB, whatever it is for. So there is one way to make and to check them, and few wait for it.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from pdfqa_core.errors import PdfQAError

if TYPE_CHECKING:
    from argon2 import PasswordHasher

LONGEST = 1000  # characters that are hashed
AT_ONCE = 10  # the hash that is made, and those that wait for it
MARKS = 5  # that a browser keeps: of so many names
_MARK = re.compile(r"\b[\w-]{22}\.[0-9a-f]{64}\b", re.ASCII)
_room = threading.BoundedSemaphore(AT_ONCE)
_one = threading.Lock()


class BusyError(PdfQAError):
    """Too many wait to have their password looked at."""

    def __init__(self) -> None:
        super().__init__("Too many people are signing in at this moment.", "Try again in a few seconds.")


@contextmanager
def turn() -> Iterator[None]:
    """Wait until no other hash is made, and keep others waiting. Raises BusyError where too many wait already."""
    if not _room.acquire(blocking=False):
        raise BusyError
    try:
        with _one:
            yield
    finally:
        _room.release()


def hashed(password: str) -> str:
    """Return the hash of a password, as it is kept. Raises BusyError as `turn` does."""
    with turn():
        return _hasher().hash(_bytes(password))


def belongs(password: str, kept: str) -> bool:
    """Whether a password belongs to a hash; without a hash (empty) it is wrong after the same time.

    Raises BusyError as `turn` does.
    """
    from argon2.exceptions import VerificationError

    if len(password) > LONGEST:
        return False
    with turn():
        try:
            return _hasher().verify(kept or _nobodys(), _bytes(password)) and bool(kept)
        except VerificationError:
            return False


def mark(kept: str) -> str:
    """Return what shows later that a browser has signed in with the password of this hash. A new password ends it."""
    number = secrets.token_urlsafe(16)
    return f"{number}.{_signed(number, kept)}"


def known(marks: str, kept: str) -> str:
    """Return which of a browser's marks (separated by ~) belongs to the password of this hash; empty: none."""
    for one in _MARK.findall(marks)[:MARKS] if kept else ():
        number, _, signature = one.partition(".")
        if hmac.compare_digest(signature, _signed(number, kept)):
            return str(one)
    return ""


def marked(marks: str, kept: str) -> str:
    """Return a browser's marks with one that belongs to the password of this hash, the newest first."""
    own = known(marks, kept) or mark(kept)
    return "~".join([own, *(one for one in _MARK.findall(marks) if one != own)][:MARKS])


def _signed(number: str, kept: str) -> str:
    return hmac.new(kept.encode(), f"browser {number}".encode(), hashlib.sha256).hexdigest()


def _bytes(password: str) -> bytes:
    return password.encode("utf-8", "replace")


@cache
def _hasher() -> PasswordHasher:
    from argon2 import PasswordHasher

    return PasswordHasher()  # argon2id with the parameters of RFC 9106 for little memory


@cache
def _nobodys() -> str:
    """Return the hash of a password that nobody knows, so that an unknown name takes as long as a known one."""
    return _hasher().hash(secrets.token_urlsafe(32))
