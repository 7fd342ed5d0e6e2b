from __future__ import annotations

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.registry import Registry
from pdfqa_core.services import recipes
from pdfqa_core.settings import Settings


@pytest.fixture
def colours():
    registry = Registry("colour")
    registry.register("red")(1)
    registry.register("green")(2)
    return registry


def test_entries_by_name_in_order_of_registration(colours):
    assert colours.names() == ("red", "green")
    assert (colours.get("red"), colours.get("green")) == (1, 2)


def test_an_unknown_name_is_answered_with_the_names_there_are(colours):
    with pytest.raises(UsageError) as raised:
        colours.get("blue")
    assert raised.value.what == "There is no colour called 'blue'."
    assert raised.value.hint == "Choose one of: red, green."


def test_a_name_is_taken_once(colours):
    with pytest.raises(UsageError, match="'red' among the colours"):
        colours.register("red")(3)
    assert colours.get("red") == 1


@pytest.mark.parametrize(
    ("kind", "some"),
    [
        ("extractor", {"direct", "pdfplumber"}),
        ("chunker", {"paragraphs", "snippets", "windows"}),
        ("retriever", {"bm25", "dense", "hybrid", "rrf"}),
        ("reader", {"generative", "extractive"}),
        ("rewriter", {"none", "joined", "concatenation", "llm"}),
        ("engine", {"llama_cpp", "openai"}),
    ],
)
def test_the_choices_of_the_program(kind, some):
    assert some <= set(recipes.names(kind))
    assert all(recipes.REGISTRIES[kind].words(name) for name in recipes.names(kind))


def test_what_a_strategy_is_given_follows_from_its_parameters(colours):
    @colours.register("mixed", "of two")
    class Mixed:
        def __init__(self, first, second=0):
            self.parts = first, second

    assert colours.words("mixed") == "of two"
    assert colours.accepted("mixed", {"second": 2, "third": 3}) == {"second": 2}


def test_settings_of_strategies_that_are_not_chosen_are_not_in_use():
    late = Settings().changed("retrieval", retriever="late_interaction")
    assert recipes.in_use(late)["retrieval", "k1"] is False
    used = recipes.in_use(late.changed("retrieval", first_stage="bm25"))
    assert used["retrieval", "k1"]
    assert used["retrieval", "late_model"]
    assert not used["retrieval", "weight"]
    assert ("retrieval", "k") not in used
