from __future__ import annotations

import threading
import time

import pytest

from pdfqa_core.errors import StoppedError
from pdfqa_core.extraction.process.worker import Slots
from tests.services.helpers import until


def test_one_who_is_alone_gets_what_is_wanted():
    slots = Slots(4)
    with slots.take(3) as first, slots.take(3) as second:
        assert (first, second, slots.free) == (3, 1, False)
    with slots.take(9) as all_of_them:
        assert all_of_them == 4
    with slots.take(0) as least:
        assert least == 1


def test_no_more_than_there_are_at_the_same_time_and_first_come_first_served():
    slots, order, lock = Slots(2), [], threading.Lock()
    running, most = 0, 0

    def work(number):
        nonlocal running, most
        with slots.take():
            with lock:
                order.append(number)
                running += 1
                most = max(most, running)
            time.sleep(0.01)
            with lock:
                running -= 1

    with slots.take(2):
        threads = []
        for number in range(8):
            threads.append(threading.Thread(target=work, args=(number,)))
            threads[-1].start()
            until(lambda wanted=number + 1: len(slots._queue) == wanted)
    for thread in threads:
        thread.join()
    assert most == 2
    assert sorted(order) == list(range(8))
    assert set(order[:2]) == {0, 1}
    assert slots.free


def test_waiting_can_be_stopped():
    slots, stop = Slots(1), threading.Event()
    with slots.take():
        threading.Timer(0.1, stop.set).start()
        with pytest.raises(StoppedError), slots.take(stop=stop):
            pass
    assert slots.free


def test_one_owner_never_has_all_places():
    slots, got = Slots(3, each=2), []
    with slots.take(9, owner="a") as many:
        assert many == 2
        waiting = threading.Thread(target=lambda: _take(slots, "a", got))
        waiting.start()
        until(lambda: len(slots._queue) == 1)
        with slots.take(9, owner="b") as other:
            assert (other, got) == (1, [])
    waiting.join()
    assert got == [2]


def _take(slots, owner, got):
    with slots.take(9, owner=owner) as taken:
        got.append(taken)
