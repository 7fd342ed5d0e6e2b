from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdfqa_core.errors import UsageError
from pdfqa_core.json_codec import decode, encode, encode_utf8, plain
from pdfqa_core.types import (
    Answer,
    Block,
    BlockKind,
    Box,
    Citation,
    Conversation,
    Document,
    DocumentState,
    Hit,
    Line,
    Page,
    Passage,
    Span,
    Turn,
)

TEXT = st.text()  # lone surrogates included
NUMBER = st.floats(allow_nan=False)
SPAN = st.builds(Span, TEXT, st.integers(), st.integers(), st.integers())
PASSAGE = st.builds(Passage, TEXT, st.lists(SPAN, max_size=2).map(tuple), TEXT, TEXT)
HIT = st.builds(Hit, PASSAGE, NUMBER, st.integers(), TEXT, st.dictionaries(TEXT, NUMBER, max_size=2))
CITATION = st.builds(Citation, st.integers(), TEXT, SPAN, TEXT, st.booleans(), st.integers(), st.integers())
ANSWER = st.builds(
    Answer,
    TEXT,
    st.lists(CITATION, max_size=2).map(tuple),
    st.lists(HIT, max_size=2).map(tuple),
    st.booleans(),
    seconds=st.dictionaries(TEXT, NUMBER, max_size=2),
    confidence=st.none() | NUMBER,
    notes=st.lists(TEXT, max_size=2).map(tuple),
)


@given(ANSWER)
def test_answers_come_back_exactly(answer: Answer) -> None:
    assert decode(Answer, encode(answer)) == answer


@given(st.builds(Answer, text=st.text(st.characters(exclude_categories=[]))))
def test_the_fast_way_holds_what_the_exact_one_holds(answer: Answer) -> None:
    assert decode(Answer, encode_utf8(answer)) == answer


@pytest.mark.parametrize(
    "value",
    ["Zür\ud800ich", {1: "one"}, MappingProxyType({"a": 1}), 2**70, np.float32(0.5), datetime(2026, 1, 2, tzinfo=UTC),
     datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC), ("a", frozenset({"b"})), None],
)  # fmt: skip
def test_the_fast_way_writes_the_same_values(value: object) -> None:
    assert json.loads(encode_utf8(value)) == json.loads(encode(value))


def test_every_kind_of_field_comes_back() -> None:
    now = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
    turn = Turn("t", 1, "q", "s", Answer("a"))
    for value in (
        Conversation("c", "Title", now, "me", ("d1", "d2"), (turn,)),
        Document("d", "T", "f.pdf", 3, now, "me", DocumentState.PARTIAL, "r", 5, (2, 3)),
        Page("d", 1, "i", 1.5, 2.5, "ab", (Line(0, 1, Box(1, 2, 3, 4)),), (Block(0, 1, BlockKind.HEADING, 2),)),
    ):
        assert decode(type(value), encode(value)) == value


def test_numpy_numbers_are_written_as_numbers() -> None:
    hit = Hit(Passage("p", (), ""), np.float32(0.5), np.int64(2), "dense", {"dense": np.float64(0.25)})
    assert decode(Hit, encode(hit)) == Hit(Passage("p", (), ""), 0.5, 2, "dense", {"dense": 0.25})


def test_absent_fields_take_their_defaults_and_unknown_ones_are_passed_over() -> None:
    assert decode(Answer, '{"text": "a", "from_the_future": [1]}') == Answer("a")


@dataclass(frozen=True)
class Choice:
    form: Literal["a", "b"]


def test_a_choice_of_words_comes_back() -> None:
    assert decode(Choice, encode(Choice("b"))) == Choice("b")


@dataclass(frozen=True)
class Pair:
    values: tuple[int, float]


def test_wrong_text_is_refused() -> None:
    assert decode(Pair, encode(Pair((1, 2.0)))) == Pair((1, 2.0))
    for wrong in ("", "{", "[]", '{"citations": []}', '{"text": "a", "hits": 3}'):
        with pytest.raises(UsageError, match="not a valid Answer"):
            decode(Answer, wrong)
    with pytest.raises(UsageError, match="not a valid Pair"):
        decode(Pair, '{"values": [1]}')
    with pytest.raises(UsageError, match="type object cannot be written"):
        plain(object())
