"""Which sentences of passages a model is shown, as which text, and which lines are quoted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from pdfqa_core.reading.evidence import LONGEST_LINES, Evidence, gather
from pdfqa_core.types import Hit, Passage, Span
from tests.reading.helpers import hit, hits

COSTS = (
    "Costs:\n\n| Visit | Price |\n| --- | --- |\n| Doctor | $20 |\n| Hospital | $50 |\n\n"
    "Call us.  Or write. Or come."
)  # fmt: skip
PLAN = "The plan began in 2010. Dogs may come along. The deductible is $2,000. It is due in May."


def evidence(found: Sequence[Hit], *scores: float) -> Evidence:
    """Return all sentences of the hits with these scores."""
    gathered = gather("", found)
    assert len(gathered.sentences) == len(scores)
    return replace(gathered, scores=scores)


# ------------------------------------------------------------------ what is gathered


def test_what_overlapping_passages_share_is_gathered_once():
    whole = "The plan began in 2010. The deductible is $2,000 per year. Leave is paid."
    begins, ends = hit(whole[:58], 2, start=100), hit(whole[24:], 1, start=124)
    assert gather("", [ends, begins]).texts() == [
        "The plan began in 2010. The deductible is $2,000 per year.",
        "Leave is paid.",
    ]


def test_the_first_hits_alone_are_gathered_in_the_order_of_the_documents():
    later, sooner, third = hit("Leave is paid.", 1, page=9), hit("Dogs bark.", 2, page=3), hit("Cats sleep.", 3)
    later = replace(later, passage=replace(later.passage, language="german"))
    found = gather("Is leave paid?", [later, sooner, third], count=2)
    assert found.texts() == ["Dogs bark.", "Leave is paid."]
    assert found.hits == (later, sooner)  # best first
    assert found.language == "german"  # of the best
    assert found.scores[0] == 0 < found.scores[1]
    assert len(gather("", [later, sooner, third]).hits) == 3


# ------------------------------------------------------------------ what is shown


@pytest.mark.parametrize(
    ("places", "shown"),
    [
        ((0, 1, 2, 3, 4, 5), "Costs:\nDoctor: Price: $20\nHospital: Price: $50\nCall us.  Or write. Or come."),
        ((3, 5), "Call us. … Or come."),
        ((1, 4), "Doctor: Price: $20\nOr write."),
    ],
)
def test_gaps_are_marked_and_rows_of_tables_are_read_out(places: tuple[int, ...], shown: str) -> None:
    assert replace(gather("", hits(COSTS)), places=places).texts() == [shown]


def test_the_best_sentences_are_kept_in_their_order():
    kept = evidence(hits(PLAN, "Cats sleep."), 0.1, 0.2, 0.8, 0.7, 0.9).fitting(lambda part: len(part.places) <= 3)
    assert kept is not None
    assert kept.texts() == ["The deductible is $2,000. It is due in May.", "Cats sleep."]
    assert kept.best().texts() == ["Cats sleep."]


@pytest.mark.parametrize(
    ("most", "shown"),
    [
        (3, "Results:\n\n(in francs)\nTax: 2023: 2"),
        (5, "Results:\n\n(in francs)\nTax: 2023: 2\nSales:\nBoats: 2023: 7"),
        (2, "Sales:\nBoats: 2023: 7"),  # there is no room for all of the better one
    ],
)
def test_a_row_of_a_table_comes_with_the_two_sentences_above_its_own_table(most: int, shown: str) -> None:
    head = "| | 2023 |\n| --- | --- |\n"
    above, below = f"{head}| Income | 5 |\n| Tax | 2 |", f"{head}| Boats | 7 |"
    text = f"Far above.\n\nResults:\n\n(in francs)\n\n{above}\n\nSales:\n\n{below}"
    kept = evidence(hits(text), 0.1, 0, 0, 0.2, 0.9, 0, 0.8).fitting(lambda part: len(part.places) <= most)
    assert kept is not None
    assert kept.texts() == [shown]


# ------------------------------------------------------------------ lines that are quoted


def long(name: str, length: int = 20) -> str:
    return f"{name} {'word ' * (length - 2)}end."


@pytest.mark.parametrize(
    ("lengths", "scores", "quoted"),
    [
        ((20, 20, 20, 20, 20), (0.9, 0.5, 1.0, 0.8, 0.3), "BCD"),  # then B before E, and A has no room
        ((20, 20, 20, 20, 20), (0.0, 0.2, 0.3, 0.4, 1.0), "CDE"),
        ((20, 20, 21, 20, 20), (0.0, 0.5, 1.0, 0.8, 0.3), "CD"),
        ((10, 40, 20, 50, 10), (0.0, 0.5, 1.0, 0.8, 0.3), "BC"),  # the better one is too long
        ((20, LONGEST_LINES + 1, 5, 5, 5), (0.0, 1.0, 0.5, 0.5, 0.5), "B"),
    ],
)
def test_the_best_sentence_is_quoted_with_its_better_neighbours(
    lengths: tuple[int, ...], scores: tuple[float, ...], quoted: str
) -> None:
    told = dict(zip("ABCDE", map(long, "ABCDE", lengths), strict=True))
    (found,) = hits(" ".join(told.values()))
    lines = evidence([found], *scores).lines()[0]
    assert lines.quote == " ".join(told[name] for name in quoted)
    start = lines.span.start - found.passage.spans[0].start
    assert found.passage.text[start : start + lines.span.end - lines.span.start] == lines.quote


def test_lines_stay_on_the_page_and_in_the_passage_of_the_best_sentence():
    spans = (Span("doc", 1, 0, 10), Span("doc", 2, 0, 10))
    over_two_pages = Hit(Passage("p1", spans, "Dogs bark.\n\nCats purr."), 1.0, 1, "test")
    lines = evidence([over_two_pages, hit("Fish swim.", 2, page=2)], 0.9, 1.0, 0.9).lines()[0]
    assert (lines.quote, lines.span, lines.number, lines.verified) == ("Cats purr.", spans[1], 1, False)


def test_lines_do_not_reach_over_a_table_that_is_no_part_of_the_passage():
    spans = (Span("doc", 1, 0, 10), Span("doc", 1, 90, 100))  # the table stands from 10 to 90
    around = Hit(Passage("p1", spans, "Dogs bark.\n\nCats purr."), 1.0, 1, "test")
    first, second = evidence([around], 0.9, 1.0).lines()
    assert [(one.quote, one.span) for one in (first, second)] == [("Cats purr.", spans[1]), ("Dogs bark.", spans[0])]


def test_without_text_no_lines_are_quoted():
    assert gather("Why?", []).lines() == ()
    assert gather("Why?", hits("")).lines() == ()


def test_the_second_piece_stands_elsewhere():
    here, there = hit("Dogs bark. They run."), hit("Cats purr. They sleep.", 2, page=2)
    again = replace(here, rank=3)  # the same place in another passage
    found = evidence([here, there, again], 1.0, 0.8, 0.5, 0.2, 0.9, 0.9).lines()
    assert [(one.quote, one.span.page) for one in found] == [("Dogs bark. They run.", 1), ("Cats purr. They sleep.", 2)]
    assert len(evidence([here], 1.0, 0.8).lines()) == 1
