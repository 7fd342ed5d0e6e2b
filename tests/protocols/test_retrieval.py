import threading
from datetime import UTC, datetime

import pytest

from pdfqa_core.errors import StoppedError, UsageError
from pdfqa_core.evaluation_types import Evaluation, GoldItem, Ranking, ScoredSystem
from pdfqa_core.metrics.comparison import compare, latency
from pdfqa_core.protocols.base import cited_id
from pdfqa_core.protocols.gold import GoldFile, GoldPlace, GoldQuestion
from pdfqa_core.protocols.retrieval import (
    EXACT,
    MEASURES,
    OVERLAP,
    PAGE,
    covered,
    curve,
    gold_places,
    judge,
    locate,
    matched,
    resolve,
    run_system,
    scored,
)
from pdfqa_core.types import Document, Hit, Page, Passage, Progress, Question, Span


def passage(name, *places):
    return Passage(name, tuple(Span(*place) for place in places), name)


def hits(*passages):
    return [Hit(p, 1.0 / rank, rank, "fake") for rank, p in enumerate(passages, start=1)]


def item(name="q", spans=(), pages=()):
    return GoldItem(Question(name, f"{name}?"), (), tuple(Span(*s) for s in spans), tuple(pages))


def result(name, *ranks):
    """A system that finds the gold of question n at rank `ranks[n]` (None: not at all)."""
    found = []
    for number, rank in enumerate(ranks):
        gold = item(f"q{number}", pages=[("d", 1)])
        ranked = [passage(f"x{n}", ("d", 9, 0, 5)) for n in range(10)]
        if rank is not None:
            ranked[rank - 1] = passage("gold", ("d", 1, 0, 5))
        ranking = Ranking(judge(gold, hits(*ranked)), ("d#1",))
        found.append(scored(gold, ranking, MEASURES, 0.001 * (number + 1)))
    return ScoredSystem(name, tuple(found))


def comparison(systems, baseline, measures):
    return compare(Evaluation("retrieval", "gold", MEASURES, tuple(systems)), measures=measures, baseline=baseline)


def test_a_span_is_found_by_overlap_and_a_page_by_touch():
    gold = item(spans=[("d", 1, 10, 20)], pages=[("d", 2)])
    entries = judge(
        gold,
        hits(
            passage("before", ("d", 1, 0, 10)),
            passage("overlap", ("d", 1, 19, 30)),
            passage("again", ("d", 1, 10, 12)),
            passage("page", ("d", 2, 500, 600)),
            passage("other document", ("e", 2, 0, 600)),
        ),
    )
    assert [e.gain for e in entries] == [0.0, 1.0, 0.0, 1.0, 0.0]
    assert entries[1].docno == "d#1:10-20"
    assert entries[2].docno == "again"  # a place counts once


P1, P2 = passage("p1", ("d", 1, 0, 100)), passage("p2", ("d", 1, 50, 150))
ACROSS, TABLE = passage("across", ("d", 1, 150, 200), ("d", 2, 0, 50)), passage("table", ("d", 3, 0, 90))
ON_PAGES = {("d", 1): [P1, P2, ACROSS], ("d", 2): [ACROSS], ("d", 3): [TABLE, passage("note", ("d", 3, 90, 99))]}


@pytest.mark.parametrize(
    ("spans", "pages", "right", "by_page"),
    [
        ([("d", 1, 0, 99)], [], ["p1"], 3),  # a question made of p1, whose last dot its quote leaves out
        ([("d", 1, 60, 90)], [], ["p1"], 3),  # in both: the first
        ([("d", 1, 90, 140)], [], ["p2"], 3),
        ([("d", 1, 150, 200), ("d", 2, 0, 50)], [], ["across"], 3),  # one passage, one place
        ([("d", 1, 0, 9), ("d", 3, 1, 9)], [], ["p1", "table"], 4),
        ([], [("d", 2)], ["across"], 1),
        ([], [("d", 3)], [], 1),  # two passages are on the page
        ([("d", 1, 0, 9)], [("d", 3)], ["p1"], 4),
    ],
)
def test_what_counts_is_the_one_passage_what_overlaps_or_the_page(spans, pages, right, by_page):
    gold, ranked = item(spans=spans, pages=pages), hits(P2, P1, ACROSS, TABLE)
    (exact,), notes = matched([gold], EXACT, lambda *page: ON_PAGES.get(page, []))
    assert {hit.passage.id for hit in ranked if covered(exact, hit.passage)} == set(right)
    assert len(gold_places(exact)) == len(right)
    assert bool(notes) is not bool(right)
    assert matched([gold], OVERLAP, ON_PAGES.get) == ((gold,), ())
    ((paged,), _) = matched([gold], PAGE, ON_PAGES.get)
    assert sum(bool(covered(paged, hit.passage)) for hit in ranked) == by_page


