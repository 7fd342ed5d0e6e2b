from pdfqa_core.reading import INSUFFICIENT_CONTEXT, ExtractiveReader, with_markers
from tests.reading.helpers import hits, read

PLAN = "The plan began in 2010.  The deductible is\n$2,000 per year. Emergency care is covered everywhere."
BOOK = "Employees get 25 days of leave. The deductible is not part of this book."


def test_the_best_sentences_are_given_word_for_word_and_cited():
    text, answer, _ = read(ExtractiveReader(count=1), "How high is the deductible per year?", hits(PLAN, BOOK))
    assert answer.text == text == "The deductible is $2,000 per year."
    (citation,) = answer.citations
    assert citation.verified
    assert citation.quote == "The deductible is\n$2,000 per year."
    assert citation.span.end - citation.span.start == len(citation.quote)
    assert (citation.start, citation.end) == (0, len(answer.text))


def test_sentences_keep_the_order_of_the_hits():
    _, answer, _ = read(ExtractiveReader(count=2), "What about the deductible and leave?", hits(BOOK, PLAN))
    assert [c.number for c in answer.citations] == sorted(c.number for c in answer.citations)
    assert with_markers(answer).count("[") == 2
    for citation in answer.citations:
        assert " ".join(citation.quote.split()) == answer.text[citation.start : citation.end]


def test_without_a_common_word_it_refuses():
    _, answer, _ = read(ExtractiveReader(), "Who painted Guernica?", hits(PLAN, BOOK))
    assert answer.refused
    assert answer.text == INSUFFICIENT_CONTEXT
    assert answer.citations == ()


def test_the_question_before_counts_and_a_row_of_a_table_is_given_with_its_columns():
    table = "Leave\n\n| | Days |\n| --- | --- |\n| Employees | 25 |\n| Pilots | 30 |"
    history = [("How many days do employees have?", "25.")]
    _, answer, _ = read(ExtractiveReader(count=1), "Is it paid?", hits(PLAN, table), history=history)
    assert answer.text == "Employees: Days: 25"


def test_the_number_of_a_section_is_no_sentence():
    text = "The deductible is $2,000 per year.\n\n11.\n\n12.\n\nEmergency care is covered everywhere."
    _, answer, _ = read(ExtractiveReader(count=3), "How high is the deductible?", hits(text))
    assert answer.text == "The deductible is $2,000 per year. Emergency care is covered everywhere."
