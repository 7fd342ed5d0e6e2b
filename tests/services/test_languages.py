"""German PDFs beside English ones: their language is known, and they are asked about in German."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.types import Done, Support
from tests.services.helpers import BM25, LITERAL, METERS, asked, built, store_of

LEASE = (
    [
        "Die Kaution der Wohnung beträgt drei Monatsmieten, d. h. 2.100 Euro. Sie ist vor dem Einzug zu zahlen.",
        "Der Mietvertrag kann von beiden Seiten mit einer Frist von drei Monaten gekündigt werden, vgl. Abs. 3.",
    ],
    [
        "Der Hausmeister reinigt die Treppen jeden Montag. Im Keller stehen die Fahrräder der Mieter.",
        "Haustiere sind mit Ausnahme von Hunden erlaubt. Der Garten gehört zur Wohnung im Erdgeschoss.",
    ],
)


@pytest.fixture
def lease(make_pdf):
    return make_pdf(*LEASE, name="mietvertrag.pdf", title="Mietvertrag")


def add(services, path):
    list(services.documents.ingest(LOCAL_OWNER, [path]))


def language_of(services, filename):
    return {d.filename: reading.language for d, reading in services.documents.readable(LOCAL_OWNER, BM25)}[filename]


def test_the_language_is_noted_with_the_reading(services, lease):
    add(services, lease)
    assert language_of(services, "mietvertrag.pdf") == "german"
    kept = {reading.language for reading in services.documents.kept.readings(LOCAL_OWNER)}
    assert kept == {"german", "english"}
    passages = services.index.passages(LOCAL_OWNER, BM25)
    assert {passage.language for passage in passages} == {"german", "english"}


def test_a_document_of_an_earlier_version_gets_its_language_without_a_new_reading(open_services, lease):
    services = open_services(empty=True)
    add(services, lease)
    store = store_of(services)
    (reading,) = store.documents.readings(LOCAL_OWNER)
    store.documents.note_language(reading, "")
    store.close()
    assert services.documents.kept.readings(LOCAL_OWNER) == (reading,)
    assert language_of(services, "mietvertrag.pdf") == "german"
    assert services.documents.kept.readings(LOCAL_OWNER) == (replace(reading, language="german"),)


def test_a_german_pdf_is_asked_in_german(services, lease):
    add(services, lease)
    built(services, LITERAL)
    (answer,) = (
        e.answer
        for e in asked(services, "Welche Kündigungsfristen hat der Mietvertrag?", LITERAL)
        if isinstance(e, Done)
    )
    assert "mit einer Frist von drei Monaten gekündigt werden, vgl. Abs. 3." in answer.text
    assert {sentence.support for sentence in answer.sentences} == {Support.SUPPORTED}
    assert answer.hits[0].passage.language == "german"


def test_english_questions_find_what_they_found_beside_a_german_document(services, lease):
    built(services)
    alone = services.index.search(LOCAL_OWNER, METERS, BM25)
    add(services, lease)
    built(services)
    beside = services.index.search(LOCAL_OWNER, METERS, BM25)
    assert beside[0].passage == alone[0].passage
    assert {hit.passage.language for hit in beside[:3]} == {"english"}
