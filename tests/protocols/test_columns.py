"""Columns of one's own: guessed, chosen, renamed; wrong choices name file, column and field."""

from __future__ import annotations

import json

import pytest

from pdfqa_core.csv_format import read_csv
from pdfqa_core.errors import UsageError
from pdfqa_core.protocols.gold import read_gold
from pdfqa_core.protocols.gold.rows import columns_of, guessed, mapped, needed, template
from tests.protocols.test_gold import write

TABLE = "Frage;Antwort;Datei;Seite\nWie oft?;Alle 15 Minuten;report.pdf;4\nWer?;Ein Taucher;report.pdf;5\n"
CHOSEN = {"question": "Frage", "answer": "Antwort", "document": "Datei", "page": "Seite"}


def test_a_table_with_names_of_its_own_is_read_as_chosen(tmp_path):
    path = write(tmp_path, "fragen.csv", TABLE)
    assert columns_of(path) == ("Frage", "Antwort", "Datei", "Seite")
    assert guessed(columns_of(path)) == {}
    assert needed(columns_of(path), CHOSEN)
    (tmp_path / "mapped").mkdir()
    (tmp_path / "mapped" / path.name).write_bytes(mapped(path, CHOSEN))
    first, second = read_gold(tmp_path / "mapped" / path.name).questions
    assert (first.question, first.references) == ("Wie oft?", ("Alle 15 Minuten",))
    assert (first.places[0].document, first.places[0].page) == ("report.pdf", 4)
    assert (first.row, second.row) == (2, 3)


@pytest.mark.parametrize("listed", [True, False])
def test_rows_of_json_keep_their_numbers_and_a_recorded_answer_stands_beside_the_gold_one(tmp_path, listed):
    rows = [{"Q": "One?", "Gold": ["a", "b"], "Out": "c"}, {"Q": "Two?", "Gold": "d", "Out": "e", "more": {}}]
    text = json.dumps(rows) if listed else "\n\n".join(map(json.dumps, rows))
    path = write(tmp_path, "rows.json" if listed else "rows.jsonl", text)
    assert columns_of(path) == ("Q", "Gold", "Out")
    out = write(tmp_path, f"mapped{path.suffix}", mapped(path, {"question": "Q", "answer": "Gold", "prediction": "Out",
                                                                "page": ""}).decode())  # fmt: skip
    first, second = read_gold(out).questions
    assert (first.references, first.recorded) == (("a", "b"), "c")
    assert second.row == (2 if listed else 3)


def test_what_is_read_anyway_is_left_alone_and_known_names_are_guessed():
    columns = ("Question", "answer", "page")
    assert not needed(columns, guessed(columns))
    other = ("query", "expected answer", "category", "source")
    found = guessed(other)
    assert found == {"question": "query", "answer": "expected answer", "type": "category", "document": "source"}
    assert needed(other, found)
    assert needed(columns, {"question": "answer"})
    assert not needed(("a", "b"), {"question": "", "answer": "b"})


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ({"question": "Fraage"}, "has no column 'Fraage', which is to hold: question"),
        ({"answer": "Antwort"}, "no column is chosen for the question"),
        ({"question": "Frage", "colour": "Datei"}, "no field 'colour'"),
    ],
)
def test_a_wrong_choice_names_file_column_and_field(tmp_path, chosen, words):
    with pytest.raises(UsageError, match=words):
        mapped(write(tmp_path, "fragen.csv", TABLE), chosen)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        (
            "f.csv",
            "Frage,Seite\nA?,2\nB?,two\n",
            "f.csv, row 3, column 'Seite' (page, from 1): 'two' is no page number.",
        ),
        ("f.csv", "Frage,Seite\nA?,2\n ,3\n", "f.csv, row 3, column 'Frage' (question): there is no question."),
        ("f.csv", "Frage,Ja\nA?,yes\nB?,maybe\n", "f.csv, row 3, column 'Ja' (can be answered (yes, no)): answerable"),
        ("f.jsonl", '{"Frage": "A?"}\n{"Frage": {"a": 1}}\n', "f.jsonl, row 2, column 'Frage' (question): there is no"),
        ("f.jsonl", '{"Frage": "A?", "Gold": "x"}\n{"Frage": "B?", "Gold": {"a": 1}}\n', "row 2, column 'Gold' (gold"),
    ],
)
def test_a_value_that_does_not_fit_names_row_column_and_field(tmp_path, name, text, words):
    chosen = {"question": "Frage", "page": "Seite", "answerable": "Ja", "answer": "Gold"}
    with pytest.raises(UsageError) as caught:
        mapped(write(tmp_path, name, text), {field: one for field, one in chosen.items() if one in text})
    assert words in str(caught.value)


def test_the_template_is_a_file_of_questions(tmp_path):
    path = tmp_path / "questions.csv"
    path.write_bytes(template())
    (one,) = read_gold(path).questions
    assert (one.id, one.references, one.places[0].page) == ("q1", ("Every 15 minutes.",), 4)
    assert not needed(columns_of(path), guessed(columns_of(path)))
    assert "follow_up_of" in read_csv(template()).header
