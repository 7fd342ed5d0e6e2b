"""Studies: who rates what, and who may see which ratings."""

from __future__ import annotations

import csv
import io

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.agreement import agreement_of_many, read_ratings
from pdfqa_core.protocols.annotation import CRITERIA, judged
from pdfqa_core.services.studies import StudyService
from pdfqa_core.storage import Store
from pdfqa_core.study_types import AppliesTo, Criterion, StudyState
from pdfqa_core.ui.annotate_view import form_html
from tests.services.helpers import studies_of
from tests.storage.conftest import rating_history, turn

STYLE = Criterion(
    "style",
    scale=("3", "2", "1"),
    labels=("clear", "middling", "muddled"),
    keys=("7", "8", "9"),
    applies_to=AppliesTo.ANSWER,
    title="How is it written?",
    help="for a reader in a hurry",
)


def study_of(store: Store, *turn_ids: str, passages: int = 2) -> str:
    """Make a study of one conversation with these turns; return its id."""
    conversation = store.conversations.create("me", "Talk")
    for turn_id in turn_ids:
        asked = turn(turn_id, *(f"passage {n}" for n in range(passages)))
        store.conversations.append_turn("me", conversation.id, asked)
    return studies_of(store).create("me", "Pilot", [conversation.id]).id


def rate(studies: StudyService, study_id: str, name: str, *turn_ids: str, choose: int = 0) -> None:
    """Sign in and give everything about these turns a value of its scale."""
    studies.sign_in("me", study_id, name)
    for turn_id in turn_ids:
        item = studies.item("me", study_id, name, turn_id).item
        assert item is not None
        values = {part.key: part.criterion.scale[choose] for part in judged(item.turn, studies.criteria)}
        studies.save("me", study_id, name, turn_id, values)


def annotators_in(studies: StudyService, study_id: str, viewer: str | None) -> set[str]:
    data = studies.file("me", study_id, "csv", viewer).data.decode("utf-8-sig")
    return {row["annotator"] for row in csv.DictReader(io.StringIO(data))}


def test_nobody_sees_the_ratings_of_others_before_all_who_signed_in_have_finished(
    store: Store, studies: StudyService
) -> None:
    study_id = study_of(store, "t1", "t2")

    def expect_hidden(*waiting: str) -> None:
        found = studies.reports.summary("me", study_id, "Ada")
        assert (found.table, found.disagreements, found.waiting) == ((), (), waiting)
        assert annotators_in(studies, study_id, "Ada") == {"Ada"}
        assert annotators_in(studies, study_id, "Ben") <= {"Ben"}
        assert studies.reports.summary("me", study_id, "").table == ()
        with pytest.raises(UsageError, match="once two people or more have signed in and rated everything"):
            studies.file("me", study_id, "csv", "")

    rate(studies, study_id, "Ada", "t1", "t2")
    expect_hidden()  # only one has rated: the next may be looking
    studies.sign_in("me", study_id, "Ben")
    expect_hidden("Ben")  # he has signed in and not begun
    rate(studies, study_id, "Ben", "t1")
    expect_hidden("Ben")
    rate(studies, study_id, "Ben", "t2", choose=-1)
    for viewer in ("Ada", "Ben", ""):
        found = studies.reports.summary("me", study_id, viewer)
        assert ([row.criterion for row in found.table], found.waiting) == (["intent", "answer", "passage"], ())
        assert [one.turn.id for one in found.disagreements] == ["t2"] * 4
        assert annotators_in(studies, study_id, viewer) == {"Ada", "Ben"}
    studies.sign_in("me", study_id, "Cleo")
    expect_hidden("Cleo")
    assert annotators_in(studies, study_id, None) == {"Ada", "Ben"}  # the owner, at the command line


def test_items_come_in_the_annotators_order_until_all_are_rated(store: Store, studies: StudyService) -> None:
    study_id = study_of(store, "t1", "t2", "t3")
    studies.sign_in("me", study_id, "Ada")
    seen = [studies.next("me", study_id, "Ada")]
    skipped = studies.neighbour("me", study_id, "Ada", seen[0], 1)
    for _ in range(3):
        rate(studies, study_id, "Ada", seen[-1])
        seen.append(studies.next("me", study_id, "Ada", seen[-1]))
    assert (sorted(seen[:3]), seen[1], seen[3]) == (["t1", "t2", "t3"], skipped, "")
    finished = studies.item("me", study_id, "Ada", "")
    assert (finished.item, finished.position, finished.progress.done) == (None, 3, 3)


def test_the_comment_is_kept_with_the_rating_of_the_answer(store: Store, studies: StudyService) -> None:
    study_id = study_of(store, "t1")
    place = ("me", study_id, studies.sign_in("me", study_id, "Ada"), "t1")
    assert studies.save_comment(*place, " why ") is None
    with pytest.raises(UsageError, match="kept with the answer's rating"):
        studies.check_comment(*place, "why")
    studies.save(*place, {("t1", "intent"): "boolean"}, comment="why")
    studies.save(*place, {("t1", "answer"): "1"}, comment=" why ")
    assert studies.item(*place).comment == "why"
    studies.check_comment(*place, "why")
    assert studies.save_comment(*place, "why ") is None
    assert studies.save_comment(*place, "page 7") is not None
    assert studies.item(*place).comment == "page 7"
    assert [r.value for r in rating_history(store, study_id)] == ["boolean", "1", "1"]


