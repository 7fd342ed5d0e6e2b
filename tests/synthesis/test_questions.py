"""Prompts, what is taken of a reply, guards, rules and draws."""

from __future__ import annotations

import pytest

from pdfqa_core.interfaces import GREEDY, Sampling
from pdfqa_core.synthesis import (
    FOLLOW_UPS,
    Draft,
    Example,
    Generator,
    Reason,
    answer_objection,
    answer_prompt,
    by_rules,
    few_shot_prompt,
    follow_up_objection,
    follow_up_prompt,
    neighbours,
    objection,
    sample_passages,
    shipped_examples,
    tidy,
    zero_shot_prompt,
)
from pdfqa_core.types import Passage, Span
from tests.conftest import FakeLLM

FEES = "A ship pays nine crowns for each night it lies at the pier.\nLighters pay half."
BOATS = Example("Where are boats kept in winter?", "Boats are kept in the\nhall during the winter.")


def passage(text: str, document_id: str = "d", number: int = 1, **more: str) -> Passage:
    return Passage(f"{document_id}-{number}", (Span(document_id, number, 0, len(text)),), text, **more)


def test_the_prompts_are_those_of_the_seed() -> None:
    flat = "A ship pays nine crowns for each night it lies at the pier. Lighters pay half."
    assert zero_shot_prompt(FEES) == f"{flat} Read the passage and generate a corresponding query."
    two = few_shot_prompt([BOATS, Example("Who reads?", "Ada reads.")], FEES)
    assert two == (
        "Passage: Boats are kept in the hall during the winter. Question: Where are boats kept in winter? XXX "
        f"Passage: Ada reads. Question: Who reads? XXX Passage: {flat} Question:"
    )


@pytest.mark.parametrize(
    ("written", "question"),
    [
        ("What does a ship pay?", "What does a ship pay?"),
        ('"What does a ship pay?"', "What does a ship pay?"),
        ("Query: What does a ship pay? It pays nine crowns.", "What does a ship pay?"),
        ("Here is a query:\n\n1. What does a ship pay?\n2. Who pays?", "What does a ship pay?"),
        ("A query could be: What does a ship pay?", "What does a ship pay?"),
        ("**Question:** What does a ship pay?", "What does a ship pay?"),
        ("What does a ship pay? XXX Passage: other Question: what?", "What does a ship pay?"),
        ("A ship pays.\nMore.", "A ship pays."),
        (" \n", ""),
    ],
)
def test_of_a_reply_the_first_question_is_taken(written: str, question: str) -> None:
    assert tidy(written) == question


class Drawing(FakeLLM):
    """Takes down how it was asked to draw."""

    def __init__(self) -> None:
        super().__init__()
        self.sampled: list[Sampling] = []

    def stream(self, messages, *, sampling=GREEDY, **options):  # type: ignore[no-untyped-def, override]
        self.sampled.append(sampling)
        yield from super().stream(messages, sampling=sampling, **options)


def test_the_first_question_is_the_likeliest_and_the_others_are_drawn_with_seeds() -> None:
    llm = Drawing()
    llm.enqueue(["What does a ship pay?", 'Answer: "nine crowns"\nMore.', "Who pays half?", "Lighters"])
    made = [Draft("What does a ship pay?", "nine crowns"), Draft("Who pays half?", "Lighters")]
    assert list(Generator(llm).drafts(passage(FEES), 2, 7)) == made
    assert [(one.temperature, one.seed) for one in llm.sampled] == [(0.0, 0), (0.0, 0), (0.7, 8), (0.0, 0)]
    asked = [one[0].content for one in llm.history]
    assert asked[::2] == [zero_shot_prompt(FEES)] * 2
    assert asked[1::2] == [answer_prompt(FEES, one.question) for one in made]
    llm.enqueue(["What does a ship pay?", "nine crowns"])
    assert list(Generator(llm, (BOATS,)).drafts(passage(FEES), 1, 0)) == made[:1]
    assert llm.history[-2][0].content == few_shot_prompt([BOATS], FEES)


def test_what_a_guard_objects_to_is_not_answered_unless_all_is_kept() -> None:
    llm = FakeLLM()
    llm.enqueue(["A ship pays."])
    assert list(Generator(llm).drafts(passage(FEES), 1, 0)) == [Draft("A ship pays.")]
    llm.enqueue(["A ship pays.", "nine crowns"])
    assert list(Generator(llm, keep_all=True).drafts(passage(FEES), 1, 0)) == [Draft("A ship pays.", "nine crowns")]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("nine crowns", None),
        ("Nine  crowns for each night", None),
        ("pier. Lighters", None),
        ("", Reason.NO_ANSWER),
        ("nine crowns a night", Reason.NOT_THERE),
        ("The passage does not say.", Reason.NOT_THERE),
        ("crowns " * 61, Reason.LONG_ANSWER),
    ],
)
def test_a_gold_answer_stands_in_its_passage(answer: str, reason: Reason | None) -> None:
    assert answer_objection(answer, FEES) is reason


SHIPS = Draft("What does a ship pay at the pier?", "nine crowns for each night")


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("How long may it stay?", None),
        ("How long?", None),  # it may say too little by itself
        ("What does this passage say about it?", Reason.POINTS),
        ("What does a ship pay at the pier?", Reason.DUPLICATE),
        ("Lighters pay half.", Reason.NO_QUESTION),
        ("", Reason.EMPTY),
    ],
)
def test_guards_of_follow_ups(question: str, reason: Reason | None) -> None:
    assert follow_up_objection(question, FEES, [SHIPS]) is reason


