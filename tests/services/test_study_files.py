"""Studies from and for other workspaces, and ratings from spreadsheets."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.exports.studies import CONTENT
from pdfqa_core.protocols.rating_tables import Columns
from pdfqa_core.services.studies import StudyService
from pdfqa_core.services.study_files import StudyFiles
from pdfqa_core.storage import Store
from pdfqa_core.study_types import Skip
from tests.services.helpers import studies_of
from tests.services.test_study_reports import ADA, BEN, adjudicate, both_rated, rate, two_talks
from tests.storage.conftest import NOW


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "elsewhere") as opened:
        yield opened


def services(store: Store) -> tuple[StudyService, StudyFiles]:
    studies = studies_of(store)
    return studies, studies.files


def rated(store: Store) -> str:
    studies, _ = services(store)
    study_id = both_rated(store, studies)
    studies.save("me", study_id, "Ben", "a1", {("a1", "answer"): "0"}, comment="=why, “naïve”?\n", seconds=2.5)
    adjudicate(store, study_id, "b1", "1")
    return study_id


# ------------------------------------------------------------------ from workspace to workspace


def test_a_study_is_the_same_elsewhere(store: Store, elsewhere: Store) -> None:
    study_id = rated(store)
    store.studies.skip(Skip(study_id, "a1", "Ada", "unclear", 1.0, NOW))
    studies, files = services(store)
    others, other_files = services(elsewhere)
    packed = files.file("me", study_id, None)
    assert packed.name == "study-Pilot.zip"
    taken = other_files.take_in("you", packed.data, packed.name)
    assert (taken.id, taken.owner) == (study_id, "you")
    here, there = store.studies.copy("me", study_id), elsewhere.studies.copy("you", study_id)
    assert replace(there, study=replace(there.study, owner="me")) == here
    assert (len(here.revisions), len(here.skips)) == (1, 1)
    assert other_files.file("you", study_id, None).data == packed.data
    assert others.reports.results("you", study_id, "") == studies.reports.results("me", study_id, "")
    assert others.file("you", study_id, "jsonl", None).data == studies.file("me", study_id, "jsonl", None).data
    assert others.next("you", study_id, "Ada") == ""
    assert others.item("you", study_id, "Ben", "a1").comment == "=why, “naïve”?"
    assert elsewhere.conversations.list("you") == ()
    elsewhere.owners.remove("you")
    assert others.list("you") == ()


def test_a_study_is_taken_in_once_and_under_a_free_name(store: Store, elsewhere: Store) -> None:
    packed = services(store)[1].file("me", rated(store), None)
    with pytest.raises(UsageError, match="a study called 'Pilot' already"):
        services(store)[1].take_in("me", packed.data, "x.zip")
    with pytest.raises(UsageError, match="“Copy” is in this workspace already"):
        services(store)[1].take_in("me", packed.data, "x.zip", "Copy")
    assert services(elsewhere)[1].take_in("me", packed.data, "x.zip", " Copy  2 ").name == "Copy 2"


def test_it_does_not_leave_before_the_ratings_are_open(store: Store) -> None:
    studies, files = services(store)
    study_id = two_talks(store, studies)
    rate(studies, study_id, "Ada", ADA)
    with pytest.raises(UsageError, match="once two people or more"):
        files.file("me", study_id, "Ada")
    rate(studies, study_id, "Ben", BEN)
    assert files.file("me", study_id, "Ada").rows == 2 * 4 * 4


def changed(data: bytes, **values: object) -> bytes:
    """Return the ZIP with other values in its content."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        content = json.loads(archive.read(CONTENT)) | values
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(CONTENT, json.dumps(content))
    return packed.getvalue()


