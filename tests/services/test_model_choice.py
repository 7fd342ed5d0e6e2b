"""Several language models on the same questions: the table, and which one to take."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import Evaluation, Prediction, ScoredItem, ScoredSystem
from pdfqa_core.protocols.base import Case
from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.services.model_choice import compare_models, compared
from pdfqa_core.settings import Settings

SMALL, LARGE = "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"


def made(scores, seconds):
    """Return what two models made of the same questions: token F1 by model, and how long each took."""
    systems, predictions = [], {}
    for name, values in scores.items():
        items = tuple(ScoredItem(str(n), {"answer_f1": value}) for n, value in enumerate(values))
        systems.append(ScoredSystem(name, items))
        for n in range(len(values)):
            one = Prediction(
                str(n), "It has 84 flats.", seconds=seconds[name], first_word=1.0, rate=10.0, perhaps=n == 1
            )
            predictions[name, str(n)] = replace(one, refused=True, perhaps=False) if n == 0 else one
    return Evaluation("answers", "mine.jsonl", ("answer_f1",), tuple(systems)), predictions


@pytest.mark.parametrize(
    ("small", "large", "advice"),
    [
        ([0.1] * 12, [0.9] * 12, "Take Qwen2.5 Coder 1.5B"),
        ([0.5, 0.6] * 3, [0.6, 0.5] * 2 + [0.6, 0.6], "Take the quick one"),
        ([0.9] * 12, [0.1] * 12, "Take Qwen2.5 Coder 0.5B"),
        ([None] * 3, [None] * 3, "No question has a gold answer"),
    ],
)
def test_the_quickest_of_those_that_are_not_clearly_worse_is_advised(small, large, advice):
    evaluation, predictions = made({"a": small, "b": large}, {"a": 2.0, "b": 8.0})
    gold = {0: Case("0", "?", answerable=False), 2: Case("2", "?", ("74 flats", "there are 80"))}  # 0 is refused
    cases = {str(n): gold.get(n, Case(str(n), "?", ("A block of 84", "84 flats"))) for n in range(len(small))}
    found = compared(evaluation, predictions, cases, {"a": SMALL, "b": LARGE}, Settings())
    assert advice in found.advice
    first, second = found.rows
    assert (first.right, first.n) == (len(small) - 1, len(small))
    assert (first.model, first.nothing, first.cautioned, first.sure) == (SMALL, 1, 1, len(small) - 2)
    assert (first.seconds, second.seconds, first.first_word, first.rate) == (2.0, 8.0, 1.0, 10.0)
    assert 0 < first.memory < second.memory


def test_one_model_alone_is_not_compared(open_services, tmp_path):
    services = open_services()
    named = (LOCAL_OWNER, [LARGE, LARGE], tmp_path / "q.jsonl", Settings())
    with pytest.raises(UsageError, match="Two to 4 models"):
        list(compare_models(services.evaluation, services.documents, *named))
