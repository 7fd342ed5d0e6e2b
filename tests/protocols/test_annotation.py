from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.agreement import Agreement
from pdfqa_core.protocols import annotation
from pdfqa_core.protocols.annotation import CRITERIA, Given
from pdfqa_core.protocols.study_measures import disagreements
from pdfqa_core.study_types import Rating, Study
from pdfqa_core.types import Turn
from tests.storage.conftest import NOW, rating, turn

T1, T2, T3 = turn("t1", "first", "second"), turn("t2"), turn("t3", "third")
TURNS = (T1, T2, T3)


def filled(one: Turn, annotator: str = "Anna", *, intent: str = "extractive", answer: str = "1", passages: str = "1",
           seconds: float = 10, study_id: str = "s", comment: str = "") -> tuple[Rating, ...]:  # fmt: skip
    given = {"intent": intent, "answer": answer, "passage": passages}
    values = {part.key: given[part.criterion.name] for part in annotation.judged(one, CRITERIA)}
    return annotation.form_ratings(
        study_id, one, annotator, values, CRITERIA, seconds=seconds, rated_at=NOW, comment=comment
    )


def given(ratings: Sequence[Rating], annotator: str = "Anna") -> Given:
    return annotation.by_annotator(ratings).get(annotator, {})


def test_what_is_judged_about_a_turn() -> None:
    assert [(*j.key, j.rank) for j in annotation.judged(T1, CRITERIA)] == [
        ("t1", "intent", 0), ("t1", "answer", 0), ("t1#1", "passage", 1), ("t1#2", "passage", 2),
    ]  # fmt: skip
    assert [j.key for j in annotation.judged(T2, CRITERIA)] == [("t2", "intent"), ("t2", "answer")]


def test_the_order_is_the_annotators_own_and_stable(study: Study) -> None:
    many = replace(study, id="s", turn_ids=tuple(f"t{i}" for i in range(20)), seed=7)
    anna = annotation.order(many, "Anna")
    assert anna == annotation.order(many, " ANNA ")
    assert sorted(anna) == sorted(many.turn_ids)
    assert len({anna, annotation.order(many, "Ben"), annotation.order(replace(many, seed=8), "Anna")}) == 3
    expected = list(many.turn_ids)
    random.Random("7|anna").shuffle(expected)  # the same in every process
    assert tuple(expected) == anna


def test_what_was_put_off_comes_back_at_the_end() -> None:
    order = ("t2", "t3", "t1")
    assert (annotation.next_open(order, ()), annotation.next_open(order, (), "t2")) == ("t2", "t3")
    done = {"t1", "t3"}
    assert annotation.next_open(order, done, "t1") == annotation.next_open(order, done, "unknown") == "t2"
    assert annotation.next_open(order, {*done, "t2"}, "t1") == ""


def test_progress_counts_finished_items_and_their_median_time() -> None:
    def progress(ratings: Sequence[Rating]) -> annotation.AnnotationProgress:
        return annotation.progress(TURNS, given(ratings), CRITERIA)

    assert progress(()) == annotation.AnnotationProgress(0, 3)
    whole = filled(T1, seconds=500)
    assert [progress(whole[:n] + whole[n + 1 :]).done for n in range(len(whole))] == [0] * 4
    ratings = (*filled(T1, seconds=40), *filled(T2, seconds=100), *filled(T3, "Ben"))
    assert progress(ratings) == annotation.AnnotationProgress(2, 3, 2)
    everything = progress((*ratings, *filled(T3, seconds=70)))
    assert (everything.done, everything.minutes_left) == (3, 0)


def test_a_form_makes_one_rating_per_judgement() -> None:
    ratings = filled(T1, comment="page 7")
    assert [(r.item_id, r.criterion, r.value, r.comment) for r in ratings] == [
        ("t1", "intent", "extractive", ""),
        ("t1", "answer", "1", "page 7"),
        ("t1#1", "passage", "1", ""),
        ("t1#2", "passage", "1", ""),
    ]
    assert annotation.form_ratings("s", T1, "Anna", {}, CRITERIA, rated_at=NOW) == ()


