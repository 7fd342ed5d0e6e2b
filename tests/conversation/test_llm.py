import json
import threading

import pytest

from pdfqa_core.conversation import Concatenation, LLMRewriter
from pdfqa_core.conversation.llm import CHOSEN, EXAMPLES, WRITTEN, flaw, prompt
from pdfqa_core.errors import ModelError
from pdfqa_core.types import Query, Rewritten

HISTORY = [("What is the deductible of the Standard plan?", "The deductible of the Standard plan is $2,000 a year.")]
FALLBACK = "How much is it for families? (deductible, Standard plan)"
ASKED = "How much is it for families?"


def rewrite(llm, reply, *, chosen="", question=ASKED, history=HISTORY):
    llm.enqueue([reply, chosen])
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
        ("For families the deductible of the Standard plan is $2,000 a year.", "copies the answer"),
        ("How much is the Premium Gold tariff for families?", "adds “premium”, “gold”, “tariff”"),
        (ASKED, "leaves the question as it was"),
        ("How much would it be for the boat or for families?", "adds “boat”"),
        ("And how much is it for families, please?", "leaves the question as it was"),
    ],
)
def test_a_bad_rewriting_is_replaced_and_the_reason_told(fake_llm, reply, why):
    rewritten = rewrite(fake_llm, reply)
    assert rewritten.question == FALLBACK
    assert rewritten.note == f"The words of earlier questions were added, because the model's rewriting {why}."
    assert rewritten.lexical == Concatenation().rewrite(ASKED, HISTORY).lexical


def test_the_model_chooses_where_it_cannot_write(fake_llm):
    wanted = "How much is the deductible for families?"
    rewritten = rewrite(fake_llm, ASKED, chosen=json.dumps(wanted))
    assert rewritten.question == wanted
    assert (rewritten.lexical[-1], rewritten.dense[-1]) == ((wanted, CHOSEN), (wanted, CHOSEN))
    assert rewritten.lexical[:-1] == Concatenation().rewrite(ASKED, HISTORY).lexical
    assert rewritten.note == (
        "Completed with words of the questions before that the model chose, "
        "because its own rewriting leaves the question as it was."
    )
    assert fake_llm.history[0] == fake_llm.history[1]


def test_the_model_may_choose_only_what_the_guard_accepts(fake_llm):
    schemas = []

    def write(schema, stop):
        schemas.append(schema)
        yield ""

    fake_llm.write = write
    history = [("How much is the deductible for families?", ""), *HISTORY]
    LLMRewriter(fake_llm).rewrite(ASKED, history)
    assert schemas == [None, {"type": "string", "enum": ["How much is the Standard plan for families?"]}]


@pytest.mark.parametrize("reply", ["", '"How much is the deduc', '"What else?"', "3"])
def test_a_choice_that_is_cut_off_or_unknown_is_not_used(fake_llm, reply):
    assert rewrite(fake_llm, ASKED, chosen=reply).question == FALLBACK


def test_a_server_that_takes_no_schema_falls_back(fake_llm):
    def write(schema, stop):
        if schema is not None:
            raise ModelError("The server refuses the schema.")
        yield ASKED

    fake_llm.write = write
    assert LLMRewriter(fake_llm).rewrite(ASKED, HISTORY).question == FALLBACK


def test_a_model_that_fails_while_it_writes_is_told(fake_llm):
    def write(schema, stop):
        raise ModelError("The server went away.")

    fake_llm.write = write
    with pytest.raises(ModelError, match="went away"):
        LLMRewriter(fake_llm).rewrite(ASKED, HISTORY)


def test_without_a_phrase_to_choose_the_model_is_not_asked_again(fake_llm):
    history = [("Why?", "Because the plan ended.")]
    assert "leaves the question" in rewrite(fake_llm, "And when?", question="And when?", history=history).note
    assert len(fake_llm.history) == 1


def test_the_examples_pass_the_guard():
    for earlier, question, rewritten in EXAMPLES:
        history = [(asked, "The author of Hamlet was born in 1564.") for asked in earlier]
        assert flaw(rewritten, question, history) == ""


def test_an_earlier_question_is_no_rewriting():
    assert flaw("What is the deductible of the Standard plan?", "And?", HISTORY) == "repeats an earlier question"


def test_words_are_compared_by_their_stems():
    history = [("What do the plans cover?", "")]
    assert flaw("What does the plan cost for families?", "What does it cost for families?", history) == ""
    history = [("Why did the company produce the plane?", "")]
    assert flaw("Why was the produced plane stopped?", "Why was its producing stopped?", history) == ""
    assert "lacks" in flaw("Why was the plane stopped?", "Why was its producing stopped?", history)


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


def test_a_stop_while_the_model_chooses_ends_it(fake_llm):
    stop = threading.Event()

    def write(schema, stop):
        if schema is None:
            yield ASKED
        else:
            stop.set()
            yield json.dumps(schema["enum"][0])

    fake_llm.write = write
    assert LLMRewriter(fake_llm).rewrite(ASKED, HISTORY, stop=stop) == Concatenation().rewrite(ASKED, HISTORY)


def test_turns_that_do_not_fit_are_left_out_from_the_oldest(fake_llm):
    history = [("What is " + "very " * 40 + "old?", "x"), *HISTORY]
    fake_llm.context_size = 96 + fake_llm.count_tokens(prompt([HISTORY[0][0]], ASKED))
    rewrite(fake_llm, "", history=history)
    assert "very" not in fake_llm.history[0][-1].content
    assert HISTORY[0][0] in fake_llm.history[0][-1].content


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
    fake_llm.enqueue(["", ""])
    LLMRewriter(fake_llm, turns=1).rewrite(ASKED, [("Old?", "OLD"), *HISTORY])
    content = fake_llm.history[0][-1].content
    assert "Old?" not in content
    assert "2,000" not in content
    assert HISTORY[0][0] in content
    assert content.endswith(ASKED)


def test_the_examples_are_turns_of_a_chat_and_the_same_for_every_conversation():
    first, second = (prompt([asked], "And?") for asked in ("One?", "Two?"))
    assert first[:-1] == second[:-1]
    assert first[-1] != second[-1]
    assert [message.role for message in first] == ["user", "assistant"] * len(EXAMPLES) + ["user"]
    assert [message.content for message in first[1::2]] == [rewritten for _, _, rewritten in EXAMPLES]


def test_the_guard_lets_words_of_the_answers_in():
    history = [("Who leads the company?", "Ada Lovelace.")]
    assert flaw("When was Ada Lovelace born?", "When was she born?", history) == ""
