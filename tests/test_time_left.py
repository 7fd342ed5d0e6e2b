from __future__ import annotations

import pytest

from pdfqa_core.streaming import TimeLeft


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_the_pace_so_far_tells_the_time_left(clock):
    work = TimeLeft([1000], clock)
    assert work.seconds() is None
    work.begin()
    clock.now += 5
    assert work.seconds() is None
    work.step(0, 10, 40)
    assert work.seconds() == pytest.approx(15)
    work.begin()  # runs already
    work.step(0, 40, 40)
    assert work.seconds() == 0


def test_nothing_is_said_at_once(clock):
    work = TimeLeft([1000], clock)
    work.begin()
    clock.now += 0.5
    work.step(0, 10, 40)
    assert work.seconds() is None


def test_pieces_that_wait_are_judged_by_their_size(clock):
    work = TimeLeft([100, 300, 200], clock)
    work.begin()
    work.step(0, 10, 10)  # a page per 10 units
    work.finish(0)
    work.step(1, 0, 30)
    clock.now += 10
    assert work.seconds() == pytest.approx(30 + 20)
