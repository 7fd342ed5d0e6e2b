"""Ratings as CSV are written without a frame between; the file is the one that a frame makes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from pdfqa_core.csv_format import read_csv
from pdfqa_core.exports.frames import write_frame
from pdfqa_core.exports.studies import RatingRow, ratings_frame, write_ratings

CELLS = (
    "",
    "plain",
    "a,b",
    'say "no"',
    "two\nlines",
    "\r",
    "=1+1",
    "'=x",
    "naïve",
    "\ud800",
    " ",
    "'",
    "-3",
    "a;b",
    "\t",
)


def row(text: str, seconds: float = 1.5, moment: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> RatingRow:
    return RatingRow("S", "t1", "Ada", "answer", "1", text, "", "", "", "c", 1, text, text, text, True, text, text,
                     text, text, "r", "m", "f", "", seconds, moment)  # fmt: skip


def test_the_file_is_the_one_that_a_frame_makes() -> None:
    later = datetime(2026, 1, 1, 12, 30, 1, 250_000, tzinfo=UTC)
    rows = [*map(row, CELLS), row("x", float("nan"), later), row("y", 1e-7), row("z", 12345678.0)]
    assert write_ratings(rows) == write_frame(ratings_frame(rows))
    assert write_ratings([]) == write_frame(ratings_frame([]))


def test_times_are_in_utc() -> None:
    moment = datetime(2026, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    assert read_csv(write_ratings([row("x", moment=moment)])).rows[0].cells[-1] == "2026-01-01T00:00:00+00:00"
