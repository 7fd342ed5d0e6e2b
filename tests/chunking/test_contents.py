"""A table of contents made of headings: in order, without what says nothing."""

from __future__ import annotations

import pytest

from pdfqa_core.chunking.sections import MOST, ContentsEntry, contents, levelled, shown_first
from pdfqa_core.types import Block, BlockKind, Page


def page(number, *headings):
    """Return a page of headings, each (level, text) or a text of level 1, with a paragraph below it."""
    text, blocks = "", []
    for heading in headings:
        level, words = heading if isinstance(heading, tuple) else (1, heading)
        blocks.append(Block(len(text), len(text) + len(words), BlockKind.HEADING, level))
        text += f"{words}\n\n"
        blocks.append(Block(len(text), len(text) + 18))
        text += "Some words of text\n\n"
    return Page("doc", number, str(number), 595, 842, text, (), tuple(blocks))


def titles(*pages, title=""):
    return [(entry.level, entry.title, entry.page) for entry in contents(pages, title)]


def test_headings_become_entries_with_levels_from_one_on():
    made = titles(page(1, (2, "Fees"), (4, "Boats")), page(2, (2, "Winter")))
    assert made == [(1, "Fees", 1), (2, "Boats", 1), (1, "Winter", 2)]


def test_numbered_parts_count_as_higher_than_others_of_their_level():
    assert titles(page(1, (3, "Item 1. Boats"), (3, "Rigging"))) == [(1, "Item 1. Boats", 1), (2, "Rigging", 1)]


@pytest.mark.parametrize(
    "nothing",
    [
        "Contents", "Table of Contents", "3.", "☒ Annual report", "x" * 200, "12 March 2024",
        "A line that ends as a sentence does.",
    ],
)  # fmt: skip
def test_what_names_nothing_is_left_out(nothing):
    assert titles(page(1, "Fees", nothing), page(2, "Winter")) == [(1, "Fees", 1), (1, "Winter", 2)]


def test_lines_of_a_printed_table_of_contents_are_left_out():
    pages = [page(1, "Winter storage 3", "Fees"), page(2), page(3, "Winter storage")]
    assert titles(*pages) == [(1, "Fees", 1), (1, "Winter storage", 3)]


def test_the_title_and_its_parts_are_left_out_of_the_first_pages():
    pages = [page(1, "Harbour", "Rules of the Harbour"), page(2, "Rules"), page(9, "Rules of the Harbour")]
    assert titles(*pages, title="Rules of the Harbour") == [(1, "Rules of the Harbour", 9)]


def test_frequent_headings_say_nothing_and_of_one_that_runs_on_the_first_counts():
    far = [page(number, f"Part {number}", "Tips") for number in range(1, 31, 10)]
    assert [title for _, title, _ in titles(*far)] == ["Part 1", "Part 11", "Part 21"]
    near = [page(number, "Costs", (2, f"Part {number}")) for number in range(1, 5)]
    assert titles(*near)[:2] == [(1, "Costs", 1), (2, "Part 1", 1)]
    assert [title for _, title, _ in titles(*near)].count("Costs") == 1


def test_a_heading_that_repeats_the_one_before_is_no_entry():
    assert titles(page(1, (1, "Copays"), (2, "COSTS: Copays"), (2, "Abroad"))) == [(1, "Copays", 1), (2, "Abroad", 1)]


def test_of_a_long_table_the_highest_levels_are_shown_first():
    long = [ContentsEntry(1, "Part", 1), ContentsEntry(2, "A", 1), ContentsEntry(2, "B", 2)]
    long += [ContentsEntry(3, f"C{n}", n) for n in range(MOST)]
    assert shown_first(long) == tuple(long[:3])
    assert shown_first(long[:1] + long[3:]) == tuple(long[:1] + long[3:])  # one entry says too little
    assert shown_first(long[:3]) == tuple(long[:3])
    assert shown_first(()) == ()


def test_levels_are_drawn_in_one_by_one():
    entries = [ContentsEntry(level, "x", 1) for level in (4, 1, 3, 3, 2, 1)]
    assert [entry.level for entry in levelled(entries)] == [1, 1, 2, 2, 2, 1]
