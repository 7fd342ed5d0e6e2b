"""Which documents a question means, by their names or as the newest of a series."""

from __future__ import annotations

import pytest

from pdfqa_core.reading.document_names import asked_about, is_heading, newest, of_kind, summarised, unnamed

FILINGS = {"a": "2022_Q3_ACME", "b": "2023_Q1_ACME", "c": "2023_Q2_ACME", "d": "2023_Q3_ACME"}
PLAN_FILES = {"standard": "Acme_Standard_Benefits", "plus": "Acme_Health_Plus_Benefits", "roles": "role_library"}


@pytest.mark.parametrize(
    ("names", "question", "document"),
    [
        (FILINGS, "What were the net sales in Q3 2023?", "d"),
        (FILINGS, "What were the net sales in the third quarter of 2022?", "a"),
        (FILINGS, "What were the net sales in Q1 2023 of ACME?", "b"),
        (FILINGS, "What were the net sales in 2023?", ""),
        (FILINGS, "How do net sales in Q1 2023 and Q2 2023 compare?", ""),
        (FILINGS, "What were the net sales in Q4 2023?", ""),
        (PLAN_FILES, "What does the Acme Standard plan pay for hearing aids?", "standard"),
        (PLAN_FILES, "What does Acme Health Plus pay for hearing aids?", "plus"),
        (PLAN_FILES, "What does Acme Health pay for hearing aids?", ""),
        (PLAN_FILES, "Which roles does the role library have?", "roles"),
        (PLAN_FILES, "Which role pays best?", ""),
        ({"standard": "Acme_Standard_Benefits"}, "What does the Acme Standard plan pay?", ""),
    ],
)
def test_a_question_may_name_its_document(names, question, document):
    assert asked_about(question, names) == document


MINUTES = {"a": "Minutes 2023-12", "b": "Minutes 2024-11", "c": "Minutes 2024-03", "d": "Budget"}
YEARS = {"a": "Annual report 2021", "b": "Annual report 2023", "c": "Annual report 2022"}
SPELLED = {"a": "Newsletter May 2024", "b": "Newsletter October 2024", "c": "Newsletter December 2023"}


@pytest.mark.parametrize(
    ("names", "question", "document"),
    [
        (FILINGS, "What was the gross margin in the latest 10-Q report?", "d"),
        (FILINGS, "For the latest quarter, what were the net sales?", "d"),
        (FILINGS, "What does the most recent quarterly filing say of taxes?", "d"),
        (FILINGS, "How do net sales of the most recent quarter compare to previous quarters?", ""),
        (FILINGS, "What is the latest phone?", ""),
        (FILINGS, "What were the net sales?", ""),
        (MINUTES, "Who was present in the most recent minutes?", "b"),
        (YEARS, "What does the newest annual report say?", "b"),
        (SPELLED, "What is in the latest issue?", "b"),
        ({**FILINGS, "y": "Annual report 2021", "z": "Annual report 2022"}, "What does the latest report say?", ""),
        ({"a": "Report 7", "b": "Report 8"}, "What does the latest report say?", ""),
        ({"a": "Report 2023"}, "What does the latest report say?", ""),
    ],
)
def test_the_newest_document_of_a_series_is_found(names, question, document):
    assert newest(question, names) == document


@pytest.mark.parametrize(
    ("question", "short"),
    [
        ("What was net income in the latest 10-Q report?", "What was net income?"),
        ("In the third quarter of 2023, what was net income?", "what was net income?"),
        ("Did it report a loss in its Q3 2023 10-Q, and why?", "Did it report a loss, and why?"),
        ("What was net income in Q2 2023?", "What was net income in Q2?"),  # another quarter is no name of this one
        ("What is in Q3 2023?", "What is in Q3 2023?"),
    ],
)
def test_a_question_without_the_words_that_name_its_document(question, short):
    assert unnamed(question, "2023_Q3_ACME") == short


SHELF = {
    "lab": "Lab report: Solar cells lab_report", "book": "Contoso Employee Handbook employee_handbook",
    "perks": "Wellness for Contoso Employees PerksPlus", "bill": "Invoice 2024-117 invoice_2024_117",
    "plus": "Northwind Health Plus Plan Health_Plus", "standard": "Northwind Standard Plan Standard",
}  # fmt: skip
SHELF_FILES = {key: words.split()[-1] for key, words in SHELF.items()}


@pytest.mark.parametrize(
    ("subject", "documents"),
    [
        ("lab report", ("lab",)),
        ("employee handbook", ("book",)),
        ("PerksPlus document", ("perks",)),
        ("PerksPlus", ("perks",)),
        ("invoice", ("bill",)),
        ("Northwind Standard plan", ("standard",)),
        ("reporting procedures", ()),
        ("health", ()),
        ("lab policy", ()),
        ("employee safety policy", ()),
        ("solar", ()),
        ("section lab report", ()),
        ("deductible in the Northwind Standard plan", ()),
    ],
)
def test_the_subject_of_a_summary_may_name_documents(subject, documents):
    assert summarised(subject, SHELF, SHELF_FILES) == documents


def test_a_document_that_does_not_say_what_it_is_may_be_called_a_manual():
    shelf = {"kestrel": "Betriebsanleitung KESTREL HD 140 kestrel_anleitung", "lab": SHELF["lab"]}
    files = {"kestrel": "kestrel_anleitung", "lab": "lab_report"}
    assert summarised("Kestrel manual", shelf, files) == ("kestrel",)
    assert summarised("solar manual", shelf, files) == ()  # that one is a report
    assert summarised("Kestrel manual", {**shelf, "other": "Kestrel parts"}, {**files, "other": "parts"}) == ()


def test_the_one_document_of_its_kind_is_meant():
    assert of_kind("What does the handbook say?", SHELF) == "book"
    assert of_kind("What do these reports say?", SHELF) == ""
    assert of_kind("What is this document about?", SHELF) == ""
    assert of_kind("Summarise the report", {**SHELF, "other": "Annual report"}) == ""


@pytest.mark.parametrize(
    ("subject", "heading", "same"),
    [
        ("section 3.1 Instruments", "3.1 Instruments", True),
        ("instruments", "3.1 Instruments", True),
        ("Reporting Procedures", "Reporting Procedures:", True),
        ("section 3.1", "3.1 Instruments", False),
        ("section 3.2 Instruments", "3.1 Instruments", False),
        ("procedures", "Reporting Procedures:", False),
    ],
)
def test_a_subject_may_be_a_whole_heading(subject, heading, same):
    assert is_heading(subject, heading) is same
