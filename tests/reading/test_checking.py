import threading
from dataclasses import replace

import numpy as np
import pytest

from pdfqa_core.reading import Checker, Meaning
from pdfqa_core.reading.checking import answer_sentences
from pdfqa_core.streaming import result_of
from pdfqa_core.types import Span, Support
from tests.reading.helpers import hit, hits

PLAN = "The plan began in 2010. The deductible is $2,000 per year. Emergency care is covered everywhere."
BOOK = "Employees get 25 days of leave. Leave must be requested two weeks ahead."


def check(text, found=None, **options):
    return run(Checker(**options), text, hits(PLAN, BOOK) if found is None else found)


def run(checker, *arguments, **options):
    return result_of(checker.check(*arguments, **options))


def supports(text, found=None, **options):
    return [sentence.support for sentence in check(text, found, **options).sentences]


def marked(text, found=None):
    return [text[a:b] for sentence in check(text, found).sentences for a, b in sentence.numbers]


def test_a_verb_of_the_question_may_be_missing_in_the_passages():
    screen = hits("In August 2023 a drum screen had taken the place of the mesh.")
    text = "The drum screen was fitted in August 2023."
    (sentence,) = run(Checker(), text, screen, question="When was the drum screen fitted?").sentences
    assert sentence.support is Support.SUPPORTED


def test_the_sentence_with_the_answer_is_cited_not_the_one_with_the_question():
    found = hits(
        "Refrigerant: the fluid that boils inside a heat pump.", "Its refrigerant is 68 kg of ammonia, kept apart."
    )
    text, question = "The heat pump uses ammonia as its refrigerant.", "Which refrigerant does the heat pump use?"
    checked = run(Checker(), text, found, question=question)
    assert [citation.number for citation in checked.citations] == [2]


def test_each_sentence_gets_the_sentence_that_says_it():
    text = "The deductible is $2,000. Leave must be requested two weeks ahead."
    checked = check(text)
    first, second = checked.citations
    assert (first.number, first.quote, first.verified) == (1, "The deductible is $2,000 per year.", True)
    assert first.span == Span("doc", 1, 124, 124 + len(first.quote))
    assert text[first.start : first.end] == "The deductible is $2,000."
    assert (second.number, second.passage_id) == (2, "p2")
    assert text[second.start : second.end] == "Leave must be requested two weeks ahead."
    assert [text[s.start : s.end] for s in checked.sentences] == [text[c.start : c.end] for c in checked.citations]
    assert {s.support for s in checked.sentences} == {Support.SUPPORTED}


@pytest.mark.parametrize(
    "text",
    [
        "The deductible is $5,000 per year.", "Emergency care is not covered everywhere.",
        "Emergency care by Aetna is covered everywhere.", "Leave must be requested three weeks ahead.",
        "Employees get 25% of leave days.",
    ],
)  # fmt: skip
def test_another_number_name_or_a_negation_is_not_supported(text):
    assert supports(text) == [Support.PARTLY]
    assert [c.verified for c in check(text).citations] == [False]


@pytest.mark.parametrize(
    ("answer", "support"),
    [
        ("84.", Support.SUPPORTED), ("The answer to the question is: 84.", Support.SUPPORTED),
        ("84 flats.", Support.SUPPORTED), ("12.", Support.PARTLY), ("85.", Support.PARTLY),
        ("Yes.", Support.PARTLY), ("Bananas.", Support.PARTLY),
    ],
)  # fmt: skip
def test_a_short_answer_is_read_with_its_question(answer, support):
    found = hits("Ropewalk Court is the largest building with 84 flats. The school has 12 rooms.")
    question = "How many flats does Ropewalk Court have?"
    checked = run(Checker(), answer, found, question=question)
    assert [sentence.support for sentence in checked.sentences] == [support]
    assert checked.citations[0].quote.startswith("Ropewalk Court is")
    assert run(Checker(), "84.", hits("Bananas are yellow."), question=question).citations == ()


def test_a_negation_supports_a_negation():
    found = hits("Cosmetic surgery isn't covered by the plan.")
    assert supports("Cosmetic surgery is not covered by the plan.", found) == [Support.SUPPORTED]
    assert supports("Cosmetic surgery is covered by the plan.", found) == [Support.PARTLY]


def test_a_sentence_that_no_passage_says_is_not_found_and_gets_no_citation():
    checked = check("Bananas are yellow fruit.")
    assert checked.citations == ()
    assert [s.support for s in checked.sentences] == [Support.NOT_FOUND]


def test_two_adjacent_sentences_can_support_one():
    found = hits("Dental care is covered from June. The limit is 900 dollars. Eyes are extra.")
    (citation,) = check("Dental care is covered from June up to a limit of 900 dollars.", found).citations
    assert citation.quote == "Dental care is covered from June. The limit is 900 dollars."
    assert citation.verified


def test_every_page_that_says_it_is_cited_once():
    twin = "Emergency care is covered everywhere."
    found = hits(f"{twin} {twin}", f"Dogs bark. {twin}", "Emergency care is not here.")
    citations = check(twin, found).citations
    assert [(c.number, c.verified) for c in citations] == [(1, True), (2, True)]
    assert len({(c.start, c.end) for c in citations}) == 1


