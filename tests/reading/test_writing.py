from hypothesis import given
from hypothesis import strategies as st

from pdfqa_core.reading.generative import MarkerFilter, cut_at_loop


def test_a_repeated_sentence_is_cut():
    text = "The plan covers dental care. It costs 40 dollars. The plan covers dental care."
    assert cut_at_loop(text) == "The plan covers dental care. It costs 40 dollars."


def test_a_repeated_line_is_cut():
    assert cut_at_loop("- covers dental care fully\n- eyes\n- covers dental care fully\n") == (
        "- covers dental care fully\n- eyes"
    )


def test_a_piece_three_times_in_a_row_is_cut():
    text = "It covers the plan, the plan, the plan, the plan, "
    assert cut_at_loop(text) == "It covers the plan"


def test_a_text_without_loop_is_left_alone():
    assert cut_at_loop("The first plan covers dental care. The second plan covers eye care.") is None
    assert cut_at_loop("Yes. No. Yes. Maybe. Yes.") is None
    assert cut_at_loop("") is None


@given(st.lists(st.text("ab [1],]", max_size=6), max_size=12))
def test_held_back_text_is_never_lost(pieces):
    shown = MarkerFilter()
    out = "".join(shown.feed(piece) for piece in pieces) + shown.flush()
    assert [c for c in out if c in "ab"] == [c for c in "".join(pieces) if c in "ab"]


def test_a_marker_in_several_pieces_is_not_shown():
    shown = MarkerFilter()
    assert "".join(shown.feed(piece) for piece in ["Leave", " is paid", " [", "1", "]", ".", " More"]) == (
        "Leave is paid. More"
    )


def test_other_brackets_are_shown():
    shown = MarkerFilter()
    assert shown.feed("see [Smith") + shown.feed(" 2010] and") + shown.flush() == "see [Smith 2010] and"
