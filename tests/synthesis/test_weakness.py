"""When rules are advised instead of a language model."""

from __future__ import annotations

import pytest

from pdfqa_core.synthesis import Asked, weakness


@pytest.mark.parametrize(
    ("parameters", "asked", "words"),
    [
        (0.135, Asked(), "Tiny has 0.135 billion parameters"),
        (0.135, Asked(19, 0), "Tiny has 0.135 billion parameters"),
        (0.135, Asked(20, 9), ""),  # small, but its questions are of use
        (1.54, Asked(), ""),
        (1.54, Asked(19, 19), ""),  # too few to tell
        (1.54, Asked(20, 10), "10 of its 20 were dropped or rejected (50%)"),
        (None, Asked(), ""),
        (None, Asked(31, 31), "31 of its 31 were dropped or rejected (100%)"),
    ],
)
def test_the_fate_of_its_questions_counts_and_before_that_its_size(
    parameters: float | None, asked: Asked, words: str
) -> None:
    said = weakness("Tiny", parameters, asked)
    assert words in said
    assert bool(said) is bool(words)
    assert not said or "rules" in said


def test_what_is_asked_adds_up() -> None:
    assert Asked(3, 1) + Asked(2, 2) == Asked(5, 3)
