"""Passages, indexes and search."""

from __future__ import annotations

import pytest

from pdfqa_core.errors import StoppedError
from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.services.indexes import OPEN_INDEXES
from pdfqa_core.types import Progress
from tests.services.helpers import (
    BM25,
    HYBRID,
    METERS,
    built,
    documents,
    only,
    stored_pages,
)
from tests.serving_fakes import QUESTIONS


@pytest.mark.parametrize(
    "chunking",
    [{"chunker": "snippets", "min_length": 40, "max_length": 90}, {"unit": "tokens", "size": 60, "step": 30}],
)
def test_every_chunker_makes_passages_that_are_the_text_of_their_spans(services, chunking):
    settings = BM25.changed("chunking", **chunking)
    document = only(services)
    passages = services.index.passages(LOCAL_OWNER, settings)
    pages = {p.number: p for p in services.documents.text(LOCAL_OWNER, document.id, settings)}
    assert len(passages) > 10
    assert len({passage.id for passage in passages}) == len(passages)
    assert services.index.passage_counts(LOCAL_OWNER, settings) == {document.id: len(passages)}
    assert services.index.passages(LOCAL_OWNER, settings, [document.id]) == passages
    assert services.index.passages(LOCAL_OWNER, settings, ["other"]) == []
    for passage in passages:
        for span in passage.spans:
            assert pages[span.page].text[span.start : span.end] in passage.text
    assert all(passage.heading for passage in passages)


def test_building_makes_the_index_ready_and_search_finds_the_gold_page(services):
    steps = built(services)
    assert steps[-1].phase
    assert services.index.ready(LOCAL_OWNER, BM25)
    assert services.index.stats(LOCAL_OWNER, BM25).passages == len(services.index.passages(LOCAL_OWNER, BM25))
    hits = services.index.search(LOCAL_OWNER, METERS, BM25)
    assert [hit.rank for hit in hits] == [1, 2, 3, 4]
    assert set(QUESTIONS["q03"]["pages"]) & set(hits[0].passage.pages)
    assert len(services.index.search(LOCAL_OWNER, METERS, BM25, k=2)) == 2
    assert built(services) == []


@pytest.mark.parametrize("retriever", ["dense", "hybrid"])
def test_the_retrievers_that_use_embeddings(services, retriever):
    settings = BM25.changed("retrieval", retriever=retriever)
    assert services.index.seconds(LOCAL_OWNER, settings) > 0
    steps = built(services, settings)
    assert services.index.seconds(LOCAL_OWNER, settings) == 0
    count = len(services.index.passages(LOCAL_OWNER, settings))
    assert Progress("Embedding passages", count, count) in steps
    assert set(QUESTIONS["q03"]["pages"]) & {
        p for h in services.index.search(LOCAL_OWNER, METERS, settings) for p in h.passage.pages
    }


def test_late_interaction_encodes_tokens_while_the_index_is_built(open_services):
    services = open_services(empty=True)
    stored_pages(services, "meters.pdf", "All meters are read every 15 minutes.", "Granite is sold by the tonne.")
    built(services)
    late = BM25.changed("retrieval", retriever="late_interaction")
    assert not services.index.ready(LOCAL_OWNER, late)
    assert services.index.seconds(LOCAL_OWNER, late) > 0
    built(services, late)
    assert services.index.ready(LOCAL_OWNER, late)
    files = list((services.workspace / "indexes").glob("*/tokens-*/*.npy"))
    assert len(files) == 1
    assert all("late_interaction" in hit.parts for hit in services.index.search(LOCAL_OWNER, METERS, late))
    services.documents.remove(LOCAL_OWNER, only(services).id)
    assert not files[0].exists()


def encoded(services):
    """Return how many passages were embedded since the last call."""
    texts = services.models.encoders.encoder().encoded
    count = len(texts)
    texts.clear()
    return count


def test_adding_a_document_embeds_that_document_only(services, letter):
    built(services, HYBRID)
    assert encoded(services) == len(services.index.passages(LOCAL_OWNER, HYBRID))
    document = documents(services.documents.ingest(LOCAL_OWNER, [letter]))[0]
    assert not services.index.ready(LOCAL_OWNER, HYBRID)
    built(services, HYBRID)
    assert encoded(services) == len(services.index.passages(LOCAL_OWNER, HYBRID, [document.id])) == 1
    assert services.index.search(LOCAL_OWNER, "granite", HYBRID)[0].passage.document_id == document.id


def test_an_index_is_found_again_by_the_next_program(open_services):
    first = open_services()
    built(first, HYBRID)
    hits = first.index.search(LOCAL_OWNER, METERS, HYBRID)
    first.close()
    second = open_services()
    assert not second.index.ready(LOCAL_OWNER, HYBRID)
    built(second, HYBRID)
    assert encoded(second) == 0
    assert second.index.search(LOCAL_OWNER, METERS, HYBRID) == hits


def test_a_removed_document_leaves_nothing_behind(services, letter):
    document = documents(services.documents.ingest(LOCAL_OWNER, [letter]))[0]
    both = HYBRID, BM25
    for settings in both:
        built(services, settings)
    pdf = services.documents.original(LOCAL_OWNER, document.id).path
    files = set((services.workspace / "indexes").rglob("*.np[yz]"))
    services.documents.remove(LOCAL_OWNER, document.id)
    assert len(files - set((services.workspace / "indexes").rglob("*.np[yz]"))) == 4
    assert not pdf.exists()
    for settings in both:
        assert not services.index.ready(LOCAL_OWNER, settings)
        built(services, settings)
        assert document.id not in {
            h.passage.document_id for h in services.index.search(LOCAL_OWNER, "granite heat", settings)
        }
    encoded(services)
    documents(services.documents.ingest(LOCAL_OWNER, [letter]))
    built(services, HYBRID)
    assert encoded(services) == 1


def test_settings_of_other_chunkers_and_of_search_keep_the_index(services):
    built(services)
    for same in (
        BM25.changed("chunking", length=99),
        BM25.changed("retrieval", k=9, k1=2),
        BM25.changed("llm", seed=9),
    ):
        assert services.index.ready(LOCAL_OWNER, same)
    assert not services.index.ready(LOCAL_OWNER, BM25.changed("chunking", step=40))


def test_stopping_the_build_keeps_what_is_finished(services):
    steps = services.index.build(LOCAL_OWNER, HYBRID, task="page")
    next(steps)
    services.tasks.stop("page")
    with pytest.raises(StoppedError):
        list(steps)
    assert not services.index.ready(LOCAL_OWNER, HYBRID)
    built(services, HYBRID)
    assert services.index.ready(LOCAL_OWNER, HYBRID)


def test_an_owner_with_many_indexes_takes_none_of_anothers(open_services, letter):
    services = open_services(empty=True)
    for owner in ("ann", "ben"):
        documents(services.documents.ingest(owner, [letter]))
    built(services, BM25, "ann")
    for size in range(20, 20 + OPEN_INDEXES + 1):
        built(services, BM25.changed("chunking", size=size, step=10), "ben")
    assert services.index.ready("ann", BM25)
    assert not services.index.ready("ben", BM25.changed("chunking", size=20, step=10))
    assert services.index.ready("ben", BM25.changed("chunking", size=21, step=10))
