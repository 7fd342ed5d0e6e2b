from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdfqa_core.chunking import Paragraphs, Snippets, Windows, with_headings
from pdfqa_core.chunking.tables import word_count
from pdfqa_core.reading.evidence import locate
from pdfqa_core.text import sentences, words
from pdfqa_core.types import Block, BlockKind, Box, Line, Page, Span

HEADER = "| | 2023 | 2022 |\n| --- | --- | --- |"


def page_of(*blocks, indent=None, number=1):
    """A page of (kind, text) blocks; `indent` gives the x0 of the first cell of rows whose label it names."""
    text, found, lines = "", [], []
    for kind, content in blocks:
        start = len(text)
        text += content
        found.append(Block(start, len(text), kind))
        text += "\n\n"
    for block in found:
        place = block.start
        for row in text[block.start : block.end].split("\n"):
            label = row.split("|")[1].strip() if row.startswith("|") else row
            first = place + (2 if row.startswith("|") else 0)
            if label:
                x0 = (indent or {}).get(label, 50.0)
                lines.append(Line(first, first + len(label), Box(x0, 0, x0 + 40, 10)))
            place += len(row) + 1
    text = text.removesuffix("\n\n")
    return Page("doc", number, str(number), 595, 842, text, tuple(lines), tuple(found))


def table_of(*rows):
    return (BlockKind.TABLE, "\n".join([HEADER, *(f"| {label} | {a} | {b} |" for label, a, b in rows)]))


ROWS = [(f"Row {i}", f"{i},100", f"{i},200") for i in range(12)]
TEXT = " ".join(f"word{i}" for i in range(30)) + "."
CHUNKERS = [Windows(), Snippets(), Snippets(min_length=40, max_length=120), Paragraphs()]


@pytest.mark.parametrize("chunker", CHUNKERS, ids=lambda c: c.recipe)
def test_a_table_is_one_passage_and_leaves_the_running_text(chunker):
    page = page_of((BlockKind.TEXT, TEXT), table_of(*ROWS[:3]), (BlockKind.TEXT, "After it comes more. " + TEXT))
    passages = chunker.chunk([page])
    [table] = [p for p in passages if "|" in p.text]
    assert table.text == page.text[page.blocks[1].start : page.blocks[1].end]
    running = " ".join(p.text for p in passages if p is not table)
    assert "Row 1" not in running
    assert "After it comes more." in running


