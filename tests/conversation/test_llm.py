import threading

import pytest

from pdfqa_core.conversation import Concatenation, LLMRewriter
from pdfqa_core.conversation.llm import flaw, prompt
from pdfqa_core.types import Query, Rewritten

HISTORY = [("What is the deductible of the Standard plan?", "The deductible of the Standard plan is $2,000 a year.")]
FALLBACK = "How much is it for families? (deductible, Standard plan)"
ASKED = "How much is it for families?"


def rewrite(llm, reply, question=ASKED, history=HISTORY):
    llm.enqueue([reply])
    return LLMRewriter(llm).rewrite(question, history)


def test_a_good_rewriting_is_used(fake_llm):
    good = "How much is the deductible of the Standard plan for families?"
    assert rewrite(fake_llm, good) == Rewritten(good)
    assert rewrite(fake_llm, f'Rewritten question: "{good}"\nQuestion: another').query == Query(good)


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("", "is empty"),
        ("How much is the deductible of the Standard plan?", "lacks “families”"),
        ("What is the deductible of the Standard plan for the families? " * 4, "is too long"),
        ("For families the deductible of the Standard plan is $2,000 a year.", "copies the answer"),
        ("How much is the Premium Gold tariff for families?", "adds “premium”, “gold”, “tariff”"),
    ],
)
def test_a_bad_rewriting_is_replaced_and_the_reason_told(fake_llm, reply, why):
    rewritten = rewrite(fake_llm, reply)
    assert rewritten.question == FALLBACK
    assert rewritten.note == f"The words of earlier questions were added, because the model's rewriting {why}."
    assert rewritten.lexical == Concatenation().rewrite(ASKED, HISTORY).lexical


def test_an_earlier_question_is_no_rewriting():
    assert flaw("What is the deductible of the Standard plan?", "And?", HISTORY) == "repeats an earlier question"


def test_the_s_of_a_plural_does_not_count():
    history = [("What do the plans cover?", "")]
    assert flaw("What does the plan cost for families?", "What does it cost for families?", history) == ""


def test_a_question_that_stands_alone_is_not_sent_to_the_model(fake_llm):
    question = "How many days of parental leave do employees get?"
    assert LLMRewriter(fake_llm).rewrite(question, HISTORY).query == Query(question)
    assert "new topic" in LLMRewriter(fake_llm).rewrite(question, HISTORY).note
    near = "Is the deductible of the Plus plan higher than this of the Standard plan?"
    assert LLMRewriter(fake_llm).rewrite(near, HISTORY) == Concatenation().rewrite(near, HISTORY)
    assert LLMRewriter(fake_llm).rewrite("Why?", []) == Rewritten("Why?")
    assert fake_llm.history == []


def test_a_stop_before_it_begins_asks_nothing(fake_llm):
    stop = threading.Event()
    stop.set()
    assert LLMRewriter(fake_llm).rewrite(ASKED, HISTORY, stop=stop) == Rewritten(ASKED)
    assert fake_llm.history == []


def test_a_stop_while_the_model_writes_ends_it(fake_llm):
    stop, told = threading.Event(), []

    def complete(messages, *, max_tokens, stop, schema=None, sampling=None):
        for word in ["How", " much"] * 500:
            if stop.is_set():
                return
            told.append(word)
            stop.set()
            yield word

    fake_llm.complete = complete
    rewritten = LLMRewriter(fake_llm).rewrite(ASKED, HISTORY, stop=stop)
    assert rewritten.question == FALLBACK
    assert len(told) == 1


def test_turns_that_do_not_fit_are_left_out_from_the_oldest(fake_llm):
    history = [("What is " + "very " * 40 + "old?", "x"), *HISTORY]
    fake_llm.context_size = 96 + fake_llm.count_tokens(prompt([HISTORY[0][0]], ASKED))
    fake_llm.enqueue([""])
    LLMRewriter(fake_llm).rewrite(ASKED, history)
    assert "very" not in fake_llm.history[0][0].content
    assert HISTORY[0][0] in fake_llm.history[0][0].content


def test_a_prompt_that_does_not_fit_is_not_sent(fake_llm):
    fake_llm.context_size = 100
    rewritten = LLMRewriter(fake_llm).rewrite(ASKED, HISTORY)
    assert rewritten.question == FALLBACK
    assert "longer context" in rewritten.note
    assert fake_llm.history == []


def test_a_question_longer_than_a_reply_can_be_is_not_sent(fake_llm):
    rewritten = LLMRewriter(fake_llm).rewrite("Is it " + "very " * 60 + "good?", HISTORY)
    assert "more than 40 words" in rewritten.note
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
    assert flaw("When was Ada Lovelace born?", "When was she born?", history) == ""
