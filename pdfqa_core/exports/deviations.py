"""Which notes of an evaluation say that a number is computed in another way than in its source, and beside which."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_lowercase

from pdfqa_core.evaluation_types import OTHER_THAN_SOURCE
from pdfqa_core.exports.table import measure_of


@dataclass(frozen=True, slots=True)
class Deviations:
    """Notes told apart.

    `marks` are letters by measure, for the table's head; `lettered` the notes that they stand for; `others` deviate in
    how passages are made and found; `notes` are all the rest.
    """

    marks: Mapping[str, str]
    lettered: tuple[tuple[str, str], ...]
    others: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def any(self) -> bool:
        """Whether something is computed in another way than in its source."""
        return bool(self.lettered or self.others)


def deviations_of(notes: Sequence[str], measures: Sequence[str]) -> Deviations:
    """Return the notes told apart; a note is of the measures that the words before its colon name."""
    marks: dict[str, str] = {}
    lettered: list[tuple[str, str]] = []
    others: list[str] = []
    for note in notes:
        if not note.endswith(OTHER_THAN_SOURCE):
            continue
        text = note.removesuffix(OTHER_THAN_SOURCE).strip()
        of = [name for name in measures if _names(text.partition(":")[0], measure_of(name).pretty_name)]
        if not of:
            others.append(text)
            continue
        letter = ascii_lowercase[len(lettered) % len(ascii_lowercase)]
        lettered.append((letter, text))
        marks |= {name: f"{marks.get(name, '')}{letter}" for name in of}
    rest = tuple(note for note in notes if not note.endswith(OTHER_THAN_SOURCE))
    return Deviations(marks, tuple(lettered), tuple(others), rest)


def _names(head: str, measure: str) -> bool:
    return any(f"{measure} ".startswith(f"{one.strip()} ") for one in re.split(r" and |, ", head) if one.strip())
