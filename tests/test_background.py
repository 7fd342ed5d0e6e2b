from __future__ import annotations

import threading

import pytest

from pdfqa_core.background import in_background
from pdfqa_core.types import Progress


def drain(generator):
    """Return what a generator yields and what it returns."""
    steps = []
    while True:
        try:
            steps.append(next(generator))
        except StopIteration as end:
            return steps, end.value


def test_progress_comes_out_in_order_and_the_result_is_returned():
    def work(report):
        for number in range(3):
            report(Progress("counting", number, 3))
        return "done"

    assert drain(in_background(work)) == ([Progress("counting", number, 3) for number in range(3)], "done")


@pytest.mark.parametrize("error", [ValueError("wrong"), KeyboardInterrupt()])
def test_an_error_is_raised_where_it_is_waited_for_after_the_progress(error):
    def work(report):
        report(Progress("begun"))
        raise error

    generator = in_background(work)
    assert next(generator) == Progress("begun")
    with pytest.raises(type(error)) as raised:
        next(generator)
    assert raised.value is error


def test_nothing_begins_before_the_first_step_is_asked_for():
    began = threading.Event()
    generator = in_background(lambda report: began.set())
    assert not began.is_set()
    drain(generator)
    assert began.is_set()


def test_an_abandoned_generator_does_not_wait_for_the_work():
    release, over = threading.Event(), threading.Event()

    def work(report):
        report(Progress("begun"))
        release.wait(10)
        report(Progress("nobody listens"))
        over.set()

    generator = in_background(work)
    next(generator)
    generator.close()
    assert not over.is_set()
    release.set()
    assert over.wait(10)