def test_nothing_is_ticked_once_the_check_is_stopped():
    stop = threading.Event()
    stop.set()
    checked = run(Checker(), "The deductible is $2,000 per year.", hits(PLAN, BOOK), stop=stop)
    assert [s.support for s in checked.sentences] == [Support.PARTLY]
    assert [c.verified for c in checked.citations] == [False]


# ------------------------------------------------------------------ numbers


def test_numbers_that_no_cited_passage_holds_are_marked():
    assert marked("The deductible is $5,000 per year.") == ["5,000"]
    assert marked("The deductible is $2,000.00 per year.") == []
    assert marked("Leave must be requested 2 weeks ahead.") == []
    assert marked("Employees get 25 percent of leave.") == ["25 percent"]


def test_a_number_of_a_passage_that_is_not_cited_is_marked():
    assert marked("The deductible is $2,000 for 25 days per year.") == ["25"]
    assert marked("The deductible is $2,000 for 25 days per year. Employees get 25 days of leave.") == []


def test_a_sentence_with_a_marked_number_has_no_tick():
    meeting = "The annual general meeting approved the final dividend"
    text = f"{meeting} for the year of EUR 0.40."
    checked = check(text, hits(f"{meeting} for the year.", "The final dividend for the year was EUR 0.40."))
    assert [text[a:b] for one in checked.sentences for a, b in one.numbers] == ["0.40"]
    assert [one.support for one in checked.sentences] == [Support.PARTLY]
    assert [one.verified for one in checked.citations] == [False]


def test_names_may_stand_in_the_heading():
    passage = hit("The deductible is $2,000 per year.")
    assert supports("The deductible of Northwind is $2,000 per year.", [passage]) == [Support.PARTLY]
    headed = type(passage)(
        type(passage.passage)("p", passage.passage.spans, passage.passage.text, "Northwind Standard"), 1.0, 1, "test"
    )
    assert supports("The deductible of Northwind is $2,000 per year.", [headed]) == [Support.SUPPORTED]


# ------------------------------------------------------------------ facts in their places

WINTERS = (
    "In the first winter the basket held 23 small fish. In the second winter 4 fish were found. "
    "The pump used 376.9 MWh in the first winter and 352.5 MWh in the second."
)
TABLE = """Premiums per pay period, in US dollars

| Plan | Northwind Standard | Northwind Health Plus |
| --- | --- | --- |
| Employee only | $45.00 | $65.00 |
| Employee and family | $160.00 | $250.00 |"""


@pytest.mark.parametrize(
    ("text", "support"),
    [
        ("In the first winter the basket held 23 small fish.", Support.SUPPORTED),
        ("In the second winter the basket held 23 small fish.", Support.PARTLY),
        ("The pump used 376.9 MWh in the first winter.", Support.SUPPORTED),
        ("The pump used 352.5 MWh in the first winter.", Support.PARTLY),
    ],
)  # fmt: skip
def test_a_number_counts_only_where_the_passage_has_it(text, support):
    assert supports(text, hits(WINTERS)) == [support]


@pytest.mark.parametrize(
    ("text", "support"),
    [
        ("Northwind Standard costs $45.00 for employee only.", Support.SUPPORTED),
        ("Northwind Standard costs $65.00 for employee only.", Support.PARTLY),
        ("Northwind Standard costs $45.00 for employee and family.", Support.PARTLY),
        ("Northwind Health Plus costs $45.00 for employee only.", Support.PARTLY),
        ("Northwind Health Plus costs $250.00 for employee and family.", Support.SUPPORTED),
    ],
)  # fmt: skip
def test_a_number_of_a_table_counts_in_its_row_and_column(text, support):
    checked = check(text, hits(TABLE))
    assert [sentence.support for sentence in checked.sentences] == [support]
    if support is Support.SUPPORTED:
        assert checked.citations[0].quote.startswith("| Employee")


def test_units_and_scales_are_part_of_a_number():
    found = hits("Claims must be sent within 12 months of the visit.")
    assert supports("Claims must be sent within 12 months.", found) == [Support.SUPPORTED]
    assert supports("Claims must be sent within 12 weeks.", found) == [Support.PARTLY]
    sales = hits("Sales by year (in millions)\n\n| | 2019 | 2018 |\n| --- | --- | --- |\n| Sales | 12.6 | 11.4 |")
    assert supports("Sales were 12.6 million in 2019.", sales) == [Support.SUPPORTED]
    assert supports("Sales were 12.6 billion in 2019.", sales) == [Support.PARTLY]
    assert supports("Sales were 11.4 million in 2019.", sales) == [Support.PARTLY]


def test_opposites_and_misplaced_negations_are_not_supported():
    found = hits("Visits cost at least 20 dollars, and no referral is needed unless a surgeon is seen.")
    assert supports("Visits cost at most 20 dollars.", found) == [Support.PARTLY]
    assert supports("No referral is needed if a surgeon is seen.", found) == [Support.PARTLY]


