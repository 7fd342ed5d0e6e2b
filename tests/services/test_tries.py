"""How many tries there are at what can be guessed, and how many hashes of passwords are made at a time."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from pdfqa_core.errors import StorageError, UsageError
from pdfqa_core.services import (
    secret_words,
)
from pdfqa_core.services.secret_words import FAR, HOUR, MINUTE, NEAR, BusyError, Rate, TooOftenError, Tries
from tests.services.helpers import until


def test_the_minute_passes():
    now = [0.0]
    rate = Rate(2, MINUTE, lambda: now[0])
    assert [rate.take("a"), rate.take("a"), rate.take("a"), rate.take("b")] == [True, True, False, True]
    now[0] = MINUTE
    assert rate.take("a")
    assert (rate.left("a"), rate.left("b")) == (1, 2)


def test_keys_are_forgotten(monkeypatch: pytest.MonkeyPatch):
    now = [0.0]
    monkeypatch.setattr(secret_words, "KEYS", 10)
    rate = Rate(2, MINUTE, lambda: now[0])
    for number in range(11):
        rate.take(str(number))
    now[0] = 2 * MINUTE
    rate.take("new")
    assert set(rate._seen) == {"new"}


def guess(limiter: Tries, place: str, name: str = "", kind: str = "account", known: str = "") -> bool:
    """Whether a wrong try is looked at."""
    with suppress(UsageError), limiter.one(place, kind, name, known=known):
        raise UsageError("wrong")
    with suppress(TooOftenError), limiter.one(place, kind, name, known=known):
        return True
    return False


def test_one_place_has_so_many_tries_at_all_secrets_together():
    now = [0.0]
    limiter = Tries(lambda: now[0])
    kinds = ("server", "account", "study", "link", "token")
    assert [guess(limiter, "here", kind=kinds[n % 5]) for n in range(NEAR)] == [True] * (NEAR - 1) + [False]
    assert guess(limiter, "there")
    now[0] = MINUTE
    assert guess(limiter, "here")


def test_one_name_has_more_tries_from_everywhere_and_a_known_browser_has_its_own():
    now = [0.0]
    limiter = Tries(lambda: now[0])
    assert [guess(limiter, f"{n}", "Ada") for n in range(FAR)] == [True] * (FAR - 1) + [False]
    assert not guess(limiter, "elsewhere", " ADA")
    assert guess(limiter, "elsewhere", "Ada", kind="study 1")
    assert guess(limiter, "elsewhere", "Ada", known="mark")
    now[0] = HOUR
    assert guess(limiter, "elsewhere", "Ada")


def test_what_is_right_or_was_not_looked_at_uses_up_no_try():
    limiter = Tries()
    for _ in range(2 * NEAR):
        with limiter.one("here", "account", "Ada"):
            pass
        with suppress(StorageError), limiter.one("here", "account", "Ada"):
            raise StorageError("The database is locked.")
    assert guess(limiter, "here", "Ada")


def test_tries_at_the_same_time_are_not_more():
    limiter, looked_at = Tries(), []

    def one(_number: int) -> None:
        with suppress(UsageError), limiter.one("here", "account", "Ada"):
            looked_at.append(True)
            raise UsageError("wrong")

    with ThreadPoolExecutor(30) as pool:
        list(pool.map(one, range(200)))
    assert len(looked_at) == NEAR


def test_who_has_the_right_password_at_the_same_time_as_others_waits_and_comes_in():
    limiter, all_there = Tries(), threading.Barrier(NEAR)
    come_in = NEAR + secret_words.WAITING

    def one(number: int) -> bool:
        with limiter.one("a class", "account", f"n{number}"):
            if number < NEAR:
                all_there.wait()
            return True

    with ThreadPoolExecutor(come_in) as pool:
        assert sum(pool.map(one, range(come_in))) == come_in


# ------------------------------------------------------------ hashes


def test_few_wait_for_a_hash_and_the_others_are_told():
    kept = secret_words.hashed("correct horse")
    waiting = secret_words.AT_ONCE - 1
    with ThreadPoolExecutor(waiting + 3) as pool:
        with secret_words.turn():
            asked = [pool.submit(secret_words.belongs, "correct horse", kept) for _ in range(waiting + 3)]
            until(lambda: sum(one.done() for one in asked) == 3)
            told = [one for one in asked if one.done()]
            for one in told:
                with pytest.raises(BusyError, match=r"Too many people are signing in .* Try again"):
                    one.result()
        assert [one.result() for one in asked if one not in told] == [True] * waiting


MEMORY = """
import resource
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from pdfqa_core.errors import PdfQAError
from pdfqa_core.services.accounts import InvitationService
from pdfqa_core.storage import Store

with TemporaryDirectory() as folder, Store.open(Path(folder)) as store:
    people = InvitationService(store.invitations, store.studies)
    def guess(number):
        with suppress(PdfQAError):
            people.sign_in("study", "Ben", f"guess {number}")
    guess(0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(guess, range(12)))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.linux
def test_guesses_at_once_take_the_memory_of_one_hash():
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 100_000  # kB; one hash takes 64 MB


# ------------------------------------------------------------ marks of browsers


def test_a_mark_shows_what_was_typed_here_before_until_there_is_a_new_password():
    first, second = secret_words.hashed("correct horse"), secret_words.hashed("correct horse")
    marks = secret_words.marked("", first)
    assert secret_words.known(marks, first)
    assert not secret_words.known(marks, second)
    assert not secret_words.known(marks, "")
    assert secret_words.marked(marks, first) == marks
    both = secret_words.marked(f"{marks}; Domain=evil~x.y", second)
    assert secret_words.known(both, first) == marks
    assert both.partition("~")[2] == marks
    for number in range(2 * secret_words.MARKS):
        both = secret_words.marked(both, f"another {number}")
    assert len(both.split("~")) == secret_words.MARKS
