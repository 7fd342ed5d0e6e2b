"""A named entity recogniser, tiny and with random weights: entities of labels, parts of long texts, broken models."""

from __future__ import annotations

import pytest

from pdfqa_core.errors import ModelError
from pdfqa_core.metrics.scoring_models import EntityFinder, joined
from pdfqa_core.models.metrics import entity_finder
from tests.retrieval.tiny_models import bert_with

TEXT = "the plan deductible is paid. a vaccine is covered."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return bert_with(
        "BertForTokenClassification", tmp_path_factory.mktemp("ner"), seed=3,
        id2label={0: "B-PER", 1: "I-PER", 2: "O"}, label2id={"B-PER": 0, "I-PER": 1, "O": 2},
    )  # fmt: skip


def labels_by_hand(folder, text):
    """Return (places, labels) of the tokens from the model itself, one window."""
    import torch
    from transformers import AutoModelForTokenClassification, AutoTokenizer

    model = AutoModelForTokenClassification.from_pretrained(folder).eval()
    encoded = AutoTokenizer.from_pretrained(folder)(text, return_offsets_mapping=True, return_tensors="pt")
    offsets = encoded.pop("offset_mapping")[0].tolist()
    with torch.inference_mode():
        best = model(**encoded).logits[0].argmax(-1).tolist()
    inside = [(tuple(place), label) for place, label in zip(offsets, best, strict=True) if place[1]]
    return [place for place, _ in inside], [model.config.id2label[label] for _, label in inside]


def test_entities_are_those_that_the_model_labels(folder):
    places, labels = labels_by_hand(folder, TEXT)
    assert set(labels) > {"O"}
    assert EntityFinder(folder)(TEXT) == [TEXT[start:end] for start, end in joined(TEXT, places, labels)]


@pytest.mark.parametrize(
    ("text", "labels", "expected"),
    [
        ("Ada Lovelace met Bob", ["B-PER", "I-PER", "O", "B-PER"], ["Ada Lovelace", "Bob"]),
        ("Ada Bob", ["B-PER", "B-PER"], ["Ada", "Bob"]),  # two that stand together
        ("Ada Rome", ["I-PER", "I-LOC"], ["Ada", "Rome"]),
        ("Ada Lovelace", ["PER", "PER"], ["Ada Lovelace"]),  # no prefixes
        ("in the house", ["O", "O", "O"], []),
    ],
)
def test_neighbours_of_one_type_are_one_entity(text, labels, expected):
    places, at = [], 0
    for word in text.split():
        places.append((at, at + len(word)))
        at += len(word) + 1
    assert [text[start:end] for start, end in joined(text, places, labels)] == expected


def test_the_rest_of_a_word_goes_with_its_beginning():
    text = "Lovelace wrote"
    assert joined(text, [(0, 4), (4, 8), (9, 14)], ["B-PER", "O", "O"]) == [(0, 8)]
    assert joined(text, [(0, 4), (4, 8), (9, 14)], ["O", "B-PER", "O"]) == []


def test_a_model_that_is_none_is_a_model_error(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelError, match="NER model"):
        EntityFinder(tmp_path)("Ada")
    with pytest.raises(ModelError):
        entity_finder(str(tmp_path / "absent"))("Ada")
