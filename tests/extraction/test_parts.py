from __future__ import annotations

import io

import pytest

from pdfqa_core.extraction.clean import EdgeLine, printed_labels, roman_value, running_lines
from pdfqa_core.extraction.frames import Frame, read_frame, write_frame, write_json
from pdfqa_core.extraction.hyphens import Hyphenation
from pdfqa_core.extraction.normalise import character, compose, right_to_left
from pdfqa_core.extraction.titles import choose_authors, choose_title, sensible
from pdfqa_core.types import Block, BlockKind, Box, Line, Page


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (0xFB01, "fi"), (0xFB03, "ffi"), (0x00A0, " "), (0x2009, " "), (0x200B, ""), (0x0002, "-"), (0xF0B7, "•"),
        (0xFF21, "A"), (0x00B2, "²"), (0x00BD, "½"), (0x0007, ""), (0xD800, ""), (0x1D400, "A"), (0x41, "A"),
    ],
)  # fmt: skip
def test_characters(code, text):
    assert character(code) == text


def test_spacing_accents_join_their_letter():
    assert compose("f¨ur Universit¨at") == "für Universität"
    assert compose("a¨ ") == "a¨ "


def test_direction_of_writing():
    assert right_to_left("שלום abc")
    assert not right_to_left("abc 123")


@pytest.mark.parametrize(
    ("lines", "first", "second", "expected"),
    [
        ([], "infor-", "mation", None),
        ([], "the end", "of it", " "),
        ([], "A-", "Series", ""),
        ([], "1990-", "1995", ""),
        ([], "pages -", "and more", " "),
        ([], "sub\u00ad", "title", None),
        ([], "non-", "smoker", ""),
        ([], "NORTH-", "WIND", None),
        (["an in-network doctor"], "in-", "network", ""),
        (["information is here"], "infor-", "mation", None),
        (["out-of-pocket and well-being", "out-", "of-pocket is", "well-", "being"], "co-", "payments", ""),
    ],
)
def test_hyphens(lines, first, second, expected):
    assert Hyphenation([*lines, first, second]).joins(first, second) == expected


def edge_pages(*pages: list[tuple[str, float]]) -> list[list[EdgeLine]]:
    return [[EdgeLine(i, text, top, top + 10, 10) for i, (text, top) in enumerate(page)] for page in pages]


def margins(*pages: list[tuple[str, float]]) -> list[set[str]]:
    lines = edge_pages(*pages)
    headers, footers = running_lines(lines, [800.0] * len(pages), [str(i + 1) for i in range(len(pages))])
    return [{pages[p][i][0] for i in headers[p] | footers[p]} for p in range(len(pages))]


def test_page_numbers_of_two_forms():
    body = [("Some text", 100.0), ("More text", 300.0)]
    assert margins(*[[*body, (f"Page {n} of 4", 770.0)] for n in range(1, 5)]) == [
        {f"Page {n} of 4"} for n in range(1, 5)
    ]
    assert margins(*[[*body, (n, 770.0)] for n in ("i", "ii", "iii")]) == [{"i"}, {"ii"}, {"iii"}]


def test_a_year_at_the_end_of_the_text_is_no_page_number():
    assert margins([("Some text", 100.0), ("1984", 600.0)], [("Other text", 100.0), ("2001", 300.0)]) == [set(), set()]


def test_short_pages_that_are_alike_keep_their_text():
    assert margins(*[[(f"This is page {n}", 72.0)] for n in range(1, 6)]) == [set()] * 5


def test_a_footer_that_follows_the_text():
    pages = [[(f"Body {chr(64 + n)}", 100.0), (f"Report | {n}", 400.0 + 30 * n)] for n in range(1, 9)]
    assert margins(*pages) == [{f"Report | {n}"} for n in range(1, 9)]


def test_roman_page_numbers_beside_words():
    numbers = ("i", "ii", "1", "2", "3")
    bodies = ("Alpha", "Beta", "Gamma", "Delta", "Epsilon")
    pages = [[(body, 100.0), (f"Heat works · June 2024 {n}", 770.0)] for n, body in zip(numbers, bodies, strict=True)]
    assert margins(*pages) == [{page[-1][0]} for page in pages]


@pytest.mark.parametrize(
    ("numeral", "value"),
    [("i", 1), ("iv", 4), ("ix", 9), ("xiv", 14), ("XL", 40), ("xcix", 99), ("cx", 110), ("civil", 0), ("iiii", 0)],
)
def test_roman_numerals(numeral, value):
    assert roman_value(numeral) == value


