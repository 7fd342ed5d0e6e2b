"""Tasks are stopped by their name, never by an empty one; those in the background can be looked at meanwhile."""

from __future__ import annotations

import threading

import pytest

from pdfqa_core.errors import PdfQAError
from pdfqa_core.services.tasks import Job, Tasks
from tests.services.helpers import until


@pytest.fixture
def tasks(store):
    made = Tasks(store)
    yield made
    made.close()


def test_a_task_is_stopped_by_its_name_alone(tasks):
    with tasks.start("mine") as mine, tasks.start("another's") as other, tasks.start() as unnamed:
        tasks.stop("mine")
        assert mine.is_set()
        assert not other.is_set()
        assert not unnamed.is_set()


@pytest.mark.parametrize("name", ["", "unknown"])
def test_an_empty_or_unknown_name_stops_nothing(tasks, name: str):
    with tasks.start("mine") as mine, tasks.start() as unnamed:
        tasks.stop(name)
        assert not mine.is_set()
        assert not unnamed.is_set()
        tasks.stop_all()
        assert mine.is_set()
        assert unnamed.is_set()


def test_a_name_is_free_again_at_the_end_and_what_was_left_behind_is_stopped(tasks):
    with tasks.start("page") as first:
        with pytest.raises(PdfQAError, match="still busy"), tasks.start("page"):
            pass
        assert not first.is_set()
    assert first.is_set()
    with tasks.start("page") as second:
        assert not second.is_set()


def test_jobs_of_a_line_follow_each_other_and_others_do_not_wait(tasks):
    go, done = threading.Event(), []
    first = tasks.begin(Job("reading", "me", "1"), lambda: (go.wait(60), done.append(1)), line="me")
    second = tasks.begin(Job("reading", "me", "2"), lambda: done.append(2), line="me")
    other = tasks.begin(Job("reading", "you", "3"), lambda: done.append(3), line="you")
    until(lambda: other.ended)
    assert (done, second.ended, tasks.count("reading")) == ([3], False, 2)
    go.set()
    until(lambda: first.ended and second.ended)
    assert (done, tasks.count("reading")) == ([3, 1, 2], 0)


def test_a_job_is_found_by_its_name_told_once_and_its_error_reaches_who_looks_on(tasks):
    go, job = threading.Event(), Job("answer", "me", "talk")

    def work():
        job.take("a word")
        go.wait(60)
        raise PdfQAError("It broke.")

    assert tasks.begin(job, work, ("Busy.", "")) is tasks.job(job.name)
    with pytest.raises(PdfQAError, match="Busy"):
        tasks.begin(Job("answer", "me", "talk"), work, ("Busy.", ""))
    events = job.events()
    assert next(events) == "a word"
    go.set()
    with pytest.raises(PdfQAError, match="It broke"):
        next(events)
    assert tasks.job(job.name) is None


def test_a_job_that_is_stopped_before_its_task_has_begun_is_stopped(tasks):
    go, seen = threading.Event(), []

    def work():
        go.wait(60)
        with tasks.start(job.name) as stop:
            seen.append(stop.is_set())

    job = tasks.begin(Job("answer", "me", "talk"), work)
    tasks.stop(job.name)
    go.set()
    until(lambda: job.ended)
    assert seen == [True]
