import json
import threading

import numpy as np
import pytest

from pdfqa_core.conversation import Concatenation, NoRewriting, rewriters
from pdfqa_core.conversation.relation import Relation, needs_context, points_back, relation, topic_terms
from pdfqa_core.types import Query, Rewritten

DEDUCTIBLE = ("What is the deductible of the Standard plan?", "It is $2,000.")
SCREEN = ("When was the self-cleaning drum screen fitted?", "In August 2023.")
FISH = "How many small fish were found in the basket in the winter after it was fitted?"
LEAVE = "How many days of parental leave do employees get?"


def shown(question, history, **options):
    return Concatenation(**options).rewrite(question, history).question


class Vectors:
    """An encoder of questions: the given vectors, of length 1; what it was asked for is kept."""

    def __init__(self, **vectors):
        self.vectors, self.asked = {key.replace("_", " "): value for key, value in vectors.items()}, []

    def __call__(self, texts):
        self.asked.append(list(texts))
        return np.asarray([next(v for k, v in self.vectors.items() if k in text) for text in texts], dtype=np.float32)


def test_they_are_registered():
    assert set(rewriters.names()) == {"concatenation", "llm", "none"}
    assert ["llm" in rewriters.parameters(name) for name in ("none", "concatenation", "llm")] == [False, False, True]


def test_none_leaves_every_question_alone():
    assert NoRewriting().rewrite("And it?", [DEDUCTIBLE]) == Rewritten("And it?")


# ------------------------------------------------------------------ what is shown


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How much is it per year?", "How much is it per year? (deductible, Standard plan)"),
        ("Why?", "Why? (deductible, Standard plan)"),
        ("And for families?", "What is the deductible of the Standard plan for families?"),
        ("What about the Plus plan?", "What about the Plus plan? (deductible, Standard)"),
        ("Which is cheaper?", "Which is cheaper? (deductible, Standard plan)"),
        ("I live abroad. How much is it there?", "I live abroad. How much is it there? (deductible, Standard plan)"),
    ],
)
def test_a_follow_up_gets_what_it_leaves_unsaid(question, expected):
    assert shown(question, [DEDUCTIBLE]) == expected


def test_a_pronoun_beside_a_word_of_the_last_question_points_back():
    assert shown(FISH, [SCREEN]) == f"{FISH} (self-cleaning drum screen)"
    assert not points_back(FISH, [DEDUCTIBLE[0]])


@pytest.mark.parametrize(
    "question",
    [
        LEAVE,
        "What is PerksPlus?",
        "If employees travel abroad for work, are they insured?",
        "Is there a swimming pool at the Boston office?",
    ],
)
def test_a_question_that_stands_alone_is_left_alone(question):
    assert shown(question, [DEDUCTIBLE]) == question


def test_without_history_nothing_is_changed_and_nothing_encoded():
    encode = Vectors()
    assert Concatenation(encode=encode).rewrite("How much is it?", []) == Rewritten("How much is it?")
    assert Concatenation(turns=0, encode=encode).rewrite("How much is it?", [DEDUCTIBLE]).query == Query(
        "How much is it?"
    )
    assert encode.asked == []


def test_it_looks_back_to_the_last_question_that_stood_alone():
    history = [
        ("How many vacation days do new employees get?", "25."),
        DEDUCTIBLE,
        ("And for families?", "It is $4,000."),
    ]
    rewritten = shown("Does it change every year?", history)
    assert rewritten == "Does it change every year? (deductible, Standard plan, families)"


def test_it_looks_back_no_further_than_turns():
    history = [DEDUCTIBLE, ("And for families?", "It is $4,000.")]
    assert "deductible" not in shown("Why is that?", history, turns=1)


def test_the_question_itself_stays_as_it_is():
    assert shown("how much IS it ?? ", [DEDUCTIBLE]).startswith("how much IS it ?? (")


def test_the_answers_are_not_shown():
    history = [("What does the Standard plan cost?", "Forty dollars a month, paid by Contoso.")]
    assert "Contoso" not in shown("Who pays it?", history)


# ------------------------------------------------------------------ what is searched for


def test_earlier_questions_weigh_less_the_further_back_and_more_if_they_named_the_topic():
    history = [
        ("What does dental care cost?", "Nothing."),
        ("How are crowns and bridges paid?", "By the plan."),
        ("And implants?", "Half."),
    ]
    rewritten = Concatenation().rewrite("Why?", history)
    lexical, dense = dict(rewritten.lexical), dict(rewritten.dense)
    assert lexical["Why?"] == dense["Why?"] == 1
    assert lexical["implants"] > lexical["dental care cost"]
    assert lexical["crowns bridges paid"] > lexical["implants"], "it named the topic"
    assert dense["And implants?"] > dense["What does dental care cost?"]
    assert max(weight for text, weight in rewritten.lexical if text != "Why?") <= 0.5
    assert rewritten.query == Query(rewritten.question, rewritten.lexical, rewritten.dense)


def test_a_question_that_stands_alone_is_searched_with_half_of_that():
    follow_up = Concatenation().rewrite("Why is that so?", [DEDUCTIBLE])
    alone = Concatenation().rewrite("How is the deductible of the Plus plan paid?", [DEDUCTIBLE])
    assert alone.question == "How is the deductible of the Plus plan paid?"
    assert dict(alone.lexical)["deductible standard plan"] == dict(follow_up.lexical)["deductible standard plan"] / 2


