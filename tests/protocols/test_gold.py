import json

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.protocols.gold import GoldPlace, read_gold
from pdfqa_core.protocols.gold.rows import mapped


def write(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_cited_answers_give_places_and_lose_their_marks(tmp_path):
    row = {"question": "Which plan?", "truth": "Standard [a.pdf#page=7] and Plus. [b c.pdf#page=12][a.pdf#page=7]"}
    file = read_gold(write(tmp_path, "gold.jsonl", json.dumps(row) + "\n\n"))
    assert file.questions[0].references == ("Standard and Plus.",)
    assert file.questions[0].places == (GoldPlace("a.pdf", 7), GoldPlace("b c.pdf", 12))
    assert file.questions[0].id == "1"


def test_financebench_counts_pages_from_zero(tmp_path):
    row = {
        "financebench_id": "f1", "doc_name": "3M_2018_10K", "question": "Capex?", "answer": "$1577",
        "evidence": [{"evidence_text": "purchases of property", "doc_name": "3M_2018_10K", "evidence_page_num": 59}],
    }  # fmt: skip
    question = read_gold(write(tmp_path, "fb.jsonl", json.dumps(row))).questions[0]
    assert (question.id, question.places) == ("f1", (GoldPlace("3M_2018_10K", 60, "purchases of property"),))


def test_csv_of_a_spreadsheet(tmp_path):
    text = "Question;File;Pages;Answer;Answerable\r\nWho?;x.pdf;3, 4;Me;\r\nWhy?;;;;no\r\n"
    first, second = read_gold(write(tmp_path, "gold.csv", text)).questions
    assert first.places == (GoldPlace("x.pdf", 3), GoldPlace("x.pdf", 4))
    assert (first.row, second.answerable, second.places) == (2, False, ())


def test_a_row_of_another_length_is_told_with_its_file(tmp_path):
    path = write(tmp_path, "gold.csv", "question,answer\nWho?,Me\nWhy?\n")
    for read in (read_gold, lambda one: mapped(one, {"question": "question"})):
        with pytest.raises(UsageError, match=r"^gold\.csv: Row 3 has 1 cells; the header has 2"):
            read(path)


def test_own_rows_with_quotes_and_follow_ups(tmp_path):
    rows = [
        {"id": "a", "question": "One?", "answer": ["x", "y"], "document": "d.pdf", "page": 2, "quote": "the words"},
        {"id": "b", "question": "And two?", "follow_up_of": "a"},
    ]
    one, two = read_gold(write(tmp_path, "own.json", json.dumps(rows))).questions
    assert (one.references, one.places) == (("x", "y"), (GoldPlace("d.pdf", 2, "the words"),))
    assert two.follow_up_of == "a"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.jsonl", "", "a.jsonl is empty"),
        ("a.json", "[]", "holds no questions"),
        ("a.jsonl", '{"question": "x"}\n{oops', "line 2: no valid JSON"),
        ("a.json", '[{"question": "x"},', "no valid JSON"),
        ("a.jsonl", '{"answer": "x"}', "row 1: there is no question"),
        ("a.jsonl", "[1]", "row 1: not an object"),
        ("a.jsonl", '{"question": "x", "document": "d", "page": 0}', "row 1: 0 is no page number"),
        ("a.jsonl", '{"question": "x", "document": "d", "page": "vii"}', "'vii' is no page number"),
        ("a.jsonl", '{"question": "x", "answer": {"a": 1}}', "holds something that is no text"),
        ("a.jsonl", '{"id": 1, "question": "x"}\n{"id": "1", "question": "y"}', "row 2: the id '1' is used in row 1"),
        ("a.csv", "Question,Page\nx,nan\n", "row 2: 'nan' is no page number"),
    ],
)
def test_what_is_wrong_is_named_with_its_row(tmp_path, name, text, message):
    with pytest.raises(UsageError, match=message):
        read_gold(write(tmp_path, name, text))


def test_what_cannot_be_read_is_said(tmp_path):
    with pytest.raises(UsageError, match="No such file"):
        read_gold(tmp_path / "none.jsonl")
    with pytest.raises(UsageError, match=r"missing: corpus\.jsonl, queries\.jsonl, qrels/test\.tsv"):
        read_gold(tmp_path)
    (tmp_path / "x.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="not UTF-8"):
        read_gold(tmp_path / "x.jsonl")