def test_a_follow_up_is_asked_for_with_the_conversation_so_far() -> None:
    llm = FakeLLM()
    llm.enqueue(["Question: And lighters?", "half"])
    assert Generator(llm).follow_up(passage(FEES), [SHIPS], FOLLOW_UPS[1]) == Draft("And lighters?", "half")
    asked = llm.history[0][0].content
    assert asked == follow_up_prompt(FEES, [SHIPS], FOLLOW_UPS[1])
    assert f"Question: {SHIPS.question}\nAnswer: {SHIPS.answer}" in asked
    assert asked.endswith("It is short and begins with “And”. The passage answers it.")


def test_a_conversation_moves_on_to_passages_of_its_document_that_say_something_new() -> None:
    text = "word " * 30
    own = [Passage(f"d-{n}", (Span("d", 1, start, start + 150),), text) for n, start in enumerate((0, 75, 150, 300))]
    assert neighbours([*own, passage(text, "other")], own[0], 3) == [own[0], own[2], own[3]]
    assert neighbours([*own, passage(text, "other")], own[3], 3) == [own[3]]


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("What does a ship pay for a night at the pier?", None),
        ("", Reason.EMPTY),
        ("…", Reason.EMPTY),
        ("A ship pays nine crowns.", Reason.NO_QUESTION),
        ("Why?", Reason.VAGUE),
        ("What does " + "very " * 50 + "old ship pay?", Reason.LONG),
        ("What is the topic of this section?", Reason.POINTS),
        ("Which fees are described in the given passage?", Reason.POINTS),
        ("What are these fees for ships?", Reason.POINTS),
        ("What does it cost a ship to stay?", Reason.POINTS),
        ("Which of the fees mentioned above is highest?", Reason.POINTS),
        ("What does a ship cost when it lies at the pier?", None),
        ("A ship pays nine crowns for each night it lies at the pier?", Reason.COPY),
        ("Where are boats kept in winter?", Reason.EXAMPLE),
    ],
)
def test_guards(question: str, reason: Reason | None) -> None:
    assert objection(question, FEES, examples=[BOATS.question]) is reason


def test_a_german_question_is_judged_by_german_rules() -> None:
    text = "Ein Schiff zahlt neun Kronen für jede Nacht."
    assert objection("Was zahlt ein Schiff für jede Nacht?", text, "german") is None
    assert objection("Was steht in diesem Abschnitt über Schiffe?", text, "german") is Reason.POINTS


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        (
            "A lighter is a flat boat that carries goods.",
            [Draft("What is a lighter?", "A lighter is a flat boat that carries goods.")],
        ),
        ("Heat pumps are machines. They are the best.", []),
        (
            "Quay rules are the terms of the harbour.",
            [Draft("What are Quay rules?", "Quay rules are the terms of the harbour.")],
        ),
        ("Ropewalk Court has 84 flats on four floors.", [Draft("How many flats does Ropewalk Court have?", "84")]),
        ("The harbour contains 12 berths for ships.", [Draft("How many berths does the harbour contain?", "12")]),
        ("It is a boat. This means the end.", []),
        ("A winter is always a cold time.", []),
    ],
)
def test_sentences_that_define_or_count_become_questions(text: str, asked: list[Draft]) -> None:
    assert list(by_rules(passage(text), "Rules")) == asked
    assert all(answer_objection(one.answer, text) is None for one in asked)


def test_table_rows_become_questions_with_their_column() -> None:
    table = (
        "| Month | Heat (MWh) | 2022 |\n| --- | --- | --- |\n| March | 82.1 | 5 |\n| 7 | 1 | 2 |\n| April | none | 6 |"
    )
    assert list(by_rules(passage(table), "Rules")) == [
        Draft("What is the Heat (MWh) of March?", "82.1"),
        Draft("What was March for 2022?", "5"),
        Draft("What was April for 2022?", "6"),
    ]  # fmt: skip


def test_headings_are_asked_about_without_the_title() -> None:
    found = list(by_rules(passage("Boats lie there.", heading="Rules: Winter storage of boats"), "Rules"))
    assert found == [Draft("What does Rules say about “Winter storage of boats”?")]


def test_a_draw_is_the_same_again_and_a_larger_one_holds_it() -> None:
    text = "word " * 30
    passages = [passage(text, document, number) for document in "ab" for number in range(20)]
    passages.append(passage("too short", "a", 99))
    five, again, ten = (sample_passages(passages, count, 3) for count in (5, 5, 10))
    assert [one.document_id for one in five] == ["a"] * 5 + ["b"] * 5
    assert five == again
    assert set(five) < set(ten)
    assert five == sorted(five, key=passages.index)
    assert sample_passages(passages[:20], 5, 3) == five[:5]
    assert len(sample_passages(passages, 0, 3)) == 40
    assert sample_passages(passages, 5, 4) != five


def test_the_shipped_examples_pass_the_guards_and_are_eight() -> None:
    shipped = shipped_examples()
    assert len(set(shipped)) == 8
    assert {one.question: objection(one.question, one.passage) for one in shipped} == {
        one.question: None for one in shipped
    }
