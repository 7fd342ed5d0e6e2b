import pytest

from pdfqa_core.conversation.candidates import PHRASES, PREPOSITIONS, candidates, said_before

PLAN = ["What is the deductible of the Standard plan?"]


@pytest.mark.parametrize(
    ("question", "made"),
    [
        ("How much is it?", ["How much is the deductible?", "How much is the Standard plan?"]),
        ("Thanks! What are its limits?", ["Thanks! What are the deductible’s limits?",
                                          "Thanks! What are the Standard plan’s limits?"]),
        ("Tell me more about that.", ["Tell me more about the deductible.", "Tell me more about the Standard plan."]),
        ("It ends. Who pays it?", ["It ends. Who pays the deductible?", "It ends. Who pays the Standard plan?"]),
    ],
)  # fmt: skip
def test_a_phrase_takes_the_place_of_the_pronoun(question, made):
    assert candidates(question, PLAN) == made


def test_without_a_pronoun_phrases_are_joined_to_the_end():
    made = candidates("And for families", ["What is the Standard plan?"])
    assert made == [f"And for families {preposition} the Standard plan?" for preposition in PREPOSITIONS]


def test_her_is_an_owner_only_before_a_noun():
    earlier = ["Who was Marie Curie?"]
    assert candidates("What was her discovery?", earlier) == ["What was Marie Curie’s discovery?"]
    assert candidates("Who helped her?", earlier) == ["Who helped Marie Curie?"]


def test_a_that_which_opens_a_clause_is_no_pronoun():
    made = candidates("Which are the plans that pay?", ["What is the deductible?"])
    assert made[0] == "Which are the plans that pay of the deductible?"


def test_phrases_are_names_of_things_from_the_newest_question_back():
    earlier = ["When was the Eiffel Tower finished?", "How did it affect Paris?", "I’m curious. What happened after?"]
    assert said_before("Why?", earlier) == ["Paris", "the Eiffel Tower finished", "the Eiffel Tower"]
    assert said_before("Why is Paris so?", earlier) == ["the Eiffel Tower finished", "the Eiffel Tower"]
    assert len(said_before("Why?", [f"What of the name{n}?" for n in range(20)])) == PHRASES


def test_nothing_said_gives_no_candidates():
    assert candidates("How much is it?", ["Why?"]) == []
    assert candidates("How much is it?", []) == []
