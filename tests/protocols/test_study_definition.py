"""What a study can ask, and the keys of its buttons."""

from __future__ import annotations

from collections import Counter

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.protocols.annotation import CRITERIA
from pdfqa_core.protocols.study_definition import PRESETS, RESERVED, Kind, check_change, kind_of, made, with_keys
from pdfqa_core.study_types import AppliesTo


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_has_a_key_for_each_button_and_none_twice(name: str) -> None:
    criteria = with_keys(PRESETS[name].criteria)
    keys = [key for one in criteria for keys in (*one.keys, one.rest_key) for key in keys]
    assert max(Counter(keys).values()) == 1
    assert not {key for one in criteria for keys in one.keys for key in keys} & set(RESERVED)
    for one in criteria:
        assert len(one.keys) == len(one.scale) == len(one.labels)
        assert one.applies_to is AppliesTo.PASSAGE or all(one.keys)
    assert "refusal" in PRESETS[name].guideline


def test_mahueval_keeps_the_keys_that_people_know() -> None:
    assert with_keys(PRESETS["mahueval"].criteria) == CRITERIA


def test_each_kind_of_criterion_is_made() -> None:
    binary = made("Polite", Kind.BINARY, "answer", [])
    ordinal = made("style", Kind.ORDINAL, "answer", ["muddled", "middling", "clear"], "How is it written?", "for all")
    choice = made("topic", Kind.CHOICE, "turn", ["cost", "noise"])
    text = made("why", Kind.TEXT, "answer", ["ignored"])
    assert (binary.name, binary.scale, binary.labels, binary.title) == ("polite", ("1", "0"), ("yes", "no"), "Polite")
    assert (ordinal.scale, ordinal.title, ordinal.help) == (("1", "2", "3"), "How is it written?", "for all")
    assert (choice.scale, text.scale, text.is_text) == (("cost", "noise"), (), True)
    assert [kind_of(one) for one in (binary, ordinal, choice, text)] == [*Kind]
    assert [one.keys for one in with_keys((binary, ordinal, choice, text))] == [
        ("Y", "N"), ("1", "2", "3"), ("4", "5"), (),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (("", "binary", "answer", []), "cannot name a criterion"),
        (("9 lives", "binary", "answer", []), "cannot name a criterion"),
        (("a", "binary", "answer", ["one", "two", "three"]), "two different values"),
        (("a", "choice", "answer", ["same", "same"]), "two different values or more"),
        (("a", "ordinal", "answer", ["only"]), "two different values or more"),
        (("a", "text", "passage", []), "words are asked about"),
        (("a", "stars", "answer", []), "choose what its values are"),
    ],
)
def test_criteria_that_cannot_be_are_refused(values: tuple[str, str, str, list[str]], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        made(*values)


def test_lists_that_cannot_be_are_refused() -> None:
    words = made("why", Kind.TEXT, "answer", [])
    for criteria, message in (((), "1 to 12"), ((CRITERIA[0],) * 2, "Two criteria"), ((words,), "words alone")):
        with pytest.raises(UsageError, match=message):
            with_keys(criteria)


def test_what_somebody_rated_by_keeps_its_values() -> None:
    other = made("answer", Kind.CHOICE, "answer", ["good", "bad"])
    check_change(CRITERIA, (CRITERIA[0], other, CRITERIA[2]), ["intent"])
    for new in ((CRITERIA[0], other, CRITERIA[2]), CRITERIA[:1]):
        with pytest.raises(UsageError, match="rated by “Answer” already"):
            check_change(CRITERIA, new, ["answer"])
