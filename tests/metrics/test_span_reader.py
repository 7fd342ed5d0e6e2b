"""An extractive question answering model, tiny and with random weights: spans of the text, windows, broken models."""

from __future__ import annotations

import pytest

from pdfqa_core.errors import ModelError
from pdfqa_core.metrics.scoring_models import SpanReader
from pdfqa_core.models.metrics import span_reader
from tests.retrieval.tiny_models import bert_with

TEXT = "the plan deductible is paid. a vaccine is covered."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return bert_with("BertForQuestionAnswering", tmp_path_factory.mktemp("qa"), seed=3)


def best_by_hand(folder, question, text):
    """Return every span's score from the model itself, one window."""
    import torch
    from transformers import AutoModelForQuestionAnswering, AutoTokenizer

    made, model = AutoTokenizer.from_pretrained(folder), AutoModelForQuestionAnswering.from_pretrained(folder).eval()
    encoded = made(question, text, return_offsets_mapping=True, return_tensors="pt")
    offsets = encoded.pop("offset_mapping")[0]
    with torch.inference_mode():
        found = model(**encoded)
    start, end = found.start_logits[0], found.end_logits[0]
    inside = [place for place, part in enumerate(encoded.sequence_ids(0)) if part == 1]
    spans = {(i, j): float(start[i] + end[j]) for i in inside for j in inside if i <= j < i + 30}
    first, last = max(spans, key=spans.__getitem__)
    nothing = float(start[0] + end[0])
    return text[int(offsets[first][0]) : int(offsets[last][1])] if spans[first, last] > nothing else ""


@pytest.mark.parametrize("question", ["a vaccine?", "is the plan covered?", "deductible", "the office dress code?"])
def test_the_answer_is_the_most_probable_span(folder, question):
    answer = SpanReader(folder)(question, TEXT)
    assert answer == best_by_hand(folder, question, TEXT).strip()
    assert answer in TEXT


def test_long_texts_are_read_in_windows_and_long_questions_cut(folder):
    reader = span_reader(str(folder))
    assert reader.name == folder.name or reader.name == str(folder)
    long = " ".join([TEXT] * 20)
    assert reader("a vaccine?", long) in long
    assert reader(" ".join(["vaccine"] * 200), TEXT) in TEXT
    assert reader("a vaccine?", "  ") == reader("", TEXT) == ""


def test_a_model_that_is_none_is_a_model_error(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelError):
        SpanReader(tmp_path)("a?", "b")
    with pytest.raises(ModelError):
        _ = span_reader(str(tmp_path / "absent"))("a?", "b")
