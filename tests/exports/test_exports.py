from __future__ import annotations

import csv
import io
from dataclasses import replace
from datetime import UTC, datetime

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdfqa_core.csv_format import read_csv
from pdfqa_core.errors import UsageError
from pdfqa_core.exports.evaluation_files import write_jsonl
from pdfqa_core.exports.frames import clipboard_text
from pdfqa_core.exports.studies import RatingRow, rating_rows, ratings_frame, write_ratings
from pdfqa_core.json_codec import decode
from pdfqa_core.metrics.agreement import agreement_of_many, read_ratings
from pdfqa_core.storage import StudyTurn
from pdfqa_core.study_types import Adjudication, Study
from pdfqa_core.types import Citation, Conversation, Span
from tests.storage.conftest import NOW, rating, turn

DOCUMENT = "d" * 64
STUDY = Study("s", "Pilot", NOW, "me", ("t1", "t2"))
TURNS = (
    StudyTurn(
        replace(turn("t1", "=first", "second", document_id=DOCUMENT), number=1), "c1", "Talk", {DOCUMENT: "report.pdf"}
    ),
    StudyTurn(replace(turn("t2"), number=2), "c1", "Talk", {}),
)
TEXT = st.text()


def test_a_row_can_be_understood_on_its_own() -> None:
    ratings = [rating("s", "t2"), rating("s", "t1#2", criterion="passage"), rating("s", "t1", "Ben", value="0")]
    agreed = Adjudication("s", "t1", "answer", "1", "", NOW)
    revised = [replace(ratings[2], value=value, revision=True) for value in "01"]
    passage, answer, other = rating_rows(STUDY, TURNS, ratings, [agreed], revised)
    assert answer == RatingRow(
        study="Pilot", item="t1", annotator="Ben", criterion="answer", value="0", comment="", adjudicated="1",
        revised="1", kind="", conversation="c1", turn=1, question="What is it?",
        standalone_question="What is it? (standalone)", answer="It is [1].", refused=False,
        outcome="answer", quote="", passages="[1] =first\n\n[2] second",
        pages="report.pdf p. 1; report.pdf p. 2", reader="", model="fake", settings_fingerprint="", thumb="",
        seconds=4.5, rated_at=NOW,
    )  # fmt: skip
    assert (passage.item, passage.passages, passage.pages) == ("t1#2", "[2] second", "report.pdf p. 2")
    assert (other.item, other.passages, other.pages) == ("t2", "", "")


def test_a_row_says_what_came_of_the_question() -> None:
    lines = Citation(1, "p", Span(DOCUMENT, 1, 0, 5), "first lines", False)
    answer = replace(TURNS[0].turn.answer, nearest=lines)
    for one, told in (
        (answer, ("answer", "")),
        (replace(answer, perhaps=True), ("perhaps", "first lines")),
        (replace(answer, refused=True), ("nothing", "first lines")),
    ):
        asked = replace(TURNS[0], turn=replace(TURNS[0].turn, answer=one))
        (row,) = rating_rows(STUDY, [asked], [rating("s", "t1")])
        assert (row.outcome, row.quote) == told


def test_the_csv_is_read_back_by_the_agreement_reader() -> None:
    ratings = [
        replace(rating("s", item, name, criterion, value), comment="=HYPERLINK(1)")
        for name, values in (("Anna", "110"), ("-Ben", "100"))
        for (item, criterion), value in zip(
            (("t1", "answer"), ("t1#1", "passage"), ("t2", "answer")), values, strict=True
        )
    ]
    data = write_ratings(rating_rows(STUDY, TURNS, ratings))
    answer, passage = (one.pairs[0] for one in agreement_of_many(read_ratings(data)[0]))
    assert (answer.annotators, answer.n, answer.kappa, passage.agreement) == (("Anna", "-Ben"), 2, 1, 0)
    rows = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline="")))
    assert {row["comment"] for row in rows} == {"'=HYPERLINK(1)"}
    assert {row["annotator"] for row in rows} == {"Anna", "'-Ben"}
    assert rows[0]["rated_at"] == "2026-03-01T12:30:15.123456+00:00"
    assert (rows[0]["seconds"], rows[0]["refused"]) == ("4.5", "0")


@settings(deadline=None, max_examples=20)  # the first example loads pyarrow
@given(st.builds(RatingRow, *[st.text(st.characters(codec="utf-8"))] * 10, st.integers(0, 99),
                 *[st.text(st.characters(codec="utf-8"))] * 3, st.booleans(),
                 *[st.text(st.characters(codec="utf-8"))] * 8, st.floats(0, 1e6), st.just(NOW)))  # fmt: skip
def test_every_row_survives_both_formats(row: RatingRow) -> None:
    assert decode(RatingRow, write_ratings([row], "jsonl")) == row
    (stored,) = pd.read_parquet(io.BytesIO(write_ratings([row], "parquet"))).itertuples(index=False)
    assert (stored.comment, stored.turn, stored.refused) == (row.comment, row.turn, row.refused)
    assert (stored.seconds, stored.rated_at) == (row.seconds, row.rated_at)
    table = read_csv(write_ratings([row]), ("item", "annotator", "criterion", "value"))
    cells = dict(zip(table.header, table.rows[0].cells, strict=True))
    for name in ("study", "item", "annotator", "criterion", "value", "comment", "question", "answer", "passages"):
        assert cells[name] == getattr(row, name)
    assert float(cells["seconds"]) == row.seconds


def test_no_format_lets_a_cell_become_a_formula() -> None:
    comment = "=1+1\tand\nmore & 50 %"
    rows = rating_rows(STUDY, TURNS, [replace(rating("s", "t1", "-Ben"), comment=comment, seconds=0.1)])
    header, line = clipboard_text(ratings_frame(rows)).splitlines()
    cells = dict(zip(header.split("\t"), line.split("\t"), strict=True))
    assert (cells["annotator"], cells["comment"], cells["seconds"]) == ("'-Ben", "'=1+1 and more & 50 %", "0.1")
    assert write_ratings(rows, "tsv").decode() == f"{header}\n{line}\n"
    latex = write_ratings(rows, "latex").decode()
    assert r"more \& 50 \%" in latex
    assert latex.count(r"\\") == 2
    with pytest.raises(UsageError, match="not written as 'xlsx'"):
        write_ratings(rows, "xlsx")


@given(TEXT, TEXT, st.floats(allow_nan=False, allow_infinity=False))
def test_conversations_survive_exactly(title: str, passage: str, score: float) -> None:
    asked = turn("t1", passage, question=title)
    asked = replace(asked, answer=replace(asked.answer, confidence=score))
    given_conversations = (
        Conversation("c1", title, NOW, "me", ("d1",), (asked,)),
        Conversation("c2", "", datetime(2026, 1, 1, tzinfo=UTC), "me"),
    )
    data = write_jsonl(given_conversations)
    assert data.count(b"\n") == len(data.decode().splitlines()) == 2
    assert tuple(decode(Conversation, line) for line in data.splitlines()) == given_conversations


def test_what_json_lines_cannot_hold() -> None:
    with pytest.raises(UsageError, match="cannot be written as JSON"):
        write_jsonl([replace(turn("t1").answer, confidence=float("nan"))])
