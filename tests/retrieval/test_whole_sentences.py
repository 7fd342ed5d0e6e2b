from pdfqa_core.retrieval.postprocessing import completed
from pdfqa_core.types import Hit, Passage, Span

PAGE = "The pump was built in 2019. It cost 940,000 euros and stands at the quay. Nobody hears it.\n\nNext paragraph."
PAGES = {("doc", 1): PAGE, ("doc", 2): "A second page opens here. It goes on."}


def hit(*spans):
    found = tuple(Span("doc", page, start, end) for page, start, end in spans)
    text = "\n\n".join(PAGES["doc", span.page][span.start : span.end] for span in found)
    return Hit(Passage("p", found, text, "Heading"), 1.0, 1, "test")


def page_text(document, page):
    return PAGES[document, page]


def test_half_sentences_are_completed_from_their_page():
    inside = hit((1, PAGE.index("940"), PAGE.index("quay")))
    (found,) = completed([inside], page_text)
    assert found.passage.text == "It cost 940,000 euros and stands at the quay."
    assert found.passage.text == PAGE[found.passage.spans[0].start : found.passage.spans[0].end]
    assert found.passage.heading == "Heading"
    assert found.passage.id != "p"


def test_whole_sentences_stay_as_they_are():
    whole = hit((1, 0, PAGE.index(" It cost")))
    assert completed([whole], page_text) == [whole]


def test_a_passage_over_two_pages_is_completed_at_both_ends():
    (found,) = completed([hit((1, PAGE.index("hears"), len(PAGE)), (2, 0, 8))], page_text)
    assert found.passage.text == "Nobody hears it.\n\nNext paragraph.\n\nA second page opens here."


def test_a_table_and_a_page_that_reads_otherwise_now_stay_as_they_are():
    table = Hit(Passage("t", (Span("doc", 1, 0, 3), Span("doc", 1, 4, 8)), "The \npump"), 1.0, 1, "test")
    other = Hit(Passage("o", (Span("doc", 2, 2, 8),), "other!"), 1.0, 1, "test")
    assert completed([table, other], page_text) == [table, other]


TABLE = "Sales by month.\n\n| Month | Sales |\n| --- | --- |\n| May | 3 |\n| June | 5 |\n| July | 4 |"
AFTER = f"{TABLE}\n\nThe next paragraph is about something else."
HEAD = TABLE.index("\n| May")


def part(*spans, rank=1, page=AFTER):
    found = tuple(Span("doc", 1, start, end) for start, end in spans)
    text = " \n".join(page[span.start : span.end] for span in found)
    return Hit(Passage(f"p{rank}", found, text, "Heading"), 1.0, rank, "test")


def test_a_short_table_in_parts_becomes_whole_and_is_given_once():
    first = part((0, TABLE.index("\n| June")))
    second = part((0, HEAD), (TABLE.index("| July"), len(TABLE)), rank=2)
    other = part((AFTER.index("The next"), len(AFTER)), rank=3)
    found = completed([first, second, other], lambda *_: AFTER)
    assert [(hit.rank, hit.passage.text) for hit in found] == [
        (1, TABLE),
        (2, "The next paragraph is about something else."),
    ]
    assert found[0].passage.spans == (Span("doc", 1, 0, len(TABLE)),)


def test_a_long_table_and_one_that_is_whole_stay_as_they_are():
    rows = "\n".join(f"| Month {n} | {n} |" for n in range(200))
    long = f"{TABLE}\n{rows}"
    cut = part((0, HEAD + len("\n| May | 3 |")), page=long)
    assert completed([cut], lambda *_: long) == [cut]
    whole = part((0, len(TABLE)))
    assert completed([whole], lambda *_: AFTER) == [whole]
