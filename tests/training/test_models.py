"""Both kinds of model: 8 steps on a toy corpus find everything; a chunked batch has the gradients of a whole one."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest

from pdfqa_core.retrieval import Encoder, Index, LateEncoder, index_text, retrievers
from pdfqa_core.retrieval.encoder import PairedEncoder
from pdfqa_core.training import (
    BiEncoder,
    Checkpoint,
    EncoderPair,
    LateInteraction,
    RankedPairs,
    State,
    Step,
    TrainingSettings,
    in_batch_loss,
    pair_in,
)
from pdfqa_core.training.gradients import backward, batch_of
from pdfqa_core.training.loop import Training, learning_rate
from tests.retrieval.tiny_models import multi_vector_encoder, sentence_transformer
from tests.training.corpus import corpus, examples, pairs

torch = pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")
TOY = TrainingSettings(
    steps=8, batch=8, learning_rate=5e-4, warm_up=0.1, chunk=8, evaluate_every=8, patience=0, k=1, seed=1
)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """Models of both kinds with random weights, and dropout."""
    folder = tmp_path_factory.mktemp("tiny")
    return {
        "bi-encoder": BiEncoder.load(str(sentence_transformer(folder / "bi"))),
        "late-interaction": LateInteraction.load(str(multi_vector_encoder(folder / "late"))),
    }


def training(trainee, folder, settings=TOY):
    ranked = RankedPairs(tuple(pairs()), tuple(corpus()), index_text)
    return Training(
        trainee, settings, ranked, Checkpoint(folder), State("toy"), index_text, threading.Event()
    )  # fmt: skip


@pytest.mark.parametrize("kind", [BiEncoder, LateInteraction])
def test_a_few_steps_find_everything_on_a_toy_corpus(kind, tmp_path):
    trainee = kind.load("")
    run = training(trainee, tmp_path)
    before = run.held_out.ranks(trainee)
    assert sum(rank == 1 for rank in before) < len(before)
    losses = [event.loss for event in run.steps(examples()) if isinstance(event, Step)]
    assert len(losses) == TOY.steps
    assert losses[-1] < losses[0] / 2
    assert run.held_out.ranks(trainee) == (1,) * len(before)
    assert (run.state.best.step, run.state.best.hit_rate, run.state.best.mrr) == (TOY.steps, 1.0, 1.0)
    trainee.save(tmp_path / "saved")
    questions, texts = [pair.question for pair in pairs()], [one.text for one in corpus()]
    expected = trainee.similarities(questions, texts)
    if kind is BiEncoder:
        encoder = Encoder(tmp_path / "saved")
        found = encoder.encode(questions, question=True) @ encoder.encode(texts).T
    else:
        late = LateEncoder(tmp_path / "saved")
        assert late.trained
        asked, said = late.encode_tokens(questions, question=True), late.encode_tokens(texts)
        found = np.asarray([[(q @ p.T).max(axis=1).sum() for p in said] for q in asked])
    assert np.abs(found - expected).max() < 1e-3


@pytest.mark.parametrize("kind", [BiEncoder, EncoderPair])
def test_what_is_trained_by_inner_product_is_saved_and_searched_by_it(kind, tmp_path):
    trainee = kind.load(str(sentence_transformer(tmp_path / "base")), similarity="dot")
    settings = replace(TOY, steps=2, evaluate_every=2, precision="fp32")
    batch = batch_of(examples(), 0, settings)
    for module in trainee.model.modules():
        module.p = 0.0  # no dropout, so that the loss is that of the scores
    products = torch.from_numpy(trainee.similarities(batch.questions, [index_text(one) for one in batch.passages]))
    loss = in_batch_loss(products, torch.tensor(batch.positives))
    assert backward(trainee, batch, index_text, 0, settings) == pytest.approx(loss.item(), abs=1e-4)
    list(training(trainee, tmp_path, settings).steps(examples()))
    trainee.save(tmp_path / "saved")
    folders = pair_in(tmp_path / "saved") if kind is EncoderPair else (tmp_path / "saved",)
    sides = [Encoder(folder) for folder in folders]
    encoder = PairedEncoder(*sides) if kind is EncoderPair else sides[0]
    asked = [pair.question for pair in pairs()]
    assert kind is BiEncoder or not np.allclose(encoder.encode(asked), encoder.encode(asked, question=True))
    assert np.ptp(np.linalg.norm(encoder.encode(asked), axis=1)) > 0.01  # lengths differ
    dense = retrievers.get("dense")(Index.in_memory(corpus(), encoder))
    for question, row in zip(asked, trainee.similarities(asked, [index_text(one) for one in corpus()]), strict=True):
        hits = dense.search(question, len(row))
        assert [hit.score for hit in hits] == pytest.approx(sorted(row, reverse=True), abs=1e-3)


def test_before_a_training_by_inner_product_the_base_is_compared_as_it_was_made(tmp_path):
    place = str(sentence_transformer(tmp_path))
    plain, dot = BiEncoder.load(place), BiEncoder.load(place, similarity="dot")
    asked, texts = [pair.question for pair in pairs()], [one.text for one in corpus()]
    cosines, products = plain.similarities(asked, texts), dot.similarities(asked, texts)
    with dot.as_before():
        assert np.allclose(dot.similarities(asked, texts), cosines, atol=1e-6)
    assert np.allclose(dot.similarities(asked, texts), products)
    assert np.abs(products - cosines).max() > 1


@pytest.mark.parametrize("kind", ["bi-encoder", "late-interaction"])
def test_a_chunked_batch_has_the_gradients_of_a_whole_one(tiny, kind, monkeypatch):
    trainee = tiny[kind]
    for module in trainee.model.modules():  # without dropout: its draws depend on how the batch is cut
        if hasattr(module, "p"):
            monkeypatch.setattr(module, "p", 0.0)
    batch = batch_of(examples(), 0, TOY)
    gradients = []
    for chunk in (3, 64):
        trainee.model.zero_grad()
        loss = backward(trainee, batch, index_text, 0, replace(TOY, chunk=chunk, precision="fp32"))
        named = trainee.model.named_parameters()
        gradients.append((loss, {name: one.grad.numpy().copy() for name, one in named if one.grad is not None}))
    (loss, chunked), (same, whole) = gradients
    assert loss == pytest.approx(same, abs=1e-5)
    assert chunked.keys() == whole.keys()
    assert max(np.abs(whole[name]).max() for name in whole) > 1e-3
    assert max(np.abs(chunked[name] - whole[name]).max() for name in whole) < 1e-4


def test_dropout_is_the_same_in_both_passes_and_for_the_same_step(tiny):
    batch, settings = batch_of(examples(), 0, TOY), replace(TOY, chunk=3)
    first, again, other = (backward(tiny["bi-encoder"], batch, index_text, step, settings) for step in (5, 5, 6))
    assert first == again != other


def test_batches_follow_from_seed_and_step():
    settings = replace(TOY, batch=3)
    batches = [batch_of(examples(), step, settings) for step in range(4)]
    assert batches == [batch_of(examples(), step, settings) for step in range(4)]
    assert len({one for batch in batches[:2] for one in batch.questions}) == 6
    assert batches[0] != batch_of(examples(), 0, replace(settings, seed=9))
    for batch in batches:
        rights = {pair.question: pair.positive for pair in pairs()}
        assert [batch.passages[place] for place in batch.positives] == [rights[asked] for asked in batch.questions]
        assert len(batch.passages) == len({one.id for one in batch.passages}) <= 6
        assert not batch.ignored


def test_a_passage_that_shares_text_with_the_right_one_is_ignored_in_a_batch():
    one = examples()[0]
    span = one.pair.positive.spans[0]
    window = replace(one.pair.positive, id="window", spans=(replace(span, start=span.end - 3, end=span.end + 9),))
    other = replace(examples()[1], pair=replace(examples()[1].pair, positive=window), negatives=())
    batch = batch_of([replace(one, negatives=()), other], 0, replace(TOY, batch=2))
    assert sorted(batch.ignored) == [(0, batch.positives[1]), (1, batch.positives[0])]


def test_the_learning_rate_rises_then_falls():
    rates = [learning_rate(step, replace(TOY, steps=10, warm_up=0.2, learning_rate=1e-3)) for step in range(10)]
    assert rates == pytest.approx([0.5e-3, 1e-3, *(1e-3 * left / 8 for left in range(8, 0, -1))])
