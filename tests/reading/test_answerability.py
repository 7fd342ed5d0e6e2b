import pytest

from pdfqa_core.errors import ModelError
from pdfqa_core.reading import GenerativeReader
from pdfqa_core.reading.answerability import CAN_ANSWER, CONTENT_FREE, Answerability, Judge, combined, probability
from pdfqa_core.types import Progress
from tests.reading.helpers import hits

FOUND = hits("The plan began in 2010. The deductible is $2,000 per year.", "Employees get 25 days of leave.")
QUESTION = "How high is the deductible?"


def judged(judge, **options):
    steps = judge.judge(QUESTION, FOUND, **options)
    seen = []
    while True:
        try:
            seen.append(next(steps))
        except StopIteration as end:
            return end.value, seen


def decisions(fake_llm, bias, answer):
    fake_llm.decisions += [{"Yes": p, "No": 1 - p} for p in (bias, answer)]


def test_retrieval_asks_no_model(fake_llm):
    found, seen = judged(Judge("retrieval", lambda q, h: 0.8, GenerativeReader(fake_llm)))
    assert found == Answerability(0.8, {"retrieval": 0.8})
    assert seen == []
    assert fake_llm.history == []


def test_what_the_model_says_without_content_is_taken_off(fake_llm):
    values = []
    for bias, answer in ((0.5, 0.5), (0.9, 0.9), (0.5, 0.9), (0.9, 0.5)):
        decisions(fake_llm, bias, answer)
        found, seen = judged(Judge("model", lambda q, h: 0.0, GenerativeReader(fake_llm)))
        assert Progress("asking the model whether the passages answer it") in seen
        assert found.signals == {"model": found.confidence}
        values.append(found.confidence)
    assert values[0] == pytest.approx(values[1]) == pytest.approx(probability(0))
    assert values[3] < values[0] < values[2]


def test_the_prompt_begins_like_that_of_the_answer(fake_llm):
    reader = GenerativeReader(fake_llm)
    decisions(fake_llm, 0.5, 0.5)
    judged(Judge("model", lambda q, h: 0.0, reader))
    without, asked = (messages[0].content for messages in fake_llm.history)
    own = reader.messages(QUESTION, reader.fitting(QUESTION, FOUND))[0].content
    shared = own[: own.index(QUESTION) + len(QUESTION)]
    assert asked.startswith(shared)
    assert asked.endswith(CAN_ANSWER)
    assert without == asked.replace(QUESTION, CONTENT_FREE)


def test_combined_needs_both_and_tells_both(fake_llm):
    decisions(fake_llm, 0.5, 0.9)
    found, _ = judged(Judge("combined", lambda q, h: 0.7, GenerativeReader(fake_llm)))
    assert set(found.signals) == {"retrieval", "model"}
    assert found.confidence == pytest.approx(combined(0.7, found.signals["model"]))


def test_each_signal_raises_the_combined_confidence():
    assert combined(0.3, 0.5) < combined(0.5, 0.5) < combined(0.7, 0.5)
    assert combined(0.5, 0.2) < combined(0.5, 0.5) < combined(0.5, 0.8)
    assert 0 <= combined(0, 0) < combined(1, 1) <= 1


@pytest.mark.parametrize("refusal", ["model", "combined"])
def test_an_engine_that_cannot_tell_leaves_it_to_the_search(fake_llm, refusal):
    def choose(messages, choices, *, stop=None):
        raise ModelError("no probabilities")

    fake_llm.choose = choose
    found, _ = judged(Judge(refusal, lambda q, h: 0.7, GenerativeReader(fake_llm)))
    assert (found.confidence, found.signals) == (0.7, {"retrieval": 0.7})
    assert "no probabilities" in found.notes[0]


def test_a_reader_without_a_model_leaves_it_to_the_search():
    found, _ = judged(Judge("combined", lambda q, h: 0.7))
    assert found.signals == {"retrieval": 0.7}


def test_a_stopped_judgement_says_nothing(fake_llm):
    class Stopped:
        def is_set(self):
            return True

    found, _ = judged(Judge("model", lambda q, h: 0.7, GenerativeReader(fake_llm)), stop=Stopped())
    assert found.signals == {}


@pytest.mark.parametrize(
    ("signals", "words"),
    [
        ({"retrieval": 0.2}, "The search doubts"),
        ({"model": 0.2}, "The model doubts"),
        ({"retrieval": 0.2, "model": 0.2}, "Both the search and the model doubt"),
        ({"retrieval": 0.2, "model": 0.6}, "The search doubts"),
        ({"retrieval": 0.6, "model": 0.2}, "The model doubts"),
        ({"retrieval": 0.5, "model": 0.5}, "Search and model are not sure enough"),
    ],
)
def test_the_signal_that_speaks_against_an_answer_is_named(signals, words):
    reason = Answerability(0.3, signals).reason(0.45)
    assert reason.startswith(words)
    assert "0.30" in reason
    assert "0.45" in reason
    for value in signals.values() if len(signals) == 2 else ():
        assert f"{value:.2f}" in reason
