"""What a file says of itself as BibTeX and CSL-JSON, and what is missing; nothing is guessed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pdfqa_core.exports.citing import Author, bibtex, csl, source_of
from pdfqa_core.extraction.process.properties import FileProperties

STAMP = "arXiv:1706.03762v7 [cs.CL] 2 Aug 2023"
REPORT = FileProperties("Granite & <Slate>_1", "Ann van der Smith; Bob B. Jones", "D:20230501101112+02'00'", "Words.")


def authors(stated: str) -> list[tuple[str, str]]:
    return [(one.family, one.given) for one in source_of(FileProperties(author=stated), "a.pdf").authors]


def test_bibtex_is_escaped_and_names_are_in_their_parts():
    assert bibtex([source_of(REPORT, "a.pdf")]) == (
        "@misc{smith2023granite,\n"
        "  author = {van der Smith, Ann and Jones, Bob B.},\n"
        "  title = {{Granite \\& \\textless{}Slate\\textgreater{}\\_1}},\n"
        "  year = {2023},\n"
        "  month = {05},\n"
        "}\n"
    )


def test_csl_of_a_preprint_with_a_doi():
    page = f"{STAMP}\nhttps://doi.org/10.48550/arXiv.1706.03762."
    (item,) = json.loads(csl([source_of(replace(REPORT, first_page=page), "a.pdf")]))
    assert item == {
        "id": "smith2017granite", "type": "article", "title": "Granite & <Slate>_1",
        "author": [{"family": "van der Smith", "given": "Ann"}, {"family": "Jones", "given": "Bob B."}],
        "issued": {"date-parts": [[2017, 6]]}, "DOI": "10.48550/arxiv.1706.03762",
        "URL": "https://doi.org/10.48550/arxiv.1706.03762", "number": "arXiv:1706.03762", "publisher": "arXiv",
    }  # fmt: skip


def test_what_is_missing_is_named():
    nothing = source_of(FileProperties(), "annual_report_2023.pdf")
    assert nothing.missing == ("title", "author", "date")
    assert nothing.words == "The file does not say its title, its author and its date. (annual_report_2023.pdf)"
    poor = source_of(FileProperties("Microsoft Word - x.docx", "Administrator", "D:20000101000000"), "x.pdf")
    assert poor.missing == ("title", "author", "date")
    assert source_of(replace(REPORT, author=""), "a.pdf").missing_words == "The file does not say its author."
    assert source_of(replace(REPORT, author=""), "a.pdf").words == (
        "Granite & <Slate>_1. 2023. The file does not say its author. (a.pdf)"
    )
    whole = source_of(REPORT, "a.pdf")
    assert (whole.missing, whole.missing_words) == ((), "")
    assert whole.words == "Ann van der Smith, Bob B. Jones: Granite & <Slate>_1. 2023. (a.pdf)"


@pytest.mark.parametrize(
    ("stated", "found"),
    [
        ("Smith, Ann", [("Smith", "Ann")]),
        ("Ann Smith, Bob Jones and Eva Lee", [("Smith", "Ann"), ("Jones", "Bob"), ("Lee", "Eva")]),
        ("Kestrel Bay Heat Works", [("Kestrel Bay Heat Works", "")]),
        ("University of Oldham", [("University of Oldham", "")]),
        ("Smith, A., Jones, B.", [("Smith, A., Jones, B.", "")]),  # where a name ends is not plain to see
        ("plato", [("plato", "")]),
        ("Ann Smith; Administrator; Ann Smith", [("Smith", "Ann")]),
        ("", []),
    ],
)
def test_authors(stated: str, found: list[tuple[str, str]]):
    assert authors(stated) == found
    assert all(Author(*one).words for one in found)


@pytest.mark.parametrize(
    ("text", "doi"),
    [
        ("See https://doi.org/10.1145/3292500.3330701, page 3", "10.1145/3292500.3330701"),
        ("(doi:10.1016/S0140-6736(20)30183-5)", "10.1016/s0140-6736(20)30183-5"),
        ("doi 10.1000/ABC and once more 10.1000/abc.", "10.1000/abc"),
        ("10.1000/abc and 10.1000/other", ""),  # which of them is the document's own?
        ("10.1000/abc-\n123", ""),  # cut at the end of the line
        ("costs 10.50 euros", ""),
    ],
)
def test_the_only_doi_of_the_first_page(text: str, doi: str):
    assert source_of(FileProperties(first_page=text), "a.pdf").doi == doi


@pytest.mark.parametrize(
    ("text", "arxiv", "date"),
    [
        (STAMP, "1706.03762", (2017, 6)),
        (f"{STAMP} as in arXiv:1607.06450", "1706.03762", (2017, 6)),
        ("arXiv:hep-th/9901001", "hep-th/9901001", (1999, 1)),
        ("arXiv:1607.06450 and arXiv:1607.06451", "", ()),
        ("arXiv:1699.06450", "1699.06450", ()),
    ],
)
def test_the_arxiv_id_and_its_date(text: str, arxiv: str, date: tuple[int, ...]):
    found = source_of(FileProperties(first_page=text), "a.pdf")
    assert (found.arxiv, found.date) == (arxiv, date)


@pytest.mark.parametrize(
    ("made", "date"),
    [
        ("D:20230501101112Z", (2023, 5, 1)), ("D:2023", (2023,)), ("202305", (2023, 5)), ("D:20231301", (2023,)),
        ("yesterday", ()), ("D:19700101000000Z", ()), ("", ()),
    ],
)  # fmt: skip
def test_the_date_of_making(made: str, date: tuple[int, ...]):
    assert source_of(FileProperties(created=made), "a.pdf").date == date
