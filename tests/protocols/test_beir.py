"""BEIR data sets: as a folder, as a ZIP, as files that lie apart; what is wrong with them is named by file and row."""

from __future__ import annotations

import zipfile

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.protocols.gold import GoldPlace, packed, packed_folder, read_gold, suffixes

FILES = {
    "corpus.jsonl": '{"_id": "d1", "title": "T", "text": "One."}\n{"_id": "d2", "text": "Two."}\n',
    "queries.jsonl": '{"_id": "q1", "text": "one?"}\n{"_id": "q2", "text": "unjudged"}\n',
    "qrels/test.tsv": "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\n",
}


def folder_of(path, **changed):
    (path / "qrels").mkdir(parents=True, exist_ok=True)
    for name, text in {**FILES, **changed}.items():
        if text is not None:
            (path / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    return path


def zip_of(path, inside="", **changed):
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in {**FILES, **changed}.items():
            if text is not None:
                archive.writestr(f"{inside}{name}", text)
    return path


@pytest.mark.parametrize("inside", ["", "scifact/", "a/b/"])
def test_a_zip_is_read_as_its_folder_is(tmp_path, inside):
    folder = read_gold(folder_of(tmp_path / "tiny"))
    zipped = read_gold(zip_of(tmp_path / "tiny.zip", inside))
    assert zipped == folder
    assert [(one.id, one.places) for one in zipped.questions] == [("q1", (GoldPlace("d1"),))]
    assert [text.document_id for text in zipped.corpus] == ["d1", "d2"]
    assert ".zip" in suffixes()


def test_files_that_lie_apart_make_the_same_zip_wherever_they_lie(tmp_path):
    folder = folder_of(tmp_path / "tiny")
    apart = [("queries.jsonl", folder / "queries.jsonl"), ("corpus.jsonl", folder / "corpus.jsonl"),
             ("test.tsv", folder / "qrels" / "test.tsv")]  # fmt: skip
    assert packed("these files", apart) == packed_folder(folder)
    (tmp_path / "tiny.zip").write_bytes(packed("these files", apart))
    assert read_gold(tmp_path / "tiny.zip") == read_gold(folder)
    with pytest.raises(UsageError, match="these files is no BEIR data set"):
        packed("these files", apart[:2])


def test_without_test_the_other_parts_are_taken_and_a_header_is_not_needed(tmp_path):
    dev = {"qrels/test.tsv": None, "qrels/dev.tsv": "q2\td2\t2\n", "qrels/train.tsv": "q1\td1\t1\n"}
    assert [one.id for one in read_gold(folder_of(tmp_path / "tiny", **dev)).questions] == ["q2"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"queries.jsonl": None}, "missing: queries.jsonl"),
        ({"corpus.jsonl": '{"_id": "d1"}\n{oops\n'}, "corpus.jsonl, line 2: no valid JSON"),
        ({"corpus.jsonl": '{"text": "One."}\n'}, "corpus.jsonl, row 1: there is no _id"),
        ({"corpus.jsonl": '{"_id": "d1"}\n{"_id": "d1"}\n'}, "corpus.jsonl, row 2: the id 'd1' is used in row 1"),
        ({"queries.jsonl": '{"_id": "q1"}\n'}, "queries.jsonl, row 1: there is no text"),
        ({"queries.jsonl": '{"_id": "x", "text": "y"}\n'}, "No query of queries.jsonl has a relevant document"),
        ({"qrels/test.tsv": "q1\td1\n"}, "test.tsv, line 1: not three cells"),
        ({"qrels/test.tsv": "a\tb\tc\nq1\td1\tyes\n"}, "test.tsv, line 2: the score 'yes' is no number"),
        ({"qrels/test.tsv": "q1\td9\t1\n"}, "No document of test.tsv stands in corpus.jsonl"),
        ({"qrels/test.tsv": "q1\td1\t1\udcff\n"}, "test.tsv is not UTF-8"),
    ],
)
def test_what_is_wrong_is_named_by_file_and_row(tmp_path, changed, message):
    with pytest.raises(UsageError, match=message):
        read_gold(folder_of(tmp_path / "tiny", **changed))


def test_a_file_that_is_no_zip_says_so(tmp_path):
    (tmp_path / "tiny.zip").write_bytes(b"PK nothing")
    with pytest.raises(UsageError, match=r"tiny.zip holds no BEIR data set"):
        read_gold(tmp_path / "tiny.zip")
