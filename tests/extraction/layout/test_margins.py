from __future__ import annotations

import pytest

from pdfqa_core.extraction.layout.margins import EdgeLine, printed_labels, roman_value, running_lines


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
