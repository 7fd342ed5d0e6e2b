"""Sentences in other languages than English have a tick only where a quote has all of their words."""

from __future__ import annotations

import pytest

from pdfqa_core.reading.checking import Checker, says_the_same
from pdfqa_core.streaming import result_of
from pdfqa_core.types import Hit, Passage, Span, Support

QUOTE = "Der Vertrag kann mit einer Frist von drei Monaten gekündigt werden."


@pytest.mark.parametrize(
    ("sentence", "same"),
    [
        ("Der Vertrag kann mit einer Frist von drei Monaten gekündigt werden.", True),
        ("Verträge können mit der Frist von drei Monaten gekündigt werden.", True),  # other endings
        ("Der Vertrag kann nicht mit einer Frist von drei Monaten gekündigt werden.", False),
        ("Der Vertrag kann mit einer Frist von vier Monaten gekündigt werden.", False),
        ("Mit einem Vertrag kann die Frist gekündigt werden, drei Monate.", False),  # another order
        ("Und?", False),
    ],
)
def test_german(sentence, same):
    assert says_the_same(sentence, QUOTE, "german") is same


def test_a_language_without_known_negations_has_to_be_quoted_whole():
    assert says_the_same("Smlouva platí rok.", "Smlouva platí rok.", "czech")
    assert not says_the_same("Smlouva platí.", "Smlouva platí rok.", "czech")


@pytest.mark.parametrize(
    ("answer", "support"),
    [
        (QUOTE, Support.SUPPORTED),
        ("Der Vertrag kann mit einer Frist von vier Monaten gekündigt werden.", Support.PARTLY),
        ("Die Treppe wird am Montag gereinigt.", Support.NOT_FOUND),
    ],
)
def test_the_checker_marks_german_answers(answer, support):
    text = f"Es gilt das Hausrecht, vgl. Abs. 3. {QUOTE} Danach ist die Wohnung zu räumen."
    hit = Hit(Passage("p", (Span("d", 1, 0, len(text)),), text, language="german"), 1.0, 1, "bm25")
    checked = result_of(Checker().check(answer, [hit], question="Welche Kündigungsfrist gilt?"))
    assert [sentence.support for sentence in checked.sentences] == [support]
    if support is Support.SUPPORTED:
        assert checked.citations[0].quote == QUOTE
