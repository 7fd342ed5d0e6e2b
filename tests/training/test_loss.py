"""The in-batch loss against the known answers: 0.3133 for S = I2, ln 4 for S = 0; MaxSim by hand."""

from __future__ import annotations

from math import exp, log

import pytest

from pdfqa_core.training.trainee import in_batch_loss, inner_products, maxsim

torch = pytest.importorskip("torch")


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([[1.0, 0.0], [0.0, 1.0]], 0.3133),
        ([[0.0] * 4] * 4, log(4)),
        ([[2.0, 0.0], [0.0, 0.0]], (log(1 + exp(-2)) + log(2)) / 2),
    ],
)
def test_known_losses(scores, expected):
    own = torch.arange(len(scores))
    assert in_batch_loss(torch.tensor(scores), own).item() == pytest.approx(expected, abs=1e-4)


def test_hard_negatives_are_columns_like_the_others():
    # one question, its passage in column 1, two negatives: -log(e^1 / (e^0 + e^1 + e^2))
    found = in_batch_loss(torch.tensor([[0.0, 1.0, 2.0]]), torch.tensor([1]))
    assert found.item() == pytest.approx(log(exp(0) + exp(1) + exp(2)) - 1, abs=1e-6)


def test_what_answers_too_is_no_negative():
    scores = torch.tensor([[1.0, 5.0, 0.0]], requires_grad=True)
    ignored = torch.tensor([[False, True, False]])
    found = in_batch_loss(scores, torch.tensor([0]), ignored)
    assert found.item() == pytest.approx(0.3133, abs=1e-4)
    found.backward()
    assert scores.grad[0, 1] == 0
    assert scores.grad[0, 0] < 0 < scores.grad[0, 2]


def test_inner_products_are_q_times_p_transposed():
    questions, passages = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0], [0.5, 0.0], [0.0, -1.0]])
    assert inner_products(questions, passages).tolist() == [[11.0, 0.5, -2.0]]


def test_maxsim_by_hand_without_what_is_masked():
    questions = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [9.0, 9.0]]])
    passages = torch.tensor([[[0.5, 0.0], [0.0, 0.25]], [[1.0, 1.0], [8.0, 8.0]]])
    found = maxsim(
        questions, torch.tensor([[True, True, False]]), passages, torch.tensor([[True, True], [True, False]])
    )
    assert found.tolist() == [[0.75, 2.0]]