def test_a_passage_on_two_gold_pages_takes_two_ranks():
    gold = item(pages=[("d", 1), ("d", 2)])
    entries = judge(gold, hits(passage("both", ("d", 1, 5, 9), ("d", 2, 0, 4)), passage("none", ("d", 3, 0, 4))))
    assert [(e.docno, e.gain) for e in entries] == [("d#1", 1.0), ("d#2", 1.0), ("none", 0.0)]


def test_what_is_unscored_counts_for_the_time_and_not_for_the_curve():
    unscored = scored(item("u"), Ranking(()), MEASURES, 0.004)
    system = ScoredSystem("a", (*result("a", 1, 2, None).items, unscored))
    summary = comparison([system], "a", ("MRR",)).cells["a"]["MRR"].summary
    assert (summary.n, summary.unscored) == (3, 1)
    assert summary.mean == pytest.approx(0.5)
    assert latency(system)[0] == pytest.approx(0.0025)
    assert dict(curve(system))[1] == pytest.approx(1 / 3)
    assert dict(curve(system))[2] == pytest.approx(2 / 3)
    assert [k for k, _ in curve(system)] == list(range(1, 101))
    assert curve(ScoredSystem("none", (unscored,))) == ()


def test_a_comparison_names_the_questions_won_and_lost():
    found = comparison([result("a", 1, 5, None, 3), result("b", 2, 4, None, 3)], "b", ("MRR", "HR@1"))
    assert found.changes == {"a": ((("q0", 1, 2),), (("q1", 5, 4),))}
    assert found.cells["a"]["HR@1"].difference.mean == pytest.approx(0.25)
    assert 0 < found.cells["a"]["MRR"].p <= 1


def test_p_values_are_adjusted_for_the_number_of_systems():
    good, bad = result("good", *[1] * 8), result("bad", *[5] * 8)
    alone = comparison([good, bad], "bad", ("MRR",))
    three = comparison([good, bad, result("good too", *[1] * 8)], "bad", ("MRR",))
    assert alone.cells["good"]["MRR"].p == pytest.approx(2 / 2**8)
    assert three.cells["good"]["MRR"].p == three.cells["good too"]["MRR"].p == pytest.approx(4 / 2**8)
    with pytest.raises(UsageError, match="no system called 'x'"):
        comparison([good, bad], "x", ("MRR",))


def test_every_question_is_searched_and_stopping_stops():
    gold = [item("a", pages=[("d", 1)]), item("b", pages=[("d", 1)])]
    asked = []

    def search(one, depth):
        asked.append((one.question.text, depth))
        return hits(passage("p", ("d", 1, 0, 3)))

    events = list(run_system("s", gold, search, depth=7))
    assert [e.done for e in events if isinstance(e, Progress)] == [0, 1]
    assert [scores.rank for scores, _ in events[-1]] == [1, 1]
    assert asked == [("a?", 7), ("b?", 7)]
    stop = threading.Event()
    stop.set()
    with pytest.raises(StoppedError):
        list(run_system("s", gold, search, stop=stop))


def test_quotes_are_located_by_letters_and_digits():
    text = "The deduc\u00adtible is $2,000.\nIt re-\nsets “every” year."
    assert text[slice(*locate("deductible is $2,000", text))] == "deduc\u00adtible is $2,000"
    assert text[slice(*locate('It resets "every" year', text))] == "It re-\nsets “every” year"
    assert locate("nothing of it", text) is None
    assert locate("…", text) is None


# ------------------------------------------------------------------ resolve

WHEN = datetime(2026, 1, 1, tzinfo=UTC)
DOCUMENT = Document("id1", "The Plan", "Benefit_Options.pdf", 2, WHEN, "me")


def page_of(document_id, number):
    return Page(document_id, number, "", 600, 800, f"Page {number} tells the words.") if number <= 2 else None


def question(name, *places, **more):
    return GoldQuestion(name, f"{name}?", 1, places=places, **more)


