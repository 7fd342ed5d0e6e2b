"""Segments of the entailment pipeline: known answers, and that nothing but white space is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdfqa_core.metrics.refusal import LONGEST, SHORTEST, segments
from pdfqa_core.text import plain_sentences

TEXT = st.lists(
    st.sampled_from(["word ", "A longer word of text. ", "\n", "\n\n", "\t", "x" * 120, "Short. ", "é", "| a | b |\n"]),
    max_size=40,
).map("".join)


def pieces(text):
    return [segment.piece for segment in segments(text)]


def test_known_answers():
    assert pieces("Very important hypotheses to list.\n\t1. Hypothesis number one. 2. Hypothesis number two.") == [
        "Very important hypotheses to list.",
        "1. Hypothesis number one.",
        "2. Hypothesis number two.",
    ]
    assert pieces("A short sentence at the end. Short.") == ["A short sentence at the end. Short."]
    assert list(map(len, pieces("a" * 1200))) == [500, 500, 200]


def test_sentences_may_be_those_of_nltk():
    text = "We follow the rule of eq. Three in all of our cases here. It holds for every one of them."
    plain = [part.piece for part in segments(text, plain_sentences)]
    assert [len(plain), len(pieces(text))] == [3, 2]
    assert plain_sentences(" \n ") == []


@pytest.mark.parametrize("text", ["", " \n\t ", "\n\n"])
def test_an_empty_text_has_no_segments(text):
    assert segments(text) == ()


def test_a_long_sentence_is_split_at_blank_lines_then_at_line_ends_then_by_length():
    rows = [letter * 300 for letter in "abcd"]
    assert pieces(f"{rows[0]},\n{rows[1]},\n{rows[2]}") == [f"{rows[0]},", f"{rows[1]},", rows[2]]
    assert list(map(len, pieces(f"{'a' * 200}\n{'b' * 200}"))) == [401]  # short enough to stay whole
    assert list(map(len, pieces(f"{'a' * 700}\n{'b' * 30}"))) == [500, 200, 30]


@given(TEXT)
def test_segments_hold_the_text_in_order_but_for_white_space(text):
    found = segments(text)
    assert "".join("".join(segment.piece for segment in found).split()) == "".join(text.split())
    for segment in found:
        assert text[segment.start : segment.end] == segment.piece
        assert segment.piece == segment.piece.strip()
        assert len(segment.piece) < LONGEST + 2 * SHORTEST + 40  # a short one and the white space to it may be joined
    if len(found) > 1:
        assert all(len(segment.piece) >= SHORTEST for segment in found)
