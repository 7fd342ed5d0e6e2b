from pdfqa_core.reading.citations import cite, strip_markers, with_markers
from pdfqa_core.types import Answer, Citation, Span
from tests.reading.helpers import hits

PLAN = "The plan began in 2010. The deductible is $2,000 per year. Emergency care is covered everywhere."
BOOK = "Employees get 25 days of leave. Leave must be requested two weeks ahead."


def test_each_sentence_gets_the_sentence_that_says_it():
    text = "The deductible is $2,000. Leave must be requested two weeks ahead."
    first, second = cite(text, hits(PLAN, BOOK))
    assert (first.number, first.quote, first.verified) == (1, "The deductible is $2,000 per year.", True)
    assert first.span == Span("doc", 1, 124, 124 + len(first.quote))
    assert text[first.start : first.end] == "The deductible is $2,000."
    assert (second.number, second.passage_id) == (2, "p2")
    assert text[second.start : second.end] == "Leave must be requested two weeks ahead."


def test_a_sentence_with_another_number_is_not_verified():
    (citation,) = cite("The deductible is $5,000 per year.", hits(PLAN))
    assert not citation.verified


def test_the_threshold_decides_what_is_verified():
    text = "Emergency care is free."
    assert cite(text, hits(PLAN), threshold=0.5)[0].verified
    assert not cite(text, hits(PLAN), threshold=0.9)[0].verified


def test_a_sentence_without_support_gets_no_citation():
    assert cite("Bananas are yellow fruit.", hits(PLAN)) == ()
    assert cite("", hits(PLAN)) == ()
    assert cite("The deductible is $2,000.", []) == ()


def test_numbers_that_the_model_wrote_break_ties():
    same = "Leave is paid."
    text, markers = strip_markers("Leave is paid [2].")
    assert text == "Leave is paid."
    assert cite(text, hits(same, same), markers=markers)[0].number == 2
    assert cite(text, hits(same, same))[0].number == 1


def test_markers_of_the_model_are_taken_out():
    assert strip_markers("A [1]. B [2, 3] and C (Passage 4).") == ("A. B and C.", [(1, 1), (4, 2), (4, 3), (10, 4)])
    assert strip_markers("See [Smith 2010] and a[i].") == ("See [Smith 2010] and a[i].", [])


def test_markers_are_shown_after_their_sentences():
    span = Span("d", 1, 0, 1)
    citations = (Citation(2, "p", span, "q", True, 0, 4), Citation(1, "p", span, "q", False, 5, 9))
    assert with_markers(Answer("One. Two.", citations)) == "One. [2] Two. [1]"
    assert with_markers(Answer("Insufficient context.", refused=True)) == "Insufficient context."
