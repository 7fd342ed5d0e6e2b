"""Tasks are stopped by their name, never by an empty one."""

from __future__ import annotations

import pytest

from pdfqa_core.errors import PdfQAError
from pdfqa_core.services.tasks import Tasks


def test_a_task_is_stopped_by_its_name_alone():
    tasks = Tasks()
    with tasks.start("mine") as mine, tasks.start("another's") as other, tasks.start() as unnamed:
        tasks.stop("mine")
        assert mine.is_set()
        assert not other.is_set()
        assert not unnamed.is_set()


@pytest.mark.parametrize("name", ["", "unknown"])
def test_an_empty_or_unknown_name_stops_nothing(name: str):
    tasks = Tasks()
    with tasks.start("mine") as mine, tasks.start() as unnamed:
        tasks.stop(name)
        assert not mine.is_set()
        assert not unnamed.is_set()
        tasks.stop_all()
        assert mine.is_set()
        assert unnamed.is_set()


def test_a_name_is_free_again_at_the_end_and_what_was_left_behind_is_stopped():
    tasks = Tasks()
    with tasks.start("page") as first:
        with pytest.raises(PdfQAError, match="still busy"), tasks.start("page"):
            pass
        assert not first.is_set()
    assert first.is_set()
    with tasks.start("page") as second:
        assert not second.is_set()