@pytest.mark.parametrize(
    ("item", "criterion", "value", "words"),
    [
        ("t1", "answer", "2", "'2' is no value of 'answer'"),
        ("t1#1", "passage", "yes", "'yes' is no value of 'passage'"),
        ("t1", "intent", "factoid", "'factoid' is no value of 'intent'"),
        ("t1#3", "passage", "1", "'t1#3' is not part of this turn"),
        ("t2", "answer", "1", "'t2' is not part of this turn"),
        ("t1", "mood", "1", "'t1' is not part of this turn"),
    ],
)
def test_values_off_the_scale_are_refused(item: str, criterion: str, value: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        annotation.form_ratings("s", T1, "Anna", {(item, criterion): value}, CRITERIA, rated_at=NOW)


def test_the_turns_with_the_lowest_agreement_come_first_among_the_disagreements() -> None:
    anna = (*filled(T3, passages="0"), *filled(T1, intent="boolean", comment="a"), *filled(T2, answer="0"))
    ben = (*filled(T1, "Ben", intent="abstractive"), *filled(T3, "Ben", comment="b"))
    found = disagreements(TURNS, {"Anna": given(anna), "Ben": given(ben, "Ben")}, CRITERIA)
    assert [(d.turn.id, *d.judged.key, d.values, round(d.agreement, 3)) for d in found] == [
        ("t3", "t3#1", "passage", ("0", "1"), 0.667),
        ("t1", "t1", "intent", ("boolean", "abstractive"), 0.75),
    ]
    mended = given((*ben, *filled(T1, "Ben", intent="boolean")), "Ben")
    again = disagreements(TURNS, {"Anna": given(anna), "Ben": mended}, CRITERIA)
    assert [d.judged.item_id for d in again] == ["t3#1"]


def test_of_three_annotators_one_who_differs_is_enough() -> None:
    by_name = {name: given(filled(T2, name, answer=value), name) for name, value in zip("ABC", "110", strict=True)}
    (found,) = disagreements([T2], by_name, CRITERIA)
    assert (found.annotators, found.values) == (("A", "B", "C"), ("1", "1", "0"))
    assert found.agreement == pytest.approx(4 / 6)  # intent: 3 of 3 pairs, answer: 1 of 3


def table(ratings: Sequence[Rating]) -> tuple[Agreement, ...]:
    sides = given(ratings), given(ratings, "Ben")
    return annotation.agreement_table(*sides, CRITERIA, annotators=("Anna", "Ben"), conversations={})


def test_the_table_compares_two_annotators_per_criterion() -> None:
    ratings = (
        *filled(T1, "Anna"), *filled(T2, "Anna", answer="0"), *filled(T3, "Anna", passages="0"),
        *filled(T1, "Ben"), *filled(T2, "Ben", answer="0"), *filled(T3, "Ben", answer="0", passages="0"),
    )  # fmt: skip
    intent, answer, passage = table(ratings)
    assert (intent.criterion, intent.n, intent.kappa) == ("intent", 3, None)
    assert intent.labels == ("extractive", "abstractive", "boolean")
    assert (answer.labels, answer.confusion) == (("0", "1"), ((1, 0), (1, 1)))
    assert answer.kappa == pytest.approx(0.4)
    assert (passage.n, passage.kappa) == (3, 1)


def test_a_note_names_labels_as_the_buttons_do() -> None:
    alike = [one for turn in (T1, T2) for name in ("Anna", "Ben") for one in filled(turn, name)]
    _, both, _ = table(alike)
    assert "gave every item the label “correct”" in both.note
    _, one, _ = table([*alike, *filled(T2, "Ben", answer="0")])
    assert one.note.startswith("Anna gave every item the label “correct”")


def test_only_the_last_rating_counts() -> None:
    ratings = (*filled(T1, "Anna"), *filled(T1, "Ben"), rating("s", "t1", "Ben", value="0"))
    assert table(ratings)[1].agreement == 0
