import threading

import pytest

from pdfqa_core.conversation import LLMRewriter
from pdfqa_core.conversation.llm import acceptable, prompt

HISTORY = [("What is the deductible of the Standard plan?", "The deductible of the Standard plan is $2,000 a year.")]
FALLBACK = "How much is it for families? (deductible, Standard plan)"
ASKED = "How much is it for families?"


def rewrite(llm, reply, question=ASKED, history=HISTORY):
    llm.enqueue([reply])
    return LLMRewriter(llm).rewrite(question, history)


def test_a_good_rewriting_is_used(fake_llm):
    good = "How much is the deductible of the Standard plan for families?"
    assert rewrite(fake_llm, good) == good
    assert rewrite(fake_llm, f'Rewritten question: "{good}"\nQuestion: another') == good


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "How much is the deductible of the Standard plan?",  # loses "families"
        "What is the deductible of the Standard plan?",  # repeats the question before
        "families " * 60,
        "For families the deductible of the Standard plan is $2,000 a year.",  # copies the answer
        "How much is the Premium Gold tariff for families?",  # topic that nobody named
    ],
)
def test_a_bad_rewriting_is_replaced(fake_llm, reply):
    assert rewrite(fake_llm, reply) == FALLBACK


def test_a_question_that_stands_alone_is_not_sent_to_the_model(fake_llm):
    question = "How many days of parental leave do employees get?"
    assert LLMRewriter(fake_llm).rewrite(question, HISTORY) == question
    assert LLMRewriter(fake_llm).rewrite("Why?", []) == "Why?"
    assert fake_llm.history == []


def test_a_stop_gives_the_fallback(fake_llm):
    fake_llm.enqueue(["How much"])
    stop = threading.Event()
    stop.set()
    assert LLMRewriter(fake_llm).rewrite(ASKED, HISTORY, stop=stop) == FALLBACK


def test_a_prompt_that_does_not_fit_gives_the_fallback(fake_llm):
    fake_llm.context_size = 100
    assert LLMRewriter(fake_llm).rewrite(ASKED, HISTORY) == FALLBACK
    assert fake_llm.history == []


def test_only_the_last_turns_and_no_answers_are_shown(fake_llm):
    fake_llm.enqueue([""])
    LLMRewriter(fake_llm, turns=1).rewrite(ASKED, [("Old?", "OLD"), *HISTORY])
    content = fake_llm.history[0][0].content
    assert "Old?" not in content
    assert "2,000" not in content
    assert content.endswith("Rewritten question:")


def test_the_prompt_begins_the_same_for_every_conversation():
    first, second = (prompt([q], "And?")[0].content for q in ("One?", "Two?"))
    assert len(first.split("One?")[0]) > 200
    assert first.split("One?")[0] == second.split("Two?")[0]


def test_the_guard_lets_words_of_the_answers_in():
    history = [("Who leads the company?", "Ada Lovelace.")]
    assert acceptable("When was Ada Lovelace born?", "When was she born?", history)
