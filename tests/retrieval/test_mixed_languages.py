"""Passages in several languages in one index: each is compared by the rules of its own."""

from __future__ import annotations

import json

import pytest

from pdfqa_core.retrieval import BM25, Index
from pdfqa_core.retrieval.bm25 import Analysis
from pdfqa_core.retrieval.store import MANIFEST
from pdfqa_core.types import Passage, Query, Span

GERMAN = (
    "Die Kündigungsfristen der Wohnungen betragen drei Monate.",
    "Der Hausmeister reinigt die Treppen am Montag.",
    "Im Keller stehen die Fahrräder der Mieter.",
)
ENGLISH = (
    "Tenants may end their leases with three months of notice.",
    "The stairs are cleaned on Mondays, and nobody will die of it.",
    "Bicycles stand in the cellar.",
)


def passages(texts, language, document):
    return [
        Passage(f"{document}-{n}", (Span(document, n, 0, len(text)),), text, language=language)
        for n, text in enumerate(texts, 1)
    ]


@pytest.fixture
def mixed():
    return Index.in_memory(passages(GERMAN, "german", "de") + passages(ENGLISH, "english", "en"))


def found(index, question, asked_in="", k=3, **parameters):
    return [hit.passage.id for hit in BM25(index, **parameters).search(Query(question, language=asked_in), k)]


def test_each_language_is_compared_by_its_own_stems(mixed):
    assert mixed.languages == ("german", "english")
    assert mixed.languages_of(frozenset({"en"})) == {"english"}
    assert found(mixed, "Welche Kündigungsfrist hat die Wohnung?", "german")[0] == "de-1"
    assert found(mixed, "When are the stairs cleaned?", "english")[0] == "en-2"


def test_stop_words_are_those_of_the_questions_language(mixed):
    assert found(mixed, "Wann reinigt die Hausmeisterin die Treppe?", "german") == ["de-2"]
    assert found(mixed, "Can anybody die?", "english") == ["en-2"]
    assert found(mixed, "Can anybody die?") == []  # of an unknown language: no stop word of either counts


def test_words_are_weighed_once_however_many_languages_there_are(mixed):
    analysis = Analysis.of("auto", False, True, mixed.languages)
    assert analysis.query_terms(Query("Berlin Berlin", language="german")) == {"berlin": 2.0}


def test_a_language_that_is_set_holds_for_all(mixed):
    assert found(mixed, "Kündigungsfrist Wohnung", language="english") == []
    assert found(mixed, "Kündigungsfrist Wohnung", stemming=True, language="german")[:1] == ["de-1"]


def test_the_manifest_names_the_language_and_gives_it_back(tmp_path):
    documents = {
        "de": lambda: passages(GERMAN, "german", "de"),
        "en": lambda: passages(ENGLISH, "english", "en"),
    }
    Index.open_or_build(tmp_path, "recipe", documents)
    (file,) = tmp_path.rglob(MANIFEST)
    entries = json.loads(file.read_text())["documents"]
    assert entries["de"]["language"] == "german"
    assert "language" not in entries["en"]  # a manifest of English documents is what it was
    again = Index.open_or_build(tmp_path, "recipe", dict.fromkeys(documents, lambda: pytest.fail("built again")))
    assert [passage.language for passage in again.passages] == ["german"] * 3 + ["english"] * 3
