"""What a study asks: presets of criteria with a guideline, criteria made on screen, and the keys of their buttons."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from pdfqa_core.errors import UsageError
from pdfqa_core.protocols.annotation import CRITERIA
from pdfqa_core.study_types import AppliesTo, Criterion

PASSAGE_KEYS = CRITERIA[2].keys[0]
REST_KEY = CRITERIA[2].rest_key
RESERVED = "SXCB"  # keys of the rating screen itself; the other actions have no letters
MOST_CRITERIA = 12
_DIGITS = "123456789"
_LETTERS = "QWERTUIOPADFGHJKLZVMNY"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


class Kind(StrEnum):
    """What the values of a criterion are."""

    BINARY = "binary"
    ORDINAL = "ordinal"
    CHOICE = "choice"
    TEXT = "text"


KINDS = {
    Kind.BINARY: "two values, yes (1) and no (0)",
    Kind.ORDINAL: "steps of a scale, lowest first",
    Kind.CHOICE: "one of several",
    Kind.TEXT: "words, may stay empty",
}


@dataclass(frozen=True, slots=True)
class Preset:
    """A protocol to begin with: its name on screen, what it is for, what it asks, what annotators are told."""

    title: str
    words: str
    criteria: tuple[Criterion, ...]
    guideline: str


def kind_of(criterion: Criterion) -> Kind:
    """Return what the values of a criterion are."""
    if criterion.is_text:
        return Kind.TEXT
    if set(criterion.scale) == {"0", "1"}:
        return Kind.BINARY
    return Kind.ORDINAL if all(value.lstrip("-").isdecimal() for value in criterion.scale) else Kind.CHOICE


def made(
    name: str, kind: str, applies_to: str, labels: Sequence[str], title: str = "", definition: str = ""
) -> Criterion:
    """Return a criterion as the form describes it, without keys; `labels` are what its buttons say.

    Of two values the first is the good one. Raises UsageError that says what does not fit.
    """
    name = "_".join(name.lower().split())
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot name a criterion.", "Use letters, digits and _, beginning with a letter.")
    labels = [" ".join(label.split()) for label in labels if label.strip()]
    title = " ".join(title.split()) or name.replace("_", " ").capitalize()
    if kind not in set(Kind) or applies_to not in set(AppliesTo):
        raise UsageError(f"{name}: choose what its values are, and what it is about.")
    place = AppliesTo(applies_to)
    if kind == Kind.TEXT:
        if place is AppliesTo.PASSAGE:
            raise UsageError(f"{name}: words are asked about the turn or the answer.", "Not about each passage.")
        return Criterion(name, (), (), (), place, title, definition.strip())
    if kind == Kind.BINARY:
        labels = labels or ["yes", "no"]
    if len(labels) < 2 or len(set(labels)) < len(labels) or (kind == Kind.BINARY and len(labels) != 2):
        number = "two different values" if kind == Kind.BINARY else "two different values or more"
        raise UsageError(f"{name}: a criterion of the kind {kind} has {number}.", "Write one a line.")
    scale: Sequence[str] = labels
    if kind == Kind.BINARY:
        scale = ("1", "0")
    elif kind == Kind.ORDINAL:
        scale = [str(step) for step in range(1, len(labels) + 1)]
    return Criterion(name, tuple(scale), tuple(labels), ("",) * len(labels), place, title, definition.strip())


def with_keys(criteria: Sequence[Criterion]) -> tuple[Criterion, ...]:
    """Return the criteria with the keys of their buttons, each key once.

    The first with two values that is not about passages has Y and N, the first about passages a letter for each
    passage; the others count up the digits, then take letters that are left. Raises UsageError: none, too many, a name
    twice.
    """
    names = [one.name for one in criteria]
    if not names or len(names) > MOST_CRITERIA:
        raise UsageError(f"A study asks for 1 to {MOST_CRITERIA} criteria, this one for {len(names)}.")
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise UsageError(f"Two criteria are called {twice!r}.", "Give one another name.")
    if all(one.is_text for one in criteria):
        raise UsageError("Nothing can be counted of words alone.", "Add a criterion with values.")
    passages = next((one for one in criteria if one.applies_to is AppliesTo.PASSAGE and not one.is_text), None)
    binary = next(
        (one for one in criteria if kind_of(one) is Kind.BINARY and one.applies_to is not AppliesTo.PASSAGE), None
    )
    taken = (PASSAGE_KEYS if passages else "") + ("YN" if binary else "")
    free = iter(_DIGITS + "".join(key for key in _LETTERS if key not in taken))
    return tuple(
        replace(one, keys=_keys(one, passages, binary, free), rest_key=REST_KEY if one is passages else "")
        for one in criteria
    )


def _keys(one: Criterion, passages: Criterion | None, binary: Criterion | None, free: Iterator[str]) -> tuple[str, ...]:
    if one is passages:
        return (PASSAGE_KEYS, *[""] * (len(one.scale) - 1))
    if one.applies_to is AppliesTo.PASSAGE:
        return ("",) * len(one.scale)
    return ("Y", "N") if one is binary else tuple(next(free, "") for _ in one.scale)


_ANSWER = Criterion(
    "answer", ("1", "0"), ("correct", "incorrect"), ("Y", "N"), AppliesTo.ANSWER, "Generated answer",
    "Correct: a reader who knows only the gold passage would accept it in place of the gold answer.",
)  # fmt: skip
_PREFERENCE = Criterion(
    "preference", ("A", "same", "B"), ("A is better", "no difference", "B is better"), (), AppliesTo.ANSWER,
    "Which answer is better?", "Better: correct first, then complete, then clear. Length alone is no merit.",
)  # fmt: skip

PRESETS = {
    "mahueval": Preset(
        "Manual human evaluation", "intent, answer, each passage", CRITERIA,
        "Read the question as it was asked in its conversation. Judge the answer by what the passages say, not by what "
        "you know. A refusal is correct if no passage answers the question, and incorrect if one does. A passage is "
        "relevant if a correct answer can use it. Do not talk about items before both of you have finished.",
    ),
    "answers": Preset(
        "100 answers", "right or wrong beside a gold answer", (_ANSWER,),
        "Compare the generated answer with the gold answer and the gold passage. It is correct if it says the same in "
        "other words; more detail is no fault unless it is wrong. It is incorrect if a fact is missing that was asked "
        "for. A refusal is correct only if the gold answer says, too, that there is no answer.",
    ),
    "rag": Preset(
        "RAG quality", "supported, useful, clear, passages",
        (
            made("supported", Kind.ORDINAL, AppliesTo.ANSWER, ("no", "partly", "fully"), "Supported by the passages",
                 "Fully: every statement stands in a passage. Partly: some do. No: none, or one is contradicted."),
            made("useful", Kind.ORDINAL, AppliesTo.ANSWER, ("no", "partly", "fully"), "Answers the question",
                 "Fully: nothing that was asked for is missing. Partly: a part is. No: it is about something else."),
            made("clear", Kind.ORDINAL, AppliesTo.ANSWER, ("no", "mostly", "yes"), "Clear",
                 "Can be understood at once by somebody who has not read the passages."),
            CRITERIA[2],
            made("remark", Kind.TEXT, AppliesTo.ANSWER, (), "What is wrong?", "In a few words."),
        ),
        "Judge support by the passages alone, and usefulness by the question alone: an answer can be well supported "
        "and useless, or useful and unsupported. A refusal is fully supported and answers the question fully if no "
        "passage answers it; if one does, it is neither.",
    ),
    "pairwise": Preset(
        "Pairwise preference", "which of two answers is better", (
            _PREFERENCE, made("reason", Kind.TEXT, AppliesTo.ANSWER, (), "Why?", "In a few words."),
        ),
        "Read both answers before you choose. Which program wrote which is not shown, and changes from item to item. "
        "A refusal is better than a wrong answer, and worse than a right one.",
    ),
}  # fmt: skip
DEFAULT_PRESET = "mahueval"


def preset_named(name: str) -> Preset:
    """Return a preset. Raises UsageError that lists them."""
    if name not in PRESETS:
        raise UsageError(f"There is no preset {name!r}.", f"Choose one of: {', '.join(PRESETS)}.")
    return PRESETS[name]


def check_change(old: Sequence[Criterion], new: Sequence[Criterion], rated: Sequence[str]) -> None:
    """Raise UsageError if criteria change that somebody has rated by already; their titles and definitions may."""
    kept = {one.name: one for one in new}
    for one in old:
        if one.name in rated:
            now = kept.get(one.name)
            if now is None or (now.scale, now.applies_to) != (one.scale, one.applies_to):
                raise UsageError(
                    f"Somebody has rated by “{one.title}” already, so its values stay as they are.",
                    "Its title and definition can be changed; for other values make a new study.",
                )
