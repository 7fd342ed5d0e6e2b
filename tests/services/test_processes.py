"""Programs that serve on one database know of each other, until they end."""

from __future__ import annotations

import json

import pytest

from pdfqa_core.services.tasks import KIND, Processes, Workers
from pdfqa_core.storage.work import Work


@pytest.fixture
def work(store):
    return Work(store.database, gone=lambda worker: worker == "killed")


def serving(work, worker, host="127.0.0.1", port=7860):
    workers = Workers(work, worker, every=600)
    made = Processes(workers)
    made.announce(host, port)
    return made, workers


def test_each_knows_where_the_others_are_and_no_more_when_they_ended(work):
    (one, _), (two, _) = serving(work, "a", port=1001), serving(work, "b", "0.0.0.0", 1002)
    assert one.addresses() == {one.name: "", two.name: "http://127.0.0.1:1002"}
    assert two.addresses() == {two.name: "", one.name: "http://127.0.0.1:1001"}
    three, _ = serving(work, "c", "::", 1003)
    assert three.name not in one.addresses()  # the list is a moment old
    assert one.addresses(three.name)[three.name] == "http://127.0.0.1:1003"
    one.forget(three.name)
    assert three.name not in one.addresses()
    two.close()
    assert set(one.addresses("unknown")) == {one.name, three.name}


def test_one_that_was_killed_is_cleared_away_and_one_that_was_held_up_comes_back(work):
    one, workers = serving(work, "a")
    killed, _ = serving(work, "killed")
    assert set(one.addresses()) == {one.name}
    assert killed.name not in str(work.under_way(KIND))
    workers.take_up()
    assert work.claim([KIND], "anybody") is None  # nothing is left of it
    work.drop(f"{KIND} {one.name}")
    workers._renew()
    assert set(work.under_way(KIND)) == {f"{KIND} {one.name}"}
    workers.close()


@pytest.mark.parametrize(
    ("host", "computer", "url"),
    [
        ("0.0.0.0", "other", "http://other:7860"), ("10.0.0.7", "other", "http://10.0.0.7:7860"),
        ("fd00::7", "other", "http://[fd00::7]:7860"), ("app.example", "other", "http://app.example:7860"),
        ("127.0.0.1", "other", ""), ("localhost", "other", ""),
    ],
)  # fmt: skip
def test_a_program_of_another_computer_is_reached_where_it_listens_for_others(work, host, computer, url):
    one, _ = serving(work, "a")
    other, workers = serving(work, "b", host)
    workers.change(f"{KIND} {other.name}", json.dumps({"computer": computer, "host": host, "port": 7860}))
    assert one.addresses().get(other.name, "") == url
