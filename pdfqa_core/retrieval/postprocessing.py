"""What of the hits is shown: overlapping passages as one, and not too many of one page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pdfqa_core.errors import UsageError
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.retrieval.base import PageRange, Searcher, check_k
from pdfqa_core.retrieval.encoder import OnProgress
from pdfqa_core.text import JOINER
from pdfqa_core.types import Hit, Passage, Query, Span, passage_id

LONGEST = 2.0  # a merged passage is at most so many times as long as the best of its parts
WIDER = 3  # how many times as many hits are fetched as are shown


@dataclass(frozen=True, eq=False)
class Postprocessed:
    """Another retriever whose hits are merged where they overlap (`merge`), at most `per_page` of a page (0: any)."""

    inner: Searcher
    per_page: int = 0
    merge: bool = False

    def __post_init__(self) -> None:
        if self.per_page < 0:
            raise UsageError(f"per_page is {self.per_page}.", "It must be 0 (no limit) or more.")

    def prepare(self, *, on_progress: OnProgress | None = None, stop: StopSignal | None = None) -> None:
        """Prepare the inner retriever. Raises ModelError, StoppedError."""
        self.inner.prepare(on_progress=on_progress, stop=stop)

    def search(
        self, question: str | Query, k: int, document_ids: frozenset[str] | None = None, *,
        pages: PageRange | None = None,
    ) -> list[Hit]:  # fmt: skip
        """Return at most `k` hits, best first; more are fetched until there are as many, or no more."""
        check_k(k)
        wide = WIDER * k
        while True:
            hits = self.inner.search(question, wide, document_ids, pages=pages)
            shown = merged(hits) if self.merge else hits
            shown = spread(shown, self.per_page) if self.per_page else shown
            if len(shown) >= k or len(hits) < wide:
                return [replace(hit, rank=rank) for rank, hit in enumerate(shown[:k], 1)]
            wide *= WIDER


def spread(hits: Sequence[Hit], per_page: int) -> list[Hit]:
    """Return the hits without those that would be more than `per_page` of the page where they begin."""
    seen: Counter[tuple[str, int]] = Counter()
    kept = []
    for hit in hits:
        page = (hit.passage.document_id, hit.passage.spans[0].page)
        if seen[page] < per_page:
            seen[page] += 1
            kept.append(hit)
    return kept


def merged(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits with those that share characters made one, at the place and with the scores of the best of them.

    A merged passage is at most twice as long as that best one; what would be longer stays a hit of its own.
    """
    kept: list[tuple[Hit, float]] = []
    for hit in hits:
        for place, (other, most) in enumerate(kept):
            together = joined(other.passage, hit.passage)
            if together is not None and len(together.text) <= most:
                kept[place] = (replace(other, passage=together), most)
                break
        else:
            kept.append((hit, LONGEST * len(hit.passage.text)))
    return [hit for hit, _ in kept]


def joined(one: Passage, other: Passage) -> Passage | None:
    """Return the passage that holds the text of both, or None where they share no characters of a page."""
    if one.document_id != other.document_id:
        return None
    first, second = pieces(one), pieces(other)
    if first is None or second is None or not any(_overlap(a, b) for a, _ in first for b, _ in second):
        return None
    union: list[tuple[Span, str]] = []
    for span, text in sorted(first + second):
        if union and _overlap(union[-1][0], span):
            before, so_far = union[-1]
            if span.end > before.end:
                union[-1] = (replace(before, end=span.end), so_far + text[before.end - span.start :])
        else:
            union.append((span, text))
    spans = tuple(span for span, _ in union)
    text = JOINER.join(text for _, text in union)
    return Passage(passage_id("merged", spans), spans, text, one.heading, one.language)


def _overlap(one: Span, other: Span) -> bool:
    return one.page == other.page and one.start < other.end and other.start < one.end


def pieces(passage: Passage) -> list[tuple[Span, str]] | None:
    """Return each span with its text; None where the passage's text is not that of its spans one after the other."""
    pieces, place = [], 0
    for span in passage.spans:
        end = place + span.end - span.start
        pieces.append((span, passage.text[place:end]))
        if passage.text[end : end + len(JOINER)] not in (JOINER, ""):
            return None
        place = end + len(JOINER)
    return pieces if place - len(JOINER) == len(passage.text) else None
