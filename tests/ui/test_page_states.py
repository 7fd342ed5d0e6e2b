"""What the server remembers of open pages: their own values only, and not for ever."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from pdfqa_core.services import Services
from pdfqa_core.ui import AccountBlocks, build_page, launch, page_states
from pdfqa_core.ui.page_states import PageStates
from tests.services.helpers import LITERAL
from tests.serving_fakes import FakeModels
from tests.ui.calling import Call, Caller, handlers


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, AccountBlocks]]:
    with Services.open(tmp_path / "workspace", LITERAL, FakeModels()) as services:
        page = build_page(services)
        yield launch(page, services, port=0).rstrip("/"), page
        page.close(verbose=False)


def test_a_page_keeps_its_own_state_and_no_descriptions(served: tuple[str, AccountBlocks]):
    url, page = served
    states = page.app.state_holder
    assert isinstance(states, PageStates)
    first, second = Caller(url, "first"), Caller(url, "second")
    known = handlers(first.http.get("/config").json())
    chunk_size = next(one for one in known if ("recipe-size", "input") in one.causes)
    for browser in (first, second):
        browser.arrive(known)
    list(first.answers([Call(chunk_size)]))
    list(second.answers([Call(one) for one in known if one.causes[:1] == (("pq-retrieval-fill", "click"),)]))
    assert set(states.session_data) == {"first", "second"}
    kept = [states[name] for name in ("first", "second")]
    assert [len(one.config_values) for one in kept] == [0, 0]
    assert all(one.state_data for one in kept)
    assert kept[0].blocks_config is not kept[1].blocks_config
    assert page._queue.events_recorded
    assert page._queue.cached_event_analytics_summary == {"functions": {}}  # nobody sees what it would cost


def test_pages_that_were_left_are_forgotten_after_an_hour_and_all_after_a_day(
    served: tuple[str, AccountBlocks],
):
    _, page = served
    states = page.app.state_holder
    for name in ("left", "left long ago", "open long ago", "open for days"):
        states[name].is_closed = name.startswith("left")
    now = datetime.now()
    ages = {"left long ago": page_states.CLOSED, "open long ago": page_states.CLOSED, "open for days": page_states.OPEN}
    states.time_last_used.update({name: now - timedelta(seconds=age + 60) for name, age in ages.items()})
    states.forget()
    assert set(states.session_data) == set(states.time_last_used) == {"left", "open long ago"}
