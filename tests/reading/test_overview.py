"""Whole documents and whole sections, in own words and word for word."""

import threading

from pdfqa_core.reading.overview import OverviewReader
from pdfqa_core.reading.whole_sections import SectionReader
from pdfqa_core.types import Hit, Passage, Progress, Span, Support, Token
from tests.reading.helpers import read

TITLES = {"doc": "Heat: a report"}


def opening(text, heading, rank=1):
    spans = tuple(Span("doc", rank, 0, len(part)) for part in text.split("\n\n"))
    return Hit(Passage(f"p{rank}", spans, text, f"{TITLES['doc']}: {heading}"), 1.0, rank, "opening of a section")


HITS = [
    opening("The pump gives heat to the school since 2019.\n\nIt is quiet at night.", "WHAT I DO"),
    opening("The pump cost 900 crowns in all.", "Costs", 2),
]


def test_without_a_model_each_section_is_its_heading_with_its_first_sentence():
    text, answer, events = read(OverviewReader(titles=TITLES), "What is it about?", HITS)
    assert answer.text.splitlines() == [
        "What I do: The pump gives heat to the school since 2019.", "Costs: The pump cost 900 crowns in all.",
    ]  # fmt: skip
    assert (text, answer.reader, answer.refused) == (answer.text, "extractive", False)
    assert [answer.text[c.start : c.end] for c in answer.citations] == [c.quote for c in answer.citations]
    assert [c.span.page for c in answer.citations] == [1, 2]
    assert Progress("reading sections", 1, 2) in events


def test_a_model_says_what_the_whole_is_about_then_each_section(fake_llm):
    fake_llm.enqueue(
        [
            "The pump gives heat to the school.",
            "The pump gives the school heat since 2019. More.",
            "It cost 900 crowns in all.",
        ]
    )
    _, answer, events = read(OverviewReader(fake_llm, titles=TITLES), "What is it about?", HITS)
    assert answer.text.splitlines() == [
        "The pump gives heat to the school.", "What I do: The pump gives the school heat since 2019.",
        "Costs: It cost 900 crowns in all.",
    ]  # fmt: skip
    assert [one.support for one in answer.sentences] == [Support.SUPPORTED] * 3
    assert answer.completion_tokens > 0
    assert sum(isinstance(event, Token) for event in events) == 3


def test_a_line_that_its_section_does_not_say_gives_way_to_the_sections_own_words(fake_llm):
    fake_llm.enqueue(
        ["The pump gives heat to the school.", "Bananas are yellow and sweet.", "The pump cost 950 crowns in all."]
    )
    _, answer, _ = read(OverviewReader(fake_llm, titles=TITLES), "What is it about?", HITS)
    assert answer.text.splitlines()[1:] == [
        "What I do: The pump gives heat to the school since 2019.", "Costs: The pump cost 900 crowns in all.",
    ]  # fmt: skip


def test_after_its_time_sections_are_quoted_and_a_note_says_so(fake_llm):
    fake_llm.enqueue(["The pump gives heat to the school."])
    _, answer, _ = read(OverviewReader(fake_llm, titles=TITLES, seconds=0), "What is it about?", HITS)
    assert len(fake_llm.history) == 1
    assert answer.notes == ("After 0 s the last 2 sections are quoted, not read.",)
    assert answer.text.endswith("Costs: The pump cost 900 crowns in all.")


def test_stop_keeps_what_was_read(fake_llm):
    stop = threading.Event()
    reader, seen = OverviewReader(titles=TITLES), []
    for event in reader.read("What is it about?", HITS, stop=stop):
        seen.append(event)
        if isinstance(event, Token):
            stop.set()
    answer = seen[-1].answer
    assert answer.stopped
    assert answer.text == "What I do: The pump gives heat to the school since 2019."


def test_nothing_to_read_is_a_refusal():
    assert read(OverviewReader(), "What is it about?", [])[1].refused
    assert read(SectionReader(), "List all", [])[1].refused


LIST = [
    opening("These are covered:\n\n• Gym fees\n\n• Yoga lessons\n\n• Gym fees", "Covered"),
    opening("• Ski trips", "Elsewhere", 2),
]


def test_a_list_is_quoted_item_by_item_from_the_first_hits_section():
    _, answer, _ = read(SectionReader(items=True), "List all", LIST)
    assert answer.text.splitlines() == ["• Gym fees", "• Yoga lessons"]
    assert [one.support for one in answer.sentences] == [Support.SUPPORTED] * 2


def test_a_section_is_quoted_by_the_first_sentence_of_its_paragraphs():
    section = [opening("Fees\n\nFees are due in May. They are small.\n\nChildren pay no fees.", "Fees")]
    assert read(SectionReader(), "Summarise the fees", section)[1].text.splitlines() == [
        "Fees are due in May.", "Children pay no fees.",
    ]  # fmt: skip


def test_what_does_not_fit_a_short_answer_is_counted():
    _, answer, _ = read(SectionReader(items=True, count=1), "List all", LIST)
    assert answer.notes == ("The section has 1 more lines; its passages stand in the evidence.",)
