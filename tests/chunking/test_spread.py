"""Passages spread over a document: its abstract or beginning, the ends of sections, its conclusion."""

from __future__ import annotations

import pytest

from pdfqa_core.chunking.stream import abstract, conclusion, spread
from pdfqa_core.types import Block, BlockKind, Page


def page(number, *parts):
    """Return a page of headings, written as "# heading", and paragraphs."""
    text, blocks = "", []
    for part in parts:
        level = len(part) - len(part.lstrip("#"))
        words = part.lstrip("# ")
        blocks.append(Block(len(text), len(text) + len(words), BlockKind.HEADING if level else BlockKind.TEXT, level))
        text += f"{words}\n\n"
    return Page("doc", number, str(number), 595, 842, text, (), tuple(blocks))


def says(topic):
    return f"First we tell of {topic} here. Then there is more to be told. At last we know all about {topic}."


@pytest.fixture
def paper():
    return [
        page(1, "# On engines", "# Abstract", says("everything"), "# 1 Looms", says("looms")),
        page(2, "# 2 Wheels", says("wheels"), "# 3 Steam", says("steam")),
        page(3, "# 4 Conclusions", says("the end"), "# References", "Ada Lovelace wrote a book about engines in 1843."),
    ]


def test_abstract_sections_and_conclusion_come_in_the_order_of_the_document(paper):
    found = spread(paper, "On engines")
    assert [passage.heading for passage in found] == [
        "On engines: Abstract", "On engines: 1 Looms", "On engines: 2 Wheels", "On engines: 3 Steam",
        "On engines: 4 Conclusions",
    ]  # fmt: skip
    for passage in found:
        pages = {page.number: page for page in paper}
        texts = [pages[span.page].text[span.start : span.end] for span in passage.spans]
        assert passage.text == "\n\n".join(texts)
    assert found[0].text.replace("\n\n", " ") == says("everything")


def test_of_long_sections_the_beginning_and_the_end_are_taken(paper):
    paper[1] = page(
        2, "# 2 Wheels", "They turn around and around.", *["There is much more to be told."] * 40, says("wheels")
    )
    wheels = next(one for one in spread(paper, "On engines", longest=20) if one.heading.endswith("Wheels"))
    assert wheels.text.split("\n\n") == [
        "They turn around and around.", "Then there is more to be told.", "At last we know all about wheels."
    ]  # fmt: skip


def test_at_most_so_many_are_taken_the_longest_sections_first(paper):
    paper[1] = page(2, "# 2 Wheels", says("wheels"), "# 3 Steam", says("steam"), says("hot steam"))
    assert [one.heading for one in spread(paper, "", most=3)] == ["Abstract", "3 Steam", "4 Conclusions"]


def test_without_an_abstract_the_beginning_is_taken():
    pages = [page(1, "# Fees", says("fees")), page(2, "# Boats", says("boats"))]
    assert abstract(pages) is None
    assert [one.heading for one in spread(pages, "")] == ["Fees", "Boats"]


def test_a_document_without_headings_is_one_passage():
    (found,) = spread([page(1, says("fees"))], "Letter")
    assert found.text.startswith("First we tell of fees here.")


def test_conclusions_of_chapters_are_none_of_the_document():
    pages = [page(n, f"# Part {n}", says(f"part {n}"), "## Conclusion", says(f"end {n}")) for n in range(1, 7)]
    assert conclusion(pages) is None
    assert conclusion([*pages[:1], page(2, "# Conclusion", says("the end"))]).heading == "Conclusion"


def test_disclaimers_and_empty_pages_say_nothing():
    legal = "All rights reserved to the harbour. No warranty is given for any of it."
    assert [one.heading for one in spread([page(1, "# Legal", legal), page(2, "# Fees", says("fees"))], "")] == ["Fees"]
    assert spread([page(1)], "Nothing") == []


@pytest.mark.parametrize(
    ("heading", "told"),
    [
        ("What is Not Covered?", False),
        ("Services not covered", False),
        ("4.2 Exclusions", False),
        ("Excluded Services", False),
        ("What is covered", True),
        ("Notable results", True),
    ],
)
def test_sections_of_what_is_not_are_left_out(heading, told):
    pages = [page(1, "# On plans", says("plans"), f"# {heading}", says("travel"), "# Costs", says("costs"))]
    assert any("travel" in passage.text for passage in spread(pages, "On plans")) is told
