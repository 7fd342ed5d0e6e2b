"""Which sentences of the passages go into a prompt, in which order, so that they keep to a number of tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pdfqa_core.reading.matching import Quote, quotes
from pdfqa_core.reading.meaning import Meaning
from pdfqa_core.reading.relevance import relevance
from pdfqa_core.types import Hit, Span

GAP = " … "  # stands for sentences that were left out


@dataclass(frozen=True, slots=True)
class Evidence:
    """The sentences of hits that a model is shown. `places` are positions in `sentences`, ascending.

    The hits are in the order of their place in the documents, not of their rank, so that two questions on the same
    passages begin with the same text.
    """

    sentences: tuple[Quote, ...]
    places: tuple[int, ...]

    @property
    def hits(self) -> tuple[Hit, ...]:
        """The hits of which anything is shown, best first."""
        return tuple(sorted(self.in_order(), key=lambda hit: hit.rank))

    def in_order(self) -> list[Hit]:
        """Return the hits of which anything is shown, in the order in which they are shown."""
        return list({id(self.sentences[p].hit): self.sentences[p].hit for p in self.places}.values())

    def texts(self) -> list[str]:
        """Return the shown text of each passage, in order; gaps are marked."""
        found, before = [], -1
        for place in self.places:
            text, hit = self.sentences[place].text, self.sentences[place].hit
            if before < 0 or self.sentences[before].hit is not hit:
                found.append(text)
            elif place == before + 1:
                found[-1] += hit.passage.text[self.sentences[before].end : self.sentences[place].start] + text
            else:
                found[-1] += GAP + text
            before = place
        return found

    def without_last(self) -> Evidence | None:
        """Return it without the worst passage, or the only one without its last sentence; None if nothing is left."""
        worst = self.hits[-1]
        left = tuple(place for place in self.places if self.sentences[place].hit is not worst) or self.places[:-1]
        return Evidence(self.sentences, left) if left else None


def gather(hits: Sequence[Hit]) -> Evidence:
    """Return all sentences of the hits."""
    ordered = sorted(hits, key=lambda hit: (hit.passage.document_id, hit.passage.spans[0]))
    found = tuple(quote for hit in ordered for quote in quotes(hit, longest=1))
    return Evidence(found, tuple(range(len(found))))


def best(
    question: str, evidence: Evidence, fits: Callable[[Evidence], bool], meaning: Meaning | None = None
) -> Evidence | None:
    """Return the most relevant sentences of the evidence, in their order, as many as fit; None if not even one does.

    What an overlapping passage also holds is taken once.
    """
    scores = relevance(question, evidence.sentences, meaning)
    kept: tuple[int, ...] = ()
    for place in sorted(_distinct(evidence), key=lambda place: -scores[place]):
        wider = tuple(sorted((*kept, place)))
        if fits(Evidence(evidence.sentences, wider)):
            kept = wider
    return Evidence(evidence.sentences, kept) if kept else None


def _distinct(evidence: Evidence) -> list[int]:
    """Return the places of the sentences that no other passage holds, the first of equal ones."""
    found = evidence.sentences

    def elsewhere(place: int) -> bool:
        quote = found[place]
        return any(
            other.hit is not quote.hit and _holds(other.span, quote.span) and (other.span != quote.span or at < place)
            for at, other in enumerate(found)
        )

    return [place for place in evidence.places if not elsewhere(place)]


def _holds(outer: Span, inner: Span) -> bool:
    same = (outer.document_id, outer.page) == (inner.document_id, inner.page)
    return same and outer.start <= inner.start and inner.end <= outer.end
