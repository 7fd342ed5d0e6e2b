"""German PDFs beside English ones: their language is known, and they are asked about in German."""

from __future__ import annotations

import json
from dataclasses import replace
from html import escape

import pytest

from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.types import Done, Support
from tests.services.helpers import BM25, LITERAL, METERS, asked, built, only, store_of

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
    kept = {reading.language for reading in services.documents.readings(LOCAL_OWNER)}
    assert kept == {"german", "english"}
    passages = services.indexes.passages(LOCAL_OWNER, BM25)
    assert {passage.language for passage in passages} == {"german", "english"}


def test_a_document_of_an_earlier_version_gets_its_language_without_a_new_reading(open_services, lease):
    services = open_services(empty=True)
    add(services, lease)
    store = store_of(services)
    (reading,) = store.documents.readings(LOCAL_OWNER)
    store.documents.note_language(reading, "")
    store.close()
    assert services.documents.readings(LOCAL_OWNER) == (reading,)
    assert language_of(services, "mietvertrag.pdf") == "german"
    assert services.documents.readings(LOCAL_OWNER) == (replace(reading, language="german"),)


def test_an_english_index_is_made_of_what_it_was_made_of(services):
    built(services)
    reading = services.documents.readable(LOCAL_OWNER, BM25)[0][1]
    (manifest,) = (services.workspace / "indexes").rglob("manifest.json")
    (entry,) = json.loads(manifest.read_text())["documents"].values()
    assert json.loads(entry["source"]) == [reading.extractor, reading.version, only(services).title]
    assert "language" not in entry


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
    alone = services.indexes.search(LOCAL_OWNER, METERS, BM25)
    add(services, lease)
    built(services)
    beside = services.indexes.search(LOCAL_OWNER, METERS, BM25)
    assert beside[0].passage == alone[0].passage
    assert {hit.passage.language for hit in beside[:3]} == {"english"}


def test_a_follow_up_in_german_is_searched_with_the_question_before(services, lease):
    add(services, lease)
    built(services, LITERAL)
    (done, stored) = asked(services, "Wie hoch ist die Kaution der Wohnung?", LITERAL)[-2:]
    assert "2.100 Euro" in done.answer.text
    stored = asked(services, "Und wann wird sie gezahlt?", LITERAL, conversation_id=stored.conversation_id)[-1]
    assert stored.turn.standalone_question == "Und wann wird sie gezahlt?"
    assert "Kaution" in stored.turn.answer.hits[0].passage.text


def test_paragraphs_of_xquad_are_found_by_german_questions(open_services, make_pdf, shared_data):
    file = shared_data / "xquad" / "xquad.de.json"
    if not file.is_file():
        pytest.skip(f"no {file}")
    articles = json.loads(file.read_text(encoding="utf-8"))["data"][:4]
    services = open_services(empty=True)
    for number, article in enumerate(articles):
        pages = [[escape(paragraph["context"])] for paragraph in article["paragraphs"]]
        add(services, make_pdf(*pages, name=f"artikel{number}.pdf", title=f"Artikel {number}"))
    readings = services.documents.readable(LOCAL_OWNER, BM25)
    assert {reading.language for _, reading in readings} == {"german"}
    built(services)
    asked_of = [
        (question["question"], f"artikel{number}.pdf", page)
        for number, article in enumerate(articles)
        for page, paragraph in enumerate(article["paragraphs"], 1)
        for question in paragraph["qas"]
    ]
    names = services.documents.filenames(LOCAL_OWNER)
    found = 0
    for question, name, page in asked_of:
        hits = services.indexes.search(LOCAL_OWNER, question, BM25, k=5)
        found += any(names[hit.passage.document_id] == name and page in hit.passage.pages for hit in hits)
    assert len(asked_of) > 80
    assert found >= 0.95 * len(asked_of)


def test_a_german_textbook_is_asked_in_german(open_services, shared_data):
    file = shared_data / "sample_pdfs" / "GeoTopo-komprimiert.pdf"
    if not file.is_file():
        pytest.skip(f"no {file}")
    services = open_services(empty=True)
    add(services, file)
    assert language_of(services, file.name) == "german"
    for question, words, page in (
        ("Was ist ein Knoten?", "Eine geschlossene Jordankurve in R3 heißt Knoten.", 24),
        ("Wann heißt ein Raum wegzusammenhängend?", "Ein topologischer Raum X heißt wegzusammenhängend, wenn es", 22),
        ("Wann heißt ein topologischer Raum hausdorffsch?", "Ein topologischer Raum X heißt hausdorffsch, wenn", 12),
    ):
        answer = asked(services, question, LITERAL, anyway=True)[-1].turn.answer
        assert answer.text.startswith(words)
        assert (answer.citations[0].span.page, answer.citations[0].verified) == (page, True)
