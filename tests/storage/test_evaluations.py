from __future__ import annotations

from dataclasses import replace

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import Evaluation, IndexCost, RankedPlace, Ranking, ScoredItem, ScoredSystem
from pdfqa_core.storage import Store
from tests.storage.conftest import NOW

ITEMS = (
    ScoredItem("q1", {"MRR": 0.1 + 0.2, "HR@1": 0.0}, {"question": "Who?"}, 3, 0.01),
    ScoredItem("q2", {"MRR": None, "HR@1": None}),
)
SYSTEM = ScoredSystem("hybrid", ITEMS, "abc", '{"k": 5}', IndexCost(41, 0.5, 1000))
EVALUATION = Evaluation(
    "retrieval", "gold", ("MRR", "HR@1"), (SYSTEM,), {"a": "b"}, {"pdfqa": "0.1.0"}, ("One page is missing.",),
    {"someone": {"MRR": 0.5}}, NOW,
)  # fmt: skip
FOUND = {
    ("hybrid", "q1"): Ranking(
        (RankedPlace("x", 0.0, 2.0), RankedPlace("d#1", 1.0, 1.0)), ("d#1",), (("p", (1, 2), "d"),)
    ),
    ("hybrid", "q2"): Ranking(()),
}


def test_an_evaluation_comes_back_as_it_was_with_notes_and_what_is_unscored(store: Store) -> None:
    made = store.evaluations.add("me", EVALUATION, FOUND)
    assert replace(made, id="") == EVALUATION
    assert store.evaluations.get("me", made.id) == made
    assert store.evaluations.rankings("me", made.id) == FOUND
    assert store.evaluations.rankings("me", made.id, "q2") == {("hybrid", "q2"): Ranking(())}


def test_a_list_holds_summaries_newest_first_by_protocol_and_owner(store: Store) -> None:
    later = replace(EVALUATION, made_at=NOW.replace(year=2027), protocol="answers")
    made = [store.evaluations.add(owner, one, {}) for owner, one in
            (("me", EVALUATION), ("me", later), ("you", EVALUATION))]  # fmt: skip
    assert [(one.id, one.systems) for one in store.evaluations.list("me")] == [
        (made[1].id, ("hybrid",)), (made[0].id, ("hybrid",)),
    ]  # fmt: skip
    assert [one.id for one in store.evaluations.list("me", "retrieval")] == [made[0].id]
    with pytest.raises(UsageError, match="no such evaluation"):
        store.evaluations.get("me", made[2].id)


def test_wrong_values_store_nothing(store: Store) -> None:
    wrong = replace(SYSTEM, items=(replace(ITEMS[0], metrics={"MRR": float("nan")}),))
    for system in (wrong, replace(SYSTEM, items=(ITEMS[0], ITEMS[0]))):
        with pytest.raises(UsageError):
            store.evaluations.add("me", replace(EVALUATION, systems=(system,)), {})
    assert store.evaluations.list("me") == ()


def test_removing_an_evaluation_or_its_owner_removes_what_was_found(store: Store) -> None:
    first, second = (store.evaluations.add("me", EVALUATION, FOUND) for _ in range(2))
    store.evaluations.remove("me", first.id)
    assert [one.id for one in store.evaluations.list("me")] == [second.id]
    store.owners.remove("me")
    assert store.evaluations.list("me") == ()
    with store.database.read() as connection:
        assert connection.exec_driver_sql("SELECT COUNT(*) FROM rankings").scalar() == 0
    with pytest.raises(UsageError, match="no such evaluation"):
        store.evaluations.remove("me", second.id)
