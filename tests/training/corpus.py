"""A toy corpus whose passages have nothing to do with the questions they answer: only training finds them."""

from __future__ import annotations

from pdfqa_core.training import Example, Pair
from pdfqa_core.types import Hit, Passage
from tests.retrieval.fakes import passage

FACTS = (
    ("Zorbix costs eleven crowns.", "price of the green parcel"),
    ("Quandar weighs nine stone.", "mass of the iron bell"),
    ("Plimsol opens at dawn.", "hours of the harbour office"),
    ("Vextar melts in June.", "month when the glacier thaws"),
    ("Morvin sings tenor.", "voice of the choir leader"),
    ("Kelpar grows in sand.", "soil for the desert palm"),
    ("Draxin flies north.", "route of the grey geese"),
    ("Sulmek burns blue.", "colour of the gas flame"),
)


def corpus(document_id: str = "a") -> list[Passage]:
    return [passage(text, document_id, number) for number, (text, _) in enumerate(FACTS)]


def pairs(document_id: str = "a") -> list[Pair]:
    asked = [f"What is the {words}?" for _, words in (*FACTS[3:], *FACTS[:3])]
    return [Pair(f"{document_id}{place}", asked[place], one) for place, one in enumerate(corpus(document_id))]


def examples(document_id: str = "a") -> list[Example]:
    """Return the pairs, each with the two passages that follow as hard negatives."""
    ring = corpus(document_id) * 2
    return [Example(pair, tuple(ring[place + 1 : place + 3]), True) for place, pair in enumerate(pairs(document_id))]


def hits(*scored: tuple[Passage, float]) -> list[Hit]:
    return [Hit(one, score, rank, "fake") for rank, (one, score) in enumerate(scored, start=1)]
