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
from pdfqa_core.json_codec import checked, decode, encode, encode_utf8, parse_json, plain
from pdfqa_core.types import (
    Answer,
    Citation,
    Hit,
    Passage,
    Span,
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
    with pytest.raises(UsageError, match="not a valid Answer: hits, number 1, rank is no whole number"):
        decode(
            Answer,
            '{"text": "a", "hits": [{"passage": {"id": "p", "spans": [], "text": ""}, "score": 1, "rank": "x"}]}',
        )
    with pytest.raises(UsageError, match="not a valid Pair"):
        decode(Pair, '{"values": [1]}')
    with pytest.raises(UsageError, match="type object cannot be written"):
        plain(object())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1,\n"rank": ' + "9" * 6000 + "}", "x.json, line 2: 'rank' is too large a number: 9999"),
        ('[{"a b": [-9223372036854775808]}]', "x.json, line 1: 'a b' is too large a number: -9223372036854775808."),
        ('{"text": "seconds: 1e400", "seconds": 1e400}', "x.json, line 1: 'seconds' is too large a number: 1e400."),
        ("[" * 5000, "x.json is nested too deeply."),
    ],
)  # fmt: skip
def test_what_no_program_can_calculate_with_is_named_by_its_field(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_json(text.encode(), "x.json")
    assert caught.value.what.startswith(said)


def test_numbers_that_fit_and_clean_text_come_through() -> None:
    data = b'[9223372036854775807, -9223372036854775807, 1.5e300, "a\\u0000\\uD83D\\ude00\\uD800"]'
    assert parse_json(data, "x") == [2**63 - 1, 1 - 2**63, 1.5e300, "a\ufffd\U0001f600\ufffd"]
    assert parse_json(b' {"a": 1}, {oops', "x", first=True) == {"a": 1}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"text": None}, "x.zip is not complete: text is no text (null)."),
        ({"text": "a", "hits": [{"rank": "1"}]}, "x.zip is not complete: hits, number 1, passage is missing."),
        ({"text": "a", "refused": 1}, "x.zip is not complete: refused is neither true nor false."),
        ({"text": "a", "seconds": []}, "x.zip is not complete: seconds is no object."),
        ([], "x.zip is not complete: it is no object."),
    ],
)
def test_a_field_of_another_kind_is_named(data: object, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        checked(Answer, data, "x.zip", "Hint.")
    assert (caught.value.what, caught.value.hint) == (said, "Hint.")


@given(st.builds(Answer, text=st.text()))
def test_what_is_checked_is_as_it_was(answer: Answer) -> None:
    assert checked(Answer, json.loads(encode(answer)), "x", "") == answer