def test_printed_labels():
    margin = [[], ["Works · June 2024 i"], ["Works · June 2024 ii"], ["Works · iii"], ["Page 1 of 4"], ["2 Chapter 7"]]
    assert printed_labels([*margin, [], ["4 Chapter 8"]]) == [None, "i", "ii", "iii", "1", "2", "3", "4"]
    assert printed_labels([[f"- {n} -"] for n in (101, 102, 103)]) == ["101", "102", "103"]
    assert printed_labels([["Report 2023"], ["Report 2023"], ["Report 2023"]]) == [None, None, None]
    assert printed_labels([["Part I"], ["Part I"], ["Part II"], ["Part II"]]) == [None] * 4
    assert printed_labels([["Volume 3"], [], ["Version 1.2.3"], ["12 June"]]) == [None] * 4
    assert printed_labels([]) == []


def titled(*headings: tuple[str, float, int]) -> Page:
    text, lines, blocks = "", [], []
    for words, height, level in headings:
        start = len(text)
        text += words
        lines.append(Line(start, len(text), Box(10, 10, 100, 10 + height)))
        blocks.append(Block(start, len(text), BlockKind.HEADING, level))
        text += "\n\n"
    return Page("d", 1, "1", 595, 842, text.removesuffix("\n\n"), tuple(lines), tuple(blocks))


@pytest.mark.parametrize(
    "poor", ["", "untitled", "Untitled", "report.docx", "0000320193-23", "Microsoft Word", "Slide 1", "a", "x" * 300]
)
def test_poor_titles(poor):
    assert not sensible(poor)


def test_titles():
    page = titled(("Contoso", 36, 1), ("Health Plan", 24, 1), ("Your Name", 12, 3))
    assert choose_title("Annual report 2023", (page,), "file") == "Annual report 2023"
    assert choose_title("Microsoft Word - Travel policy", (page,), "file") == "Travel policy"
    assert choose_title("Microsoft Word - a.docx", (page,), "file") == "Contoso Health Plan"
    assert choose_title("", (titled(("Contents", 30, 1)),), "my file") == "my file"
    assert choose_title("", (), "my file") == "my file"
    assert choose_title("", (titled(), page), "my file") == "Contoso Health Plan"
    filing = titled(("Form 10-Q", 16, 1), ("For the quarter", 12, 2), ("Apple Inc.", 18, 1), ("Mark One", 9, 4))
    assert choose_title("0000320193-23-000077", (filing,), "file") == "Form 10-Q Apple Inc."


@pytest.mark.parametrize(
    ("metadata", "authors"),
    [
        ("Kestrel Bay Heat Works", "Kestrel Bay Heat Works"),
        ("Ada Lovelace, Charles Babbage", "Ada Lovelace, Charles Babbage"),
        ("Ada Lovelace; user;\nAda Lovelace | C. Mackenzie", "Ada Lovelace; C. Mackenzie"),
        ("A" * 150 + " " + "B" * 150, "A" * 150 + "…"),
        ("Jos\u00e9\u0000 Test", "José Test"),
    ],
)
def test_authors(metadata, authors):
    assert choose_authors(metadata) == authors


@pytest.mark.parametrize(
    "account",
    [
        *("user", "Administrator", "Microsoft Office User", "python-docx", "HP", "jd0042", "me@home.org", "?", ""),
        *("pdfTeX", "EDGAR Online, a division of Donnelley Financial Solutions", "C:\\me", "\ufffd\ufffd\ufffd"),
    ],
)
def test_accounts_and_programs_are_no_authors(account):
    assert choose_authors(account) == ""


def test_frames_survive_a_pipe_and_damage_ends_them():
    stream = io.BytesIO()
    write_json(stream, a=1, text="ü")
    write_frame(stream, b"B", b"\x00\xff")
    whole = stream.getvalue()
    reader = io.BytesIO(whole)
    first, second, third = read_frame(reader), read_frame(reader), read_frame(reader)
    assert first is not None
    assert first.json() == {"a": 1, "text": "ü"}
    assert second == Frame(b"B", b"\x00\xff")
    assert third is None
    assert read_frame(io.BytesIO(whole[:7])) is None
    assert read_frame(io.BytesIO(b"B\xff\xff\xff\xff")) is None
    with pytest.raises(ValueError, match="JSON object"):
        Frame(b"J", b"[1]").json()
