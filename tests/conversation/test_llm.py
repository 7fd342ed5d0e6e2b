import threading
from dataclasses import replace

import pytest

from pdfqa_core.conversation import Concatenation, LLMRewriter
from pdfqa_core.conversation.rewriters import EXAMPLES, WRITTEN, flaw, prompt
from pdfqa_core.types import Rewritten

HISTORY = [("What is the deductible of the Standard plan?", "The deductible of the Standard plan is $2,000 a year.")]
ASKED = "How much is it for families?"


def rewrite(llm, reply, *, question=ASKED, history=HISTORY):
    llm.enqueue([reply])
    return LLMRewriter(llm).rewrite(question, history)


def test_a_good_rewriting_is_used(fake_llm):
    good = "How much is the deductible of the Standard plan for families?"
    beside = Concatenation().rewrite(ASKED, HISTORY)
    wanted = Rewritten(good, "", (*beside.lexical, (good, WRITTEN)), (*beside.dense, (good, WRITTEN)))
    assert rewrite(fake_llm, good) == wanted
    assert len(fake_llm.history) == 1
    fake_llm.replies.clear()
    assert rewrite(fake_llm, f'Rewritten question: "{good}"\nQuestion: another') == wanted


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("", "is empty"),
        ("How much is the deductible of the Standard plan?", "lacks “families”"),
        ("What is the deductible of the Standard plan for the families? " * 4, "is too long"),
        ("How much for families: the deductible of the Standard plan is $2,000 a year.", "copies the answer"),
        ("How much is the Premium Gold tariff for families?", "adds “premium”, “gold”, “tariff”"),
        ("How much would it be for the boat or for families?", "adds “boat”"),
    ],
)
def test_a_bad_rewriting_is_replaced_and_the_reason_told(fake_llm, reply, why):
    note = f"Searched for as typed, with the questions before, because the model's rewriting {why}."
    assert rewrite(fake_llm, reply) == replace(Concatenation().rewrite(ASKED, HISTORY), note=note)


@pytest.mark.parametrize("reply", [ASKED, "And how much is it for the family?"])
def test_a_question_that_the_model_leaves_as_it_was_needs_no_note(fake_llm, reply):
    assert rewrite(fake_llm, reply) == Concatenation().rewrite(ASKED, HISTORY)


def test_a_question_in_another_language_is_compared_by_its_own_words(fake_llm):
    fake_llm.enqueue(["Wie hoch sind die Kautionen der Wohnung in Raten?", "How high is the deposit in Raten?"])
    history = [("Wie hoch ist die Kaution der Wohnung?", "Drei Mieten.")]
    rewriter = LLMRewriter(fake_llm, language="german")
    assert rewriter.rewrite("Und in Raten?", history).question == "Wie hoch sind die Kautionen der Wohnung in Raten?"
    assert "adds “how”, “high”" in rewriter.rewrite("Und in Raten?", history).note


def test_a_question_of_stop_words_alone_lacks_nothing():
    assert flaw("Why is the deductible $2,000?", "Why is that?", HISTORY) == ""


def test_the_examples_pass_the_guard():
    for earlier, question, rewritten in EXAMPLES:
        assert flaw(rewritten, question, earlier) == ""


def test_an_earlier_question_is_no_rewriting():
    assert flaw("What is the deductible of the Standard plan?", "And?", HISTORY) == "repeats an earlier question"


def test_without_a_history_the_model_is_not_asked(fake_llm):
    assert LLMRewriter(fake_llm).rewrite("Why?", []) == Rewritten("Why?")
    assert LLMRewriter(fake_llm, turns=0).rewrite("Why?", HISTORY) == Rewritten("Why?")
    assert fake_llm.history == []


def test_a_stop_while_the_model_writes_ends_it(fake_llm):
    stop, told = threading.Event(), []

    def write(schema, stop):
        for word in ["How", " much"] * 500:
            if stop.is_set():
                return
            told.append(word)
            stop.set()
            yield word

    fake_llm.write = write
    rewritten = LLMRewriter(fake_llm).rewrite(ASKED, HISTORY, stop=stop)
    assert rewritten == Concatenation().rewrite(ASKED, HISTORY)
    assert len(told) == 1


def test_turns_that_do_not_fit_are_left_out_from_the_oldest(fake_llm):
    history = [("What is " + "very " * 40 + "old?", "x"), *HISTORY]
    fake_llm.context_size = 96 + fake_llm.count_tokens(prompt(HISTORY, ASKED))
    rewrite(fake_llm, "", history=history)
    assert "very" not in fake_llm.history[0][-1].content
    assert HISTORY[0][0] in fake_llm.history[0][-1].content


def test_a_prompt_that_does_not_fit_is_not_sent(fake_llm):
    fake_llm.context_size = 100
    rewritten = LLMRewriter(fake_llm).rewrite(ASKED, HISTORY)
    assert rewritten.question == ASKED
    assert "longer context" in rewritten.note
    assert fake_llm.history == []


def test_the_last_turns_are_shown_and_the_last_answer(fake_llm):
    fake_llm.enqueue([""])
    LLMRewriter(fake_llm, turns=2).rewrite(ASKED, [("Old?", "OLD"), ("Older?", "OLDER"), *HISTORY])
    content = fake_llm.history[0][-1].content
    ((asked, answer),) = HISTORY
    assert content.endswith(f"\nQuestion: Older?\nQuestion: {asked}\nAnswer: {answer}\nLast question: {ASKED}")
    assert "OLD" not in content


def test_what_the_last_answer_names_can_stand_in_the_question_and_is_searched_for(fake_llm):
    history = [("Which plan covers glasses?", "The Northwind Health Plus plan covers them.")]
    good = "What does the Northwind Health Plus plan cost?"
    rewritten = rewrite(fake_llm, good, question="What does it cost?", history=history)
    assert rewritten.question == good
    assert (good, WRITTEN) in rewritten.query.lexical  # by words too
    assert (good, WRITTEN) in rewritten.query.dense