@pytest.mark.parametrize(
    "text", ["The deductible is:", "Is the deductible $2,000 per year?", "Yes, the deductible is $2,000 per year."]
)
def test_headings_questions_and_conclusions_are_no_statements(text):
    assert Support.SUPPORTED not in supports(text)


def test_an_echo_of_the_question_is_no_statement():
    for question in ("Is emergency care covered everywhere?", "Is the cover of emergency care everywhere?"):
        checked = run(Checker(), "Emergency care is covered everywhere.", hits(PLAN), question=question)
        assert [s.support for s in checked.sentences] == [Support.PARTLY]


# ------------------------------------------------------------------ sentences of an answer


def test_lines_end_sentences_and_list_marks_belong_to_none():
    text = "It covers:\n- Emergency care.\n* Leave\n2) Eyes. Ears.\n\n---\n"
    assert [text[a:b] for a, b in answer_sentences(text)] == [
        "It covers:",
        "Emergency care.",
        "Leave",
        "Eyes.",
        "Ears.",
    ]


# ------------------------------------------------------------------ meaning


def by_topic(texts):
    """A stand-in for an encoder: texts on leave point one way, all others the other way."""
    rows = [[1.0, 0.0] if "leave" in text.lower() or "holiday" in text.lower() else [0.0, 1.0] for text in texts]
    return np.array(rows, dtype=np.float32)


def test_meaning_finds_what_other_words_say():
    text = "Staff may take holidays."
    assert supports(text) == [Support.NOT_FOUND]
    checked = check(text, meaning=Meaning(by_topic))
    assert [c.number for c in checked.citations] == [2]
    assert [s.support for s in checked.sentences] == [Support.PARTLY]


IN_MILLIONS = """Net sales (dollars in millions):

| | June 2022 | June 2021 |
| --- | --- | --- |
| Products | $ 63,355 | $ 63,948 |"""


@pytest.mark.parametrize("amount", ["$63,355 million", "$63.355 billion"])
def test_an_amount_is_known_in_the_scale_of_its_table(amount):
    checked = run(Checker(), f"Net sales of products in June 2022 were {amount}.", hits(IN_MILLIONS))
    assert [(one.support, one.numbers) for one in checked.sentences] == [(Support.SUPPORTED, ())]


SPENDING = """\
| | Three Months Ended April 1, 2023 | Three Months Ended March 26, 2022 | Six Months Ended April 1, 2023 |
| --- | --- | --- | --- |
| Research and development | $ 7,457 | $ 6,387 | $ 15,166 |
| Selling, general and administrative | 6,201 | 6,193 | 12,808 |"""


@pytest.mark.parametrize(
    ("text", "support"),
    [
        ("What the company paid for research and development during that quarter came to $7,457 million.", True),
        ("What the company paid for advertising during that quarter came to $7,457 million.", False),
        ("What the company paid for research and development during that quarter came to $8,457 million.", False),
    ],
)
def test_a_row_whose_whole_label_is_said_is_the_quote_of_its_number(text, support):
    checked = check(text, hits(f"The table shows expenses (dollars in millions).\n\n{SPENDING}"))
    quoted = [citation.quote.startswith("| Research") for citation in checked.citations]
    assert any(quoted) is support


SEGMENTS = (
    "iPad net sales decreased in 2023 due primarily to lower net sales of iPad Air. "
    "Services net sales increased in 2023 due primarily to higher net sales from cloud services and music. "
    "The Company bought back its shares for $19.1 billion during the quarter and paid dividends."
)
ABOUT = "net sales increased in 2023 due primarily to higher net sales from cloud services and music."
BOUGHT = "Apple bought back its shares for $19.1 billion during the quarter and paid dividends."


@pytest.mark.parametrize(
    ("text", "support"),
    [(f"iPad {ABOUT}", Support.PARTLY), (f"Services {ABOUT}", Support.SUPPORTED), (BOUGHT, Support.SUPPORTED)],
)
def test_a_copy_with_another_name_is_not_supported(text, support):
    found = hit(SEGMENTS)
    found = replace(found, passage=replace(found.passage, heading="Apple Inc. · Segments"))
    assert supports(text, [found]) == [support]


PLANS = (
    "Northwind Health Plus offers coverage for vision exams, glasses, and contact lenses, as well as dental exams, "
    "cleanings, and fillings. Northwind Standard only offers coverage for vision exams and glasses."
)


@pytest.mark.parametrize(
    ("text", "support"),
    [
        ("The Northwind Standard plan offers coverage for vision exams, glasses, and contact lenses.", Support.PARTLY),
        ("Northwind Health Plus offers coverage for vision exams, glasses, and contact lenses.", Support.SUPPORTED),
        ("Northwind Standard offers coverage for vision exams and glasses only.", Support.SUPPORTED),
    ],
)
def test_a_copy_of_a_part_of_a_sentence_with_another_name_is_not_supported(text, support):
    assert supports(text, hits(PLANS)) == [support]
