"""overview: what a PDF is, as text and as JSON."""

from __future__ import annotations

from tests.serving_fakes import PDF


def test_title_authors_pages_and_contents(empty, run, make_pdf):
    lines = run("overview", PDF).out.splitlines()
    assert lines[:4] == [
        "Harbour Heat: two winters of a sea-water heat pump in the town of Kestrel Bay", "Kestrel Bay Heat Works",
        "8 pages, harbour-heat.pdf", "",
    ]  # fmt: skip
    assert lines[4:7] == ["1 Purpose  3", "2 How the system works  3", "  2.1 From the sea to the plant room  3"]
    said = run("overview", PDF, "--json").data
    assert (said["pages"], said["contents_from"], said["pictures"]) == (8, "bookmarks", [])
    assert said["contents"][2] == {"level": 2, "title": "2.1 From the sea to the plant room", "page": 3}

    plain = make_pdf(["Granite is sold by the tonne."], name="letter.pdf")
    assert run("overview", plain).out == "letter\n1 page, letter.pdf\n"
    assert run("overview", plain, "--json").data["contents"] == []
