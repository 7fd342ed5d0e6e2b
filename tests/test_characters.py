"""What no database and no browser takes is replaced where it arrives."""

from __future__ import annotations

import json

import pytest

from pdfqa_core.json_codec import decode, encode, readable
from pdfqa_core.text import Pieces, clean, clean_all
from pdfqa_core.types import Answer

BAD = "a\x00b\ud800c"
GOOD = "a\ufffdb\ufffdc"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("plain", "plain"),
        ("ü 😀", "ü 😀"),
        (BAD, GOOD),
        ("\ud83d\ude00", "😀"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
    ],
)
def test_clean(text: str, expected: str):
    assert clean(text) == expected
    assert clean(text).encode().decode() == expected


def test_clean_all_goes_into_what_holds_texts_and_leaves_the_rest():
    thing = object()
    assert clean_all([BAD, (BAD, 1), {BAD: BAD}, None, thing]) == [GOOD, (GOOD, 1), {GOOD: GOOD}, None, thing]


@pytest.mark.parametrize("pieces", [["a\ud83d", "\ude00b"], ["a", "\ud83d", "\ude00", "b"], ["a\ud83d\ude00b"]])
def test_halves_of_a_pair_in_two_pieces_become_one(pieces: list[str]):
    taker = Pieces()
    assert "".join(map(taker.take, pieces)) + taker.rest() == "a😀b"


def test_a_half_that_stays_alone_is_replaced():
    taker = Pieces()
    assert [taker.take("a\ud83d"), taker.take("b"), taker.take("\ud83d"), taker.rest()] == [
        "a",
        "\ufffdb",
        "",
        "\ufffd",
    ]


def test_what_an_earlier_version_stored_can_be_read_again():
    stored = encode(Answer(BAD, notes=(BAD, "\\ud800 in words")))
    found = decode(Answer, readable(stored))
    assert (found.text, found.notes) == (GOOD, (GOOD, "\\ud800 in words"))
    assert json.loads(readable(encode(Answer("😀"))))["text"] == "😀"
