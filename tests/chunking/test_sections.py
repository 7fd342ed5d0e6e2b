"""Sections of a document as its headings divide it, and how they open."""

from pdfqa_core.chunking.sections import LONGEST_OPENING, opening, outline, parts, sections
from pdfqa_core.types import Block, BlockKind, Page

WORDS = "The pump gave heat to the school. It ran all winter."


def page(*blocks, number=1):
    """Build a page of (level, text) blocks; level 0 is plain text."""
    text, made = "", []
    for level, words in blocks:
        kind = BlockKind.HEADING if level else BlockKind.TEXT
        made.append(Block(len(text), len(text) + len(words), kind, level))
        text += words + "\n\n"
    return Page("doc", number, str(number), 595, 842, text, (), tuple(made))


REPORT = [
    page(
        (1, "Report"),
        (0, "Written in June by the council. " * 3),
        (1, "1 Heat"),
        (0, WORDS),
        (2, "1.1 Pump"),
        (0, WORDS),
    ),
    page(
        (2, "1.2 Pipes"), (0, "Pipes lead to the hall. " * 3), (1, "2 Costs"), (0, "It cost two crowns. " * 8), number=2
    ),
]


def test_a_section_holds_the_lower_ones_over_pages():
    assert [one.heading for one in sections(REPORT)] == ["Report", "1 Heat", "1.1 Pump", "1.2 Pipes", "2 Costs"]
    heat = sections(REPORT)[1]
    assert {span.page for span in heat.spans} == {1, 2}
    assert "two crowns" not in "".join(piece.text for piece in heat.pieces)


def test_the_outline_is_the_level_on_which_no_section_is_most_of_the_document():
    assert [one.heading for one in outline(REPORT)] == ["Report", "1 Heat", "2 Costs"]
    whole = [
        page((1, "Title"), (2, "A"), (0, WORDS), (2, "B"), (0, WORDS), (2, "Contents"), (0, "A 1, B 2, C 3 and D 4"))
    ]
    assert [one.heading for one in outline(whole)] == ["A", "B"]


def test_items_and_notes_stand_above_the_headings_of_their_level():
    sales = [(4, "Item 1. Sales"), (4, "Europe"), (0, WORDS), (4, "Japan"), (0, WORDS)]
    filing = [page(*sales, (4, "Item 2. Costs"), (0, WORDS * 2), (4, "Item 3. Staff"), (0, WORDS))]
    assert [one.heading for one in outline(filing)] == ["Item 1. Sales", "Item 2. Costs", "Item 3. Staff"]


def test_a_document_without_headings_is_cut_at_its_pages():
    plain = [page((0, WORDS)), page((0, WORDS), number=2)]
    assert [one.heading for one in outline(plain)] == ["Page 1", "Page 2"]


def test_an_opening_is_first_sentences_and_lower_headings_found_on_their_pages():
    long = page(
        (1, "Costs"),
        (0, "Heat is dear. " * 30),
        (2, "Costs: Pipes"),
        (0, f"{'Pipes are of steel. ' * 30}"),
        (2, "Pump"),
    )
    made = opening(sections([long])[0], "Report")
    assert made.text.startswith("Heat is dear.")
    assert "Pipes are of steel." in made.text
    assert made.heading == "Report: Costs"
    assert len(made.text.split()) <= LONGEST_OPENING
    assert made.text == "\n\n".join(long.text[span.start : span.end] for span in made.spans)


def test_the_parts_are_whole_blocks_and_together_the_section():
    section = sections([page((1, "List"), *[(0, f"Item {n} is one of the many things. " * 3) for n in range(12)])])[0]
    made = parts(section, "Report", longest=60)
    assert len(made) > 2
    assert all(len(one.text.split()) <= 60 for one in made)
    assert [f"Item {n} " in "".join(one.text for one in made) for n in range(12)] == [True] * 12
