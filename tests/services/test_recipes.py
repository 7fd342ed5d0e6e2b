"""Names of recipes, and which settings have an effect."""

from __future__ import annotations

import pytest

from pdfqa_core.services import (
    recipes,
)
from pdfqa_core.settings import Settings
from tests.services.helpers import BM25


@pytest.mark.parametrize(
    ("chunking", "name"),
    [
        ({}, "bm25 over windows of 120 words, step 60, with headings"),
        ({"headings": False}, "bm25 over windows of 120 words, step 60"),
        ({"chunker": "snippets", "length": 80}, "bm25 over snippets of 80 words, with headings"),
        (
            {"chunker": "snippets", "min_length": 40, "max_length": 90, "unit": "tokens"},
            "bm25 over snippets of 40 to 90 tokens, with headings",
        ),
        ({"chunker": "paragraphs"}, "bm25 over paragraphs, with headings"),
    ],
)
def test_the_name_of_a_recipe(chunking, name):
    assert recipes.name_of(BM25.changed("chunking", **chunking)) == name


def test_two_recipes_never_have_one_name():
    others = {
        "unit": "tokens", "length": 99, "size": 99, "step": 33, "headings": False, "read_by": "visual", "k": 9,
        "k1": 2.0, "b": 0.5, "idf": "okapi",
        "language": "german", "stemming": True, "stop_words": False, "spelling": False,
        "candidates": 9, "rrf_k": 9,
        "weight": 0.3, "exact_below": 9, "late_model": "x", "first_stage": "bm25", "reranker": "x", "per_page": 2,
        "merge_overlaps": False, "tables": "in-text",
    }  # fmt: skip
    pairs = [(chunker, "hybrid") for chunker in recipes.names("chunker")]
    for chunker, retriever in [*pairs, *(("windows", retriever) for retriever in recipes.names("retriever"))]:
        base = Settings().changed("chunking", chunker=chunker).changed("retrieval", retriever=retriever)
        used = recipes.in_use(base)
        for section, name, _ in base.looks():
            if section != "extraction" and name in others:
                changed = base.changed(section, **{name: others[name]})
                differs = recipes.name_of(changed) != recipes.name_of(base)
                assert differs is used.get((section, name), True), (chunker, retriever, name)


def test_a_preset_is_told_by_what_it_sets():
    assert recipes.preset_of(Settings()) == "Balanced"
    for name in recipes.PRESETS:
        chosen = recipes.with_preset(Settings().changed("reading", reader="extractive"), name)
        assert recipes.preset_of(chosen) == name
    assert recipes.preset_of(Settings().changed("retrieval", k=7)) is None