@pytest.mark.parametrize(
    ("chunker", "count"),
    [
        (Windows(size=50, step=20, tables="in-text"), lambda n: 1 + -(-(n - 50) // 20)),
        (Snippets(length=50, tables="in-text"), lambda n: -(-n // 50)),
        (Paragraphs(unmodified=True, tables="in-text"), lambda n: 3),
    ],
    ids=lambda one: getattr(one, "name", ""),
)
def test_a_table_in_the_text_is_cut_with_it(chunker, count):
    page = page_of((BlockKind.TEXT, TEXT), table_of(*ROWS), (BlockKind.TEXT, f"After it comes more. {TEXT}"))
    n = len(words(page.text))
    passages = chunker.chunk([page])
    assert len(passages) == count(n)
    assert {word for one in passages for word in one.text.split()} == set(page.text.split())
    assert all(one.text == page.text[one.spans[0].start : one.spans[0].end] for one in passages)


@pytest.mark.parametrize(
    ("make", "size"),
    [(lambda n: Windows(size=n, step=n), 30), (lambda n: Snippets(length=n), 25)],
    ids=["windows", "snippets"],
)
def test_a_long_table_is_split_between_rows_under_the_same_header(make, size):
    page = page_of(table_of(*ROWS))
    parts = make(size).chunk([page])
    assert len(parts) > 1
    seen = []
    for part in parts:
        lines = [line.rstrip() for line in part.text.split("\n")]
        assert lines[:2] == HEADER.split("\n")
        assert word_count(part.text) <= size
        seen += lines[2:]
    assert seen == page.text.split("\n")[2:]
    assert parts[1].spans[0] == Span("doc", 1, 0, len(HEADER))
    assert len({p.id for p in parts}) == len(parts)


def test_labels_are_repeated_above_the_rows_that_stand_under_them():
    rows = [("Net sales:", "", ""), *ROWS[:6], ("Operating income", "7", "8"), ("Cost:", "", ""), *ROWS[6:]]
    rows = [(label, a, b) for label, a, b in rows]
    indent = {row[0]: 60.0 for row in ROWS}
    page = page_of(table_of(*rows), indent=indent)
    parts = Windows(size=20, step=20).chunk([page])
    for part in parts:
        labels = [line.split("|")[1].strip() for line in part.text.split("\n")[2:]]
        assert labels[-1] not in ("Net sales:", "Cost:")
        for label in labels:
            if label.startswith("Row"):
                above = labels[: labels.index(label)]
                section = "Net sales:" if int(label.split()[1]) < 6 else "Cost:"
                assert [a for a in above if a.endswith(":")][-1] == section
    starting = [part for part in parts if "Operating income" in part.text.split("\n")[2]]
    assert all("Net sales:" not in part.text for part in starting)


def test_the_lines_above_a_table_stand_in_each_of_its_parts():
    page = page_of(
        (BlockKind.TEXT, TEXT),
        (BlockKind.HEADING, "STATEMENTS OF OPERATIONS"),
        (BlockKind.TEXT, "(In millions)"),
        table_of(*ROWS),
    )
    parts = [p for p in Windows(size=40, step=40).chunk([page]) if "|" in p.text]
    assert len(parts) > 1
    for part in parts:
        assert part.text.startswith("STATEMENTS OF OPERATIONS\n\n(In millions)\n\n" + HEADER)
    assert [p.heading for p in with_headings(parts, [page], "")] == ["STATEMENTS OF OPERATIONS"] * len(parts)


def test_the_sentence_that_announces_a_table_stands_with_it():
    page = page_of((BlockKind.TEXT, TEXT + " The following table shows them (in millions):"), table_of(*ROWS[:2]))
    running, table = Windows().chunk([page])
    assert table.text.startswith("The following table shows them (in millions):\n\n|")
    assert running.text.endswith("(in millions):")


@pytest.mark.parametrize("below", [False, True])
def test_the_caption_is_taken_from_the_running_text(below):
    caption, table = (BlockKind.CAPTION, "Table 1. Sales of both years."), table_of(*ROWS[:2])
    page = page_of((BlockKind.TEXT, TEXT), *((table, caption) if below else (caption, table)), (BlockKind.TEXT, TEXT))
    running, found = Windows().chunk([page])
    assert found.text.startswith("Table 1. Sales of both years.\n\n| |")
    assert "Table 1" not in running.text


def test_a_row_longer_than_a_passage_is_cut():
    page = page_of(table_of(("Row", " ".join(f"w{i}" for i in range(100)), "x")))
    parts = Windows(size=40, step=40).chunk([page])
    assert len(parts) > 2
    assert all(part.text.startswith(HEADER) for part in parts)
    found = [text[a:b] for text in (p.text.split("\n", 2)[2] for p in parts) for a, b in words(text)]
    assert [w for w in found if w.startswith("w")] == [f"w{i}" for i in range(100)]


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["Net sales:", "Row", "A longer label"]), st.booleans()), min_size=1, max_size=30
    ),
    st.integers(5, 60),
    st.integers(0, 3),
)
def test_every_row_is_in_a_passage_in_its_order(kinds, size, titles):
    rows = [(f"{label} {i}", "" if bare else f"{i},5", "" if bare else str(i)) for i, (label, bare) in enumerate(kinds)]
    page = page_of(*[(BlockKind.HEADING, f"Title {i}") for i in range(titles)], table_of(*rows))
    parts = [p for p in Snippets(length=size).chunk([page]) if "|" in p.text]
    last = [part.spans[-1] for part in parts]
    assert all(a.end <= b.start for a, b in pairwise(last))
    covered = {place for span in last for place in range(span.start, span.end)}
    for label, _, _ in rows:
        assert page.text.index(f"| {label} |") in covered
    assert all("| --- |" in part.text for part in parts)


def test_a_row_quoted_from_a_part_is_found_on_its_page():
    page = page_of((BlockKind.HEADING, "Results"), table_of(*ROWS))
    for part in Windows(size=30, step=30).chunk([page]):
        for start, end in sentences(part.text):
            span, first, last = locate(part, start, end)
            assert (first, last) == (start, end)
            assert page.text[span.start : span.end] == part.text[start:end]