def test_names_and_quotes_become_ids_and_spans():
    file = GoldFile(
        "gold",
        (
            question("a", GoldPlace("benefit options.PDF", 2, "tells the words")),
            question("b", GoldPlace("The Plan", 1), references=("x",)),
            question("c", GoldPlace("", 1, "not there"), follow_up_of="b"),
            question("d", GoldPlace("absent.pdf", 1)),
            question("e", GoldPlace("Benefit_Options.pdf", 9)),
        ),
    )
    resolved = resolve(file, [DOCUMENT], page_of)
    a, b, c, d, e = resolved.items
    assert a.gold_spans == (Span("id1", 2, 7, 22),)
    assert b.gold_pages == (("id1", 1),)
    assert (c.gold_pages, c.history) == ((("id1", 1),), (("b?", "x"),))
    assert [item.conversation for item in resolved.items] == ["a", "b", "b", "d", "e"]
    assert d.gold_pages == d.gold_spans == e.gold_pages == ()
    assert any("absent.pdf is not in the documents searched" in note for note in resolved.notes)
    assert any("Benefit_Options.pdf page 9" in note for note in resolved.notes)
    assert any("1 quote was not found" in note for note in resolved.notes)


def test_a_quote_on_one_of_two_pages_is_not_missed():
    places = (GoldPlace("Benefit_Options.pdf", 1, "Page 2 tells"), GoldPlace("Benefit_Options.pdf", 2, "Page 2 tells"))
    resolved = resolve(GoldFile("gold", (question("a", *places),)), [DOCUMENT], page_of)
    assert resolved.items[0].gold_pages == (("id1", 1),)
    assert resolved.items[0].gold_spans == (Span("id1", 2, 0, 12),)
    assert resolved.notes == ()


def test_accents_of_names_and_quotes_may_be_encoded_in_either_way():
    # macOS writes decomposed names
    stored = Document("id1", "", "Mu\u0308ller Gebu\u0308hrenliste.pdf", 1, WHEN, "me")
    place = GoldPlace("M\u00fcller Geb\u00fchrenliste.pdf", 1, "jährliche Gebühr")
    for text in ("Die jährliche Gebühr", "Die ja\u0308hrliche Gebu\u0308hr"):
        page = lambda _, number, text=text: Page("id1", number, "", 600, 800, text)  # noqa: E731
        (found,) = resolve(GoldFile("gold", (question("a", place),)), [stored], page).items
        assert found.gold_spans == (Span("id1", 1, 4, len(text)),)
    assert cited_id("Mu\u0308ller", 1) == cited_id("M\u00fcller.pdf", 1)


def test_of_two_documents_of_one_name_the_one_with_the_page_and_the_quote_is_meant():
    texts = {"a": ["5,200 maps", "same"], "b": ["4 boats", "same", "an index"]}
    documents = [Document(one, "Yearbook", "same.pdf", len(texts[one]), WHEN, "me") for one in texts]
    # a title and the name of a copy count where no file has the name
    documents.append(Document("c", "same", "other.pdf", 3, WHEN, "me", other_names=("same.pdf", "copy.pdf")))
    file = GoldFile(
        "gold",
        (
            question("a", GoldPlace("same.pdf", 1, "4 boats")),
            question("b", GoldPlace("same.pdf", 3)),
            question("c", GoldPlace("same.pdf", 2, "same")),
            question("d", GoldPlace("same.pdf", 1)),
            question("e", GoldPlace("same.pdf", 1, "nowhere")),
            question("f", GoldPlace("copy.pdf", 3)),
        ),
    )

    def page(document_id, number):
        read = texts.get(document_id, ["", "", ""])
        return Page(document_id, number, "", 600, 800, read[number - 1]) if number <= len(read) else None

    resolved = resolve(file, documents, page)
    a, b, *others, f = resolved.items
    assert f.gold_pages == (("c", 3),)
    assert a.gold_spans == (Span("b", 1, 0, 7),)
    assert b.gold_pages == (("b", 3),)
    assert all(one.gold_spans == one.gold_pages == () for one in others)
    _, note = resolved.notes
    assert note.startswith("Several documents have the name in row 1 (same.pdf)")


def test_gold_that_is_nowhere_is_an_error():
    with pytest.raises(UsageError, match="No question of gold has gold in the documents searched"):
        resolve(GoldFile("gold", (question("a", GoldPlace("absent.pdf", 1)),)), [DOCUMENT], page_of)


def test_a_row_without_a_document_needs_a_workspace_with_one():
    other = Document("id2", "Other", "other.pdf", 1, WHEN, "me")
    with pytest.raises(UsageError, match="Row 1 names no document"):
        resolve(GoldFile("gold", (question("a", GoldPlace("", 1)),)), [DOCUMENT, other], page_of)
