import threading

import pytest

from pdfqa_core.conversation import Concatenation, NoRewriting
from pdfqa_core.pipeline import ask
from pdfqa_core.reading import INSUFFICIENT_CONTEXT, ExtractiveReader, GenerativeReader
from pdfqa_core.reading.answerability import Judge
from pdfqa_core.reading.evidence import gather
from pdfqa_core.reading.outcomes import REPEATED
from pdfqa_core.types import Done, Progress, Retrieved, Rewritten, Token
from tests.reading.helpers import Agreeing, hits

FOUND = hits("The plan began in 2010. The deductible is $2,000 per year.", "Employees get 25 days of leave.")
HISTORY = [("What does the Standard plan cost?", "40 dollars.")]


class Search:
    def __init__(self, found=FOUND):
        self.found, self.asked = found, []

    def __call__(self, question, k):
        self.asked.append((question, k))
        return self.found[:k]


def sure(confidence):
    return Judge("retrieval", lambda question, hits: confidence)


def lines(question, found, before):
    return gather(question, found).lines()


def run(question="How high is the deductible?", history=(), search=None, **options):
    parts = {"rewriter": NoRewriting(), "retrieve": search or Search(), "reader": ExtractiveReader(), **options}
    return list(ask(question, history, **parts))


def test_the_events_come_in_order(fake_llm):
    fake_llm.enqueue(["The deductible is $2,000 per year."])
    events = run(reader=GenerativeReader(fake_llm), passages=1394)
    kinds = [type(event) for event in events]
    first_token = kinds.index(Token)
    assert events[0] == Progress("searching 1,394 passages")
    assert kinds.index(Rewritten) < kinds.index(Retrieved) < first_token
    assert kinds[-1] is Done
    assert kinds.count(Done) == 1
    assert Progress("reading 2 passages") in events
    assert Progress("writing") in events


def test_a_follow_up_is_searched_with_the_turns_before_and_read_as_typed_behind_the_last_one(fake_llm):
    fake_llm.enqueue(["x"])
    search = Search()
    reader = GenerativeReader(fake_llm, checker=Agreeing())
    events = run("How much is it?", HISTORY, search, rewriter=Concatenation(), reader=reader, k=1)
    rewritten = next(event for event in events if isinstance(event, Rewritten))
    assert rewritten.question == "How much is it?"
    assert search.asked == [(rewritten.query, 1)]
    assert HISTORY[-1][0] in dict(rewritten.lexical)
    for shown in ("How much is it?\n", HISTORY[-1][0]):
        assert shown in fake_llm.history[0][0].content


@pytest.mark.parametrize(("needed", "outcome"), [(0.0, "answer"), (1.0, "perhaps")])
def test_an_answer_that_is_not_sure_stands_behind_its_lines(needed, outcome, fake_llm):
    fake_llm.enqueue(["The deductible is $2,000 per year."])
    answer = run(reader=GenerativeReader(fake_llm), judge=sure(0.8), sure_from=needed, lines=lines)[-1].answer
    assert answer.outcome == outcome
    assert answer.text == "The deductible is $2,000 per year."
    assert (answer.nearest is not None) == (outcome == "perhaps")
    assert 0 < answer.signals["sure"] < 1
    assert answer.signals["supported"] == answer.signals["in lines"] == 1


@pytest.mark.parametrize(("confidence", "outcome"), [(0.4, "perhaps"), (0.6, "answer")])
def test_a_quote_is_as_sure_as_the_search(confidence, outcome):
    assert run(judge=sure(confidence), sure_from=0.5, lines=lines)[-1].answer.outcome == outcome


def test_what_the_reader_declines_is_perhaps_answered_by_the_lines(fake_llm):
    fake_llm.enqueue(["The passages do not mention that."])
    answer = run(reader=GenerativeReader(fake_llm), lines=lines)[-1].answer
    assert answer.outcome == "perhaps"
    assert answer.text == answer.nearest.quote
    assert not any(citation.verified for citation in answer.citations)


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ("Yes, it is $2,000.", "perhaps"), ("Nein, 2.000 Dollar.", "perhaps"),
        ("The deductible is $2,000 per year. That is $500 a quarter.", "perhaps"),
        ("The deductible is $2,000 per year.", "answer"),
    ],
)  # fmt: skip
def test_what_no_passage_says_is_never_sure(fake_llm, said, outcome):
    for sure_from, expected in ((0.01, outcome), (0.0, "answer")):
        fake_llm.enqueue([said])
        reader = GenerativeReader(fake_llm)
        answer = run(reader=reader, judge=sure(0.9), sure_from=sure_from, lines=lines)[-1].answer
        assert answer.outcome == expected


def test_an_answer_that_repeats_the_last_one_is_never_sure(fake_llm):
    said = "The deductible is $2,000 per year."
    fake_llm.enqueue([said])
    answer = run(reader=GenerativeReader(fake_llm), history=[("What?", said)], sure_from=0.01, lines=lines)[-1].answer
    assert answer.outcome == "perhaps"
    assert REPEATED in answer.notes


def test_low_confidence_refuses_without_asking_the_model(fake_llm):
    answer = run(reader=GenerativeReader(fake_llm), judge=sure(0.2), threshold=0.35)[-1].answer
    assert answer.refused
    assert answer.text == INSUFFICIENT_CONTEXT
    assert answer.confidence == 0.2
    assert answer.hits == tuple(FOUND)
    assert "0.20" in answer.notes[0]
    assert fake_llm.history == []


@pytest.mark.parametrize(("passages", "words"), [(0, "There is no text to search in"), (9, "No passage has a word")])
def test_no_hits_is_a_refusal_that_says_why(fake_llm, passages, words):
    answer = run(search=Search([]), reader=GenerativeReader(fake_llm), judge=sure(1.0), passages=passages)[-1].answer
    assert answer.refused
    assert answer.notes[0].startswith(words)


@pytest.mark.parametrize("kind", [Rewritten, Retrieved, Token])
def test_a_stop_in_any_phase_gives_a_partial_answer(fake_llm, kind):
    fake_llm.enqueue(["The deductible is $2,000 per year. And more."])
    stop = threading.Event()
    seen = []
    for event in ask(
        "How high is the deductible?",
        rewriter=NoRewriting(),
        retrieve=Search(),
        reader=GenerativeReader(fake_llm),
        stop=stop,
    ):
        seen.append(event)
        if isinstance(event, kind):
            stop.set()
    answer = seen[-1].answer
    assert answer.stopped
    assert not answer.refused
    assert answer.text == ("The" if kind is Token else "")
    assert bool(answer.hits) == (kind is not Rewritten)
    assert "total" in answer.seconds
