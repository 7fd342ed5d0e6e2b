"""What is told of a trained model: record, card, warning; leakage; the estimate before."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import GoldItem
from pdfqa_core.models.trained import add_to_card, keep_trained, trained_models
from pdfqa_core.retrieval import index_text
from pdfqa_core.training import (
    BI_ENCODER,
    RECORD,
    BiEncoder,
    RoundRecord,
    Scored,
    TrainedOn,
    TrainingRecord,
    TrainingSettings,
    card,
    check_leakage,
    compared,
    disk_bytes,
    estimate,
    evaluation_section,
    joined,
    leaked,
    made_of,
    read_record,
    words_hash,
)
from pdfqa_core.training.estimate import memory_bytes
from pdfqa_core.training.record import NO_HELP, UNCERTAIN
from pdfqa_core.types import GENERATED, Question, Span
from tests.retrieval.tiny_models import sentence_transformer
from tests.training.corpus import examples, pairs

SPANS = tuple(pair.positive.spans[0] for pair in pairs()[:2])
TRAINED = TrainedOn("mine", SPANS, (words_hash(pairs()[0].question),))
BEST = Scored(1, 3, 0.75, 0.5)


def record(before=(1, 0, 7, 9) * 10, after=(1, 2, 1, 1) * 10):
    return TrainingRecord(
        "mine", BI_ENCODER, "", "Apache-2.0", "abcd", "recipe", "hybrid", 20, TrainingSettings(), 30, len(before),
        (RoundRecord(1, 30, 28, 3, 0.25, BEST, 27, 26),), (BEST,), ((1, 1, 0.5),), compared(before, after, 5), 90.0,
        datetime(2026, 1, 2, tzinfo=UTC), {"torch": "2"}, TRAINED, ("A note.",),
    )  # fmt: skip


def test_a_record_comes_back_and_its_card_tells_it(tmp_path):
    def save(folder):
        (folder / "model.safetensors").write_bytes(b"weights")

    model = keep_trained(tmp_path, record(), save)
    assert read_record(tmp_path / "mine") == record()
    assert trained_models(tmp_path) == (model,)
    assert model.size > len(b"weights")
    add_to_card(model, evaluation_section("On people", {"MRR": (record().gain.before,) * 3}))
    text = (tmp_path / "mine" / "README.md").read_text("utf-8")
    assert text.startswith("---\nbase_model: sentence-transformers/all-MiniLM-L6-v2\nlicense: apache-2.0\n")
    assert "| HR@5 | 0.250 [" in text
    assert "| 1 | 30 | 28 | 3 | 0.250 | 0.750 | 0.500 |" in text
    assert "- A note.\n" in text
    assert "## On people" in text
    with pytest.raises(UsageError, match="model called mine already"):
        keep_trained(tmp_path, record(), save)
    (tmp_path / "mine" / RECORD).write_text("{}", encoding="utf-8")
    assert trained_models(tmp_path) == ()


@pytest.mark.parametrize(
    ("before", "after", "warning"),
    [
        ((1, 0, 7, 9) * 10, (1, 2, 1, 1) * 10, ""),
        ((1, 2, 3), (1, 2, 3), NO_HELP),
        ((1, 2, 3), (1, 9, 3), NO_HELP),
        ((1, 9, 3, 1), (1, 1, 3, 1), UNCERTAIN),
    ],
)
def test_it_warns_where_training_did_not_help(before, after, warning):
    found = record(before, after)
    assert found.warning == warning
    assert (warning in card(found)) is True
    assert found.helped == (warning != NO_HELP)


def item(number, *, id_="x", text="Who asks?", page=None):
    place = SPANS[number]
    spans = () if page else (Span(place.document_id, place.page, place.start + 1, place.end + 5),)
    return GoldItem(Question(id_, text, "file"), gold_spans=spans, gold_pages=page or ())


def test_questions_of_people_may_measure_it_and_made_ones_may_not():
    people, made = item(0), item(0, id_="made")
    by_words = item(1, text="What IS this about")
    trained = GoldItem(Question("y", f"{pairs()[0].question.upper()}!", "file"))
    elsewhere = replace(people, gold_spans=(Span("other", 1, 0, 9),))
    by_page = item(1, id_="made", page=((SPANS[1].document_id, SPANS[1].page),))
    generated = {"made": (SPANS[0],), words_hash("What is this about?"): (SPANS[1],)}
    items = [people, made, by_words, trained, elsewhere, by_page]
    assert leaked(TRAINED, items, generated) == (made, by_words, trained, by_page)
    assert leaked(TRAINED, items, {"made": (Span("other", 1, 0, 9),)}) == (made, trained, by_page)
    check_leakage(TRAINED, [people, elsewhere], generated)
    with pytest.raises(UsageError, match="4 of 6 questions were made of passages that mine is trained on"):
        check_leakage(TRAINED, items, generated)


def test_a_generated_question_is_known_without_those_of_the_workspace():
    marked = GoldItem(Question("q", "What else is told?", GENERATED))
    passage = pairs()[0].positive.text
    texts = replace(TRAINED, passages=(words_hash(passage),))
    assert leaked(texts, [marked], {}) == ()
    assert leaked(texts, [replace(marked, gold_spans=SPANS[:1])], {}) != ()
    assert leaked(texts, [replace(marked, gold_texts=(f"{passage} ",))], {}) != ()
    assert leaked(texts, [GoldItem(Question("q", "What else is told?", "file"), gold_texts=(passage,))], {}) == ()
    known = replace(TRAINED, generated=("made", words_hash("Who asks?")))
    assert len(leaked(known, [GoldItem(Question("x", "Who ASKS", "file"))], {})) == 1
    assert len(leaked(known, [GoldItem(Question("made", "Anything?", "file"))], {})) == 1


def test_what_was_made_of_trained_passages_is_noted_and_inherited():
    made = {"a": (SPANS[0],), "b": (Span("other", 1, 0, 9),)}
    assert made_of(TRAINED, made) == ("a",)
    other = TrainedOn("base", (SPANS[0], Span("other", 1, 0, 9)), ("q",), ("p",), ("g",))
    assert joined("next", [other, TRAINED]) == TrainedOn(
        "next", (SPANS[0], Span("other", 1, 0, 9), SPANS[1]), ("q", *TRAINED.questions), ("p",), ("g",)
    )


def test_the_estimate_counts_steps_and_leaves_the_model_as_it_is(tmp_path):
    pytest.importorskip("sentence_transformers")
    trainee = BiEncoder.load(str(sentence_transformer(tmp_path)))
    before = [one.detach().clone() for one in trainee.model.parameters()]
    ticks = iter(range(100))
    settings = TrainingSettings(steps=10, batch=8, chunk=64, evaluate_every=5, hard_negatives=0)
    found = estimate(trainee, examples(), 16, settings, index_text, clock=lambda: float(next(ticks)))
    # The trial of eight passages takes a tick, and so does a step; each of five scorings reads 16, forward only.
    assert found.seconds == pytest.approx(2 * 10 * 1 + 5 * 16 / 8 / 3)
    assert all(one.equal(old) for one, old in zip(trainee.model.parameters(), before, strict=True))
    assert all(one.grad is None or not one.grad.any() for one in trainee.model.parameters())
    parameters = sum(one.numel() for one in trainee.model.parameters())
    assert found.disk == disk_bytes(trainee) == 9 * 4 * parameters
    small, large = (memory_bytes(trainee, 20, replace(settings, chunk=chunk)) for chunk in (1, 64))
    assert 20 * parameters < small < large
