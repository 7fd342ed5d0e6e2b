"""Passwords as argon2id hashes, one hash at a time, and marks of browsers that have typed one before.

A hash takes 64 MB, whatever it is for. So there is one way to make and to check them, and few wait for it.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.storage.tables import name_key

if TYPE_CHECKING:
    from argon2 import PasswordHasher


# ----------------------------------------------------------------------------------------------------
# Passwords of encrypted documents that were opened, for as long as the program runs: in memory only.


class Passwords:
    """The password of each (owner, document). Never written anywhere; the representation shows none."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], str] = {}
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<{len(self._known)} passwords>"

    def keep(self, owner: str, document_id: str, password: str) -> None:
        """Remember the password that opens a document."""
        with self._lock:
            self._known[owner, document_id] = password

    def get(self, owner: str, document_id: str) -> str | None:
        """Return the password of a document, None where it is not known."""
        return self._known.get((owner, document_id))

    def forget(self, owner: str, document_id: str) -> None:
        """Forget the password of a document."""
        with self._lock:
            self._known.pop((owner, document_id), None)

    def forget_owners(self, owners: Collection[str]) -> None:
        """Forget all passwords of these owners."""
        with self._lock:
            self._known = {key: password for key, password in self._known.items() if key[0] not in owners}


# ----------------------------------------------------------------------------------------------------
# Passwords as argon2id hashes, one hash at a time, and marks of browsers that have typed one before.

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


# ----------------------------------------------------------------------------------------------------
# Tries at what can be guessed: one limiter for passwords (of the server, accounts and studies), links and tokens.
#
# Wrong tries count where they come from, and at the name they are about. A browser that has signed in as that name
# before has tries of its own, so that nobody shuts it out by using up those of others.

MINUTE, HOUR = 60.0, 3600.0  # seconds
NEAR = 10  # wrong tries in a minute from one place, whatever the name, and of a browser that is known
FAR = 100  # wrong tries in an hour at one name, from wherever
KEYS = 10_000  # that are remembered at once
WAITING = 20  # tries that wait for how others end
LONGEST_NAME = 200  # characters that are looked at


class TooOftenError(UsageError):
    """There were too many wrong tries."""


class Rate:
    """At most so much in a while (seconds) for each key. Safe to use from several threads."""

    def __init__(self, most: int, while_: float = MINUTE, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._while = while_
        self._clock = clock
        self._seen: dict[str, deque[tuple[float, int]]] = defaultdict(deque)
        self._lock = threading.Lock()

    def take(self, key: str, amount: int = 1) -> bool:
        """Count one thing, or so much of it; False, and nothing is counted, if that is too much."""
        with self._lock:
            if self._left(key) < amount:
                return False
            self._seen[key].append((self._clock(), amount))
            return True

    def left(self, key: str) -> int:
        """Return how much more there may be now."""
        with self._lock:
            return self._left(key)

    def _left(self, key: str) -> int:
        start = self._clock() - self._while
        if len(self._seen) > KEYS:
            self._seen = defaultdict(deque, {k: v for k, v in self._seen.items() if v and v[-1][0] > start})
        seen = self._seen[key]
        while seen and seen[0][0] <= start:
            seen.popleft()
        return self._most - sum(amount for _, amount in seen)


class Tries:
    """The wrong tries of the last minute and hour. Safe to use from several threads.

    Never more are looked at at the same time than there are tries left; others wait for how those end.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._near, self._far = Rate(NEAR, MINUTE, clock), Rate(FAR, HOUR, clock)
        self._changed = threading.Condition()
        self._begun: Counter[str] = Counter()
        self._waiting = 0

    @contextmanager
    def one(self, place: str, kind: str, name: str = "", *, known: str = "") -> Iterator[None]:
        """Look at one try at the secret of this kind and name; it was wrong if the block raises UsageError.

        `place` is where it comes from, `known` what a browser is known by that has signed in as that name (empty: it
        has not). A secret without a name is limited by place only. Raises TooOftenError, and nothing is looked at,
        where there were too many wrong ones, and BusyError where too many wait.
        """
        keys = {f"known {known}" if known else f"place {place}": self._near}
        if name and not known:
            keys[f"{kind} {name_key(name[:LONGEST_NAME])}"] = self._far
        self._begin(keys)
        try:
            yield
        except UsageError:
            for key, rate in keys.items():
                rate.take(key)
            raise
        finally:
            with self._changed:
                self._begun -= Counter(keys.keys())  # forgets what is zero
                self._changed.notify_all()

    def _begin(self, keys: dict[str, Rate]) -> None:
        with self._changed:
            while True:
                left = {key: rate.left(key) for key, rate in keys.items()}
                if min(left.values()) <= 0:
                    raise TooOftenError("There were too many wrong tries.", "Wait a minute, or longer.")
                if all(self._begun[key] < most for key, most in left.items()):
                    break
                if self._waiting >= WAITING:
                    raise BusyError
                self._waiting += 1
                self._changed.wait()
                self._waiting -= 1
            self._begun.update(keys.keys())
