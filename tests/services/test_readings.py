"""Documents that were read in several ways, and which of their readings is used."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.services import LOCAL_OWNER, recipes
from pdfqa_core.services.readings import Claim, name_of, stands, wanted_reading
from pdfqa_core.settings import ExtractionSettings, Settings
from pdfqa_core.types import Block, Page, Progress, Span
from tests.services.helpers import BM25, METERS, built, documents, only, only_id, store_of

PLAIN = ExtractionSettings(tables=False)
BY_VISUAL = BM25.changed("chunking", read_by="visual")
UNTABLED = BM25.changed("extraction", tables=False)


def add_reading(services, text, name="visual", *, counts=True, confidence=0.9):
    """Store a reading of the only document, all of whose pages say `text`."""
    document = only(services)
    with store_of(services) as store:
        pages = [
            replace(page, text=text, lines=(), blocks=(Block(0, len(text)),), source="ocr", confidence=confidence)
            for page in store.documents.pages(LOCAL_OWNER, document.id, "direct")
        ]
        store.documents.add(document, name, pages, counts=counts)
    return document


def all_text(services):
    return " ".join(passage.text for passage in services.index.passages(LOCAL_OWNER, BM25))


def only_words(text, words):
    return set(text.split()) == set(words.split())


# ------------------------------------------------------------------ names


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({}, "direct"), ({"tables": False}, "direct, no tables"), ({"visual_pages": "all"}, "direct"),
        ({"extractor": "visual", "visual_pages": "all"}, "visual, all pages"), ({"workers": 3}, "direct"),
    ],
)  # fmt: skip
def test_the_name_of_a_reading_says_what_its_text_depends_on(changes, name):
    assert name_of(ExtractionSettings(**changes)) == name


def test_a_recipe_wants_what_it_names_or_what_differs_from_the_workspace():
    own = ExtractionSettings()
    assert wanted_reading(Settings(), own) is None
    assert name_of(wanted_reading(Settings().changed("chunking", read_by="direct"), own)) == "direct"
    assert name_of(wanted_reading(Settings().changed("extraction", extractor="visual"), own)) == "visual"
    assert wanted_reading(Settings().changed("extraction", workers=3), own) is None
    assert (
        wanted_reading(Settings().changed("extraction", extractor="visual"), ExtractionSettings(extractor="visual"))
        is None
    )


# ------------------------------------------------------------------ which reading is used


def test_the_reading_that_counts_is_used_and_shown(services):
    assert "seals" not in all_text(services)
    document = add_reading(services, "seals sleep on the quay")
    assert only(services).extractor == "visual"
    assert only_words(all_text(services), "seals sleep on the quay")
    view = services.documents.pages.view(LOCAL_OWNER, document.id, 1, width=200)
    assert (view.page.text, view.reading.extractor) == ("seals sleep on the quay", "visual")
    assert [reading.extractor for reading in view.readings] == ["direct", "visual"]
    assert (
        services.documents.pages.view(LOCAL_OWNER, document.id, 1, width=200, reading="direct").reading.extractor
        == "direct"
    )
    services.documents.kept.choose(LOCAL_OWNER, document.id, "direct")
    assert services.documents.pages.view(LOCAL_OWNER, document.id, 1, width=200).reading.extractor == "direct"
    with pytest.raises(UsageError, match="no text as read by 'other'"):
        services.documents.kept.choose(LOCAL_OWNER, document.id, "other")


def test_a_recipe_uses_the_reading_it_wants(services):
    add_reading(services, "seals sleep on the quay", counts=False)
    built(services)
    assert "seals" not in services.index.search(LOCAL_OWNER, METERS, BM25)[0].passage.text
    assert not services.index.ready(LOCAL_OWNER, BY_VISUAL)
    built(services, BY_VISUAL)
    assert "seals" in services.index.search(LOCAL_OWNER, "seals", BY_VISUAL)[0].passage.text
    assert services.index.ready(LOCAL_OWNER, BM25)
    assert services.index.search(LOCAL_OWNER, "seals", BM25) == []
    assert services.documents.text(LOCAL_OWNER, only(services).id, BY_VISUAL)[0].text == "seals sleep on the quay"
    assert Settings().chunking.read_by not in recipes.name_of(BM25).split()
    assert recipes.name_of(BY_VISUAL).endswith("with headings as read by visual")


def test_an_index_on_disk_is_not_used_for_another_text(open_services):
    first = open_services()
    built(first)
    first.close()
    second = open_services()
    add_reading(second, "herons stand in the mud")
    second.close()
    third = open_services()
    built(third)
    assert third.index.search(LOCAL_OWNER, METERS, BM25) == []
    assert "herons" in third.index.search(LOCAL_OWNER, "herons", BM25)[0].passage.text


# ------------------------------------------------------------------ reading again


def test_building_reads_what_has_not_been_read_so_and_only_once(services, letter):
    documents(services.documents.ingest(LOCAL_OWNER, [letter]))
    assert [d.filename for d in services.documents.unread(LOCAL_OWNER, UNTABLED)] == ["harbour-heat.pdf", "letter.pdf"]
    steps = built(services, UNTABLED)
    assert Progress("Reading harbour-heat.pdf", 8, 8) in steps
    assert services.documents.unread(LOCAL_OWNER, UNTABLED) == ()
    assert services.index.ready(LOCAL_OWNER, UNTABLED)
    assert services.documents.reading_notes(LOCAL_OWNER, UNTABLED) == ()
    assert {d.extractor for d in services.documents.kept.list(LOCAL_OWNER)} == {"direct"}
    assert [r.extractor for _, r in services.documents.readable(LOCAL_OWNER, UNTABLED)] == ["direct, no tables"] * 2
    assert services.index.search(LOCAL_OWNER, "granite", UNTABLED)[0].passage.document_id == only_id(
        services, "letter.pdf"
    )
    assert built(services, UNTABLED) == []


def test_what_cannot_be_read_so_keeps_its_reading_and_is_told(services):
    document, short = only(services), UNTABLED.changed("extraction", max_pages=2)
    built(services, short)
    (note,) = services.documents.reading_notes(LOCAL_OWNER, short)
    assert note.startswith("harbour-heat.pdf is used as read by direct, not by direct, no tables: harbour-heat.pdf has")
    assert only(services) == document
    assert set(services.index.passage_counts(LOCAL_OWNER, short)) == {document.id}
    assert services.documents.unread(LOCAL_OWNER, short) == ()


def test_a_stored_pdf_that_was_damaged_since_changes_nothing(services):
    document = only(services)
    services.documents.original(LOCAL_OWNER, document.id).path.write_bytes(b"%PDF-1.7\nand nothing more")
    built(services, UNTABLED)
    assert only(services) == document
    assert [reading.extractor for reading in services.documents.kept.readings(LOCAL_OWNER)] == ["direct"]
    assert "not been read so yet" in services.documents.reading_notes(LOCAL_OWNER, UNTABLED)[0]


# ------------------------------------------------------------------ where text stands


def test_text_stands_where_its_words_are():
    page = Page("d", 2, "2", 595, 842, "Heat from the sea.\n\n| Year | Tonnes |\n| --- | --- |\n| 2023 | 1,204 |")
    assert stands(page, Claim(Span("d", 2, 0, 18), "… Heat from  the sea. And more."))
    assert stands(page, Claim(Span("d", 2, 20, len(page.text)), "Year Tonnes 2023 1,204"))
    assert not stands(page, Claim(Span("d", 2, 0, 18), "Oil from the desert"))
    assert not stands(page, Claim(Span("d", 2, 0, 900), "Heat from the sea."))
    assert not stands(page, Claim(Span("d", 1, 0, 18), "Heat from the sea."))
    assert not stands(page, Claim(Span("e", 2, 0, 18), "Heat from the sea."))


def test_evidence_is_shown_in_the_reading_it_was_taken_from(services):
    built(services)
    hit = services.index.search(LOCAL_OWNER, METERS, BM25)[0]
    claims = [Claim(span, hit.passage.text) for span in hit.passage.spans]
    document, number = hit.passage.document_id, hit.passage.spans[0].page
    here = tuple(claim for claim in claims if claim.span.page == number)
    view = services.documents.pages.view(LOCAL_OWNER, document, number, width=200, claims=claims)
    assert (view.reading.extractor, view.found) == ("direct", here)
    add_reading(services, "seals sleep on the quay, and herons stand in the mud " * 40)
    view = services.documents.pages.view(LOCAL_OWNER, document, number, width=200, claims=claims)
    assert (view.reading.extractor, view.found) == ("direct", here)
    lost = [Claim(span, "words that stand nowhere in it") for span in hit.passage.spans]
    view = services.documents.pages.view(LOCAL_OWNER, document, number, width=200, claims=lost)
    assert (view.reading.extractor, view.found) == ("visual", ())
