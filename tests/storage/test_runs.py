from __future__ import annotations

from dataclasses import replace

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.storage import Store
from pdfqa_core.types import Run, Score
from tests.storage.conftest import NOW

RUN = Run("r1", "retrieval", "gold", "hybrid", "abc", NOW, "me", '{"k": 5}', {"pdfqa": "0.1.0"}, '{"ranks": [1]}')
SCORES = (Score("q1", "MRR", 0.1 + 0.2), Score("q2", "MRR", None), Score("q1", "HR@1", 0.0))


def test_a_run_comes_back_as_it_was_with_what_is_unscored(store: Store) -> None:
    store.runs.add(RUN, SCORES)
    assert store.runs.get("me", "r1") == RUN
    assert set(store.runs.scores("me", "r1")) == set(SCORES)


def test_runs_are_listed_newest_first_by_protocol_and_owner(store: Store) -> None:
    later = replace(RUN, id="r2", created_at=NOW.replace(year=2027), protocol="answers")
    for run in (RUN, later, replace(RUN, id="r3", owner="you")):
        store.runs.add(run, ())
    assert [run.id for run in store.runs.list("me")] == ["r2", "r1"]
    assert [run.id for run in store.runs.list("me", "retrieval")] == ["r1"]
    with pytest.raises(UsageError, match="no run 'r3'"):
        store.runs.scores("me", "r3")


def test_wrong_scores_store_nothing(store: Store) -> None:
    for wrong in ((Score("q", "MRR", float("nan")),), (Score("q", "MRR", 1.0), Score("q", "MRR", 0.0))):
        with pytest.raises(UsageError):
            store.runs.add(RUN, wrong)
    assert store.runs.list("me") == ()


def test_removing_a_run_or_its_owner_removes_the_scores(store: Store) -> None:
    for name in ("r1", "r2"):
        store.runs.add(replace(RUN, id=name), SCORES)
    store.runs.remove("me", ["r1"])
    assert [run.id for run in store.runs.list("me")] == ["r2"]
    assert [use.owner for use in store.owners.uses()] == ["me"]
    store.owners.remove("me")
    assert store.runs.list("me") == ()
    with store.database.read() as connection:
        assert connection.exec_driver_sql("SELECT COUNT(*) FROM scores").scalar() == 0
    with pytest.raises(UsageError, match="no run"):
        store.runs.remove("me", ["r2"])