def test_of_the_last_answer_the_nearest_sentence_counts_for_its_meaning_only():
    answer = "Employees pay it. Owls hunt at night."
    encode = Vectors(Who=[1, 0], What=[0.6, 0.8], Employees=[0, 1], Owls=[0.8, 0.6])
    rewritten = Concatenation(encode=encode).rewrite("Who pays it then?", [("What does it cost?", answer)])
    assert "Owls hunt at night." in dict(rewritten.dense)
    assert "Employees pay it." not in dict(rewritten.dense)
    assert not any("Owls" in text for text, _ in rewritten.lexical)


def test_an_answer_that_was_a_refusal_counts_for_nothing():
    encode = Vectors(Why=[1, 0], What=[1, 0])
    rewritten = Concatenation(encode=encode).rewrite("Why?", [(DEDUCTIBLE[0], "")])
    assert [text for text, _ in rewritten.dense] == ["Why?", DEDUCTIBLE[0]]


# ------------------------------------------------------------------ new topics


def test_a_new_topic_is_searched_for_by_itself_and_that_is_told():
    rewritten = Concatenation(encode=Vectors(deductible=[1, 0], leave=[0.1, 0.99])).rewrite(LEAVE, [DEDUCTIBLE])
    assert rewritten.query == Query(LEAVE)
    assert "new topic" in rewritten.note
    assert Concatenation().rewrite(LEAVE, [DEDUCTIBLE]).query == Query(LEAVE), "by its words alone"


def test_a_near_question_is_no_new_topic_and_neither_is_one_that_points_back():
    near = Vectors(deductible=[1, 0], leave=[0.3, 0.95])
    assert relation(LEAVE, [DEDUCTIBLE], encode=near) is Relation.SAME_TOPIC
    far = Vectors(deductible=[1, 0], Why=[0, 1])
    assert relation("Why is it so?", [DEDUCTIBLE], encode=far) is Relation.FOLLOW_UP
    assert far.asked == [], "the words told enough"


def test_a_shared_topic_word_halves_the_threshold():
    vectors = Vectors(families=[0.15, 0.989], Which=[0.15, 0.989], What=[1, 0])
    shared, other = "Which families pay a deductible at home?", "Which families visit Boston museums?"
    assert relation(shared, [DEDUCTIBLE], encode=vectors, new_topic=0.2) is Relation.SAME_TOPIC
    assert relation(other, [DEDUCTIBLE], encode=vectors, new_topic=0.2) is Relation.NEW_TOPIC
    assert relation(other, [DEDUCTIBLE], encode=vectors, new_topic=0) is Relation.SAME_TOPIC


def test_a_stop_before_it_begins_leaves_the_question_alone():
    stop = threading.Event()
    stop.set()
    encode = Vectors()
    assert Concatenation(encode=encode).rewrite("Why?", [DEDUCTIBLE], stop=stop) == Rewritten("Why?")
    assert encode.asked == []


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
                ours = set(topic_terms(shown(asked, history)))
                rewritten.append(len(gold & ours) / len(gold))
            elif history:
                wrong += needs_context(asked, [q for q, _ in history[-3:]])
            history.append((asked, ""))
    assert found / (found + missed) > 0.7
    assert found / (found + wrong) > 0.9
    assert sum(rewritten) / len(rewritten) > sum(plain) / len(plain) + 0.08


SALES = ("What were total net sales in Q3 2023?", "They were $81,797 million.")


@pytest.mark.parametrize(
    ("question", "points"),
    [
        ("How did iPhone sales change compared with the same quarter of the year before?", True),
        ("How did iPhone sales in Q2 2022 change compared with the same quarter of the year before?", False),
        ("What percentage of total net sales was that?", True),
        ("Which auditors signed the report that was filed?", False),
    ],
)
def test_a_time_or_an_amount_that_is_left_unsaid_points_back(question, points):
    assert points_back(question, [SALES[0]]) is points


def test_what_a_follow_up_says_anew_is_not_added():
    deductible = ("What is the deductible for an individual in the Standard plan?", "It is $2,000.")
    assert shown("And what is it for a family?", [deductible]) == (
        "And what is it for a family? (deductible, Standard plan)"
    )
    searched = Concatenation().rewrite("And what is it for a family?", [deductible])
    assert not any("individual" in text for text, _ in (*searched.lexical, *searched.dense))
    whole = shown("And what is it for a family with three children?", [deductible])
    assert whole == "And what is it for a family with three children? (deductible, individual, Standard plan)"


@pytest.mark.parametrize("question", ["When do guests leave?", "What is a safe room?", "Can I have fees waived?"])
def test_a_sentence_about_few_things_of_its_own_is_searched_for_with_more_and_read_as_typed(question):
    found = Concatenation().rewrite(question, [DEDUCTIBLE])
    assert (found.question, found.leans) == (question, False)
    assert len(found.lexical) > 1


@pytest.mark.parametrize(
    "question",
    [
        "How much does it cost to use the meeting room?", "How long does it take to get a key?",
        "Is it allowed to bring a dog upstairs?",
    ],
)  # fmt: skip
def test_an_it_that_stands_for_nothing_does_not_point_back(question):
    assert not points_back(question)
    assert shown(question, [DEDUCTIBLE]) == question
