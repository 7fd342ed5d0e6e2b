"""Who may bring in the ratings of a spreadsheet, for whom, and that all of a table is saved or nothing."""

from __future__ import annotations

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.protocols.rating_tables import Columns, TableError, columns_of, guessed
from pdfqa_core.services.accounts import InvitationService
from pdfqa_core.services.studies import StudyService
from pdfqa_core.services.study_files import StudyFiles
from pdfqa_core.storage import Store
from pdfqa_core.study_types import Role, StudyState
from tests.services.test_invitations import token
from tests.services.test_study_reports import two_talks
from tests.storage.conftest import rating_history

GOOD = b"item,answer: Ada,answer: Cleo\na1,1,0\na2,0,0\n"


@pytest.fixture
def files(store: Store, studies: StudyService) -> StudyFiles:
    return studies.files


def values(store: Store, study_id: str) -> dict[tuple[str, str], str]:
    return {(one.item_id, one.annotator): one.value for one in store.studies.ratings(study_id)}


@pytest.mark.parametrize("role", [Role.ANNOTATOR, Role.VIEWER])
def test_nobody_but_the_owner_brings_a_table(
    store: Store, studies: StudyService, files: StudyFiles, role: Role
) -> None:
    study_id = two_talks(store, studies)
    invitations = InvitationService(store.invitations, store.studies)
    seat = invitations.take(study_id, token(invitations.invite("me", study_id, "Ada", role))).owner
    for call in (
        lambda owner: files.add_ratings(owner, study_id, GOOD, Columns(), on_page=True),
        lambda owner: files.table(owner, study_id, GOOD),
        lambda owner: files.template(owner, study_id),
    ):
        with pytest.raises(UsageError, match="by the owner of the study"):
            call(seat)
        with pytest.raises(UsageError):
            call("somebody else")
    assert rating_history(store, study_id) == ()


def test_on_the_page_nobody_gives_the_ratings_of_who_was_invited(
    store: Store, studies: StudyService, files: StudyFiles
) -> None:
    study_id = two_talks(store, studies)
    InvitationService(store.invitations, store.studies).invite("me", study_id, "Ada")
    with pytest.raises(UsageError, match="“Ada” was invited and comes in by their own link"):
        files.add_ratings("me", study_id, GOOD, Columns(), on_page=True, all_named=True)
    assert rating_history(store, study_id) == ()
    assert store.studies.annotators(study_id) == ("Ada",)


def test_new_people_come_in_with_their_ratings_only(store: Store, studies: StudyService, files: StudyFiles) -> None:
    study_id = two_talks(store, studies)
    studies.sign_in("me", study_id, "ada")
    with pytest.raises(TableError, match="nobody called 'Cleo'"):
        files.add_ratings("me", study_id, GOOD, Columns(), on_page=True)
    long = "x" * 81
    wrong = f"item,answer: Cleo,answer: {long}\na1,1,1\n".encode()
    with pytest.raises(UsageError, match="1 to 80 characters"):
        files.add_ratings("me", study_id, wrong, Columns(), on_page=True, all_named=True)
    assert store.studies.annotators(study_id) == ("ada",)
    assert files.add_ratings("me", study_id, GOOD, Columns(), on_page=True, all_named=True) == 4
    assert values(store, study_id) == {("a1", "ada"): "1", ("a2", "ada"): "0", ("a1", "Cleo"): "0", ("a2", "Cleo"): "0"}


def test_where_the_owner_wrote_down_who_rates_nobody_else_comes_in(
    store: Store, studies: StudyService, files: StudyFiles
) -> None:
    study_id = two_talks(store, studies)
    store.study_changes.invite("me", study_id, ["Ada"])
    store.study_changes.change("me", study_id, invited=True)
    with pytest.raises(UsageError, match="Nobody called 'Cleo' is asked to rate"):
        files.add_ratings("me", study_id, GOOD, Columns(), on_page=True, all_named=True)
    assert rating_history(store, study_id) == ()


def test_a_closed_study_takes_nothing(store: Store, studies: StudyService, files: StudyFiles) -> None:
    study_id = two_talks(store, studies)
    store.study_changes.change("me", study_id, state=StudyState.CLOSED)
    with pytest.raises(UsageError, match="is closed: nothing can be rated"):
        files.add_ratings("me", study_id, GOOD, Columns(), all_named=True)
    assert store.studies.annotators(study_id) == ()


def test_the_same_table_twice_adds_nothing(store: Store, studies: StudyService, files: StudyFiles) -> None:
    study_id = two_talks(store, studies)
    for _ in range(2):
        files.add_ratings("me", study_id, GOOD, Columns(), all_named=True)
    assert len(rating_history(store, study_id)) == 4


def test_another_value_is_a_revision_and_the_first_is_kept(
    store: Store, studies: StudyService, files: StudyFiles
) -> None:
    study_id = two_talks(store, studies)
    files.add_ratings("me", study_id, GOOD, Columns(), all_named=True)
    files.add_ratings("me", study_id, b"item,answer: Cleo\na1,1\na2,1\n", Columns())
    assert values(store, study_id)["a1", "Cleo"] == "0"
    assert {(one.item_id, one.annotator, one.value) for one in store.studies.revisions(study_id)} == {
        ("a1", "Cleo", "1"), ("a2", "Cleo", "1"),
    }  # fmt: skip


def test_the_template_comes_back_through_the_guess(store: Store, studies: StudyService, files: StudyFiles) -> None:
    study_id = two_talks(store, studies)
    for name in ("Ada", "Ben"):
        studies.sign_in("me", study_id, name)
    made = files.template("me", study_id)
    assert (made.name, made.rows) == ("to-rate-Pilot.csv", 4)
    lines = made.data.decode("utf-8-sig").splitlines()
    head = lines[0].split(",")
    place = head.index("answer: Ben")
    first = next(line for line in lines if line.startswith("a1,")).split(",")
    first[place] = "correct"
    table, choices = files.table("me", study_id, "\n".join([lines[0], ",".join(first)]).encode("utf-16"))
    assert table.header == tuple(head)
    columns = columns_of(guessed(table, choices))
    filled = "\n".join([lines[0], ",".join(first)]).encode("utf-16")
    assert files.add_ratings("me", study_id, filled, columns) == 1
    assert values(store, study_id) == {("a1", "Ben"): "1"}
