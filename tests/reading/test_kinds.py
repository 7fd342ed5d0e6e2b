"""What a question asks for, by its words. How often the rules are right is measured by benchmarks/question_kinds.py."""

import csv
from pathlib import Path

import pytest

from pdfqa_core.reading.kinds import Kind, Request, recognised

LABELLED = Path(__file__).resolve().parents[2] / "benchmarks" / "question_kinds.tsv"


@pytest.mark.parametrize(
    ("question", "request_"),
    [
        ("What is this document about?", Request(Kind.SUMMARY)),
        ("Could you please summarise the whole report in three sentences?", Request(Kind.SUMMARY)),
        ("tl;dr", Request(Kind.SUMMARY)),
        ("Summarise the section on vision care.", Request(Kind.SECTION, ("vision care",))),
        ("Tell me everything about the deductible", Request(Kind.SECTION, ("deductible",))),
        (
            "What is the difference between Northwind Standard and Northwind Health Plus in hearing aid coverage?",
            Request(Kind.COMPARISON, ("Northwind Standard", "Northwind Health Plus"), "hearing aid coverage"),
        ),
        ("compare costs in Rome with costs in Oslo", Request(Kind.COMPARISON, ("costs in Rome", "costs in Oslo"))),
        (
            "Compare the warranty in the invoice with the one in the contract",
            Request(Kind.COMPARISON, ("warranty in the invoice", "warranty in the contract")),
        ),
        (
            "Compare the price of the oven in the offer with the fee in the contract",
            Request(Kind.COMPARISON, ("price of the oven in the offer", "fee in the contract")),
        ),
        (
            "How do the gross margins of Services and Products compare?",
            Request(Kind.COMPARISON, ("gross margins of Services", "gross margins of Products")),
        ),
        (
            "Compare sales in the third quarter of 2023 and the third quarter of 2022",
            Request(Kind.COMPARISON, ("sales in the third quarter of 2023", "sales in third quarter of 2022")),
        ),
        (
            "Compare the bonus of the Director of Sales and the Director of Marketing",
            Request(Kind.COMPARISON, ("bonus of the Director of Sales", "bonus of Director of Marketing")),
        ),
        (
            "Compare the Director of Sales and the Sales Representative",
            Request(Kind.COMPARISON, ("Director of Sales", "Sales Representative")),
        ),
        (
            "Compare research and development with selling and marketing",
            Request(Kind.COMPARISON, ("research and development", "selling and marketing")),
        ),
        ("Compare the cost of tea with that of rum", Request(Kind.COMPARISON, ("tea", "rum"), "cost")),
        (
            "Which plan is cheaper, Standard or Health Plus?",
            Request(Kind.COMPARISON, ("Standard", "Health Plus"), "Which plan is cheaper"),
        ),
        ("Are Ann Lee and Bo West both singers?", Request(Kind.COMPARISON, ("Ann Lee", "Bo West"), "both singers")),
        ("Which documents talk about dogs?", Request(Kind.MENTIONS, ("dogs",))),
        ("What papers discuss the “kiln”?", Request(Kind.MENTIONS, ("kiln",))),
        ("Show me all files that mention Callum Ross", Request(Kind.MENTIONS, ("Callum Ross",))),
        ("List all exclusions of the plan", Request(Kind.LIST)),
        ("What are the company's values? List them all.", Request(Kind.LIST)),
    ],
)  # fmt: skip
def test_a_request_is_recognised(question, request_):
    assert recognised(question) == request_


@pytest.mark.parametrize(
    "question",
    [
        "What is the deductible?",
        "What did the summary of benefits say about premiums?",
        "Does the plan list acupuncture as a covered service?",
        "How does it compare to other methods?",
        "How long is the waiting list?",
        "Does it make sense to use them together rather than separately?",
        "List this out separately for each period.",
        "Which report has the highest sales?",
        "Which documents do I need for a passport?",
        "",
        "?",
    ],
)
def test_an_ordinary_question_is_left_alone(question):
    assert recognised(question).kind is Kind.ORDINARY


def test_no_labelled_ordinary_question_is_taken_for_another():
    with LABELLED.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t"))
    assert [q for _, kind, q in rows if kind == "ordinary" and recognised(q).kind is not Kind.ORDINARY] == []
    others = [(kind, recognised(q).kind) for _, kind, q in rows if kind != "ordinary"]
    assert sum(kind == found for kind, found in others) > 0.8 * len(others)


def test_a_long_text_is_recognised_in_no_time():
    assert recognised("compare " + "the cost of heat and " * 400).kind is Kind.ORDINARY


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("Compare tea and rum", ("What is tea?", "What is rum?")),
        ("Compare the cost of tea with that of rum", ("What is the cost of tea?", "What is the cost of rum?")),
        ("Which is cheaper, tea or rum?", ("Which is cheaper, tea?", "Which is cheaper, rum?")),
        ("Summarise the document", ()),
        ("What is the deductible?", ()),
    ],
)
def test_a_comparison_asks_of_each_side(question, parts):
    assert recognised(question).questions == parts