def test_a_new_criterion_is_rated_compared_and_exported(store: Store) -> None:
    studies = studies_of(store, (*CRITERIA, STYLE))
    study_id = study_of(store, "t1", "t2")
    rate(studies, study_id, "Ada", "t1", "t2")
    studies.save("me", study_id, "Ada", "t2", {("t2", "style"): "2"})
    form = form_html(studies.item("me", study_id, "Ada", "t2"), studies.criteria, None)
    assert "for a reader in a hurry" in form
    assert 'data-key="8" aria-pressed="true"' in form
    rate(studies, study_id, "Ben", "t1", "t2")
    results = studies.reports.summary("me", study_id, "Ben")
    style = results.table[-1]
    assert (style.criterion, style.n, style.labels, style.agreement) == (
        "style", 2, ("muddled", "middling", "clear"), 0.5,
    )  # fmt: skip
    assert [(one.judged.criterion, one.values) for one in results.disagreements] == [(STYLE, ("2", "3"))]
    exported = agreement_of_many(read_ratings(studies.file("me", study_id, "csv", None).data)[0])
    assert {one.criterion: one.pairs[0].agreement for one in exported} == {
        "intent": 1, "answer": 1, "passage": 1, "style": 0.5,
    }  # fmt: skip


def two_conversations(store: Store) -> tuple[str, str]:
    one, two = (store.conversations.create("me", "Talk") for _ in range(2))
    for conversation, turn_id in ((one, "t1"), (one, "t2"), (two, "t3")):
        store.conversations.append_turn("me", conversation.id, turn(turn_id, question=f"Why {turn_id}?"))
    return one.id, two.id


def test_a_study_is_made_of_one_answer_or_of_its_whole_conversation(store: Store, studies: StudyService) -> None:
    one, two = two_conversations(store)
    made = studies.create_of("me", one, "t2")
    assert (made.name, made.turn_ids) == ("Why t2?", ("t2",))
    assert studies.create_of("me", one, "t2").name == "Why t2? (2)"
    whole = studies.create_of("me", one)
    assert (whole.name, whole.turn_ids) == ("Talk", ("t1", "t2"))
    with pytest.raises(UsageError, match="at least one answered question"):
        studies.create_of("me", two, "t1")
    for studies_owner, conversation in (("you", one), ("me", "gone")):
        with pytest.raises(UsageError, match="no such conversation"):
            studies.create_of(studies_owner, conversation)


def test_an_answer_is_added_to_a_study_that_is_open_and_taken_out_again(store: Store, studies: StudyService) -> None:
    one, _ = two_conversations(store)
    study_id = studies.create_of("me", one, "t1").id
    assert studies.add("me", study_id, "t3").turn_ids == studies.add("me", study_id, "t3").turn_ids == ("t1", "t3")
    studies.kept.take_out("me", study_id, ["t3"])
    rate(studies, study_id, "Ada", "t1")
    assert [study.id for study in studies.open_studies("me")] == [study_id]  # one alone has finished
    studies.add("me", study_id, "t2")
    rate(studies, study_id, "Ben", "t1", "t2")
    with pytest.raises(UsageError, match="rated this in “Why t1\\?” already"):
        studies.kept.take_out("me", study_id, ["t2"])
    rate(studies, study_id, "Ada", "t2")
    assert studies.open_studies("me") == ()
    with pytest.raises(UsageError, match="takes no more answers"):
        studies.add("me", study_id, "t3")
    assert [study.turn_ids for study in studies.list("me")] == [("t1", "t2")]


def test_other_owners_can_do_nothing_with_a_study(store: Store, studies: StudyService) -> None:
    study_id = study_of(store, "t1")
    rate(studies, study_id, "Ada", "t1")
    for call in (
        lambda: studies.sign_in("you", study_id, "Ada"),
        lambda: studies.item("you", study_id, "Ada", "t1"),
        lambda: studies.next("you", study_id, "Ada"),
        lambda: studies.reports.summary("you", study_id, "Ada"),
        lambda: studies.file("you", study_id, "csv", "Ada"),
        lambda: studies.save("you", study_id, "Ada", "t1", {("t1", "answer"): "1"}),
        lambda: studies.changes.change("you", study_id, state=StudyState.DELETED),
        lambda: studies.changes.rename("you", study_id, "Ada", "Eve"),
        lambda: studies.changes.delete("you", study_id),
        lambda: studies.people("you", study_id),
        lambda: studies.remove_annotator("you", study_id, "Ada"),
        lambda: studies.items("you", study_id),
        lambda: studies.invite("you", study_id, "Eve"),
    ):
        with pytest.raises(UsageError, match="no such study"):
            call()
    with pytest.raises(UsageError, match="has not signed in"):
        studies.save("me", study_id, "Eve", "t1", {("t1", "answer"): "1"})


def test_the_other_passages_are_those_without_a_value(store: Store, studies: StudyService) -> None:
    study_id = study_of(store, "t1", passages=23)
    place = ("me", study_id, studies.sign_in("me", study_id, "Ada"), "t1")
    studies.save(*place, {("t1#22", "passage"): "1"})
    studies.save_rest(*place, "passage")
    values = {key: rating.value for key, rating in studies.item(*place).given.items()}
    assert values == {(f"t1#{rank}", "passage"): str(int(rank == 22)) for rank in range(1, 24)}
