import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdfqa_core.reading.evidence import locate, match, quotes
from pdfqa_core.types import Hit, Passage, Span
from tests.reading.helpers import hit


def quote(text):
    return next(iter(quotes(hit(text), longest=1)))


def test_containment_and_f1():
    found = match("The deductible is $2,000.", quote("The deductible of the plan is $2,000 a year."))
    assert found.containment == 1.0
    assert found.f1 == pytest.approx(2 * 1 * 0.5 / 1.5)  # deductible, 2,000 of deductible, plan, 2,000, year


def test_nothing_in_common_is_no_match():
    assert match("Cats purr.", quote("Dogs bark.")).score == 0
    assert match("", quote("Dogs bark.")).score == 0


def test_a_range_is_located_in_the_span_it_comes_from():
    first, second = Span("doc", 1, 50, 60), Span("doc", 2, 5, 12)
    passage = Passage("p", (first, second), "0123456789\n\nabcdefg")
    assert locate(passage, 2, 5) == (Span("doc", 1, 52, 55), 2, 5)
    assert locate(passage, 13, 15) == (Span("doc", 2, 6, 8), 13, 15)
    assert locate(passage, 9, 19) == (Span("doc", 2, 5, 12), 12, 19)
    assert locate(passage, 10, 12) is None


def test_a_text_that_is_not_what_the_spans_hold_gives_the_whole_span():
    passage = Passage("p", (Span("doc", 3, 0, 500),), "Short text. Another one.")
    shorter = Passage("p", (Span("doc", 3, 0, 5),), "Short text. Another one.")
    assert locate(passage, 0, 5) is None
    assert locate(shorter, 30, 35) is None
    assert {q.span for q in quotes(Hit(passage, 1.0, 1, "x"))} == {Span("doc", 3, 0, 500)}


@given(st.lists(st.text("ab .", min_size=1, max_size=12), min_size=1, max_size=4), st.integers(1, 3), st.data())
def test_every_range_is_located_on_the_text_it_shows(parts, separator, data):
    pages = {number: "#" * number + part for number, part in enumerate(parts, 1)}
    spans = tuple(Span("d", number, number, number + len(part)) for number, part in enumerate(parts, 1))
    text = ("\n" * separator).join(parts)
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    place = locate(Passage("p", spans, text), start, end)
    if place is not None:
        span, first, last = place
        assert start <= first < last <= end
        assert pages[span.page][span.start : span.end] == text[first:last]
    else:
        assert not text[start:end].strip("\n")
