import threading

from pdfqa_core.llm.llama_cpp import TicketLock


def test_tickets_are_served_in_order_of_arrival():
    lock = TicketLock()
    first, second, third = lock.enter(), lock.enter(), lock.enter()
    assert [lock.wait(t, 0) for t in (first, second, third)] == [0, 1, 2]
    lock.leave(second)  # gave up waiting
    assert lock.wait(third, 0) == 1
    lock.leave(first)
    assert lock.wait(third, 0) == 0
    assert len(lock.tickets) == 1


def test_wait_wakes_up_when_the_one_before_leaves():
    lock = TicketLock()
    first, second = lock.enter(), lock.enter()
    places = []
    waiter = threading.Thread(target=lambda: places.append(lock.wait(second, 30)))
    waiter.start()
    lock.leave(first)
    waiter.join(5)
    assert places == [0]
