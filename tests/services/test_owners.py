"""Owners, the demo, and the program as a whole."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from pdfqa_core.errors import UsageError
from pdfqa_core.extraction import extractors
from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.services.recipes import names as strategies
from pdfqa_core.types import Document, DocumentState
from tests.services.helpers import (
    BM25,
    HYBRID,
    LITERAL,
    METERS,
    asked,
    built,
    documents,
    only,
    store_of,
    stored_of,
)


def test_owners_do_not_see_each_other(open_services, letter):
    services = open_services(LITERAL)
    documents(services.documents.ingest("visitor-a", [letter]))
    sample, theirs = only(services), only(services, "visitor-a")
    built(services, LITERAL)
    built(services, LITERAL, "visitor-a")
    mine = stored_of(asked(services, METERS))
    for call in (services.documents.original, services.documents.remove):
        with pytest.raises(UsageError, match="no such document"):
            call("visitor-a", sample.id)
    for call in (services.documents.pages.view, services.documents.pages.thumbnail):
        with pytest.raises(UsageError, match="no such document"):
            call("visitor-a", sample.id, 1)
    with pytest.raises(UsageError, match="no such conversation"):
        asked(services, METERS, owner="visitor-a", conversation_id=mine.conversation_id)
    assert {p.document_id for p in services.index.passages("visitor-a", LITERAL)} == {theirs.id}
    hits = services.index.search("visitor-a", METERS + " granite", LITERAL, document_ids=[sample.id, theirs.id])
    assert {hit.passage.document_id for hit in hits} == {theirs.id}
    assert services.index.search("visitor-a", METERS, LITERAL, document_ids=[sample.id]) == []
    with pytest.raises(UsageError, match=r"no document 'harbour-heat\.pdf'"):
        services.documents.document_ids("visitor-a", ["harbour-heat.pdf"])
    roots = [path for path in services.workspace.rglob("indexes") if path.is_dir()]
    assert len(roots) == 2
    services.documents.remove("visitor-a", theirs.id)
    assert services.index.ready(LOCAL_OWNER, LITERAL)


def test_the_owner_of_the_computer_has_no_such_limit(open_services, tmp_path):
    services = open_services(BM25.changed("server", visitor_mb=1), empty=True)
    big = tmp_path / "big.pdf"
    big.write_bytes(b"%PDF" + b"x" * 1_500_000)
    assert documents(services.documents.ingest(LOCAL_OWNER, [big]))[0].state is DocumentState.BROKEN


def test_idle_visitors_are_removed_with_everything(open_services, letter):
    services = open_services(LITERAL.changed("server", demo=True, visitor_hours=1))
    documents(services.documents.ingest("visitor-new", [letter]))
    old = datetime.now(UTC) - timedelta(hours=2)
    sample = only(services)
    with store_of(services) as store:
        pages = store.documents.pages(LOCAL_OWNER, sample.id, "direct")
        for owner in ("visitor-old", LOCAL_OWNER):
            store.documents.add(Document(sample.id, "t", "harbour-heat.pdf", 8, old, owner), "direct", pages)
        with store.database.write() as connection:
            connection.execute(text("UPDATE readings SET read_at = '2026-01-01' WHERE owner = 'visitor-old'"))
    for owner in ("visitor-old", "visitor-new"):
        built(services, LITERAL, owner)
    assert len(list((services.workspace / "visitors").iterdir())) == 2
    assert services.purge() == ("visitor-old",)
    assert services.documents.kept.list("visitor-old") == ()
    assert not services.index.ready("visitor-old", LITERAL)
    assert len(list((services.workspace / "visitors").iterdir())) == 1
    assert services.index.ready("visitor-new", LITERAL)
    assert services.documents.original(LOCAL_OWNER, sample.id).path.exists()
    assert [d.filename for d in services.documents.kept.list(LOCAL_OWNER)] == ["harbour-heat.pdf"]


def test_texts_and_pictures_of_visitors_who_went_are_not_remembered(open_services, letter):
    settings = HYBRID.changed("server", demo=True, visitor_hours=1)
    services = open_services(settings)
    (theirs,) = documents(services.documents.ingest("visitor-old", [letter]))
    assert services.documents.pages.view("visitor-old", theirs.id, 1).image
    kept = [services.answers.overviews.kept, services.answers.suggestions.kept]
    services.answers.overviews.of("visitor-old", theirs.id, settings)
    built(services, settings, "visitor-old")
    services.answers.suggestions.first("visitor-old", theirs.id, settings)
    assert [len(one) for one in kept] == [1, 1]
    meaning = services.answers._meaning(settings)
    meaning.vectors(["Where does Ida live?"])
    with store_of(services) as store, store.database.write() as connection:
        for table, moment in (("documents", "added_at"), ("readings", "read_at")):
            old = f"UPDATE {table} SET {moment} = '2026-01-01' WHERE owner = 'visitor-old'"
            connection.execute(text(old))
    assert services.purge() == ("visitor-old",)
    assert [len(one) for one in (meaning._known, *kept)] == [0, 0, 0]
    assert not services.documents.pages.renderer._cache


def test_nobody_is_removed_outside_a_demo(open_services):
    services = open_services(LITERAL.changed("server", visitor_hours=1))
    old = datetime.now(UTC) - timedelta(days=9)
    with store_of(services) as store:
        store.documents.add(Document("a" * 64, "t", "t.pdf", 1, old, "visitor-old"))
    assert services.purge() == ()
    assert len(services.documents.kept.list("visitor-old")) == 1


def test_a_strategy_is_registered_under_every_name_that_is_offered():
    assert strategies("extractor") == extractors.names()
