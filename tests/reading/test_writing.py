import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdfqa_core.reading.generative import MarkerFilter, cut_at_loop


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (
            "The plan covers dental care. It costs 40 dollars. The plan covers dental care.",
            "The plan covers dental care. It costs 40 dollars.",
        ),
        (
            "- covers dental care fully\n- eyes\n- covers dental care fully\n",
            "- covers dental care fully\n- eyes",
        ),
        ("It covers the plan, the plan, the plan, the plan, ", "It covers the plan"),
        ("The first plan covers dental care. The second plan covers eye care.", None),
        ("Yes. No. Yes. Maybe. Yes.", None),
        ("", None),
    ],
)
def test_what_is_repeated_is_cut_and_a_text_without_loop_is_left_alone(text, kept):
    assert cut_at_loop(text) == kept


@given(st.lists(st.text("ab [1],]", max_size=6), max_size=12))
def test_held_back_text_is_never_lost(pieces):
    shown = MarkerFilter()
    out = "".join(shown.feed(piece) for piece in pieces) + shown.flush()
    assert [c for c in out if c in "ab"] == [c for c in "".join(pieces) if c in "ab"]


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        (["Leave", " is paid", " [", "1", "]", ".", " More"], "Leave is paid. More"),
        (["see [Smith", " 2010] and"], "see [Smith 2010] and"),
    ],
)
def test_a_marker_in_several_pieces_is_not_shown_and_other_brackets_are(pieces, shown):
    markers = MarkerFilter()
    assert "".join(map(markers.feed, pieces)) + markers.flush() == shown
