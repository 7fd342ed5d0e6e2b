"""Which passages questions are made of."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence

from pdfqa_core.text import words
from pdfqa_core.types import Passage

SHORTEST = 25  # words; shorter passages are headings, captions and broken lines


def sample_passages(passages: Sequence[Passage], per_document: int, seed: int) -> list[Passage]:
    """Return at most `per_document` passages of each document, drawn with `seed`, in the order given.

    0 takes them all. Passages of less than SHORTEST words are left out. A document's draw does not depend on the
    others, so that adding one leaves the questions of the rest as they are; a larger draw holds the smaller one.
    """
    by_document: dict[str, list[Passage]] = defaultdict(list)
    for passage in passages:
        if len(words(passage.text)) >= SHORTEST:
            by_document[passage.document_id].append(passage)
    chosen: list[Passage] = []
    for document_id, own in by_document.items():
        drawn = list(range(len(own)))
        random.Random(f"{seed} {document_id}").shuffle(drawn)  # noqa: S311 - not a secret
        keep = sorted(drawn[:per_document] if per_document else drawn)
        chosen += [own[place] for place in keep]
    return chosen
