"""The text that a passage is indexed under: its document's title and the heading it stands below."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

from pdfqa_core.types import BlockKind, Page, Passage

# Longer "headings" are mostly misread text; what is beyond says little about the section.
LONGEST_HEADING = 120


def with_headings(passages: Sequence[Passage], pages: Sequence[Page], title: str) -> list[Passage]:
    """Return the passages with `heading` set to the title and the nearest heading at or before their beginning.

    The two are joined by ": ". White space is collapsed and a heading cut to 120 characters; where the passage has no
    heading before it, or that heading is the title, the title stands alone. Ids and texts stay as they are.
    """
    title = " ".join(title.split())
    places: list[tuple[int, int]] = []
    headings: list[str] = []
    for page in sorted(pages, key=lambda p: p.number):
        for block in sorted((b for b in page.blocks if b.kind is BlockKind.HEADING), key=lambda b: b.start):
            text = _shortened(" ".join(page.text[block.start : block.end].split()))
            if text:
                places.append((page.number, block.start))
                headings.append(text)
    found = []
    for passage in passages:
        index = bisect_right(places, (passage.spans[0].page, passage.spans[0].start)) - 1
        nearest = headings[index] if index >= 0 else ""
        parts = [title] if nearest.casefold() == title.casefold() else [title, nearest]
        found.append(replace(passage, heading=": ".join(part for part in parts if part)))
    return found


def _shortened(text: str) -> str:
    if len(text) <= LONGEST_HEADING:
        return text
    return text[: LONGEST_HEADING + 1].rsplit(" ", 1)[0][:LONGEST_HEADING]
