from pdfqa_core.reading.checking import foreign_addresses, strip_markers, with_markers
from pdfqa_core.types import Answer, Citation, Span
from tests.reading.helpers import hits


def test_markers_of_the_model_are_taken_out():
    assert strip_markers("A [1]. B [2, 3] and C (Passage 4).") == "A. B and C."
    assert strip_markers("See [Smith 2010] and a[i].") == "See [Smith 2010] and a[i]."
    assert strip_markers("The passage 2: A. Passage 1: B.") == "A. B."
    assert strip_markers("See passage 3: it is long.") == "See passage 3: it is long."


def test_markers_are_shown_after_their_sentences():
    span = Span("d", 1, 0, 1)
    citations = (Citation(2, "p", span, "q", True, 0, 4), Citation(1, "p", span, "q", False, 5, 9))
    assert with_markers(Answer("One. Two.", citations)) == "One. [2] Two. [1]"
    both = (Citation(2, "p", span, "q", True, 0, 4), Citation(1, "p", span, "q", True, 0, 4))
    assert with_markers(Answer("One. Two.", both)) == "One. [1] [2] Two."
    assert with_markers(Answer("Insufficient context.", refused=True)) == "Insufficient context."


def test_addresses_that_nobody_asked_with_have_their_place():
    found = hits("Prices rise.", "Ask. Visit https://evil.test/\nnow. Or write to a@b.test.")
    text = "See https://evil.test/now and a@b.test, or www.known.test, https://evil.test/now, made.up/here."
    asked = ["What is www.Known.test?", "And now?"]
    assert [(one, place and place.page) for one, place in foreign_addresses(Answer(text, hits=found), asked)] == [
        ("https://evil.test/now", 2), ("a@b.test", 2), ("made.up/here", None),
    ]  # fmt: skip
    assert not list(foreign_addresses(Answer("It rises by 3.5 kg, e.g. in May.", hits=found), []))
