"""Which column of a spreadsheet of ratings holds what: guessed, chosen, and the template that needs no choice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pdfqa_core.csv_format import as_utf8, read_csv, write_csv
from pdfqa_core.errors import UsageError
from pdfqa_core.protocols.annotation import CRITERIA
from pdfqa_core.protocols.rating_tables import (
    FIXED,
    Choices,
    Fault,
    Said,
    TableError,
    choices_of,
    columns_of,
    guessed,
    ratings_of,
    read_said,
    template,
)
from pdfqa_core.storage.records import StudyTurn
from pdfqa_core.study_types import Study
from pdfqa_core.types import Citation, Span
from tests.storage.conftest import NOW, turn

TURNS = tuple(
    StudyTurn(turn(f"t{number}", "One.", "Two.", question=f"How large is {number}?"), "c", "Talk", {})
    for number in (1, 2)
)
STUDY = Study("s", "Pilot", NOW, "me", ("t1", "t2"))
PEOPLE = ("Ada", "Ben")
CHOICES = choices_of(TURNS, CRITERIA, PEOPLE)


def values(
    text: str | bytes, chosen: dict[str, str] | None = None, choices: Choices = CHOICES, **words: str
) -> dict[tuple[str, str, str], str]:
    """Return the value by item, annotator and criterion; with the columns that are guessed if none are chosen."""
    data = as_utf8(text if isinstance(text, bytes) else text.encode())
    found = guessed(read_csv(data), choices) if chosen is None else chosen
    columns = columns_of(found, words)
    ratings = ratings_of(read_said(data, columns), STUDY, TURNS, choices.annotators, CRITERIA, columns.values)
    return {(one.item_id, one.annotator, one.criterion): one.value for one in ratings}


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("item_id,rater,dimension,score\nt1,ada,answer,1\n", {("t1", "Ada", "answer"): "1"}),
        (
            "item,answer: Ada,intent: Ada,answer: Ben\nt1,correct,boolean,\nt2,0,,1\n",
            {("t1", "Ada", "answer"): "1", ("t1", "Ada", "intent"): "boolean", ("t2", "Ada", "answer"): "0",
             ("t2", "Ben", "answer"): "1"},
        ),
        ("id;Ada;Ben\nt1;1;0\n", {("t1", "Ada", "answer"): "1", ("t1", "Ben", "answer"): "0"}),
        (
            "Question\tannotator\tIntent\tAnswer\tPassage 2\nhow  large is 2?\tBen\tboolean\t1,0\t0\n",
            {("t2", "Ben", "intent"): "boolean", ("t2", "Ben", "answer"): "1", ("t2#2", "Ben", "passage"): "0"},
        ),
    ],
    ids=["a row a rating", "a column a criterion and annotator", "a column an annotator", "a column a criterion"],
)  # fmt: skip
def test_the_shape_of_a_table_is_guessed(table: str, expected: dict[tuple[str, str, str], str]) -> None:
    assert values(table) == expected


def test_the_only_annotator_stands_for_all_rows() -> None:
    alone = choices_of(TURNS, CRITERIA, ["Ada"])
    assert guessed(read_csv(b"item,Answer\nt1,1\n"), alone)["annotator"] == f"{FIXED}Ada"
    assert values("item,Answer\nt1,1\n", choices=alone) == {("t1", "Ada", "answer"): "1"}


def test_a_column_of_other_words_is_not_taken_for_values() -> None:
    found = guessed(read_csv(b"item,annotator,answer\nt1,Ada,Two metres.\n"), CHOICES)
    assert found == {"item": "item", "annotator": "annotator"}


def test_columns_are_chosen_and_words_explained() -> None:
    table = "Nr,Who,Verdict,Second opinion\nt1,Ada,Yes,No\n"
    chosen = {"item": "Nr", "annotator": "Who", "value:answer/": "Verdict", "value:answer/Ben": "Second opinion"}
    assert values(table, chosen, Yes="1", No="0") == {("t1", "Ada", "answer"): "1", ("t1", "Ben", "answer"): "0"}
    same = {"item": "Nr", "annotator": f"{FIXED}Ben", "criterion": f"{FIXED}answer", "value": "Verdict"}
    assert values(table, same, Yes="1") == {("t1", "Ben", "answer"): "1"}


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ({"value": "v"}, "No column is chosen for the item"),
        ({"item": "i"}, "No column is chosen that holds values"),
        ({"item": "i", "value": "v"}, "not clear which criterion"),
        ({"item": "i", "value:answer/": "v"}, "not clear which annotator"),
        ({"item": "i", "value:answer/Ada": "v", "value:answer/Ben": "v"}, "'v' is chosen twice"),
    ],
)
def test_choices_that_do_not_say_enough_are_refused(chosen: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        columns_of(chosen)


@pytest.mark.parametrize("chosen", [{"item": "gone", "value:answer/Ada": "x"}, {"item": "x", "value:answer/Ada": "no"}])
def test_columns_that_are_not_there_are_refused(chosen: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="is not there"):
        values("x,y\nt1,1\n", chosen)


def test_every_fault_has_its_row_and_column() -> None:
    table = (
        "item,answer: Ada,intent: Ben,answer: Ben\nt1,perhaps,boolean,1\nt9,1,,0\nt2,1,guess,2\n"
        "How large is 2?,0,,\n"
    )  # fmt: skip
    with pytest.raises(TableError) as raised:
        values(table)
    scale = "1 (correct) or 0 (incorrect)"
    assert raised.value.faults == (
        Fault(2, "answer: Ada", f"'perhaps' is no value of answer: {scale}"),
        Fault(3, "item", "there is no item 't9'"),
        Fault(4, "intent: Ben", "'guess' is no value of intent: extractive or abstractive or boolean"),
        Fault(4, "answer: Ben", f"'2' is no value of answer: {scale}"),
        Fault(5, "answer: Ada", "repeats row 4"),
    )


def test_a_cell_beside_a_value_is_told_once() -> None:
    table = "item,seconds,rated_at,answer: Ada,answer: Ben\nt1,soon,today,1,0\n"
    with pytest.raises(TableError) as raised:
        values(table)
    assert [(one.column, one.why.split(" is ")[0]) for one in raised.value.faults] == [
        ("seconds", "'soon'"), ("rated_at", "'today'"),
    ]  # fmt: skip


def test_a_question_that_two_items_share_is_no_name_of_either() -> None:
    twice = (TURNS[0], StudyTurn(turn("t3", question="How large is 1?"), "d", "Other", {}))
    said = (Said(2, "How large is 1?", "Ada", "answer", "1"),)
    with pytest.raises(TableError, match="there is no item 'How large is 1"):
        ratings_of(said, STUDY, twice, PEOPLE, CRITERIA)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])
def test_encodings_that_spreadsheets_write_are_read(encoding: str) -> None:
    choices = choices_of(TURNS, CRITERIA, ["Zoë"])
    assert values("item\tanswer: Zoë\nt1\t1\n".encode(encoding), choices=choices) == {("t1", "Zoë", "answer"): "1"}


@pytest.mark.parametrize("data", [b"PK\x03\x04abc", b"\xd0\xcf\x11\xe0abc", b"item\x81,\xff\xfe"])
def test_what_is_no_text_is_refused(data: bytes) -> None:
    with pytest.raises(UsageError, match="no text that a spreadsheet saves") as raised:
        as_utf8(data)
    assert "CSV UTF-8" in raised.value.hint


def test_the_template_filled_in_needs_no_choice() -> None:
    empty = read_csv(template(TURNS, CRITERIA, PEOPLE))
    assert empty.header[:4] == ("item", "question", "answer", "passage")
    assert [row.cells[0] for row in empty.rows] == ["t1", "t1#1", "t1#2", "t2", "t2#1", "t2#2"]
    assert empty.rows[1].cells[3] == "One."
    filled = [
        [*row.cells[:4], *("boolean" if head.startswith("intent") else "1" if head.startswith(asked) else ""
                           for head in empty.header[4:])]
        for row in empty.rows for asked in [("passage",) if "#" in row.cells[0] else ("answer",)]
    ]  # fmt: skip
    for row in filled:
        if "#" in row[0]:
            row[4:] = ["" if value == "boolean" else value for value in row[4:]]
    found = values(write_csv(empty.header, filled))
    assert len(found) == 2 * 2 * (2 + 2)
    assert found["t2#1", "Ben", "passage"] == "1"


def test_of_an_answer_that_is_not_sure_the_template_has_the_lines_and_the_words() -> None:
    lines = Citation(1, "p", Span("d", 1, 0, 4), "One\nline.", False)
    answers = [
        replace(TURNS[0].turn.answer, text=text, nearest=lines, perhaps=True) for text in ("It is.", "One line.")
    ]
    shown = [replace(TURNS[0], turn=replace(TURNS[0].turn, answer=answer)) for answer in answers]
    told = [read_csv(template([one], CRITERIA, PEOPLE)).rows[0].cells[2] for one in shown]
    assert told == ["“One line.”\n\nIt is.", "“One line.”"]


def test_the_template_holds_no_name_of_the_system() -> None:
    assert b"fake" not in template(TURNS, CRITERIA, PEOPLE)
