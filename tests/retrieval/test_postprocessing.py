import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdfqa_core.chunking import Windows
from pdfqa_core.retrieval import BM25, Index, Postprocessed
from pdfqa_core.retrieval.postprocessing import joined, merged, spread
from pdfqa_core.types import Hit, Page, Passage, Span

TEXT = "Alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon."


def cut(*places, page=1, document="doc", text=TEXT):
    """Return the passage of these (start, end) places of a page, or (page, start, end) of several."""
    spans = tuple(Span(document, *p) if len(p) == 3 else Span(document, page, *p) for p in places)
    return Passage(repr(spans), spans, "\n\n".join(text[s.start : s.end] for s in spans), "Title")


def hits(*passages):
    return [Hit(p, 10.0 - n, n + 1, "test", {"bm25": 10.0 - n}) for n, p in enumerate(passages)]


def test_overlapping_passages_become_one_at_the_place_of_the_best():
    shown = merged(hits(cut((40, 80)), cut((0, 10)), cut((60, 100)), cut((20, 40))))
    assert [hit.passage.text for hit in shown] == [TEXT[40:100], TEXT[0:10], TEXT[20:40]]
    assert [(hit.rank, hit.score) for hit in shown] == [(1, 10.0), (2, 9.0), (4, 7.0)]
    assert shown[0].passage.spans == (Span("doc", 1, 40, 100),)
    assert shown[0].passage.heading == "Title"


def test_a_passage_inside_another_adds_nothing():
    assert joined(cut((0, 50)), cut((10, 20))).text == TEXT[0:50]
    assert joined(cut((10, 20)), cut((0, 50))).text == TEXT[0:50]


def test_other_pages_and_documents_do_not_overlap():
    assert joined(cut((0, 50)), cut((10, 60), page=2)) is None
    assert joined(cut((0, 50)), cut((10, 60), document="other")) is None
    assert joined(cut((0, 50)), cut((50, 60))) is None


def test_passages_across_pages_are_joined_on_both():
    made = joined(cut((1, 60, 90), (2, 0, 20)), cut((2, 10, 40)))
    assert made.spans == (Span("doc", 1, 60, 90), Span("doc", 2, 0, 40))
    assert made.text == f"{TEXT[60:90]}\n\n{TEXT[0:40]}"


def test_a_text_that_is_not_that_of_its_spans_is_left_alone():
    odd = Passage("odd", (Span("doc", 1, 0, 50),), "something else", "")
    assert joined(cut((0, 50)), odd) is None


def test_a_chain_of_windows_stops_at_twice_the_best():
    shown = merged(hits(*(cut((start, start + 20)) for start in range(0, 80, 10))))
    assert [hit.passage.text for hit in shown] == [TEXT[0:40], TEXT[30:70], TEXT[60:90]]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 90), st.integers(1, 15), st.integers(1, 2)), min_size=1, max_size=8))
def test_no_character_is_lost_or_invented(places):
    before = hits(*(cut((start, start + size), page=page) for start, size, page in places))
    after = merged(before)

    def held(found):
        return {(s.page, place) for hit in found for s in hit.passage.spans for place in range(s.start, s.end)}

    assert held(after) == held(before)
    for hit in after:
        assert hit.passage.text == "\n\n".join(TEXT[s.start : s.end] for s in hit.passage.spans)


def test_at_most_so_many_hits_of_a_page():
    found = hits(cut((0, 5)), cut((10, 15)), cut((20, 25), page=2), cut((30, 35)), cut((0, 5), document="other"))
    assert [hit.rank for hit in spread(found, 1)] == [1, 3, 5]
    assert [hit.rank for hit in spread(found, 2)] == [1, 2, 3, 5]


@pytest.fixture(scope="module")
def index():
    words = TEXT.split()
    pages = [" ".join(words[(n + m) % len(words)] for m in range(len(words))) for n in range(12)]
    made = []
    for number, text in enumerate(pages, 1):
        made += Windows(size=8, step=4).chunk([Page("doc", number, str(number), 100, 100, text)])
    return Index.in_memory(made)


def test_more_is_fetched_until_there_are_enough(index):
    shown = Postprocessed(BM25(index), per_page=1).search("gamma", 8)
    assert [hit.rank for hit in shown] == list(range(1, 9))
    assert len({hit.passage.pages for hit in shown}) == 8
    assert len(Postprocessed(BM25(index), per_page=1).search("gamma", 50)) == 12


def test_merged_evidence_does_not_repeat_itself(index):
    plain = BM25(index).search("gamma", 24)
    shown = Postprocessed(BM25(index), merge=True).search("gamma", 24)
    assert len({hit.passage.pages for hit in plain}) == len(shown) == 12 < len(plain)
    assert all(hit.passage.text.count("gamma") == 1 for hit in shown)
    assert shown[0].score == plain[0].score


def test_the_filters_reach_the_retriever(index):
    shown = Postprocessed(BM25(index), per_page=2, merge=True).search("gamma", 9, pages=(3, 4))
    assert {page for hit in shown for page in hit.passage.pages} == {3, 4}
    assert Postprocessed(BM25(index), merge=True).search("gamma", 9, frozenset({"other"})) == []
