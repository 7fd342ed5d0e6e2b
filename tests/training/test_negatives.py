"""Hard negatives: never what overlaps the right passage or is held out, nor what scores as the right one."""

from __future__ import annotations

from pdfqa_core.training import Example, Pair, distractors, mine, split_by_documents
from pdfqa_core.training.negatives import ONE_DOCUMENT
from pdfqa_core.types import Passage, Span
from tests.retrieval.fakes import passage
from tests.training.corpus import corpus, hits, pairs

RIGHT, *OTHERS = corpus()
PAIR = Pair("q", "What is the price?", RIGHT)
ALL = {one.id for one in corpus()}


def names(example):
    return [one.id for one in example.negatives]


def test_the_first_k_become_negatives_and_triples():
    found = hits((OTHERS[0], 0.5), (RIGHT, 0.9), (OTHERS[1], 0.4), (OTHERS[2], 0.3))
    example = mine(PAIR, found, 3, ALL)
    assert names(example) == [OTHERS[0].id, OTHERS[1].id]
    assert example.found
    assert example.triples == ((PAIR.question, RIGHT, OTHERS[0]), (PAIR.question, RIGHT, OTHERS[1]))


def test_what_overlaps_the_right_passage_is_never_a_negative():
    span = RIGHT.spans[0]
    window = Passage("window", (Span(span.document_id, span.page, span.end - 5, span.end + 40),), "crowns. And more")
    example = mine(PAIR, hits((window, 0.4), (OTHERS[0], 0.3)), 5, {*ALL, "window"})
    assert names(example) == [OTHERS[0].id]
    assert example.found


def test_passages_that_are_held_out_are_not_learnt_as_wrong():
    example = mine(PAIR, hits((RIGHT, 0.9), (OTHERS[0], 0.5), (OTHERS[1], 0.4)), 5, ALL - {OTHERS[0].id})
    assert names(example) == [OTHERS[1].id]


def test_what_scores_like_the_right_one_is_probably_right():
    found = hits((OTHERS[0], 0.99), (RIGHT, 1.0), (OTHERS[1], 0.9))
    assert names(mine(PAIR, found, 5, ALL)) == [OTHERS[1].id]
    assert names(mine(PAIR, found, 5, ALL, margin=0)) == [OTHERS[0].id, OTHERS[1].id]
    assert names(mine(PAIR, found, 5, ALL, margin=0.8)) == []


def test_the_right_one_counts_however_deep_it_was_found():
    found = hits((OTHERS[0], 0.99), (OTHERS[1], 0.9), (RIGHT, 0.5))
    example = mine(PAIR, found, 2, ALL)
    assert (names(example), example.found) == ([], False)


def test_documents_are_never_on_both_sides():
    asked = [pair for name in "abcde" for pair in pairs(name)]
    passages = [one for name in "abcde" for one in corpus(name)]
    split = split_by_documents(asked, passages, 0.2, seed=3)
    held = {pair.positive.document_id for pair in split.held_out}
    assert len(held) == 1
    assert len(split.training) + len(split.held_out) == len(asked)
    assert held.isdisjoint(pair.positive.document_id for pair in split.training)
    assert {one.document_id for one in split.held_out_passages} == held
    assert held.isdisjoint(one.document_id for one in split.training_passages)
    assert split_by_documents(asked, passages, 0.2, seed=3) == split
    assert any(split_by_documents(asked, passages, 0.2, seed=other).held_out != split.held_out for other in range(5))


def test_of_two_documents_one_is_trained_on():
    split = split_by_documents([*pairs("a"), *pairs("b")], [*corpus("a"), *corpus("b")], 0.9, seed=0)
    assert len(split.training) == len(split.held_out) == len(pairs())


def test_of_one_document_the_last_pages_are_held_out():
    whole = passage("A contents page.", "a", 100)
    split = split_by_documents(pairs(), [*corpus(), whole], 0.25, seed=0)
    assert [pair.id for pair in split.held_out] == ["a6", "a7"]
    assert split.note == ONE_DOCUMENT
    assert whole in split.held_out_passages
    assert not any(one.overlaps(other) for one in split.training_passages for other in split.held_out_passages)


def test_distractors_are_the_first_of_each_question_once():
    one, other, third = OTHERS[:3]
    unseen = [Example(PAIR, (one, other)), Example(PAIR, (one, third)), Example(PAIR)]
    assert distractors(unseen, 1) == (one,)
    assert distractors(unseen, 2) == (one, other, third)