def test_what_does_not_fit_is_refused_whole(store: Store, elsewhere: Store) -> None:
    data = services(store)[1].file("me", rated(store), None).data
    files = services(elsewhere)[1]
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        ratings = json.loads(archive.read(CONTENT))["ratings"]
    for wrong, words in (
        (b"no zip", "holds no study: it is another file, or damaged"),
        (data[: len(data) // 2], "damaged"),
        (changed(data, format=99), "newer version"),
        (changed(data, format="1"), "holds no study"),
        (changed(data, study={"id": "x"}), "not complete"),
        (changed(data, turns=[]), "answers are not all there"),
        (changed(data, annotators=[]), "'Ada' rated, but has not signed in"),
        (changed(data, ratings=[ratings[0] | {"item_id": "zz"}]), "'zz' is rated, but not part"),
        (changed(data, ratings=[ratings[1] | {"value": "7"}]), "'7' is no value of 'answer'"),
    ):
        with pytest.raises(UsageError, match=words):
            files.take_in("me", wrong, "x.zip")
    assert elsewhere.studies.list("me") == ()


# ------------------------------------------------------------------ ratings from spreadsheets


def test_columns_words_and_people_are_mapped(store: Store) -> None:
    studies, files = services(store)
    study_id = two_talks(store, studies)
    table = b"Turn;Verdict;Note\na1;yes;fine\nb1;incorrect;\n"
    columns = Columns({"item": "Turn", "value": "Verdict", "comment": "Note"}, annotator="cleo", criterion="answer",
                      values={"yes": "1"})  # fmt: skip
    with pytest.raises(UsageError, match="row 2, column 'Verdict': nobody called 'cleo' has signed in"):
        files.add_ratings("me", study_id, table, columns)
    assert files.add_ratings("me", study_id, table, columns, ["Cleo"]) == 2
    given = studies.item("me", study_id, "Cleo", "a1").given
    assert (given["a1", "answer"].value, given["a1", "answer"].comment) == ("1", "fine")
    assert studies.item("me", study_id, "Cleo", "b1").given["b1", "answer"].value == "0"
    per_person = b"item,Ada,Ben\na1,1,0\na2,,1\n"
    names = Columns(annotators=("Ada", "Ben"))
    assert files.add_ratings("me", study_id, per_person, names, ["Ada", "Ben"]) == 3


def test_every_wrong_row_is_told_and_nothing_is_kept(store: Store) -> None:
    studies, files = services(store)
    study_id = two_talks(store, studies)
    studies.sign_in("me", study_id, "Ada")
    head = "item,annotator,criterion,value\n"
    good = "a1,Ada,answer,1\n"
    wrong = "zz,Ada,answer,1\na2,Dan,answer,1\na2,Ada,answer,maybe\na2,Ada,passage,1\na1,ada,answer,0\n"
    with pytest.raises(UsageError) as raised:
        files.add_ratings("me", study_id, (head + good + wrong).encode(), Columns(), ["Eve"])
    assert raised.value.what == (
        "Nothing was imported, because of row 3, column 'item': there is no item 'zz'; "
        "row 4, column 'annotator': nobody called 'Dan' has signed in; "
        "row 5, column 'value': 'maybe' is no value of answer: 1 (correct) or 0 (incorrect); "
        "row 6, column 'criterion': 'passage' is not asked about item 'a2'; "
        "row 7, column 'value': repeats row 2."
    )
    assert raised.value.hint == "Signed in to “Pilot”: Ada, Eve."
    assert store.studies.ratings(study_id) == ()
    assert store.studies.annotators(study_id) == ("Ada",)


# ------------------------------------------------------------------ judged answers of another program


JUDGED = """id,Question,Model answer,Ada,Ben
q1,Where is it?,In the cellar.,Yes,Yes
q1,And how big?,Two metres.,No,Yes
q2,Who built it?,Nobody.,No,
"""


def test_judged_answers_become_a_study(store: Store) -> None:
    studies, files = services(store)
    columns = Columns(
        {"question": "Question", "answer": "Model answer", "conversation": "id"}, ("Ada", "Ben"),
        values={"Yes": "1", "No": "0"},
    )  # fmt: skip
    study = files.of_table("me", JUDGED.encode(), "Judged", columns)
    turns = store.studies.turns("me", study.id)
    assert [(one.conversation_title, one.turn.number, one.turn.question) for one in turns] == [
        ("q1", 1, "Where is it?"), ("q1", 2, "And how big?"), ("q2", 1, "Who built it?"),
    ]  # fmt: skip
    (found,) = studies.reports.agreement("me", study.id, None)
    pair = found.pairs[0]
    assert (pair.criterion, pair.annotators, pair.n, pair.agreement) == ("answer", ("Ada", "Ben"), 2, 0.5)
    with pytest.raises(UsageError, match="once two people or more"):  # Ben has not judged everything
        studies.reports.results("me", study.id, "")
    with pytest.raises(UsageError, match="row 2, column 'Ada': 'Yes' is no value of answer") as raised:
        files.of_table("me", JUDGED.encode(), "Other", replace(columns, values={}))
    assert "--values" in raised.value.hint
    assert [one.name for one in studies.list("me")] == ["Judged"]


def test_criteria_of_others_are_compared_too(store: Store) -> None:
    studies, files = services(store)
    table = b"question,answer,tone: Ada,tone: Ben\nQ1,A1,4,4\nQ2,A2,2,3\nQ3,A3,1,1\n"
    study = files.of_table("me", table, "Tones", Columns())
    (found,) = studies.reports.agreement("me", study.id, None)
    assert (found.criterion, found.labels) == ("tone", ("1", "2", "3", "4"))
    assert [one.weights for one in found.pairs[0].weighted] == ["linear", "quadratic"]


def test_missing_values_are_no_ratings(store: Store) -> None:
    studies, files = services(store)
    table = b"question;answer;tone: Ada;tone: Ben\nQ1;A1;4;4,0\nQ2;A2;2;NA\nQ3;A3;2,5;2.50\nQ4;A4;-;1\n"
    study = files.of_table("me", table, "Tones", Columns())
    (found,) = studies.reports.agreement("me", study.id, None)
    assert (found.labels, found.pairs[0].n, found.pairs[0].agreement) == (("1", "2", "2.5", "4"), 2, 1)
    study_id = two_talks(store, studies)
    said = b"item,answer: Ada,answer: Ben\na1,1.0,NA\na2,N/A,0\n"
    assert files.add_ratings("me", study_id, said, Columns(), ["Ada", "Ben"]) == 2


LONG = """question,answer,item,annotator,criterion,value,comment
What is the fee?,73 crowns,i1,Ada,answer,1,well
What is the fee?,73 crowns,i1,Ben,answer,0,
And then?,Nothing.,i2,Ada,answer,NA,
And then?,Nothing.,i2#1,Ada,passage,1,
"""


def test_a_table_with_a_row_for_each_judgement_becomes_a_study(store: Store) -> None:
    _, files = services(store)
    notes: list[str] = []
    study = files.of_table("me", LONG.encode(), "Long", Columns(), notes)
    turns = store.studies.turns("me", study.id)
    assert [(one.turn.question, one.turn.answer.text) for one in turns] == [
        ("What is the fee?", "73 crowns"), ("And then?", "Nothing."),
    ]  # fmt: skip
    assert [(one.annotator, one.value, one.comment) for one in store.studies.ratings(study.id)] == [
        ("Ada", "1", "well"), ("Ben", "0", ""),
    ]  # fmt: skip
    (note,) = notes
    assert note.startswith("1 judgements of passages were left out")
    without_items = "\n".join(
        ",".join(cell for n, cell in enumerate(line.split(",")) if n != 2) for line in LONG.splitlines()[:3]
    )
    again = files.of_table("me", without_items.encode(), "No items", Columns())
    assert len(again.turn_ids) == 1


@pytest.mark.parametrize(
    ("change", "words", "hint"),
    [
        (("annotator", "who"), "The column 'annotator' is not there", "--columns"),
        (("question", "q"), "a study needs questions and answers", "add-ratings"),
        (("i1,Ben", "i1,Ada"), "row 3, column 'value': repeats row 2", "--values"),
        (("i1,Ben", "i1,"), "row 3, column 'annotator': is empty", "--values"),
        (("answer,0", "answer,maybe"), "row 3, column 'value': 'maybe' is no value of answer", "--values"),
    ],
)
def test_what_a_long_table_lacks_is_told(store: Store, change: tuple[str, str], words: str, hint: str) -> None:
    with pytest.raises(UsageError, match=words) as raised:
        services(store)[1].of_table("me", LONG.replace(*change).encode(), "Long", Columns())
    assert hint in raised.value.hint


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "wide"])
def test_exported_ratings_become_a_study_of_their_own(store: Store, elsewhere: Store, kind: str) -> None:
    study_id = rated(store)
    data = services(store)[0].file("me", study_id, kind, None).data
    notes: list[str] = []
    copy = services(elsewhere)[1].of_table("me", data, "Again", Columns(), notes)
    questions = {one.turn.question for one in store.studies.turns("me", study_id)}
    assert {one.turn.question for one in elsewhere.studies.turns("me", copy.id)} == questions
    about_answers = [one for one in store.studies.ratings(study_id) if "#" not in one.item_id]
    said = sorted((one.annotator, one.criterion, one.value) for one in elsewhere.studies.ratings(copy.id))
    assert said == sorted((one.annotator, one.criterion, one.value) for one in about_answers)
    assert len(notes) == (len(store.studies.ratings(study_id)) > len(about_answers))


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "wide"])
def test_exported_ratings_come_back_as_they_were(store: Store, elsewhere: Store, kind: str) -> None:
    study_id = rated(store)
    whole = store.studies.copy("me", study_id)
    elsewhere.studies.put("me", replace(whole, ratings=(), adjudications=(), revisions=(), skips=()))
    data = services(store)[0].file("me", study_id, kind, None).data
    count = services(elsewhere)[1].add_ratings("me", study_id, data, Columns())
    before, after = store.studies.ratings(study_id), elsewhere.studies.ratings(study_id)
    assert count == len(before) == len(after)
    if kind == "wide":  # holds values alone
        said = lambda ratings: {(one.item_id, one.annotator, one.criterion, one.value) for one in ratings}  # noqa: E731
        assert said(after) == said(before)
    else:
        assert set(after) == set(before)
