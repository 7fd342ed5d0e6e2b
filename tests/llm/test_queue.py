import threading

import pytest

from pdfqa_core.llm.queue import Line


def test_tickets_are_served_in_order_of_arrival():
    line = Line()
    first, second, third = line.enter(), line.enter(), line.enter()
    assert [line.position(t) for t in (first, second, third)] == [0, 1, 2]
    line.leave(second)  # gave up waiting
    assert line.position(third) == 1
    line.leave(first)
    assert line.position(third) == 0
    assert len(line) == 1


def test_wait_returns_at_once_when_served_and_after_the_time_when_not():
    line = Line()
    first, second = line.enter(), line.enter()
    assert line.wait(first, 10) == 0
    assert line.wait(second, 0.01) == 1


def test_wait_wakes_up_when_the_one_before_leaves():
    line = Line()
    first, second = line.enter(), line.enter()
    places = []
    waiter = threading.Thread(target=lambda: places.append(line.wait(second, 30)))
    waiter.start()
    line.leave(first)
    waiter.join(5)
    assert places == [0]


def test_leaving_twice_does_nothing_and_a_gone_ticket_has_no_place():
    line = Line()
    ticket = line.enter()
    line.leave(ticket)
    line.leave(ticket)
    with pytest.raises(ValueError, match="not in"):
        line.position(ticket)
