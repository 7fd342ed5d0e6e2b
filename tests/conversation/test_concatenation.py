import json

import pytest

from pdfqa_core.conversation import Concatenation, NoRewriting, rewriters
from pdfqa_core.conversation.concatenation import needs_context, topic_terms

DEDUCTIBLE = ("What is the deductible of the Standard plan?", "It is $2,000.")


def test_they_are_registered():
    assert set(rewriters.names()) == {"concatenation", "llm", "none"}
    assert [rewriters.get(name).needs_llm for name in ("none", "concatenation", "llm")] == [False, False, True]


def test_none_leaves_every_question_alone():
    assert NoRewriting().rewrite("And it?", [DEDUCTIBLE]) == "And it?"


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How much is it per year?", "How much is it per year? (deductible, Standard plan)"),
        ("Why?", "Why? (deductible, Standard plan)"),
        ("And for families?", "And for families? (deductible, Standard plan)"),
        ("What about the Plus plan?", "What about the Plus plan? (deductible, Standard)"),
        ("Which is cheaper?", "Which is cheaper? (deductible, Standard plan)"),
    ],
)
def test_a_follow_up_gets_what_it_leaves_unsaid(question, expected):
    assert Concatenation().rewrite(question, [DEDUCTIBLE]) == expected


@pytest.mark.parametrize(
    "question",
    [
        "How many days of parental leave do employees get?",
        "What is PerksPlus?",
        "If employees travel abroad for work, are they insured?",
        "Is there a swimming pool at the Boston office?",
    ],
)
def test_a_question_that_stands_alone_is_left_alone(question):
    assert Concatenation().rewrite(question, [DEDUCTIBLE]) == question


def test_without_history_nothing_is_changed():
    assert Concatenation().rewrite("How much is it?", []) == "How much is it?"
    assert Concatenation(turns=0).rewrite("How much is it?", [DEDUCTIBLE]) == "How much is it?"


def test_it_looks_back_to_the_last_question_that_stood_alone():
    history = [
        ("How many vacation days do new employees get?", "25."),
        DEDUCTIBLE,
        ("And for families?", "It is $4,000."),
    ]
    rewritten = Concatenation().rewrite("Does it change every year?", history)
    assert rewritten == "Does it change every year? (deductible, Standard plan, families)"


def test_it_looks_back_no_further_than_turns():
    history = [DEDUCTIBLE, ("And for families?", "It is $4,000.")]
    assert "deductible" not in Concatenation(turns=1).rewrite("Why is that?", history)


def test_the_question_itself_stays_as_it_is():
    assert Concatenation().rewrite("how much IS it ?? ", [DEDUCTIBLE]).startswith("how much IS it ?? (")


def test_the_answers_are_not_copied():
    history = [("What does the Standard plan cost?", "Forty dollars a month, paid by Contoso.")]
    assert "Contoso" not in Concatenation().rewrite("Who pays it?", history)


def test_on_real_conversations_it_finds_follow_ups_and_adds_the_right_words(shared_data):
    """TREC CAsT 2021: the words that a person added to a follow-up, against those that were added here."""
    conversations = json.loads((shared_data / "conversations" / "cast2021_manual.json").read_text())
    found = wrong = missed = 0
    plain, rewritten = [], []
    for conversation in conversations:
        history = []
        for turn in conversation["turn"]:
            asked, gold = turn["raw_utterance"].strip(), set(topic_terms(turn["manual_rewritten_utterance"]))
            if history and gold - set(topic_terms(asked)):
                flagged = needs_context(asked, [q for q, _ in history[-3:]])
                found, missed = found + flagged, missed + (not flagged)
                plain.append(len(gold & set(topic_terms(asked))) / len(gold))
                ours = set(topic_terms(Concatenation().rewrite(asked, history)))
                rewritten.append(len(gold & ours) / len(gold))
            elif history:
                wrong += needs_context(asked, [q for q, _ in history[-3:]])
            history.append((asked, ""))
    assert found / (found + missed) > 0.65
    assert found / (found + wrong) > 0.9
    assert sum(rewritten) / len(rewritten) > sum(plain) / len(plain) + 0.08
