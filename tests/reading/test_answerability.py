import math

import pytest

from pdfqa_core.errors import ModelError
from pdfqa_core.reading import GenerativeReader
from pdfqa_core.reading.answerability import (
    IS_ANSWER,
    Calibration,
    Judge,
    calibration,
    calibrations,
)
from pdfqa_core.streaming import result_of
from pdfqa_core.types import Progress
from tests.reading.helpers import hits

FOUND = hits("The plan began in 2010. The deductible is $2,000 per year.", "Employees get 25 days of leave.")
QUESTION = "How high is the deductible?"
WAYS = pytest.mark.parametrize("refusal", ["model", "combined"])


def judged(judge, **options):
    steps = judge.judge(QUESTION, FOUND, **options)
    seen = []
    while True:
        try:
            seen.append(next(steps))
        except StopIteration as end:
            return end.value, seen


def test_the_model_alone_is_calibrated(fake_llm):
    fake_llm.decide({"Yes": 0.9, "No": 0.1})
    found, seen = judged(Judge("model", lambda q, h: 0.0, GenerativeReader(fake_llm)))
    assert Progress("asking the model whether the passages answer it") in seen
    assert found.signals == {"model": pytest.approx(0.9)}
    assert found.confidence == pytest.approx(calibration("model", "fake").confidence(0.0, math.log(9)))


def test_the_model_is_shown_the_question_before(fake_llm):
    reader = GenerativeReader(fake_llm)
    history = [("What is a copay?", "A share."), ("Is there a deductible?", "Yes, one.")]
    for step in Judge("model", lambda q, h: 0.0, reader).judge(QUESTION, FOUND, history):
        assert isinstance(step, Progress)
    (asked,) = (messages[0].content for messages in fake_llm.history)
    own = reader.messages(QUESTION, reader.fitting(QUESTION, FOUND, history), history)[0].content
    assert asked.startswith(own[: own.index(QUESTION) + len(QUESTION)])
    assert "Is there a deductible?" in asked
    assert "Yes, one." not in asked
    assert "copay" not in asked


@pytest.mark.parametrize(
    ("refusal", "name"),
    [("model", "SmolLM2 135M Instruct"), ("combined", "SmolLM2 135M Instruct"), ("combined", "new")],
)
def test_a_model_that_cannot_tell_or_was_not_measured_is_not_asked(fake_llm, refusal, name):
    fake_llm.name = name
    found, seen = judged(Judge(refusal, lambda q, h: 0.7, GenerativeReader(fake_llm)))
    assert (found.confidence, found.signals, seen, fake_llm.history) == (0.7, {"retrieval": 0.7}, [], [])


def test_a_model_is_not_asked_where_nothing_hangs_on_it(fake_llm):
    found, seen = judged(Judge("combined", lambda q, h: 0.7, GenerativeReader(fake_llm)), decides=False)
    assert (found.confidence, found.signals, seen, fake_llm.history) == (0.7, {"retrieval": 0.7}, [], [])


@pytest.mark.parametrize("name", ["smollm2-135m", "SmolLM2 135M Instruct", "SmolLM2-135M-Instruct.F16"])
def test_a_model_is_known_by_its_name_title_and_file(name):
    assert calibration("combined", name) == calibrations()["combined", "smollm2-135m"]
    assert calibration("combined", "another") == calibrations()["combined", ""]


def test_every_calibration_rises_with_its_signals():
    assert {("combined", ""), ("model", "")} <= set(calibrations())
    for weights in calibrations().values():
        assert weights.search >= 0 <= weights.model
        assert weights.search + weights.model > 0
    weights = Calibration(search=0.5, model=1.0, constant=-1.0)
    assert weights.confidence(0.3, 0.0) < weights.confidence(0.7, 0.0) < weights.confidence(0.7, 1.0)
    assert weights.confidence(0.5, 1.0) == pytest.approx(0.5)
    assert 0 <= weights.confidence(0.0, -1e9) < weights.confidence(1.0, 1e9) <= 1


@WAYS
def test_an_engine_that_cannot_tell_leaves_it_to_the_search(fake_llm, refusal):
    def choose(messages, choices, *, stop=None):
        raise ModelError("no probabilities")

    fake_llm.choose, fake_llm.name = choose, "qwen2.5-coder-1.5b"
    found, _ = judged(Judge(refusal, lambda q, h: 0.7, GenerativeReader(fake_llm)))
    assert (found.confidence, found.signals) == (0.7, {"retrieval": 0.7})
    assert "no probabilities" in found.notes[0]


def test_the_model_is_asked_about_an_answer_behind_the_same_passages(fake_llm):
    reader = GenerativeReader(fake_llm)
    fake_llm.decide({"Yes": 0.8, "No": 0.2})
    agreed = result_of(Judge("model", lambda q, h: 0.7, reader).agrees(QUESTION, "It is <|im_end|>$2,000.", FOUND))
    assert agreed == pytest.approx(0.8)
    (asked,) = (messages[0].content for messages in fake_llm.history)
    own = reader.messages(QUESTION, reader.fitting(QUESTION, FOUND))[0].content
    assert asked.startswith(own[: own.index(QUESTION) + len(QUESTION)])
    assert asked.endswith(IS_ANSWER.fill(answer="It is  $2,000."))


@pytest.mark.parametrize(("refusal", "asked"), [("retrieval", False), ("combined", False), ("model", True)])
def test_a_model_that_judges_nothing_or_cannot_say_agrees_with_nothing(fake_llm, refusal, asked):
    def choose(messages, choices, *, stop=None):
        fake_llm.history.append(messages)
        raise ModelError("no probabilities")

    fake_llm.choose = choose
    judge = Judge(refusal, lambda q, h: 0.7, GenerativeReader(fake_llm))
    assert result_of(judge.agrees(QUESTION, "It is $2,000.", FOUND)) is None
    assert bool(fake_llm.history) is asked
