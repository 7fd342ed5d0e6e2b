"""Work that several programs share: one has a piece, another takes it over, nobody does it twice."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest

from pdfqa_core.storage import Store
from pdfqa_core.storage.work import Piece, Work

ONE, TWO = Piece("1", "reading", "me", "first"), Piece("2", "reading", "me", "second")


@pytest.fixture
def work(store: Store) -> Work:
    return Work(store.database, gone=lambda worker: worker == "dead")


def test_a_piece_is_claimed_by_one_program_until_its_lease_ends(work: Work) -> None:
    work.add(ONE, "a")
    assert work.claim(["reading"], "b") is None
    assert work.claimed("reading") == {"1"}
    work.renew("a", lease=-1)
    assert work.claimed("reading") == frozenset()
    assert work.claim(["run"], "b") is None
    taken = work.claim(["reading"], "b")
    assert taken == Piece("1", "reading", "me", "first", tries=2)
    assert (work.renew("a"), work.renew("b")) == (frozenset(), {"1"})


def test_what_a_dead_program_had_is_taken_at_once_and_what_is_left_of_it(work: Work) -> None:
    work.add(ONE, "dead")
    work.add(TWO, "alive")
    assert work.change("1", "dead", "half")
    taken = work.claim(["reading"], "b")
    assert taken is not None
    assert (taken.id, taken.content) == ("1", "half")
    assert work.claim(["reading"], "b") is None
    assert not work.change("1", "dead", "late")
    assert not work.finish("1", "dead")
    assert work.finish("1", "b")


def test_programs_that_claim_at_once_never_get_the_same_piece(store: Store, database_url: str) -> None:
    work = Work(store.database)
    for number in range(24):
        work.add(Piece(f"{number:02}", "reading", "me", ""), "nobody", lease=-1)
    claimed: dict[str, list[str]] = {}

    def claim(name: str) -> None:
        with Store.open(store.workspace, database_url) as other:  # connections and locks of its own
            mine = Work(other.database)
            while (piece := mine.claim(["reading"], name, lease=60)) is not None:
                claimed.setdefault(name, []).append(piece.id)

    threads = [threading.Thread(target=claim, args=(f"program {n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one for found in claimed.values() for one in found) == [f"{number:02}" for number in range(24)]


def test_accounts_sign_in_and_out_and_end(store: Store) -> None:
    people = store.accounts
    from tests.storage.conftest import NOW

    assert not people.any()
    people.add(" Ada  L ", "owner", "hash")
    people.sign_in("ada l", "token", NOW.replace(year=2999))
    people.sign_in("ada l", "over", NOW)
    found = people.signed_in("token", timedelta(hours=1))
    assert found is not None
    assert (found.name, found.role) == ("Ada L", "owner")
    assert people.signed_in("over", timedelta(hours=1)) is None
    assert people.signed_in("token", timedelta(seconds=-1)) is None
    people.change("Ada L", password_hash="other")
    assert people.signed_in("token", timedelta(hours=1)) is None
    people.sign_in("Ada L", "token", NOW.replace(year=2999))
    people.remove("ADA L")
    assert people.signed_in("token", timedelta(hours=1)) is None
