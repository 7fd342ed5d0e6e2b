"""Ratings are records: drafts, submissions, revisions, skips, two windows, decisions, people, states."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from pdfqa_core.errors import ConflictError, UsageError
from pdfqa_core.protocols.annotation import judged
from pdfqa_core.protocols.study_items import Source
from pdfqa_core.services.studies import StudyService
from pdfqa_core.storage import Store
from pdfqa_core.study_types import StudyState
from pdfqa_core.types import Thumb
from tests.storage.conftest import rating_history, turn

ME = "me"


@pytest.fixture
def study_id(store: Store, studies: StudyService) -> str:
    """A study of two turns with a passage each, that Ada and Ben are asked to rate."""
    talk = store.conversations.create(ME, "Talk")
    for name in ("t1", "t2"):
        store.conversations.append_turn(ME, talk.id, turn(name, "passage", question=f"Why {name}?"))
    return studies.of_conversations(ME, "Pilot", [talk.id], names="Ada, Ben").id


def choose(studies: StudyService, study_id: str, name: str, turn_id: str, answer: str = "1") -> None:
    """Choose values for everything about a turn, without submitting it."""
    shown = studies.item(ME, study_id, name, turn_id)
    assert shown.item is not None
    values = {part.key: part.criterion.scale[0] for part in judged(shown.item.turn, shown.criteria)}
    values[turn_id, "answer"] = answer
    studies.save(ME, study_id, name, turn_id, values, draft=True)


def rate(studies: StudyService, study_id: str, name: str, answers: dict[str, str]) -> None:
    for turn_id, answer in answers.items():
        choose(studies, study_id, name, turn_id, answer)
        assert studies.submit(ME, study_id, name, turn_id, seconds=3.0)


def exported(studies: StudyService, study_id: str) -> dict[tuple[str, str, str], dict[str, str]]:
    data = studies.file(ME, study_id, "csv", None).data.decode("utf-8-sig")
    rows = csv.DictReader(io.StringIO(data))
    return {(row["annotator"], row["item"], row["criterion"]): row for row in rows}


def test_a_draft_does_not_count_before_it_is_submitted(studies: StudyService, study_id: str) -> None:
    choose(studies, study_id, "Ada", "t1")
    shown = studies.item(ME, study_id, "Ada", "t1")
    assert (shown.draft, shown.submitted, shown.progress.done) == (True, False, 1)
    assert dict(studies.rated(ME, study_id).progress)["Ada"].done == 0
    assert exported(studies, study_id) == {}
    assert "t1" in {studies.next(ME, study_id, "Ada"), studies.next(ME, study_id, "Ada", "t2")}
    assert studies.submit(ME, study_id, "Ada", "t1")
    shown = studies.item(ME, study_id, "Ada", "t1")
    assert (shown.draft, shown.submitted) == (False, True)
    assert studies.next(ME, study_id, "Ada") == "t2"
    assert not studies.submit(ME, study_id, "Ada", "t2")  # nothing is chosen yet


def test_the_item_submitted_last_can_be_corrected_every_other_change_is_a_revision(
    store: Store, studies: StudyService, study_id: str
) -> None:
    rate(studies, study_id, "Ada", {"t1": "0"})
    rate(studies, study_id, "Ada", {"t1": "1"})  # undo: nothing else was submitted meanwhile
    assert not studies.item(ME, study_id, "Ada", "t1").revises
    rate(studies, study_id, "Ada", {"t2": "1"})
    assert studies.item(ME, study_id, "Ada", "t1").revises
    rate(studies, study_id, "Ada", {"t1": "0"})  # nobody has seen anything, but the first value is settled
    rate(studies, study_id, "Ben", {"t1": "0", "t2": "1"})
    before = studies.reports.summary(ME, study_id, "Ada")
    assert [row.agreement for row in before.table] == [1, 0.5, 1]
    rate(studies, study_id, "Ben", {"t1": "1"})
    shown = studies.item(ME, study_id, "Ben", "t1")
    assert (shown.given["t1", "answer"].value, shown.first) == ("1", {("t1", "answer"): "0"})
    after = studies.reports.summary(ME, study_id, "Ada")
    assert [row.agreement for row in after.table] == [1, 0.5, 1]
    rows = exported(studies, study_id)
    assert (rows["Ben", "t1", "answer"]["value"], rows["Ben", "t1", "answer"]["revised"]) == ("0", "1")
    assert (rows["Ada", "t1", "answer"]["value"], rows["Ada", "t1", "answer"]["revised"]) == ("1", "0")
    kept = [(one.value, one.draft, one.revision) for one in rating_history(store, study_id)
            if (one.annotator, one.item_id, one.criterion) == ("Ben", "t1", "answer")]  # fmt: skip
    assert kept == [("0", True, False), ("0", False, False), ("1", True, False), ("1", False, True)]


def test_what_is_remembered_of_a_study_follows_every_change(store: Store, studies: StudyService, study_id: str) -> None:
    rate(studies, study_id, "Ada", {"t1": "0"})
    before = studies.rated(ME, study_id)
    assert studies.rated(ME, study_id).turns is before.turns
    store.conversations.set_thumb(ME, "t1", Thumb.UP)
    assert {row["thumb"] for row in exported(studies, study_id).values()} == {"up"}
    store.conversations.rename(ME, before.turns[0].conversation_id, "Another title")
    assert studies.rated(ME, study_id).turns[0].conversation_title == "Another title"
    studies.plant(ME, study_id, "t2", "training", {}, "because")
    assert [one.details.role for one in studies.rated(ME, study_id).turns] == ["", "training"]
    studies.changes.rename(ME, study_id, "Ada", "Eve")
    assert {one.annotator for one in studies.rated(ME, study_id).ratings} == {"Eve"}
    with pytest.raises(UsageError):
        studies.rated("another", study_id)


def test_an_item_that_cannot_be_judged_is_finished_and_has_no_value(studies: StudyService, study_id: str) -> None:
    with pytest.raises(UsageError, match="Say why"):
        studies.skip(ME, study_id, "Ada", "t1", " ")
    studies.skip(ME, study_id, "Ada", "t1", "The question is not clear")
    rate(studies, study_id, "Ada", {"t2": "1"})
    assert studies.next(ME, study_id, "Ada") == ""
    rate(studies, study_id, "Ben", {"t1": "0", "t2": "1"})
    table = studies.reports.summary(ME, study_id, "Ben").table
    assert [(row.criterion, row.n) for row in table] == [("intent", 1), ("answer", 1), ("passage", 1)]
    with pytest.raises(UsageError, match="submitted this item already"):
        studies.skip(ME, study_id, "Ben", "t1", "too late")
    assert studies.item(ME, study_id, "Ada", "t1").skipped == "The question is not clear"


def test_two_windows_of_one_annotator_do_not_overwrite_each_other(studies: StudyService, study_id: str) -> None:
    place = (ME, study_id, "Ada", "t1")
    one = two = studies.item(*place).seen
    studies.save(*place, {("t1", "answer"): "1"}, draft=True, seen=one)
    with pytest.raises(ConflictError, match="another window"):
        studies.save(*place, {("t1", "answer"): "0"}, draft=True, seen=two)
    assert studies.item(*place).given["t1", "answer"].value == "1"
    studies.save(*place, {("t1", "intent"): "boolean"}, draft=True, seen=two)  # another thing
    studies.save(*place, {("t1", "answer"): "1"}, draft=True, seen=two)  # the same: as when it is sent again
    studies.save(*place, {("t1", "answer"): "0"}, draft=True, seen=studies.item(*place).seen)
    assert studies.item(*place).given["t1", "answer"].value == "0"


def test_training_items_come_first_and_neither_they_nor_checks_count(
    store: Store, studies: StudyService, tmp_path: Path
) -> None:
    table = tmp_path / "items.csv"
    rows = ["question,answer,kind,gold:answer", *(f"Q{n}?,A,,," for n in range(3))]
    rows = [
        *(row.rstrip(",") + ",," if row.startswith("Q") else row for row in rows),
        "C?,A,check,1",
        "T?,A,training,0",
    ]
    table.write_text("\n".join(rows))
    study = studies.of_files(ME, "Checked", Source(table=table), names="Ada, Ben")
    turns = {one.turn.question: one.turn.id for one in studies.items(ME, study.id)}
    for name in ("Ada", "Ben"):
        assert studies.next(ME, study.id, name) == turns["T?"]
        for question, turn_id in turns.items():
            right = question != "C?" or name == "Ada"
            studies.save(ME, study.id, name, turn_id, {(turn_id, "answer"): "1" if right else "0"})
    results = studies.reports.summary(ME, study.id, "Ada")
    assert [row.n for row in results.table] == [3]
    assert (results.checks, results.disagreements) == ((("Ada", 1, 1), ("Ben", 0, 1)), ())
    overall = [row for row in studies.reports.results(ME, study.id, None) if row.group == "overall"]
    assert {(row.rater, row.measure, row.summary.n) for row in overall} == {
        (name, "accuracy", 3) for name in ("Ada", "Ben", "majority")
    }  # fmt: skip


def test_hundred_answers_gives_kappa_and_accuracy_of_each_the_majority_and_adjudicated(
    store: Store, studies: StudyService, tmp_path: Path
) -> None:
    gold, answers = tmp_path / "gold.json", tmp_path / "system.json"
    gold.write_text(json.dumps([{"id": n, "question": f"Q{n}?", "answer": "G"} for n in range(1, 31)]))
    answers.write_text(json.dumps([{"id": n, "answer": f"A{n}"} for n in range(1, 31)]))
    study = studies.of_files(ME, "Hundred", Source((answers,), gold, n=10, seed=2), names="Ada, Ben")
    assert len(study.turn_ids) == 10
    for name, wrong in (("Ada", 3), ("Ben", 4)):
        rate(studies, study.id, name, {one: str(int(at >= wrong)) for at, one in enumerate(study.turn_ids)})
    (kappa,) = studies.reports.summary(ME, study.id, "Ada").table
    assert kappa.kappa == pytest.approx((0.9 - 0.54) / 0.46)
    decide = studies.reports
    disputed = study.turn_ids[3]
    shown = decide.dispute(ME, study.id, "", disputed)
    assert [(one.said, one.decided) for one in shown.disputes] == [((("1", 1, ()), ("0", 1, ())), None)]
    assert "Ada" not in repr(shown.disputes)
    decide.decide(
        ME, study.id, "", disputed, "answer", "1", reason="page 3 says so", category="gold", decided_by="both"
    )
    kept = decide.dispute(ME, study.id, "Ada", disputed)
    assert (kept.open_ones, kept.total, kept.next_turn) == (0, 1, "")
    rows = studies.reports.results(ME, study.id, None)
    accuracy = {row.rater: (row.summary.mean, row.summary.n) for row in rows if row.group == "overall"}
    assert accuracy == {
        "Ada": (0.7, 10), "Ben": (0.6, 10), "majority": (pytest.approx(6 / 9), 9), "adjudicated": (0.7, 10),
    }  # fmt: skip


def test_nothing_is_adjudicated_before_agreement_can_be_seen(
    store: Store, studies: StudyService, study_id: str
) -> None:
    rate(studies, study_id, "Ada", {"t1": "0", "t2": "1"})
    decide = studies.reports
    with pytest.raises(UsageError, match="cannot be seen yet"):
        decide.dispute(ME, study_id, "Ada", "t1")
    with pytest.raises(UsageError, match="cannot be seen yet"):
        decide.decide(ME, study_id, "", "t1", "answer", "1")


def test_a_name_typed_wrong_never_blocks_a_study(studies: StudyService, study_id: str) -> None:
    with pytest.raises(UsageError, match="Nobody called 'Adda' is asked") as raised:
        studies.sign_in(ME, study_id, "Adda")
    assert "Ada, Ben" in raised.value.hint
    studies.changes.change(ME, study_id, invited=False)
    studies.sign_in(ME, study_id, "Adda")
    rate(studies, study_id, "Ada", {"t1": "1", "t2": "1"})
    rate(studies, study_id, "Ben", {"t1": "1", "t2": "1"})
    assert studies.reports.summary(ME, study_id, "Ada").waiting == ("Adda",)
    assert studies.remove_annotator(ME, study_id, "Adda") == 0
    assert studies.reports.summary(ME, study_id, "Ada").table


def test_who_is_renamed_keeps_ratings_and_order(studies: StudyService, study_id: str) -> None:
    first = studies.next(ME, study_id, "Ben")
    rate(studies, study_id, "Ben", {first: "1"})
    assert studies.changes.rename(ME, study_id, "Ben", "Benjamin") == "Benjamin"
    assert {row["annotator"] for row in exported(studies, study_id).values()} == {"Benjamin"}
    with pytest.raises(UsageError, match="Somebody else"):
        studies.changes.rename(ME, study_id, "Benjamin", "ADA")
    assert studies.changes.rename(ME, study_id, "Benjamin", "BENJAMIN") == "BENJAMIN"


def test_who_is_taken_out_does_not_count_and_comes_back(studies: StudyService, study_id: str) -> None:
    rate(studies, study_id, "Ada", {"t1": "1"})
    assert studies.remove_annotator(ME, study_id, "Ada") == 6  # drafts and what was submitted
    assert (exported(studies, study_id), studies.names(ME, study_id)) == ({}, ("Ben",))
    with pytest.raises(UsageError, match="was taken out"):
        studies.sign_in(ME, study_id, "Ada")
    studies.changes.invite(ME, study_id, ["Ada"])
    assert len(exported(studies, study_id)) == 3


def test_questions_are_changed_until_somebody_has_rated_by_them(studies: StudyService, study_id: str) -> None:
    criteria = studies.criteria_of(studies.kept.get(ME, study_id))
    studies.save(ME, study_id, "Ada", "t1", {("t1", "answer"): "1"}, draft=True)
    kept = studies.define(ME, study_id, criteria[1:])
    assert [one.name for one in kept.criteria] == ["answer", "passage"]
    choose_rest = {("t1#1", "passage"): "1"}
    studies.save(ME, study_id, "Ada", "t1", choose_rest, draft=True)
    assert studies.submit(ME, study_id, "Ada", "t1")
    with pytest.raises(UsageError, match="rated by “Answer” already"):
        studies.define(ME, study_id, criteria[2:])


def test_a_study_is_closed_archived_deleted_and_brought_back(
    store: Store, studies: StudyService, study_id: str
) -> None:
    rate(studies, study_id, "Ada", {"t1": "1"})
    for state in (StudyState.CLOSED, StudyState.ARCHIVED):
        studies.changes.change(ME, study_id, state=state)
        with pytest.raises(UsageError, match=f"is {state}: nothing can be rated"):
            studies.save(ME, study_id, "Ada", "t2", {("t2", "answer"): "1"}, draft=True)
        assert studies.open_studies(ME) == ()
    with pytest.raises(UsageError, match="Delete it first"):
        studies.changes.delete(ME, study_id)
    studies.changes.change(ME, study_id, state=StudyState.DELETED)
    assert (studies.list(ME), len(studies.list(ME, deleted=True))) == ((), 1)
    studies.changes.change(ME, study_id, state=StudyState.OPEN)
    rate(studies, study_id, "Ada", {"t2": "1"})
    studies.changes.change(ME, study_id, state=StudyState.DELETED)
    assert studies.changes.delete(ME, study_id) == 12
    assert studies.list(ME, deleted=True) == ()
    assert [one.turn_count for one in store.conversations.list(ME)] == [2]  # the answers stay in the chat


def test_answers_that_came_with_a_study_go_with_it(store: Store, studies: StudyService, tmp_path: Path) -> None:
    table = tmp_path / "items.csv"
    table.write_text("question,answer\nQ?,A\n")
    study = studies.of_files(ME, "Table", Source(table=table))
    (turn_id,) = study.turn_ids
    assert store.conversations.turn(ME, turn_id).answer.text == "A"
    studies.changes.change(ME, study.id, state=StudyState.DELETED)
    studies.changes.delete(ME, study.id)
    with pytest.raises(UsageError, match="no turn"):
        store.conversations.turn(ME, turn_id)


def test_other_criteria_have_means_by_system_and_pairs_say_which_system_is_preferred(
    store: Store, studies: StudyService, tmp_path: Path
) -> None:
    gold = tmp_path / "gold.json"
    gold.write_text(json.dumps([{"id": n, "question": f"Q{n}?", "answer": "G"} for n in range(1, 9)]))
    files = []
    for name in ("bm25", "dense"):
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text(json.dumps([{"id": n, "answer": name} for n in range(1, 9)]))
    rag = studies.of_files(ME, "RAG", Source(tuple(files), gold, n=8, seed=1, by="system"), "rag", "Ada")
    for one in studies.items(ME, rag.id):
        best = "3" if one.details.system == "dense" else "1"
        values = {(one.turn.id, name): best for name in ("supported", "useful", "clear")}
        studies.save(ME, rag.id, "Ada", one.turn.id, {**values, (one.turn.id, "remark"): "free words"})
    rows = studies.reports.results(ME, rag.id, None)
    means = {(row.group, row.value, row.measure): row.summary.mean for row in rows}
    assert means["overall", "", "useful"] == 2
    assert (means["system", "bm25", "clear"], means["system", "dense", "clear"]) == (1, 3)
    assert not any(group == "conversation" for group, _, _ in means)

    pair = studies.of_files(ME, "Pairs", Source(tuple(files), gold, seed=5), "pairwise", "Ada")
    for at, one in enumerate(studies.items(ME, pair.id)):
        dense = "A" if one.details.system == "dense" else "B"
        studies.save(ME, pair.id, "Ada", one.turn.id, {(one.turn.id, "preference"): "same" if at < 2 else dense})
    (row,) = [row for row in studies.reports.results(ME, pair.id, None) if row.group == "overall"]
    assert (row.measure, row.summary.mean, row.summary.n) == ("prefers bm25", pytest.approx(1 / 8), 8)
