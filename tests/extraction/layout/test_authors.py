"""Authors on a first page: only where it is plain that they are."""

from __future__ import annotations

import pytest

from pdfqa_core.extraction.layout.outline import authors_on


@pytest.mark.parametrize(
    ("below_title", "authors"),
    [
        (["Ada Lovelace, Charles Babbage", "Abstract", "We describe an engine."], "Ada Lovelace; Charles Babbage"),
        (["Ada Lovelace¹ and Charles Babbage²*", "Abstract"], "Ada Lovelace; Charles Babbage"),
        (["By Mary W. Shelley", "You will rejoice to hear that no disaster has come."], "Mary W. Shelley"),
        (["Authors: Jan van der Berg; Zoë Ångström", "June 2024"], "Jan van der Berg; Zoë Ångström"),
        (["Grace Hopper", "Department of Mathematics, Vassar College"], "Grace Hopper"),
        (["Grace Hopper\ngrace@example.org"], "Grace Hopper"),
        (["J. R. R. Tolkien", "tolkien@example.org"], "J. R. R. Tolkien"),
    ],
)
def test_names_with_a_sign_are_authors(make_page, below_title, authors):
    assert authors_on(make_page("On Engines and Looms", *below_title), "On Engines and Looms") == authors


@pytest.mark.parametrize(
    "below_title",
    [
        ["New York", "University Press"],
        ["Annual Report", "Abstract"],
        ["Ada Lovelace, Charles Babbage", "June 2024"],
        ["Grace Hopper", "June 2024"],
        ["Kestrel Bay Heat Works", "Department of Heat"],
        ["United States Securities and Exchange Commission", "Washington, D.C. 20549"],
        ["by the pier, where the boats lie"],
        ["Abstract", "Ada Lovelace, Charles Babbage", "University of London"],
        [],
    ],
)
def test_what_only_looks_like_a_name_is_left_out(make_page, below_title):
    assert authors_on(make_page("On Engines and Looms", *below_title), "On Engines and Looms") == ""


def test_the_title_is_no_author(make_page):
    assert authors_on(make_page("Harbour Heat", "Abstract", "heat@example.org"), "Harbour Heat") == ""
